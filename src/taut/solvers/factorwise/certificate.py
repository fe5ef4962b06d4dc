"""What a point without inference proves.

The penalised values are not bounds of the problem with hard constraints. These are:

    upper   g(w, delta) = lambda/2 |w|^2 + 1/n sum_i s_i [sum over blocks of phi(theta_hat)]
    lower   f(mu~) = 1/n sum_i s_i [<loss, mu~_i> + gamma H(mu~_i)] - lambda/2 |w(mu~)|^2

for any w, delta and any consistent mu~; phi(v) = max over the simplex of <v, p> + gamma (1 - |p|^2)
(the largest entry, without temperature). Marginals are *repaired*: a node gets the mean of its own
marginals and those that its factors have of it, count factors are projected on, tables scaled to
fit. The lower bound is that of the best point between there and the best consistent one so far.

The *soft gap* is what the steps reduce: the sum over blocks of phi(theta_hat) - <theta_hat, mu> -
gamma (1 - |mu|^2), exactly the penalised primal minus the penalised dual at w(mu), delta(mu).
"""

from typing import NamedTuple

import numpy as np

from taut._compile import both_modes, compiled
from taut.inference.counts import best_count, project_count
from taut.inference.local_polytope import make_consistent, simplex_threshold
from taut.solvers.factorwise.state import (
    FactorState,
    View,
    add_features,
    view_of,
    write_violation,
)
from taut.structures.graphs.blocks import (
    add_messages_to_node,
    add_node_loss,
    score_edge,
    score_node,
    take_messages_of_edge,
)


class Bracket(NamedTuple):
    upper: float
    lower: float
    soft_gap: float
    violation: float  # largest entry of |B mu|
    block_gaps: np.ndarray  # Frank-Wolfe gaps, weighted


class Consistent(NamedTuple):
    """A consistent point, and what the lower bound needs of it."""

    node: np.ndarray
    edge: np.ndarray
    v: np.ndarray  # C sum_i s_i Psi_i (truth_i - mu_i)
    loss: np.ndarray  # (1,) sum_i s_i <loss, mu_i>


class Witness(NamedTuple):
    """The best consistent point so far, and room for the next one."""

    best: Consistent
    repaired: Consistent
    violation: np.ndarray  # laid out like the messages


def new_witness(state: FactorState, dim: int) -> Witness:
    """Begins at the truth, where the state must be."""
    points = [
        Consistent(state.node.copy(), state.edge.copy(), np.zeros(dim), np.zeros(1))
        for _ in range(2)
    ]
    return Witness(points[0], points[1], np.zeros(len(state.delta)))


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
def loss_of(view, node):
    """sum_i s_i <loss, mu_i>."""
    view = view_of(view)
    loss, factors, types = view.graph.loss, view.factors, view.graph.nodes.type
    total = 0.0
    for t in range(factors.node_at.size - 1):
        i = factors.owner[t]
        cost = loss.cost[types[t], loss.truth[t]]
        value = 0.0
        for k in range(factors.node_at[t], factors.node_at[t + 1]):
            value += cost[k - factors.node_at[t]] * node[k]
        total += view.importance[i] * loss.scale[i] * loss.node_weight[t] * value
    return total


@compiled
def disagreement(view, node, edge, other_node, other_edge):
    """sum_i s_i over nodes and edges of 1 - <mu, other mu>; of a point with itself, its entropy."""
    view = view_of(view)
    factors = view.factors
    n_nodes = factors.node_at.size - 1
    total = 0.0
    for t in range(n_nodes):
        value = 1.0
        for k in range(factors.node_at[t], factors.node_at[t + 1]):
            value -= node[k] * other_node[k]
        total += view.importance[factors.owner[t]] * value
    for e in range(factors.edge_at.size - 1):
        value = 1.0
        for k in range(factors.edge_at[e], factors.edge_at[e + 1]):
            value -= edge[k] * other_edge[k]
        total += view.importance[factors.owner[n_nodes + e]] * value
    return total


def lower_bound(view: View, frozen: np.ndarray, witness: Witness) -> float:
    """The dual value at the best point between the witness and the repaired marginals.

    Both are consistent, so everything between them is; along the way the dual is concave, and its
    slope is found zero by false position (without bounds it is a line, and the first secant exact).
    The witness moves there: the bound never falls.
    """
    write_violation(frozen, witness.violation)
    best, new = witness.best, witness.repaired
    repair(frozen, witness.violation, new.node, new.edge)
    new.v[:] = 0.0
    add_features(frozen, new.node, new.edge, new.v)
    new.loss[0] = loss_of(frozen, new.node)
    entropies = [0.0, 0.0, 0.0]
    if view.rules.temperature > 0:
        pairs = ((best, best), (best, new), (new, new))
        entropies = [disagreement(frozen, a.node, a.edge, b.node, b.edge) for a, b in pairs]
    line = _Line(view, best, new, entropies)
    t = line.best_place()
    for old, fresh in zip(best, new, strict=True):
        old += t * (fresh - old)
    return line.value(t)


class _Line:
    """The dual between two consistent points, in sum form until ``value`` divides by n."""

    def __init__(self, view: View, start: Consistent, end: Consistent, entropies: list[float]):
        self.C, self.temperature = view.rules.C, view.rules.temperature
        self.n, self.lower, self.upper = len(view.importance), view.state.lower, view.state.upper
        self.v, self.change = start.v.copy(), end.v - start.v
        self.loss, self.gain = start.loss[0], end.loss[0] - start.loss[0]
        self.entropies = entropies

    def _weights(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        v = self.v + t * self.change
        return v, np.clip(v, self.lower, self.upper) if self.lower.size else v

    def value(self, t: float) -> float:
        v, w = self._weights(t)
        first, mixed, last = self.entropies
        entropy = (1 - t) ** 2 * first + 2 * t * (1 - t) * mixed + t * t * last
        total = self.loss + t * self.gain + self.temperature * entropy
        return float(total - (v @ w - 0.5 * (w @ w)) / self.C) / self.n

    def slope(self, t: float) -> float:
        first, mixed, last = self.entropies
        entropy = 2.0 * ((t - 1) * first + (1 - 2 * t) * mixed + t * last)
        w = self._weights(t)[1]
        return float(self.gain + self.temperature * entropy - (w @ self.change) / self.C)

    def best_place(self) -> float:
        low, high = 0.0, 1.0
        rising, falling = self.slope(low), self.slope(high)
        if rising <= 0.0:
            return low
        if falling >= 0.0:
            return high
        for _ in range(40 if self.lower.size else 1):
            middle = low + (high - low) * rising / (rising - falling)
            slope = self.slope(middle)
            if slope > 0.0:
                low, rising = middle, slope
            else:
                high, falling = middle, slope
        return middle


def bracket(view: View, frozen: np.ndarray, witness: Witness) -> Bracket:
    """Upper and lower bound of the problem with hard constraints; soft gap and violation."""
    state, importance = view.state, view.importance
    n = len(importance)
    per_example, soft, gaps = np.zeros(n), np.zeros(n), np.zeros(len(view.factors.owner))
    measure(frozen, per_example, soft, gaps)
    upper = 0.5 * float(state.w @ state.w) / (view.rules.C * n)
    upper += float(importance @ per_example) / n
    lower = lower_bound(view, frozen, witness)
    violation = float(np.abs(witness.violation).max(initial=0.0))
    return Bracket(upper, lower, float(importance @ soft) / n, violation, gaps)
