"""The local polytope: its bound from messages, and points repaired to lie in it.

Node marginals lie in simplices; the rows of an edge's table sum to the marginals of its first node,
the columns to those of its second. Tables are *packed* here: entry (k, l) of an edge (u, v) is at
``k * states[v] + l``, so that loops over a table run through memory in order, however many states
its nodes have.
"""

from typing import NamedTuple

import numpy as np

from taut._compile import (
    Cube,
    LabelMatrix,
    Labels,
    Matrix,
    both_modes,
    by_reference,
    compiled,
    local,
)

# Newton's method finds the threshold of a projection in at most as many steps as there are
# entries; a handful in practice. The bound is for rounding errors.
MOST_NEWTON_STEPS = 100


@by_reference
class Model(NamedTuple):
    """The scores to be maximised, as all functions of this package take them."""

    theta: Matrix
    states: Labels
    ends: LabelMatrix
    pair: Cube
    n: int
    m: int


local_model = local(Model)

# --- bound ---------------------------------------------------------------------------------------


@both_modes
def add_messages(model, messages, score):
    """score[t] := theta[t] + what the edges of t send to it."""
    for t in range(model.n):
        for k in range(model.states[t]):
            score[t, k] = model.theta[t, k]
    for e in range(model.m):
        for side in range(2):
            t = model.ends[e, side]
            for k in range(model.states[t]):
                score[t, k] += messages[e, side, k]


@both_modes
def dual_bound(model, messages, score):
    """The bound of these messages; ``score`` becomes theta + Σ messages."""
    add_messages(model, messages, score)
    total = 0.0
    for t in range(model.n):
        best = score[t, 0]
        for k in range(1, model.states[t]):
            best = max(best, score[t, k])
        total += best
    for e in range(model.m):
        to_u, to_v = messages[e, 0], messages[e, 1]
        top = -np.inf
        for k in range(model.states[model.ends[e, 0]]):
            row = model.pair[e, k]
            best = -np.inf
            for other in range(model.states[model.ends[e, 1]]):
                best = max(best, row[other] - to_v[other])
            top = max(top, best - to_u[k])
        total += top
    return total


# --- projection onto the simplex ----------------------------------------------------------------


@compiled(fastmath=True)
def _excess(values, threshold):
    """Σ max(values − threshold, 0), and how many values are above."""
    # max() and the sum of truth values compile to vector instructions, conditional sums do not.
    total, count = 0.0, 0
    for i in range(values.size):
        above = values[i] - threshold
        total += max(above, 0.0)
        count += above > 0.0
    return total, count


@compiled
def simplex_threshold(values, threshold):
    """The number with Σ max(values − number, 0) = 1, by Newton's method from a guess.

    The sum is convex and decreasing, so that steps from the left never overshoot.
    """
    for step in range(MOST_NEWTON_STEPS):
        total, count = _excess(values, threshold)
        if count == 0:
            top = values[0]
            for i in range(1, values.size):
                top = max(top, values[i])
            threshold = top - 1.0
            continue
        move = (total - 1.0) / count
        if threshold + move == threshold:  # large values: the sum is as near to 1 as it gets
            break
        threshold += move
        # After the first step the threshold is on the left, and only rounding moves it back.
        if abs(total - 1.0) <= 1e-14 or (step > 0 and move <= 0.0):
            break
    return threshold


# --- a feasible point ---------------------------------------------------------------------------


@compiled(fastmath=True)
def marginals_of_table(table, of_u, of_v):
    """Row sums and column sums of a packed table."""
    n_v = of_v.size
    for other in range(n_v):
        of_v[other] = 0.0
    for k in range(of_u.size):
        at = k * n_v
        total = 0.0
        for other in range(n_v):
            total += table[at + other]
            of_v[other] += table[at + other]
        of_u[k] = total


@both_modes
def make_consistent(table, of_u, of_v, rows, columns):
    """Change a packed table until its row sums are ``of_u`` and its column sums ``of_v``.

    Rows and columns that are too heavy are scaled down; what is missing is added as the product
    of the missing rows and columns.
    """
    n_v = of_v.size
    marginals_of_table(table, rows, columns)
    for other in range(n_v):
        columns[other] = 0.0
    for k in range(of_u.size):
        scale = of_u[k] / rows[k] if rows[k] > of_u[k] else 1.0
        for other in range(n_v):
            table[k * n_v + other] *= scale
            columns[other] += table[k * n_v + other]
    for other in range(n_v):
        columns[other] = of_v[other] / columns[other] if columns[other] > of_v[other] else 1.0
    for k in range(of_u.size):
        for other in range(n_v):
            table[k * n_v + other] *= columns[other]
    marginals_of_table(table, rows, columns)
    missing = 0.0
    for other in range(n_v):
        columns[other] = max(of_v[other] - columns[other], 0.0)
        missing += columns[other]
    if missing > 0.0:
        for k in range(of_u.size):
            share = max(of_u[k] - rows[k], 0.0) / missing
            for other in range(n_v):
                table[k * n_v + other] += share * columns[other]


@both_modes
def make_feasible(model, nodes, tables, rows):
    """Turn nodes and packed tables into a point of the polytope; returns its value."""
    value = 0.0
    for t in range(model.n):
        node = nodes[t, : model.states[t]]
        total = 0.0
        for k in range(node.size):
            total += node[k]
        for k in range(node.size):
            node[k] /= total
            value += node[k] * model.theta[t, k]
    for e in range(model.m):
        u, v = model.ends[e, 0], model.ends[e, 1]
        n_u, n_v = model.states[u], model.states[v]
        of_u, of_v = nodes[u, :n_u], nodes[v, :n_v]
        table = tables[e, : n_u * n_v]
        make_consistent(table, of_u, of_v, rows[0, :n_u], rows[1, :n_v])
        for k in range(n_u):
            for other in range(n_v):
                value += table[k * n_v + other] * model.pair[e, k, other]
    return value


@both_modes
def write_point(model, nodes, tables, node, edge):
    """Unpack the tables of a point; entries of states that do not exist are left alone."""
    for t in range(model.n):
        for k in range(model.states[t]):
            node[t, k] = nodes[t, k]
    for e in range(model.m):
        n_v = model.states[model.ends[e, 1]]
        for k in range(model.states[model.ends[e, 0]]):
            for other in range(n_v):
                edge[e, k, other] = tables[e, k * n_v + other]
