"""Marginals of the relaxed model with Gini entropy: for graphs with cycles.

    max  ⟨theta, mu⟩ + gamma · H(mu)   over the local polytope,    H(mu) = Σ_blocks (1 − ‖mu_c‖²)

where blocks are nodes and edges. H is strictly concave, so there is one solution; it is what a
model trained with this entropy predicts. As gamma → 0 it becomes a solution of the LP relaxation,
as gamma → ∞ uniform. Unlike the marginals of exp(score), it gives poor states exactly zero.

Dual. Messages move scores between nodes and edges as in :mod:`.message_passing`. For all messages

    bound = Σ_blocks phi(theta_c ± messages),   phi(v) = max_{p in simplex} ⟨v, p⟩ + gamma(1 − ‖p‖²)

with the maximum at p = Proj(v / (2 gamma)), and the bound's gradient is how much the p of nodes and
edges disagree. Messages of an edge sum to zero over the states of a node; on such vectors the
curvature in the message to u along (u, v) is at most (degree of u + states of v) / (2 gamma).
So accelerated gradient steps need no line search. Projections have few positive entries, and then
the curvature is less: steps are longer by what the last two gradients allow. Momentum is dropped
when it points uphill. When gamma is small compared with the scores, larger gammas come first.

Gap. Let q be any point of the polytope, here the p repaired. Its value is the same for all
messages, so bound − value is a sum over the blocks. With t the threshold of v's projection,

    gap = Σ_blocks Σ_k  gamma (p_k − q_k)² + 2 gamma max(t − v_k / (2 gamma), 0) q_k

which has no negative term, and no digits cancel. Strong concavity turns it into a distance from the
solution mu: ‖q − mu‖² ≤ gap / gamma.

How it was chosen, by measurement: 10 × 10 grids with 5 states and complete graphs with 14 binary
nodes, scores of size 1 to 100, gamma from 0.01 to 10. A gap of 1e-6 takes 20 to 1,700 steps on the
grids (the medians; the worst is 4,000, and 400 for attractive scores), 20 to 360 on the others.
Random scores 10,000 times gamma would take over five times as many without larger gammas first.
Longer steps save a third, with many states a half. L-BFGS stalls, because the bound has too few
digits for a line search; semismooth Newton steps get lost among the supports of the projections;
the primal-dual steps of :mod:`.lp_primal` are faster on some graphs and slower on more.

Reference: Y. Nesterov, "Smooth minimization of non-smooth functions", 2005; B. O'Donoghue,
E. Candès, "Adaptive restart for accelerated gradient schemes", 2015. The entropy: X. Hu,
G. Obozinski, "SDCA-powered inexact dual augmented Lagrangian method for fast CRF learning", 2018.
"""

from typing import NamedTuple

import numpy as np

from taut._compile import Cube, Matrix, Vector, both_modes, by_reference, compiled
from taut.inference.local_polytope import (
    add_messages,
    local_model,
    make_feasible,
    marginals_of_table,
    simplex_threshold,
    write_point,
)

# The gap is computed after so many steps: it costs as much as two or three.
LOOK_EVERY = 20
# The first gamma is at least the largest range of scores over the first number. It is divided by
# the second once the gap is below the third's share of what the entropy can contribute.
SMOOTH, SHARPEN, ROUGH = 100.0, 10.0, 0.1
# The curvature, as a share of its bound, is the first number times the observed one. Old
# observations fade by the second; below the third there is nothing to gain.
CAUTION, FADE, LEAST_CURVATURE = 1.2, 0.95, 0.01


@by_reference
class GiniWork(NamedTuple):
    messages: Cube  # (M, 2, K)
    ahead: Cube  # (M, 2, K) messages moved on by the momentum: where gradients are taken
    stepped: Cube  # (M, 2, K) a step from there
    gradient: Cube  # (M, 2, K) the last gradient
    taken_at: Cube  # (M, 2, K) and where it was taken
    score: Matrix  # (N, K) node scores with messages, then above their threshold
    mean: Matrix  # (N, K) the nodes of a feasible point
    excess: Matrix  # (M, K * K) packed tables above their threshold
    table: Matrix  # (M, K * K) the edges of a feasible point
    threshold: Vector  # (M,) of the last projection of each edge, from the top
    degree: Vector  # (N,)
    row: Matrix  # (2, K)
    steps: Vector  # (1,) how many the last call took


def new_gini_work(max_nodes: int, max_edges: int, n_states: int) -> GiniWork:
    node, messages = (max_nodes, n_states), (max_edges, 2, n_states)
    edge = (max_edges, n_states**2)
    shapes = [*[messages] * 5, *[node] * 2, *[edge] * 2, (max_edges,), (max_nodes,)]
    shapes += [(2, n_states), (1,)]
    return GiniWork(*(np.zeros(shape) for shape in shapes))


