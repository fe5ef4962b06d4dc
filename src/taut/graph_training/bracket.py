"""What a point without inference proves.

The penalised values are not bounds of the problem with hard constraints. These are:

    upper   g(w, delta) = lambda/2 |w|^2 + 1/n sum_i s_i [sum over blocks of phi(theta_hat)]
    lower   f(mu~) = 1/n sum_i s_i [<loss, mu~_i> + gamma H(mu~_i)] - lambda/2 |w(mu~)|^2

for any w, delta and any consistent mu~ (see ``lower_bound``); phi(v) = max over the simplex of
<v, p> + gamma (1 - |p|^2), which is the largest entry without temperature.

The *soft gap* is what the steps reduce: the sum over blocks of phi(theta_hat) - <theta_hat, mu> -
gamma (1 - |mu|^2), exactly the penalised primal minus the penalised dual at w(mu), delta(mu).
"""

from typing import NamedTuple

import numpy as np

from taut._compile import both_modes, compiled
from taut.graph_training.factor_state import View
from taut.graph_training.lower_bound import Witness, lower_bound
from taut.graph_training.table_steps import first_table, reparametrise_table
from taut.inference.counts import best_count
from taut.inference.local_polytope import simplex_threshold
from taut.structures.graphs.blocks import (
    add_messages_to_node,
    add_node_loss,
    take_messages_of_edge,
)
from taut.structures.graphs.kernels import score_edge, score_node
from taut.structures.graphs.table_factors import score_table


class Bracket(NamedTuple):
    upper: float
    lower: float
    soft_gap: float
    violation: float  # largest entry of |B mu|
    squared_violation: float  # |B mu|^2
    block_gaps: np.ndarray  # Frank-Wolfe gaps, weighted


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
    """<theta, mu> + gamma (1 - |mu|^2); and max g - <g, mu> with g = theta - 2 gamma mu."""
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
    measure_tables(view, upper, soft, gaps)


@compiled
def measure_tables(view, upper, soft, gaps):
    """The part of ``measure`` that is about tables."""
    factors, state, temperature = view.factors, view.state, view.rules.temperature
    tables, first = factors.tables, first_table(factors)
    for f in range(tables.norm.size):
        i = factors.owner[first + f]
        at, end = tables.at[f], tables.at[f + 1]
        theta = state.scratch.theta[: end - at]
        true = tables.true_at[f] - at
        score_table(view.graph.tables, state.w, f, theta)
        upper[i] -= theta[true]
        reparametrise_table(view, f, theta)
        best = soft_max(theta, temperature, state.scratch.d)
        value, gap = gap_parts(theta, state.edge[at:end], temperature)
        upper[i] += best
        soft[i] += best - value
        gaps[first + f] = view.importance[i] * gap


def bracket(view: View, witness: Witness) -> Bracket:
    """Upper and lower bound of the problem with hard constraints; soft gap and violation."""
    state, importance = view.state, view.importance
    n = len(importance)
    per_example, soft, gaps = np.zeros(n), np.zeros(n), np.zeros(len(view.factors.owner))
    measure(view, per_example, soft, gaps)
    upper = 0.5 * float(state.w @ state.w) / (view.rules.C * n)
    upper += float(importance @ per_example) / n
    lower = lower_bound(view, witness)
    missed = witness.violation
    violation, square = float(np.abs(missed).max(initial=0.0)), float(missed @ missed)
    return Bracket(upper, lower, float(importance @ soft) / n, violation, square, gaps)
