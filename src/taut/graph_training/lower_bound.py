"""The lower bound of a point without inference: the dual value of a consistent point near it.

Marginals are *repaired*: a node gets the mean of its own marginals and those that its factors have
of it, count factors are projected on, edges and tables scaled to fit. Between there and the best
consistent point so far, the *witness*, everything is consistent; the bound is that of the best
point between.
"""

from typing import NamedTuple

import numpy as np

from taut._compile import compiled, ready
from taut.graph_training.factor_state import (
    FactorState,
    View,
    add_features,
    write_violation,
)
from taut.graph_training.table_steps import first_table
from taut.inference.counts import project_count
from taut.inference.joint_tables import make_joint_consistent
from taut.inference.local_polytope import make_consistent


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


@compiled
def repair(view, violation, node, edge):
    """A point of the local polytope near the marginals, given their violation B mu."""
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
    for f in range(factors.tables.norm.size):
        repair_table(view, f, node, edge)


@compiled
def repair_table(view, f, node, edge):
    """Table f near its marginals, with those of its members."""
    factors, state, tables = view.factors, view.state, view.factors.tables
    number = tables.message_at[f + 1] - tables.message_at[f]
    wanted, found = state.scratch.first[:number], state.scratch.second[:number]
    at = 0
    for j in range(tables.pointer[f], tables.pointer[f + 1]):
        for k in range(tables.size[j]):
            wanted[at + k] = node[factors.node_at[tables.member[j]] + k]
        at += tables.size[j]
    table = edge[tables.at[f] : tables.at[f + 1]]
    for k in range(table.size):
        table[k] = state.edge[tables.at[f] + k]
    size = tables.size[tables.pointer[f] : tables.pointer[f + 1]]
    make_joint_consistent(table, size, wanted, found)


@compiled
def loss_of(view, node):
    """sum_i s_i <loss, mu_i>."""
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
    """sum_i s_i over simplices of 1 - <mu, other mu>; of a point with itself, its entropy."""
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
    tables, first = factors.tables, first_table(factors)
    for f in range(tables.norm.size):
        value = 1.0
        for k in range(tables.at[f], tables.at[f + 1]):
            value -= edge[k] * other_edge[k]
        total += view.importance[factors.owner[first + f]] * value
    return total


def lower_bound(view: View, witness: Witness) -> float:
    """The dual value at the best point between the witness and the repaired marginals.

    Along the way the dual is concave. The witness moves to where its slope is zero, or just before:
    the bound never falls.
    """
    write_violation(view, witness.violation)
    best, new = witness.best, witness.repaired
    repair(view, witness.violation, new.node, new.edge)
    new.v[:] = 0.0
    add_features(view, new.node, new.edge, new.v)
    new.loss[0] = loss_of(view, new.node)
    entropies = [0.0, 0.0, 0.0]
    if view.rules.temperature > 0:
        pairs = ((best, best), (best, new), (new, new))
        entropies = [disagreement(view, a.node, a.edge, b.node, b.edge) for a, b in pairs]
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
        """Where the slope is zero; with bounds, up to 2^-40 before."""
        low, high = 0.0, 1.0
        rising, falling = self.slope(low), self.slope(high)
        if rising <= 0.0:
            return low
        if falling >= 0.0:
            return high
        if not self.lower.size:  # the slope is a line
            return rising / (rising - falling)
        for _ in range(40):
            middle = 0.5 * (low + high)
            if self.slope(middle) > 0.0:
                low = middle
            else:
                high = middle
        return low


def compile_lower_bound(view: View) -> None:
    numbers = np.zeros(0)
    ready(write_violation, view, numbers)
    ready(repair, view, numbers, numbers, numbers)
    ready(add_features, view, numbers, numbers, numbers)
    ready(loss_of, view, numbers)
    ready(disagreement, view, numbers, numbers, numbers, numbers)
