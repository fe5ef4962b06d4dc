"""A fast solver of the LP relaxation over the local polytope, with bound, point and gap.

Messages move scores between nodes and edges: ``messages[e, 0, k]`` is added to the score of node
u in state k and subtracted from row k of the edge e = (u, v), ``messages[e, 1, l]`` likewise for v
and column l. The total score of a labelling stays what it was, so for all messages

    bound = Σ_t max_k (theta_t + Σ_e messages) + Σ_e max_kl (pair_e − messages)

is at least the value of the relaxation (:mod:`taut.inference.lp`); the least bound equals it.

Phase 1, sweeps: the nodes are visited in order and back. A node collects the maxima of the edges
to those before it and hands equal shares of what it has to the edges ahead (sequential tree-
reweighted message passing). On the way it picks a label given those before it, and the labelling is
improved by single changes. Each sweep is cheap and the bound never rises; often it meets the
labelling, which then is optimal. With more than two states, however, or where the optimum is
fractional, sweeps stall.

Phase 2, when they do: the primal-dual steps of :mod:`taut.inference.lp_primal` from the messages
reached. They converge to the optimum of the relaxation and yield fractional points. Every few steps
a copy of the messages is swept once (that sharpens the bound), and the marginals are repaired to a
point of the polytope.

How it was chosen, by measurement (``benchmarks/inference.py``): on superpixel graphs with 8 states
sweeps close a gap of 1e-4 mostly alone, and one does after small changes of the scores; where they
stall for good (random pair scores) 600 steps suffice. On complete graphs with 14 and 30 binary
nodes the optimum is fractional, and some 90 steps reach 1e-6. Starting the steps from the best
labelling instead of the uniform point gains nothing. Scores must be finite. The cost of a round is
proportional to nodes + edges.

Reference: V. Kolmogorov, "Convergent tree-reweighted message passing for energy minimization",
2006, and "A new look at reweighted message passing", 2015.
"""

from typing import NamedTuple

import numpy as np

from taut._compile import Integers, Labels, Matrix, Vector, both_modes, by_reference, compiled
from taut.inference.incidence import Incidence, fill_incidence, new_incidence
from taut.inference.local_polytope import dual_bound, local_model, make_feasible, write_point
from taut.inference.lp_primal import (
    SaddleWork,
    drop_anchor,
    new_saddle_work,
    restart_is_due,
    saddle_step,
    start_saddle,
)
from taut.inference.rounding import improve_labelling

# Phase 2 begins when a sweep closes less than this share of the gap.
STALLED = 0.01
# Bound and value are computed after so many steps: they cost as much as two or three.
LOOK_EVERY = 20


@by_reference
class MessageWork(NamedTuple):
    incidence: Incidence
    saddle: SaddleWork
    y: Labels  # (N,)
    best_y: Labels  # (N,) the best labelling of the last call
    best_score: Vector  # (1,) and its score
    row: Matrix  # (2, K)
    rounds: Integers  # (2,) sweeps and steps of the last call


def new_message_work(max_nodes, max_edges, n_states):
    return MessageWork(
        new_incidence(max_nodes, max_edges),
        new_saddle_work(max_nodes, max_edges, n_states),
        np.zeros(max_nodes, np.int32),
        np.zeros(max_nodes, np.int32),
        np.zeros(1),
        np.zeros((2, n_states)),
        np.zeros(2, np.int64),
    )


# --- phase 1: sweeps ----------------------------------------------------------------------------


@both_modes
def _collect(model, messages, e, side):
    """Send all an edge has to one side: its maxima over the other one become zero."""
    table, to_u, to_v = model.pair[e], messages[e, 0], messages[e, 1]
    n_u, n_v = model.states[model.ends[e, 0]], model.states[model.ends[e, 1]]
    if side == 0:
        for k in range(n_u):
            best = -np.inf
            for other in range(n_v):
                best = max(best, table[k, other] - to_v[other])
            to_u[k] = best
    else:
        for other in range(n_v):
            to_v[other] = -np.inf
        for k in range(n_u):
            for other in range(n_v):
                to_v[other] = max(to_v[other], table[k, other] - to_u[k])