# --- the blocks ---------------------------------------------------------------------------------


@both_modes
def _above_threshold(values, top, guess):
    """values −= the threshold of their projection; returns it, counted from the top."""
    # From the top it lies between −1 and −1 / size. Counted from zero it would have too few digits
    # when the scores are large, and Newton's method could not tell when it is done.
    for i in range(values.size):
        values[i] -= top
    threshold = simplex_threshold(values, guess)
    for i in range(values.size):
        values[i] -= threshold
    return threshold


@both_modes
def _node_excess(model, messages, gamma, work):
    """score := v / (2 gamma) − threshold of every node; its positive part is the projection."""
    add_messages(model, messages, work.score)
    for t in range(model.n):
        score = work.score[t, : model.states[t]]
        top = -np.inf
        for k in range(score.size):
            score[k] *= 0.5 / gamma
            top = max(top, score[k])
        _above_threshold(score, top, -1.0)


@both_modes
def _edge_scores(pair, to_u, to_v, scale, excess):
    """Packed scores of an edge without its messages, times ``scale``; returns the largest."""
    n_v = to_v.size
    top = -np.inf
    for k in range(to_u.size):
        at = k * n_v
        for other in range(n_v):
            value = scale * ((pair[k, other] - to_u[k]) - to_v[other])
            excess[at + other] = value
            top = value if value > top else top
    return top


@both_modes
def _edge_excess(model, messages, e, gamma, work, excess):
    """The same for an edge."""
    n_u, n_v = model.states[model.ends[e, 0]], model.states[model.ends[e, 1]]
    to_u, to_v = messages[e, 0, :n_u], messages[e, 1, :n_v]
    top = _edge_scores(model.pair[e], to_u, to_v, 0.5 / gamma, excess)
    work.threshold[e] = _above_threshold(excess, top, work.threshold[e])


@both_modes
def _take_positive(excess, table):
    for i in range(table.size):
        table[i] = max(excess[i], 0.0)


# --- steps --------------------------------------------------------------------------------------


@both_modes
def _step_side(work, e, side, node_excess, of_edge, safe, curvature):
    """A gradient step of one message; returns its shares of what ``_step`` needs."""
    ahead, before, stepped = work.ahead[e, side], work.messages[e, side], work.stepped[e, side]
    last, taken_at = work.gradient[e, side], work.taken_at[e, side]
    uphill, change, along = 0.0, 0.0, 0.0
    for k in range(of_edge.size):
        gradient = max(node_excess[k], 0.0) - of_edge[k]
        stepped[k] = ahead[k] - safe / curvature * gradient
        uphill += gradient * (stepped[k] - before[k])
        difference = gradient - last[k]
        change += safe * difference * difference
        along += difference * (ahead[k] - taken_at[k])
        last[k], taken_at[k] = gradient, ahead[k]
    return uphill, change, along


@both_modes
def _step(model, gamma, curvature, work):
    """stepped := a gradient step from ``ahead``.

    Returns ⟨gradient, stepped − messages⟩ and the curvature seen since the last step, at most 1:
    ‖difference of gradients‖² / ⟨difference, distance⟩ in units of the bound.
    """
    _node_excess(model, work.ahead, gamma, work)
    uphill, change, along = 0.0, 0.0, 0.0
    for e in range(model.m):
        u, v = model.ends[e, 0], model.ends[e, 1]
        n_u, n_v = model.states[u], model.states[v]
        table = work.table[e, : n_u * n_v]
        of_u, of_v = work.row[0, :n_u], work.row[1, :n_v]
        _edge_excess(model, work.ahead, e, gamma, work, table)
        _take_positive(table, table)
        marginals_of_table(table, of_u, of_v)
        safe = 2.0 * gamma / (work.degree[u] + n_v)
        first = _step_side(work, e, 0, work.score[u], of_u, safe, curvature)
        safe = 2.0 * gamma / (work.degree[v] + n_u)
        second = _step_side(work, e, 1, work.score[v], of_v, safe, curvature)
        uphill += first[0] + second[0]
        change += first[1] + second[1]
        along += first[2] + second[2]
    return uphill, change / along if along > 0.0 else 0.0


@both_modes
def _move_on(model, momentum, work):
    """messages := stepped, and ``ahead`` so many times the last move farther."""
    for e in range(model.m):
        for side in range(2):
            for k in range(model.states[model.ends[e, side]]):
                after = work.stepped[e, side, k]
                work.ahead[e, side, k] = after + momentum * (after - work.messages[e, side, k])
                work.messages[e, side, k] = after


