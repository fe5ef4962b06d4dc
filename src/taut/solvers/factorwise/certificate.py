"""What a point without inference proves.

The penalised values are not bounds of the problem with hard constraints. These are:

    upper   g(w, delta) = lambda/2 |w|^2 + 1/n sum_i s_i [sum over blocks of phi(theta_hat)]
    lower   f(mu~) = 1/n sum_i s_i [<loss, mu~_i> + gamma H(mu~_i)] - lambda/2 |w(mu~)|^2

for any w, delta and any consistent mu~; phi(v) = max over the simplex of <v, p> + gamma (1 - |p|^2)
(the largest entry, without temperature). Marginals are *repaired*: a node gets the mean of its own
marginals and those that its factors have of it, count factors are projected on, tables scaled to
fit.

The *soft gap* is what the steps reduce: the sum over blocks of phi(theta_hat) - <theta_hat, mu> -
gamma (1 - |mu|^2), exactly the penalised primal minus the penalised dual at w(mu), delta(mu).
"""

from typing import NamedTuple

import numpy as np

from taut._compile import both_modes, compiled
from taut.inference.counts import best_count, project_count
from taut.inference.local_polytope import make_consistent, simplex_threshold
from taut.solvers.factorwise.state import View, add_features, view_of, write_violation
from taut.structures.graphs.blocks import (
    add_messages_to_node,
    add_node_loss,
    score_edge,
    score_node,
    take_messages_of_edge,
)
from taut.structures.graphs.factors import Factors


class Bracket(NamedTuple):
    upper: float
    lower: float
    soft_gap: float
    violation: float  # largest entry of |B mu|
    block_gaps: np.ndarray  # Frank-Wolfe gaps, weighted


class Repaired(NamedTuple):
    """A consistent point, and scratch memory to find it."""

    node: np.ndarray
    edge: np.ndarray
    violation: np.ndarray  # laid out like the messages
    features: np.ndarray  # (dim,) C sum_i s_i Psi_i (truth_i - mu~_i)


def new_repaired(factors: Factors, dim: int) -> Repaired:
    return Repaired(
        np.zeros(factors.node_at[-1]),
        np.zeros(factors.edge_at[-1]),
        np.zeros(factors.message_at[-1]),
        np.zeros(dim),
    )


@both_modes
def soft_max(theta, temperature, scratch):
    """phi(theta): the largest entry, or with an entropy the value at the projection."""
    top = theta[0]
    for k in range(1, theta.size):
        top = max(top, theta[k])
    if temperature == 0.0:
        return top
    target = scratch[: theta.size]
    for k in range(theta.size):
        target[k] = (theta[k] - top) / (2.0 * temperature)
    threshold = simplex_threshold(target, -1.0)
    value = top + temperature
    for k in range(theta.size):
        p = max(target[k] - threshold, 0.0)
        value += p * (theta[k] - top) - temperature * p * p
    return value


@both_modes
def gap_parts(theta, mu, temperature):
    """<theta, mu> + gamma (1 - |mu|^2), and the gap max(g) - <g, mu> with g = theta - 2 gamma mu.

    Without the penalised truth these are what ``phi(theta)`` is compared with.
    """
    mean, square = 0.0, 0.0
    top = -np.inf
    for k in range(mu.size):
        mean += theta[k] * mu[k]
        square += mu[k] * mu[k]
        top = max(top, theta[k] - 2.0 * temperature * mu[k])
    value = mean + (temperature * (1.0 - square) if temperature > 0.0 else 0.0)
    return value, top - (mean - 2.0 * temperature * square)


@compiled
def measure(view, upper, soft, gaps):
    """Per example the value of all blocks beyond the truth's and the soft gap; gaps per block."""
    view = view_of(view)
    graph, factors, importance, state = view.graph, view.factors, view.importance, view.state
    temperature = view.rules.temperature
    nodes, edges, scratch, truth = graph.nodes, graph.edges, state.scratch, graph.loss.truth
    n_nodes, n_edges = factors.node_at.size - 1, factors.edge_at.size - 1
    upper[:], soft[:] = 0.0, 0.0
    for t in range(n_nodes):
        i = factors.owner[t]
        at, end = factors.node_at[t], factors.node_at[t + 1]
        theta = scratch.theta[: end - at]
        score_node(nodes, state.w, t, scratch.c, theta)
        upper[i] -= theta[truth[t]]
        add_node_loss(nodes, graph.loss, t, graph.loss.scale[i], theta)
        add_messages_to_node(factors, state.delta, t, theta)
        best = soft_max(theta, temperature, scratch.d)
        value, gap = gap_parts(theta, state.node[at:end], temperature)
        upper[i] += best
        soft[i] += best - value
        gaps[t] = importance[i] * gap
    for e in range(n_edges):
        i = factors.owner[n_nodes + e]
        u, v = factors.ends[e, 0], factors.ends[e, 1]
        n_u = factors.node_at[u + 1] - factors.node_at[u]
        n_v = factors.node_at[v + 1] - factors.node_at[v]
        at, end = factors.edge_at[e], factors.edge_at[e + 1]
        theta = scratch.theta[: end - at]
        score_edge(edges, state.w, factors.number[e], n_v, scratch.c, theta)
        upper[i] -= theta[truth[u] * n_v + truth[v]]
        take_messages_of_edge(state.delta[factors.message_at[e] :], n_u, n_v, theta)
        best = soft_max(theta, temperature, scratch.d)
        value, gap = gap_parts(theta, state.edge[at:end], temperature)
        upper[i] += best
        soft[i] += best - value
        gaps[n_nodes + e] = importance[i] * gap
    for f in range(factors.count_at.size - 1):
        i = factors.owner[n_nodes + n_edges + f]
        messages = state.delta[factors.message_at[n_edges + f] :]
        at, end = factors.count_at[f], factors.count_at[f + 1]
        gain = scratch.theta[: end - at]
        mean, offset = 0.0, 0.0
        for j in range(gain.size):
            gain[j] = messages[2 * j] - messages[2 * j + 1]
            offset -= messages[2 * j]
            mean += gain[j] * state.chosen[at + j]
        best = best_count(gain, factors.low[f], factors.high[f], scratch.sorted, scratch.d)
        upper[i] += best + offset
        soft[i] += best - mean
        gaps[n_nodes + n_edges + f] = importance[i] * (best - mean)


