"""Fractional points of the local polytope: the second phase of :mod:`.message_passing`.

The relaxation is a saddle point. With x = (node, edge) in a product of simplices,

    max_x min_messages  Σ_t ⟨theta_t + Σ_e messages, node_t⟩ + Σ_e ⟨pair_e − messages, edge_e⟩

and the primal-dual hybrid gradient method takes a projected gradient step in x, then one in the
messages along the disagreement of nodes and edges at the extrapolated point 2 x⁺ − x. Call this
map T and z = (x, messages). It is run with reflection and an anchor, as by Halpern,

    z ← (j+1)/(j+2) · (2 T(z) − z) + 1/(j+2) · anchor,        j steps after the anchor was dropped,

and restarted (anchor := z := T(z)) when the residual ‖T(z) − z‖ has fallen enough: on linear
programs this converges linearly. At each restart omega, the ratio of dual to primal step lengths,
moves towards the ratio of the distances travelled.

Step lengths: disagreements sum to zero over the states, and on such vectors the marginals of a
table of k × l states have norms √l and √k. So sigma_u = omega / l, sigma_v = omega / k,
tau_edge = 1 / (2 omega) and tau_t = 1 / (2 Σ_e sigma) satisfy sigma · tau · norm² ≤ 1.

Reference: A. Chambolle, T. Pock, "A first-order primal-dual algorithm for convex problems with
applications to imaging", 2011; D. Applegate et al., "Practical large-scale linear programming
using primal-dual hybrid gradient", 2021; H. Lu, J. Yang, "Restarted Halpern PDHG for linear
programming", 2024.
"""

from typing import NamedTuple

import numpy as np

from taut._compile import Cube, Matrix, Vector, both_modes, by_reference, compiled
from taut.inference.local_polytope import add_messages, marginals_of_table, simplex_threshold

# Restart when the residual has fallen to the first share; or to the second, and grows again; or
# after the third share of all steps so far.
SUFFICIENT, NECESSARY, LONG = 0.2, 0.8, 0.36
# How far omega may move in all: a part that converges at once would drive it to zero or infinity.
FARTHEST = 1e5


@by_reference
class SaddleWork(NamedTuple):
    """Current point, anchor and T(point). Tables of edges are packed: k * states[v] + l."""

    node: Matrix  # (N, K)
    node_anchor: Matrix  # (N, K)
    node_next: Matrix  # (N, K)
    edge: Matrix  # (M, K * K)
    edge_anchor: Matrix  # (M, K * K)
    edge_next: Matrix  # (M, K * K), written only when asked for
    messages: Cube  # (M, 2, K)
    messages_anchor: Cube  # (M, 2, K)
    messages_next: Cube  # (M, 2, K)
    threshold: Vector  # (M,) of the last projection of each edge
    rate: Vector  # (N,) Σ_e sigma / omega at every node
    score: Matrix  # (N, K) theta + Σ messages
    omega: Vector  # (2,) ratio of dual to primal step lengths, now and at the start
    table: Vector  # (K * K,)
    row: Matrix  # (2, K)


def new_saddle_work(max_nodes, max_edges, n_states):
    node, messages = (max_nodes, n_states), (max_edges, 2, n_states)
    edge = (max_edges, n_states**2)
    shapes = [*[node] * 3, *[edge] * 3, *[messages] * 3, (max_edges,), (max_nodes,), node]
    shapes += [(2,), (n_states**2,), (2, n_states)]
    return SaddleWork(*(np.zeros(shape) for shape in shapes))


# --- one step -----------------------------------------------------------------------------------