# --- the gap ------------------------------------------------------------------------------------


@compiled(fastmath=True)
def _block_gap(excess, point):
    """bound − value of a block, over gamma."""
    total = 0.0
    for i in range(point.size):
        difference = max(excess[i], 0.0) - point[i]
        total += difference * difference + 2.0 * max(-excess[i], 0.0) * point[i]
    return total


@both_modes
def _look(model, gamma, work):
    """Repair the projections to a point of the polytope, in ``mean`` and ``table``; its gap."""
    _node_excess(model, work.messages, gamma, work)
    for t in range(model.n):
        k = model.states[t]
        _take_positive(work.score[t, :k], work.mean[t, :k])
    # Nodes are the means of what they and their edges say.
    for e in range(model.m):
        u, v = model.ends[e, 0], model.ends[e, 1]
        n_u, n_v = model.states[u], model.states[v]
        excess, table = work.excess[e, : n_u * n_v], work.table[e, : n_u * n_v]
        of_u, of_v = work.row[0, :n_u], work.row[1, :n_v]
        _edge_excess(model, work.messages, e, gamma, work, excess)
        _take_positive(excess, table)
        marginals_of_table(table, of_u, of_v)
        for k in range(n_u):
            work.mean[u, k] += of_u[k]
        for k in range(n_v):
            work.mean[v, k] += of_v[k]
    make_feasible(model, work.mean, work.table, work.row)
    gap = 0.0
    for t in range(model.n):
        k = model.states[t]
        gap += _block_gap(work.score[t, :k], work.mean[t, :k])
    for e in range(model.m):
        size = model.states[model.ends[e, 0]] * model.states[model.ends[e, 1]]
        gap += _block_gap(work.excess[e, :size], work.table[e, :size])
    return gamma * gap


# --- all of it ----------------------------------------------------------------------------------


@both_modes
def _range_of_scores(model):
    """The largest difference of two scores of a node or an edge."""
    widest = 0.0
    for t in range(model.n):
        lowest = highest = model.theta[t, 0]
        for k in range(1, model.states[t]):
            lowest = min(lowest, model.theta[t, k])
            highest = max(highest, model.theta[t, k])
        widest = max(widest, highest - lowest)
    for e in range(model.m):
        lowest = highest = model.pair[e, 0, 0]
        for k in range(model.states[model.ends[e, 0]]):
            for other in range(model.states[model.ends[e, 1]]):
                lowest = min(lowest, model.pair[e, k, other])
                highest = max(highest, model.pair[e, k, other])
        widest = max(widest, highest - lowest)
    return widest


@both_modes
def _start(model, work, node, edge):
    """No messages; zeros for states that do not exist."""
    for t in range(model.n):
        work.degree[t] = 0.0
        for k in range(node.shape[1]):
            node[t, k] = 0.0
    for e in range(model.m):
        work.threshold[e] = -1.0
        for side in range(2):
            work.degree[model.ends[e, side]] += 1.0
            for k in range(work.messages.shape[2]):
                work.messages[e, side, k] = work.ahead[e, side, k] = 0.0
                work.gradient[e, side, k] = work.taken_at[e, side, k] = 0.0
        for k in range(edge.shape[1]):
            for other in range(edge.shape[2]):
                edge[e, k, other] = 0.0


@compiled
def gini_marginals(
    theta, states, ends, pair, n, m, gamma, accuracy, rounds, work, node, edge
):  # fmt: skip
    """Write the marginals into ``node`` (n, K) and ``edge`` (m, K, K); returns their gap.

    Stops when the gap is at most ``accuracy``, or after ``rounds`` steps with the best point seen.
    """
    model = local_model(theta, states, ends, pair, n, m)
    _start(model, work, node, edge)
    least = np.inf
    now = max(gamma, _range_of_scores(model) / SMOOTH)
    age, curvature = 1.0, 1.0
    for step in range(rounds + 1):
        work.steps[0] = step
        if step == rounds:
            now = gamma
        if step % LOOK_EVERY == 0 or step == rounds:
            gap = _look(model, now, work)
            if now == gamma and gap < least:
                least = gap
                write_point(model, work.mean, work.table, node, edge)
            if least <= accuracy or step == rounds:
                break
            if now > gamma and gap <= ROUGH * now * (n + m):
                now = max(gamma, now / SHARPEN)
                age = 1.0
        uphill, seen = _step(model, now, curvature, work)
        curvature = min(max(FADE * curvature, CAUTION * seen, LEAST_CURVATURE), 1.0)
        if uphill > 0.0:
            age = 1.0
        older = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * age * age))
        _move_on(model, (age - 1.0) / older, work)
        age = older
    return least