@compiled
def repair(view, violation, node, edge):
    """A point of the local polytope near the marginals, given their violation B mu."""
    view = view_of(view)
    factors, state, scratch = view.factors, view.state, view.state.scratch
    for t in range(factors.node_at.size - 1):
        at, end = factors.node_at[t], factors.node_at[t + 1]
        degree = factors.sender_start[t + 1] - factors.sender_start[t]
        # The violation at each sender is what it believes of the node minus what the node does.
        for k in range(at, end):
            node[k] = 0.0
        for position in range(factors.sender_start[t], factors.sender_start[t + 1]):
            message = factors.sender_at[position]
            for k in range(end - at):
                node[at + k] += violation[message + k]
        total = 0.0
        for k in range(at, end):
            # Rounding may leave a tiny negative number.
            node[k] = max(state.node[k] + node[k] / (degree + 1), 0.0)
            total += node[k]
        for k in range(at, end):
            node[k] /= total
    for f in range(factors.count_at.size - 1):
        at, end = factors.count_at[f], factors.count_at[f + 1]
        target, p = scratch.first[: end - at], scratch.second[: end - at]
        for j in range(end - at):
            target[j] = node[factors.node_at[factors.member[at + j]] + 1]
        project_count(target, factors.low[f], factors.high[f], p)
        for j in range(end - at):
            t = factors.node_at[factors.member[at + j]]
            node[t], node[t + 1] = 1.0 - p[j], p[j]
    for e in range(factors.edge_at.size - 1):
        u, v = factors.ends[e, 0], factors.ends[e, 1]
        of_u = node[factors.node_at[u] : factors.node_at[u + 1]]
        of_v = node[factors.node_at[v] : factors.node_at[v + 1]]
        table = edge[factors.edge_at[e] : factors.edge_at[e + 1]]
        for k in range(table.size):
            table[k] = state.edge[factors.edge_at[e] + k]
        make_consistent(table, of_u, of_v, scratch.first[: of_u.size], scratch.second[: of_v.size])


@compiled
def gains_of(view, node, edge, out):
    """out[i] = <loss, mu_i> + gamma H(mu_i)."""
    view = view_of(view)
    graph, factors, temperature = view.graph, view.factors, view.rules.temperature
    loss, types = graph.loss, graph.nodes.type
    n_nodes = factors.node_at.size - 1
    out[:] = 0.0
    for t in range(n_nodes):
        i = factors.owner[t]
        cost = loss.cost[types[t], loss.truth[t]]
        scale = loss.scale[i] * loss.node_weight[t]
        square = 0.0
        for k in range(factors.node_at[t], factors.node_at[t + 1]):
            out[i] += scale * cost[k - factors.node_at[t]] * node[k]
            square += node[k] * node[k]
        out[i] += temperature * (1.0 - square)
    if temperature > 0.0:
        for e in range(factors.edge_at.size - 1):
            square = 0.0
            for k in range(factors.edge_at[e], factors.edge_at[e + 1]):
                square += edge[k] * edge[k]
            out[factors.owner[n_nodes + e]] += temperature * (1.0 - square)


def bracket(view: View, frozen: np.ndarray, repaired: Repaired) -> Bracket:
    """Upper and lower bound of the problem with hard constraints; soft gap and violation."""
    state, importance = view.state, view.importance
    n = len(importance)
    lam = 1.0 / (view.rules.C * n)
    per_example, soft, gaps = np.zeros(n), np.zeros(n), np.zeros(len(view.factors.owner))
    measure(frozen, per_example, soft, gaps)
    upper = 0.5 * lam * (state.w @ state.w) + float(importance @ per_example) / n
    write_violation(frozen, repaired.violation)
    repair(frozen, repaired.violation, repaired.node, repaired.edge)
    gains_of(frozen, repaired.node, repaired.edge, per_example)
    v = repaired.features
    v[:] = 0.0
    add_features(frozen, repaired.node, repaired.edge, v)
    w = np.clip(v, state.lower, state.upper) if state.lower.size else v
    lower = float(importance @ per_example) / n - lam * (v @ w - 0.5 * (w @ w))
    violation = float(np.abs(repaired.violation).max(initial=0.0))
    return Bracket(upper, lower, float(importance @ soft) / n, violation, gaps)
