"""One block at a time: its reparametrised scores, and what a change of it does to the weights.

    node   theta_hat(k)    = theta(k) + loss(k) + sum of the messages of its factors
    edge   theta_hat(k, l) = theta(k, l) - message to u (k) - message to v (l)

A change d of a node's or an edge's marginals moves the weights by its features, which are the
numbers c_b = sum_k U[b, k] d_k times the block's feature row.
"""

from taut._compile import compiled
from taut.arrays.accumulator import add_scaled
from taut.structures.rows import add_row_to


@compiled(inline=True)
def add_node_loss(nodes, loss, t, scale, out):
    add_scaled(
        loss.cost[nodes.type[t], loss.truth[t], : out.size], scale * loss.node_weight[t], out
    )


@compiled(inline=True)
def add_messages_to_node(factors, delta, t, out):
    for position in range(factors.sender_start[t], factors.sender_start[t + 1]):
        at = factors.sender_at[position]
        for k in range(out.size):
            out[k] += delta[at + k]


@compiled(inline=True)
def take_messages_of_edge(messages, n_u, n_v, out):
    """``messages`` begin with those of the edge: to u, then to v."""
    for k in range(n_u):
        for other in range(n_v):
            out[k * n_v + other] -= messages[k] + messages[n_u + other]


@compiled(inline=True)
def combine_node(nodes, t, d, c):
    """c[b] = sum_k U[b, k] d[k]; returns how many b there are."""
    kind = nodes.type[t]
    size = nodes.basis.size[kind]
    _combine_cells(nodes.basis, kind * nodes.width, d, c, size, True)
    return size


@compiled(inline=True)
def combine_edge(edges, number, n_v, d, c):
    kind = edges.type[number]
    size = edges.basis.size[kind]
    cell = kind * edges.width * edges.width
    for start in range(0, d.size, n_v):
        _combine_cells(edges.basis, cell, d[start : start + n_v], c, size, start == 0)
        cell += edges.width
    return size


@compiled(inline=True)
def combine_two_cells(edges, number, k, other, k_from, other_from, c):
    """The same for a change of +1 in cell (k, other) and -1 in cell (k_from, other_from)."""
    kind, basis, width = edges.type[number], edges.basis, edges.width
    size = basis.size[kind]
    for b in range(size):
        c[b] = 0.0
    start = kind * width * width
    cell, cell_from = start + k * width + other, start + k_from * width + other_from
    for position in range(basis.pointer[cell], basis.pointer[cell + 1]):
        c[basis.number[position]] += basis.value[position]
    for position in range(basis.pointer[cell_from], basis.pointer[cell_from + 1]):
        c[basis.number[position]] -= basis.value[position]
    return size


@compiled(inline=True)
def _combine_cells(basis, cell, d, c, size, first):
    if first:
        for b in range(size):
            c[b] = 0.0
    for k in range(d.size):
        if d[k] != 0.0:
            for position in range(basis.pointer[cell + k], basis.pointer[cell + k + 1]):
                c[basis.number[position]] += basis.value[position] * d[k]


@compiled(inline=True)
def push_node(nodes, t, c, amount, v):
    """v += amount * features of the combination c."""
    kind, row = nodes.type[t], nodes.row[t]
    at, bias = nodes.at[kind], nodes.bias_at[kind]
    for b in range(c.size):
        if c[b] != 0.0:
            start = at + b * nodes.basis_stride[kind]
            add_row_to(nodes.rows, row, amount * c[b], start, nodes.feature_stride[kind], v)
            if bias >= 0:
                v[bias + b] += amount * c[b]


@compiled(inline=True)
def push_edge(edges, number, c, amount, v):
    at = edges.weights_at + edges.at[edges.type[number]]
    for b in range(c.size):
        if c[b] != 0.0:
            if edges.rows.n_features == 0:
                v[at + b] += amount * c[b]
            else:
                add_row_to(edges.rows, number, amount * c[b], at + b, c.size, v)


@compiled(inline=True)
def _clip(entry, v, lower, upper, w):
    w[entry] = min(max(v[entry], lower[entry]), upper[entry])


@compiled
def clip_row(rows, r, at, stride, v, lower, upper, w):
    if rows.indptr.size > 0:
        for position in range(rows.indptr[r], rows.indptr[r + 1]):
            _clip(at + rows.indices[position] * stride, v, lower, upper, w)
    else:
        for f in range(rows.dense.shape[1]):
            _clip(at + f * stride, v, lower, upper, w)


@compiled
def clip_node(nodes, t, size, v, lower, upper, w):
    """w = clip(v) where ``push_node`` may have changed v."""
    kind, row = nodes.type[t], nodes.row[t]
    for b in range(size):
        start = nodes.at[kind] + b * nodes.basis_stride[kind]
        clip_row(nodes.rows, row, start, nodes.feature_stride[kind], v, lower, upper, w)
        if nodes.bias_at[kind] >= 0:
            _clip(nodes.bias_at[kind] + b, v, lower, upper, w)


@compiled
def clip_edge(edges, number, size, v, lower, upper, w):
    at = edges.weights_at + edges.at[edges.type[number]]
    for b in range(size):
        if edges.rows.n_features == 0:
            _clip(at + b, v, lower, upper, w)
        else:
            clip_row(edges.rows, number, at + b, size, v, lower, upper, w)
