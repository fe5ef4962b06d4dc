"""The arithmetic of a graph problem, on the parts of it that each piece needs.

Kernels take a part (nodes, edges) and not the whole problem: handing on a named tuple copies it,
and a kernel of arrays is compiled once for all solvers.
"""

from taut._compile import compiled
from taut.arrays.accumulator import DENSE, add_scaled, dot, push
from taut.structures.rows import add_row_to, combine_row, push_row

# --- scores ----------------------------------------------------------------------------------


@compiled
def fill(basis, first, c, out):
    """out[j] = sum_b basis[b, first + j] c[b]."""
    for j in range(out.size):
        total = 0.0
        for position in range(basis.pointer[first + j], basis.pointer[first + j + 1]):
            total += basis.value[position] * c[basis.number[position]]
        out[j] = total


@compiled(inline=True)
def score_node(nodes, w, t, c, out):
    """out[k] = theta(k)."""
    kind = nodes.type[t]
    c = c[: nodes.basis.size[kind]]
    combine_row(
        nodes.rows, nodes.row[t], w, nodes.at[kind], nodes.feature_stride[kind],
        nodes.basis_stride[kind], c,
    )  # fmt: skip
    bias = nodes.bias_at[kind]
    if bias >= 0:
        for b in range(c.size):
            c[b] += w[bias + b]
    fill(nodes.basis, kind * nodes.width, c, out)


@compiled(inline=True)
def score_edge(edges, w, number, n_v, c, out):
    """out[k * n_v + l] = theta(k, l)."""
    kind = edges.type[number]
    c = c[: edges.basis.size[kind]]
    at = edges.weights_at + edges.at[kind]
    if edges.rows.n_features == 0:
        for b in range(c.size):
            c[b] = w[at + b]
    else:
        combine_row(edges.rows, number, w, at, c.size, 1, c)
    cell = kind * edges.width * edges.width
    for start in range(0, out.size, n_v):
        fill(edges.basis, cell, c, out[start : start + n_v])
        cell += edges.width


@compiled
def score_nodes(nodes, w, first, count, coefficient, theta):
    """theta[t, k] = score of state k at node first + t; 0 for states that it does not have."""
    for t in range(count):
        score_node(nodes, w, first + t, coefficient, theta[t])


@compiled
def score_edges(edges, w, first, count, coefficient, pair):
    """pair[e, k, l] = score of edge first + e with its ends in states k and l."""
    for e in range(count):
        score_edge(edges, w, first + e, edges.width, coefficient, pair[e].reshape(-1))


@compiled
def image_score(image, n, theta, edge_weights):
    """Score of marginals under prepared scores."""
    width = theta.shape[1]
    total = 0.0
    at = 0
    for t in range(n):
        total += dot(image[at : at + width], theta[t])
        at += width
    return total + dot(image[at:], edge_weights)


# --- losses ----------------------------------------------------------------------------------


@compiled
def add_losses(loss, types, first, count, scale, theta):
    for node in range(first, first + count):
        cost = loss.cost[types[node], loss.truth[node]]
        add_scaled(cost, scale * loss.node_weight[node], theta[node - first])


@compiled
def loss_of_states(loss, types, first, count, y):
    total = 0.0
    for node in range(first, first + count):
        cost = loss.cost[types[node], loss.truth[node], y[node - first]]
        total += loss.node_weight[node] * cost
    return total


@compiled
def loss_of_image(loss, types, first, count, image):
    width = loss.cost.shape[2]
    total = 0.0
    for node in range(first, first + count):
        at = (node - first) * width
        cost = loss.cost[types[node], loss.truth[node]]
        total += loss.node_weight[node] * dot(image[at : at + width], cost)
    return total


@compiled
def worst_loss(loss, types, first, count):
    """The largest loss of any labelling."""
    total = 0.0
    for node in range(first, first + count):
        largest = 0.0
        cost = loss.cost[types[node], loss.truth[node]]
        for k in range(cost.size):
            largest = max(largest, cost[k])
        total += loss.node_weight[node] * largest
    return total


# --- images ----------------------------------------------------------------------------------


@compiled
def add_edge(edges, e, k, other, amount, sums):
    """sums += amount * image of edge e with its ends in states (k, other)."""
    kind = edges.type[e]
    basis = edges.basis
    cell = (kind * edges.width + k) * edges.width + other
    for position in range(basis.pointer[cell], basis.pointer[cell + 1]):
        value = amount * basis.value[position]
        entry = edges.at[kind] + basis.number[position]
        if edges.rows.n_features == 0:
            sums[entry] += value
        else:
            add_row_to(edges.rows, e, value, entry, basis.size[kind], sums)


@compiled
def add_edges(edges, first, count, y, amount, sums):
    """The same for all edges of an example, with the states y."""
    for e in range(first, first + count):
        add_edge(edges, e, y[edges.ends[e, 0]], y[edges.ends[e, 1]], amount, sums)


@compiled
def add_label_image(edges, first, n, m, y, amount, image):
    """image += amount * image of the states y."""
    for t in range(n):
        image[t * edges.width + y[t]] += amount
    add_edges(edges, first, m, y, amount, image[n * edges.width :])


@compiled(inline=True)
def add_cells(basis, cell, width, table, c):
    """c[b] += sum of B[b, k, l] table[k, l]; ``cell`` is the number of the first."""
    for k in range(table.shape[0]):
        for other in range(table.shape[1]):
            amount = table[k, other]
            if amount != 0.0:
                here = cell + k * width + other
                for position in range(basis.pointer[here], basis.pointer[here + 1]):
                    c[basis.number[position]] += amount * basis.value[position]