@both_modes
def _node_steps(model, work):
    """node_next := T(node); returns the squared residual in the norm of the step lengths."""
    residual = 0.0
    omega = work.omega[0]
    for t in range(model.n):
        n_states = model.states[t]
        now, after = work.node[t, :n_states], work.node_next[t, :n_states]
        if work.rate[t] == 0.0:  # isolated, and integral from the start
            for k in range(n_states):
                after[k] = now[k]
            continue
        tau = 0.5 / (omega * work.rate[t])
        score = work.score[t]
        top = score[0]
        for k in range(1, n_states):
            top = max(top, score[k])
        # A common constant changes no projection, but costs digits.
        for k in range(n_states):
            after[k] = now[k] + tau * (score[k] - top)
        threshold = simplex_threshold(after, 0.0)
        for k in range(n_states):
            after[k] = max(after[k] - threshold, 0.0)
            residual += (after[k] - now[k]) ** 2 / tau
    return residual


@both_modes
def _ascend(pair, edge, to_u, to_v, tau, table):
    """table := edge + tau · (pair − messages), packed."""
    n_v = to_v.size
    for k in range(to_u.size):
        at = k * n_v
        for other in range(n_v):
            gradient = (pair[k, other] - to_u[k]) - to_v[other]
            table[at + other] = edge[at + other] + tau * gradient


@compiled(fastmath=True)
def _extrapolate(table, threshold, edge):
    """table := 2 T(edge) − edge; returns ‖T(edge) − edge‖²."""
    moved = 0.0
    for i in range(table.size):
        above = table[i] - threshold
        move = max(above, 0.0) - edge[i]
        moved += move * move
        table[i] = edge[i] + (move + move)
    return moved


@both_modes
def _mix(now, anchor, reflected, weight):
    for i in range(now.size):
        now[i] = weight * reflected[i] + (1.0 - weight) * anchor[i]


@both_modes
def _message_step(now, after, anchor, node, node_next, of_edge, sigma, weight):
    """Messages against the disagreement, then mixed; returns the squared residual."""
    residual = 0.0
    for k in range(of_edge.size):
        disagreement = (2.0 * node_next[k] - node[k]) - of_edge[k]
        after[k] = now[k] - sigma * disagreement
        now[k] = weight * (after[k] - sigma * disagreement) + (1.0 - weight) * anchor[k]
        residual += sigma * disagreement * disagreement
    return residual


@both_modes
def _edge_steps(model, weight, keep, work):
    """Edges and messages := mixtures of reflection and anchor; T is kept in ``..._next``."""
    omega = work.omega[0]
    tau = 0.5 / omega
    residual = 0.0
    for e in range(model.m):
        u, v = model.ends[e, 0], model.ends[e, 1]
        n_u, n_v = model.states[u], model.states[v]
        edge, table = work.edge[e, : n_u * n_v], work.table[: n_u * n_v]
        to_u, to_v = work.messages[e, 0, :n_u], work.messages[e, 1, :n_v]
        of_u, of_v = work.row[0, :n_u], work.row[1, :n_v]
        _ascend(model.pair[e], edge, to_u, to_v, tau, table)
        threshold = simplex_threshold(table, work.threshold[e])
        work.threshold[e] = threshold
        residual += _extrapolate(table, threshold, edge) / tau
        marginals_of_table(table, of_u, of_v)
        after, anchor = work.messages_next[e], work.messages_anchor[e]
        residual += _message_step(
            to_u, after[0], anchor[0], work.node[u], work.node_next[u], of_u, omega / n_v, weight
        )
        residual += _message_step(
            to_v, after[1], anchor[1], work.node[v], work.node_next[v], of_v, omega / n_u, weight
        )
        if keep:
            for i in range(table.size):
                work.edge_next[e, i] = max(0.5 * (table[i] + edge[i]), 0.0)
        _mix(edge, work.edge_anchor[e], table, weight)
    return residual


@both_modes
def saddle_step(model, since, keep, work):
    """One step, ``since`` steps after the anchor was dropped; returns ‖T(z) − z‖.

    T(z) of nodes and messages is kept in ``..._next``; that of edges only if ``keep``.
    """
    weight = (since + 1.0) / (since + 2.0)
    add_messages(model, work.messages, work.score)
    residual = _node_steps(model, work)
    residual += _edge_steps(model, weight, keep, work)
    for t in range(model.n):
        for k in range(model.states[t]):
            reflected = 2.0 * work.node_next[t, k] - work.node[t, k]
            work.node[t, k] = weight * reflected + (1.0 - weight) * work.node_anchor[t, k]
    return np.sqrt(residual)