@both_modes
def _collect_ahead(model, messages):
    """Send all edges have to their lower nodes: what a sweep forward expects of edges ahead."""
    for e in range(model.m):
        _collect(model, messages, e, 1 * (model.ends[e, 0] > model.ends[e, 1]))


@both_modes
def _gather(model, messages, t, direction, work):
    """The score of node t with all it receives; returns how many edges lead back and ahead."""
    start, half = work.incidence.start, work.incidence.half
    n_states, score = model.states[t], work.row[0]
    for k in range(n_states):
        score[k] = model.theta[t, k]
    n_back, n_ahead = 0, 0
    for j in range(start[t], start[t + 1]):
        e, side = half[j] // 2, half[j] % 2
        if direction * (model.ends[e, 1 - side] - t) > 0.0:
            n_ahead += 1
        else:
            n_back += 1
            _collect(model, messages, e, side)
        for k in range(n_states):
            score[k] += messages[e, side, k]
    return n_back, n_ahead


@both_modes
def _choose(model, messages, t, direction, work):
    """Label node t given the labels of those before it and the messages of those ahead."""
    start, half, y = work.incidence.start, work.incidence.half, work.y
    n_states, choice = model.states[t], work.row[1]
    for k in range(n_states):
        choice[k] = model.theta[t, k]
    for j in range(start[t], start[t + 1]):
        e, side = half[j] // 2, half[j] % 2
        other = model.ends[e, 1 - side]
        if direction * (other - t) > 0.0:
            for k in range(n_states):
                choice[k] += messages[e, side, k]
        else:
            for k in range(n_states):
                choice[k] += model.pair[e, k, y[other]] if side == 0 else model.pair[e, y[other], k]
    best = 0
    for k in range(1, n_states):
        best = k if choice[k] > choice[best] else best
    y[t] = best


@both_modes
def _half_sweep(model, messages, direction, work):
    """Visit all nodes in one direction, 1.0 or -1.0; returns the bound.

    It is read off on the way: in the end every edge has been collected from since it was given
    its last share, so its maximum is zero, and only what the nodes kept counts. Edges ahead were
    collected by the sweep before in the other direction.
    """
    start, half = work.incidence.start, work.incidence.half
    score = work.row[0]
    bound = 0.0
    for i in range(model.n):
        t = i if direction > 0.0 else model.n - 1 - i
        n_back, n_ahead = _gather(model, messages, t, direction, work)
        _choose(model, messages, t, direction, work)
        share = 1.0 / max(n_back, n_ahead, 1)
        top = score[0]
        for k in range(1, model.states[t]):
            top = max(top, score[k])
        bound += (1.0 - n_ahead * share) * top
        for j in range(start[t], start[t + 1]):
            e, side = half[j] // 2, half[j] % 2
            if direction * (model.ends[e, 1 - side] - t) > 0.0:
                for k in range(model.states[t]):
                    messages[e, side, k] -= share * score[k]
    return bound


@both_modes
def _sweep(model, messages, work):
    """Forward and back; returns the bound and the score of the labelling left in ``work.y``."""
    _half_sweep(model, messages, 1.0, work)
    bound = _half_sweep(model, messages, -1.0, work)
    return bound, _improve(model, work)


@both_modes
def _improve(model, work):
    score = improve_labelling(
        model.theta, model.states, model.ends, model.pair, model.n, model.m,
        work.y, work.incidence, work.row[0],
    )  # fmt: skip
    if score > work.best_score[0]:
        work.best_score[0] = score
        for t in range(model.n):
            work.best_y[t] = work.y[t]
    return score


@both_modes
def _first_labelling(model, messages, work):
    """What messages of an earlier call, left by a sweep back, say already; returns its score."""
    for t in range(model.n):
        _choose(model, messages, t, 1.0, work)
    return _improve(model, work)


@both_modes
def _copy_messages(model, source, target):
    for e in range(model.m):
        for side in range(2):
            for k in range(model.states[model.ends[e, side]]):
                target[e, side, k] = source[e, side, k]


@both_modes
def _write_labelling(y, n, m, ends, node, edge):
    n_states = node.shape[1]
    for t in range(n):
        for k in range(n_states):
            node[t, k] = 1.0 if k == y[t] else 0.0
    for e in range(m):
        for k in range(n_states):
            for other in range(n_states):
                edge[e, k, other] = 0.0
        edge[e, y[ends[e, 0]], y[ends[e, 1]]] = 1.0


