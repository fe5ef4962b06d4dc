"""The steps by name that the papers' listings are written in: one block, all others held.

The dual, per example and divided by C s_i, is a concave quadratic in each block's marginals mu with
gradient g = theta_hat - 2 gamma mu. A listing (``soft_bcfw``, ``idal``) says in which direction d a
block moves. The rest is here, for nodes and for edges:

    reparametrise   theta_hat: scores and losses, moved between nodes and edges by the messages
    curvature       C s |Phi d|^2 + |B d|^2 / rho + 2 gamma |d|^2
    exact_step      <g, d> / curvature, cut to stay in the simplex
    move            mu += step d, and w and delta follow

Scratch memory has theta_hat or g, d, the coefficients c of Phi d, and an edge's marginals B d.
"""

import numpy as np

from taut._compile import compiled
from taut.graph_training.factor_state import PROGRESS, RHO, STEPS
from taut.inference.local_polytope import marginals_of_table
from taut.solvers.sampling import Order, draw, set_gap
from taut.structures.graphs.blocks import (
    add_messages_to_node,
    add_node_loss,
    clip_edge,
    clip_node,
    combine_edge,
    combine_node,
    push_edge,
    push_node,
    take_messages_of_edge,
)
from taut.structures.graphs.kernels import score_edge, score_node

PERMUTED, GAP = int(Order.PERMUTED), int(Order.GAP)  # as kernels know them

# --- which blocks come next ----------------------------------------------------------------------


@compiled(inline=True)
def draw_blocks(view):
    """Where the next nodes, edges, count factors and tables begin and end.

    They are all blocks of one example, or a single block: the other ranges are empty then.
    """
    graph, factors, sampler = view.graph, view.factors, view.state.sampler
    tables = factors.tables
    i = draw(sampler.kind, sampler.permutation, sampler.position, sampler.tree, sampler.random)
    if sampler.kind[0] <= PERMUTED:
        t, t_end = graph.pointer[i], graph.pointer[i + 1]
        e, e_end = factors.edge_start[i], factors.edge_start[i + 1]
        f, f_end = factors.count_start[i], factors.count_start[i + 1]
        return t, t_end, e, e_end, f, f_end, tables.start[i], tables.start[i + 1]
    n_nodes, n_edges = factors.node_at.size - 1, factors.edge_at.size - 1
    if i < n_nodes:
        return i, i + 1, 0, 0, 0, 0, 0, 0
    if i < n_nodes + n_edges:
        return 0, 0, i - n_nodes, i - n_nodes + 1, 0, 0, 0, 0
    first = factors.owner.size - tables.norm.size
    if i < first:
        return 0, 0, 0, 0, i - n_nodes - n_edges, i - n_nodes - n_edges + 1, 0, 0
    return 0, 0, 0, 0, 0, 0, i - first, i - first + 1


@compiled(inline=True)
def count_visit(view, block, gap):
    """One more step; the gap of a block, weighted, is what gap sampling draws it by."""
    sampler = view.state.sampler
    if sampler.kind[0] == GAP:
        set_gap(sampler.tree, block, gap)
    view.state.count[STEPS] += 1


# --- all blocks ----------------------------------------------------------------------------------


@compiled(inline=True)
def squares(values):
    total = 0.0
    for j in range(values.size):
        total += values[j] * values[j]
    return total


@compiled(inline=True)
def best_and_worst(theta, mu, temperature):
    """States with the largest entry of the gradient and, of those with mu > 0, the smallest.

    ``theta`` becomes the gradient g. Returns them and the Frank-Wolfe gap max g - <g, mu>.
    """
    best, worst = 0, -1
    top, bottom, mean = -np.inf, np.inf, 0.0
    for k in range(mu.size):
        gradient = theta[k] - 2.0 * temperature * mu[k]
        theta[k] = gradient
        mean += gradient * mu[k]
        if gradient > top:
            best, top = k, gradient
        if mu[k] > 0.0 and gradient < bottom:
            worst, bottom = k, gradient
    return best, worst, top - mean


@compiled(inline=True)
def gain_along(theta, d):
    """<g, d>."""
    gain = 0.0
    for k in range(d.size):
        gain += theta[k] * d[k]
    return gain


@compiled(inline=True)
def point_toward(best, mu, d):
    """d = e_best - mu."""
    for k in range(mu.size):
        d[k] = -mu[k]
    d[best] += 1.0


@compiled(inline=True)
def exact_step(gain, curvature, most):
    """The best step along d, with <g, d> its gain; at most so much."""
    if gain <= 0.0:
        return 0.0
    # Equal features and a different loss: the dual is linear along d.
    if curvature * most <= gain:
        return most
    return gain / curvature


@compiled(inline=True)
def note_progress(view, weight, step, gain, curvature):
    """What the step raised the penalised dual by, for the steps of multipliers."""
    view.state.total[PROGRESS] += weight * step * (gain - 0.5 * step * curvature)


# --- nodes ---------------------------------------------------------------------------------------


@compiled(inline=True)
def reparametrise_node(view, t, theta):
    """theta_hat(k) = theta(k) + loss(k) + the messages of its factors."""
    graph, state, i = view.graph, view.state, view.factors.owner[t]
    score_node(graph.nodes, state.w, t, state.scratch.c, theta)
    add_node_loss(graph.nodes, graph.loss, t, graph.loss.scale[i], theta)
    add_messages_to_node(view.factors, state.delta, t, theta)