@compiled
def write_image(edges, states, first, n, m, node, edge, coefficient, image):
    """image = image of the marginals (node, edge)."""
    basis, width = edges.basis, edges.width
    image[:] = 0.0
    for t in range(n):
        for k in range(states[t]):
            image[t * width + k] = node[t, k]
    sums = image[n * width :]
    for e in range(m):
        u, v = edges.ends[first + e, 0], edges.ends[first + e, 1]
        kind = edges.type[first + e]
        at, size = edges.at[kind], basis.size[kind]
        table = edge[e, : states[u], : states[v]]
        if edges.rows.n_features == 0:
            add_cells(basis, kind * width * width, width, table, sums[at : at + size])
        else:
            c = coefficient[:size]
            c[:] = 0.0
            add_cells(basis, kind * width * width, width, table, c)
            for b in range(size):
                if c[b] != 0.0:
                    add_row_to(edges.rows, first + e, c[b], at + b, size, sums)


@compiled
def push_sums(sums, at, amount, delta):
    if delta.count[0] == DENSE:
        add_scaled(sums, amount, delta.value[at : at + sums.size])
        return
    for j in range(sums.size):
        if sums[j] != 0.0:
            push(delta, at + j, amount * sums[j])


@compiled
def push_states(nodes, node, change, amount, coefficient, delta):
    """delta += amount * features of a node whose states change by ``change``."""
    kind = nodes.type[node]
    basis = nodes.basis
    c = coefficient[: basis.size[kind]]
    c[:] = 0.0
    cell = kind * nodes.width
    for k in range(change.size):
        if change[k] != 0.0:
            for position in range(basis.pointer[cell + k], basis.pointer[cell + k + 1]):
                c[basis.number[position]] += change[k] * basis.value[position]
    for b in range(c.size):
        if c[b] != 0.0:
            at = nodes.at[kind] + b * nodes.basis_stride[kind]
            push_row(
                nodes.rows, nodes.row[node], amount * c[b], at, nodes.feature_stride[kind], delta
            )
            if nodes.bias_at[kind] >= 0:
                push(delta, nodes.bias_at[kind] + b, amount * c[b])


@compiled
def push_nodes(nodes, first, count, change, amount, coefficient, delta):
    for t in range(count):
        states = change[t * nodes.width : (t + 1) * nodes.width]
        push_states(nodes, first + t, states, amount, coefficient, delta)


# --- one labelling against the truth -----------------------------------------------------------


@compiled
def margin_of_states(nodes, edges, first, start, n, m, truth, w, work, y):
    """<w, phi(truth) - phi(y)>; scores are computed where they are needed, once per visit."""
    visit = work.visit[0]
    theta, pair = work.theta, work.pair
    total = 0.0
    for t in range(n):
        if y[t] != truth[t]:
            if work.known_node[t] != visit:
                work.known_node[t] = visit
                score_nodes(nodes, w, first + t, 1, work.coefficient, theta[t : t + 1])
            total += theta[t, truth[t]] - theta[t, y[t]]
    for e in range(m):
        u, v = edges.ends[start + e, 0], edges.ends[start + e, 1]
        if y[u] != truth[u] or y[v] != truth[v]:
            if work.known_edge[e] != visit:
                work.known_edge[e] = visit
                score_edges(edges, w, start + e, 1, work.coefficient, pair[e : e + 1])
            total += pair[e, truth[u], truth[v]] - pair[e, y[u], y[v]]
    return total


@compiled
def margin_of_image(nodes, first, n, truth, edge_weights, w, work, image):
    """The same for marginals; work.truth_sums holds the truth's edge sums."""
    visit, width = work.visit[0], nodes.width
    theta = work.theta
    total = 0.0
    for t in range(n):
        at = t * width
        if image[at + truth[t]] != 1.0:
            if work.known_node[t] != visit:
                work.known_node[t] = visit
                score_nodes(nodes, w, first + t, 1, work.coefficient, theta[t : t + 1])
            total += theta[t, truth[t]] - dot(image[at : at + width], theta[t])
    return total + dot(work.truth_sums, edge_weights) - dot(image[n * width :], edge_weights)


@compiled
def add_difference(edges, start, n, m, truth, y, amount, image):
    """image += amount * (image of y - image of the truth), where they differ."""
    width = edges.width
    sums = image[n * width :]
    for t in range(n):
        if y[t] != truth[t]:
            image[t * width + y[t]] += amount
            image[t * width + truth[t]] -= amount
    for e in range(start, start + m):
        u, v = edges.ends[e, 0], edges.ends[e, 1]
        if y[u] != truth[u] or y[v] != truth[v]:
            add_edge(edges, e, truth[u], truth[v], -amount, sums)
            add_edge(edges, e, y[u], y[v], amount, sums)


@compiled
def fill_truth(edges, pointer, truth, mu):
    """The images of all truths, one block after the other."""
    at = 0
    for i in range(pointer.size - 1):
        n = pointer[i + 1] - pointer[i]
        size = n * edges.width + edges.n_weights
        add_label_image(
            edges, edges.start[i], n, edges.stop[i] - edges.start[i], truth[pointer[i] :], 1.0,
            mu[at : at + size],
        )  # fmt: skip
        at += size