@both_modes
def _sweep_phase(model, messages, work, node, edge, most_rounds, tol):
    """Sweep until the gap is closed or nothing much happens; returns bound and value."""
    first = work.saddle.messages_anchor
    start_bound = dual_bound(model, messages, work.saddle.score)
    _copy_messages(model, messages, first)
    bound, value = start_bound, _first_labelling(model, messages, work)
    _write_labelling(work.y, model.n, model.m, model.ends, node, edge)
    sweeps = 0
    stalled = False
    while sweeps < most_rounds and bound - value > tol and not stalled:
        if sweeps == 0:
            _collect_ahead(model, messages)
        lower, score = _sweep(model, messages, work)
        sweeps += 1
        if score > value:
            value = score
            _write_labelling(work.y, model.n, model.m, model.ends, node, edge)
        stalled = bound - lower < STALLED * (bound - value)
        bound = lower
    work.rounds[0] = sweeps
    if sweeps > 0:
        bound = dual_bound(model, messages, work.saddle.score)
    if bound > start_bound:  # by rounding errors only
        _copy_messages(model, first, messages)
        bound = start_bound
    return bound, value


# --- phase 2: primal-dual steps -----------------------------------------------------------------


@both_modes
def _look(model, messages, work, node, edge, bound, value):
    """Keep the messages and the point just reached where they are better; returns their values."""
    saddle = work.saddle
    _collect_ahead(model, saddle.messages_next)
    _, score = _sweep(model, saddle.messages_next, work)
    lower = dual_bound(model, saddle.messages_next, saddle.score)
    if lower < bound:
        bound = lower
        _copy_messages(model, saddle.messages_next, messages)
    if score > value:
        value = score
        _write_labelling(work.y, model.n, model.m, model.ends, node, edge)
    score = make_feasible(model, saddle.node_next, saddle.edge_next, saddle.row)
    if score > value:
        value = score
        write_point(model, saddle.node_next, saddle.edge_next, node, edge)
    return bound, value


@both_modes
def _saddle_phase(model, messages, work, node, edge, bound, value, most_rounds, tol):
    start_saddle(model, messages, work.saddle)
    # Numbers of steps are floats: numba would compile for the integer 0 and then once more.
    since, first, last = 0.0, 0.0, 0.0
    restart = False
    steps = 0
    while steps < most_rounds and bound - value > tol:
        steps += 1
        look = steps % LOOK_EVERY == 0 or steps == most_rounds
        residual = saddle_step(model, since, look or restart, work.saddle)
        if since == 0.0:
            first = residual
        since += 1.0
        if restart:
            drop_anchor(model, work.saddle)
            since = 0.0
        # The edges' part of T(z) is kept only on demand, so a restart happens one step later.
        restart = since > 1.0 and restart_is_due(residual, first, last, since, steps)
        last = residual
        if look:
            bound, value = _look(model, messages, work, node, edge, bound, value)
    work.rounds[1] = steps
    return bound, value


@compiled
def lp_by_messages(theta, states, ends, pair, n, m, messages, work, node, edge, most_rounds, tol):
    """Solve the relaxation from ``messages`` until bound − value ≤ tol; returns (bound, value).

    ``messages`` (M, 2, K) is replaced by messages that attain the bound, which is never above that
    of the messages given. ``node`` (N, K) and ``edge`` (M, K, K) become a point of the local
    polytope with the value returned, integral if the value is that of a labelling, zero at states
    that do not exist. ``work.rounds`` says how many sweeps and steps were made, at most
    ``most_rounds`` together.
    """
    model = local_model(theta, states, ends, pair, n, m)
    fill_incidence(ends, n, m, work.incidence)
    work.rounds[1] = 0
    work.best_score[0] = -np.inf
    bound, value = _sweep_phase(model, messages, work, node, edge, most_rounds, tol)
    if m > 0 and bound - value > tol:
        left = most_rounds - work.rounds[0]
        bound, value = _saddle_phase(model, messages, work, node, edge, bound, value, left, tol)
    return bound, value