@compiled(inline=True)
def node_constants(view, t):
    """C s |x|^2 and N / rho, of which a node's curvature is made; N factors have a say in it."""
    factors, state = view.factors, view.state
    scale = view.rules.C * view.importance[factors.owner[t]]
    n_factors = factors.sender_start[t + 1] - factors.sender_start[t]
    per_rho = 1.0 / state.total[RHO]
    return scale * factors.row_norm[view.graph.nodes.row[t]], n_factors * per_rho


@compiled(inline=True)
def node_curvature(view, t, d):
    """Scratch memory gets the coefficients of Phi d."""
    norm, penalty = node_constants(view, t)
    c = view.state.scratch.c
    size = combine_node(view.graph.nodes, t, d, c)
    curvature = norm * squares(c[:size])
    return curvature + (penalty + 2.0 * view.rules.temperature) * squares(d)


@compiled(inline=True)
def move_node(view, t, d, step):
    """mu += step d, w = Psi mu, delta = nu + B mu / rho; ``node_curvature`` was called before."""
    nodes, factors, state = view.graph.nodes, view.factors, view.state
    mu = state.node[factors.node_at[t] : factors.node_at[t + 1]]
    scale, per_rho = view.rules.C * view.importance[factors.owner[t]], 1.0 / state.total[RHO]
    size = nodes.basis.size[nodes.type[t]]
    push_node(nodes, t, state.scratch.c[:size], -scale * step, state.v)
    if state.lower.size > 0:
        clip_node(nodes, t, size, state.v, state.lower, state.upper, state.w)
    for k in range(d.size):
        mu[k] += step * d[k]
        d[k] *= step * per_rho
    for position in range(factors.sender_start[t], factors.sender_start[t + 1]):
        message = factors.sender_at[position]
        for k in range(d.size):
            state.delta[message + k] -= d[k]


# --- edges ---------------------------------------------------------------------------------------


@compiled(inline=True)
def edge_shape(view, e):
    """States of both ends."""
    factors = view.factors
    u, v = factors.ends[e, 0], factors.ends[e, 1]
    n_u = factors.node_at[u + 1] - factors.node_at[u]
    return n_u, factors.node_at[v + 1] - factors.node_at[v]


@compiled(inline=True)
def edge_weight(view, e):
    return view.importance[view.factors.owner[view.factors.node_at.size - 1 + e]]


@compiled(inline=True)
def reparametrise_edge(view, e, theta):
    """theta_hat(k, l) = theta(k, l) - the messages to both ends."""
    factors, state = view.factors, view.state
    n_u, n_v = edge_shape(view, e)
    score_edge(view.graph.edges, state.w, factors.number[e], n_v, state.scratch.c, theta)
    take_messages_of_edge(state.delta[factors.message_at[e] :], n_u, n_v, theta)


@compiled(inline=True)
def edge_constant(view, e):
    """C s |x|^2, of which an edge's curvature is made."""
    scale = view.rules.C * edge_weight(view, e)
    return scale * view.factors.edge_norm[view.factors.number[e]]


@compiled(inline=True)
def edge_curvature(view, e, d):
    """Scratch memory gets the coefficients of Phi d, and B d: the marginals of the change."""
    scratch, number = view.state.scratch, view.factors.number[e]
    n_u, n_v = edge_shape(view, e)
    size = combine_edge(view.graph.edges, number, n_v, d, scratch.c)
    to_u, to_v = scratch.first[:n_u], scratch.second[:n_v]
    marginals_of_table(d, to_u, to_v)
    per_rho = 1.0 / view.state.total[RHO]
    curvature = edge_constant(view, e) * squares(scratch.c[:size])
    curvature += (squares(to_u) + squares(to_v)) * per_rho
    return curvature + 2.0 * view.rules.temperature * squares(d)


@compiled(inline=True)
def move_weights_of_edge(view, e, step):
    """v += step Psi d, and w = v within its bounds."""
    edges, state, number = view.graph.edges, view.state, view.factors.number[e]
    size = edges.basis.size[edges.type[number]]
    scale = view.rules.C * edge_weight(view, e)
    push_edge(edges, number, state.scratch.c[:size], -scale * step, state.v)
    if state.lower.size > 0:
        clip_edge(edges, number, size, state.v, state.lower, state.upper, state.w)


@compiled(inline=True)
def move_edge_table(view, e, d, step):
    """mu += step d, w = Psi mu, delta = nu + B mu / rho; ``edge_curvature`` was called before."""
    factors, state = view.factors, view.state
    mu = state.edge[factors.edge_at[e] : factors.edge_at[e + 1]]
    messages = state.delta[factors.message_at[e] : factors.message_at[e + 1]]
    per_rho = 1.0 / state.total[RHO]
    n_u, n_v = edge_shape(view, e)
    to_u, to_v = state.scratch.first[:n_u], state.scratch.second[:n_v]
    move_weights_of_edge(view, e, step)
    for k in range(d.size):
        mu[k] += step * d[k]
    for k in range(n_u):
        messages[k] += step * per_rho * to_u[k]
    for other in range(n_v):
        messages[n_u + other] += step * per_rho * to_v[other]