# --- start and restart --------------------------------------------------------------------------


@both_modes
def start_saddle(model, messages, work):
    """The uniform point with the given messages, those left by a sweep.

    Tables have entries of order one and messages the size of the scores, so the first omega is
    the mean range of the edges' scores.
    """
    total = 0.0
    for t in range(model.n):
        work.rate[t] = 0.0
    for e in range(model.m):
        u, v = model.ends[e, 0], model.ends[e, 1]
        n_u, n_v = model.states[u], model.states[v]
        work.rate[u] += 1.0 / n_v
        work.rate[v] += 1.0 / n_u
        work.threshold[e] = 0.0
        lowest = highest = model.pair[e, 0, 0]
        for k in range(n_u):
            for other in range(n_v):
                lowest = min(lowest, model.pair[e, k, other])
                highest = max(highest, model.pair[e, k, other])
                work.edge[e, k * n_v + other] = 1.0 / (n_u * n_v)
                work.edge_anchor[e, k * n_v + other] = 1.0 / (n_u * n_v)
        total += highest - lowest
        for side in range(2):
            for k in range(model.states[model.ends[e, side]]):
                work.messages[e, side, k] = messages[e, side, k]
                work.messages_anchor[e, side, k] = messages[e, side, k]
    _start_nodes(model, work)
    for i in range(2):
        work.omega[i] = total / model.m if total > 0.0 else 1.0


@both_modes
def _start_nodes(model, work):
    """Uniform, but isolated nodes get their best state at once."""
    for t in range(model.n):
        n_states = model.states[t]
        best = 0
        for k in range(n_states):
            best = k if model.theta[t, k] > model.theta[t, best] else best
        for k in range(n_states):
            value = 1.0 / n_states
            if work.rate[t] == 0.0:
                value = 1.0 if k == best else 0.0
            work.node[t, k] = value
            work.node_anchor[t, k] = value


@both_modes
def restart_is_due(residual, first, last, since, steps):
    """Whether to drop the anchor: the residual now, at the anchor and a step ago."""
    return (
        residual <= SUFFICIENT * first
        or (residual <= NECESSARY * first and residual > last)
        or since > max(LONG * steps, 20.0)
    )


@both_modes
def _drop(now, anchor, after):
    """now := anchor := after; returns the squared distance from the old anchor."""
    distance = 0.0
    for i in range(after.size):
        distance += (after[i] - anchor[i]) ** 2
        now[i] = after[i]
        anchor[i] = after[i]
    return distance


@both_modes
def drop_anchor(model, work):
    """Restart from T(z), all of it kept by the last step, and adapt omega."""
    primal, dual = 0.0, 0.0
    for t in range(model.n):
        k = model.states[t]
        moved = _drop(work.node[t, :k], work.node_anchor[t, :k], work.node_next[t, :k])
        primal += 2.0 * work.rate[t] * moved
    for e in range(model.m):
        sizes = model.states[model.ends[e, 0]], model.states[model.ends[e, 1]]
        size = sizes[0] * sizes[1]
        edge, anchor = work.edge[e, :size], work.edge_anchor[e, :size]
        primal += 2.0 * _drop(edge, anchor, work.edge_next[e, :size])
        for side in range(2):
            k = sizes[side]
            now, before = work.messages[e, side, :k], work.messages_anchor[e, side, :k]
            dual += sizes[1 - side] * _drop(now, before, work.messages_next[e, side, :k])
    if primal > 0.0 and dual > 0.0:
        # The geometric mean of the old and the observed ratio: the latter alone oscillates.
        now, first = work.omega[0], work.omega[1]
        omega = np.sqrt(now * np.sqrt(dual / primal))
        work.omega[0] = min(max(omega, first / FARTHEST), first * FARTHEST)
