"""Slack rescaling on a forest: the labelling with the largest loss * (1 + score - truth's score).

As on chains (:mod:`taut.inference.rescaled_chain`) the loss of a labelling is a whole multiple of
some unit, its *level*, and the best score of every level is found. A node's *table* holds the best
score of what has been hung on it so far, for each level c and each of its states l,

    alone      table[level[t, k], k] = theta[t, k]
    message    message[c, l] = max_k (child's table[c, k] + pair(k, l))
    merged     table'[a + b, l] = max (table[a, l] + message[b, l])     over all a + b

From the leaves to the roots all tables are merged. Losses of different trees multiply one score,
too: a root is hung on the next one, by an edge without scores. So n nodes make n - 1 merges, whose
results stand one after the other. On the way back each merge is undone: which level did the child
have, and which state?

A table has as many rows as its subtree has levels, so all merges together cost about K M^2 and the
messages K^2 times the sum of these numbers, M being the largest level of all.
"""

from typing import NamedTuple

import numpy as np

from taut._compile import Flags, Integers, Matrix, by_reference, compiled
from taut.inference.labelling import labelling_score
from taut.inference.rescaled_chain import is_reached, largest

# Instead of the number of an edge (see ``maxsum``): two roots, joined without scores.
NO_EDGE = 2**31 - 1


@by_reference
class Merges(NamedTuple):
    """What is hung on what; table t is that of node t alone, n + p what the p-th merge makes."""

    child: Integers  # (nodes,)
    parent: Integers
    edge: Integers  # as in the order of max-sum
    child_table: Integers
    parent_table: Integers  # before the merge
    table: Integers  # (nodes,) of a node, after all its merges
    start: Integers  # (2 nodes,) first row of a table, one for each level from 0 on
    is_child: Flags  # (nodes,)


@by_reference
class RescaledForestWork(NamedTuple):
    merges: Merges
    best: Matrix  # (rows, K) all tables
    message: Matrix  # (levels, K)
    left: Integers  # (nodes,) on the way back: the level of what hangs on a node


def new_merges(nodes: int) -> Merges:
    return Merges(
        child=np.zeros(nodes, np.int64),
        parent=np.zeros(nodes, np.int64),
        edge=np.zeros(nodes, np.int64),
        child_table=np.zeros(nodes, np.int64),
        parent_table=np.zeros(nodes, np.int64),
        table=np.zeros(nodes, np.int64),
        start=np.zeros(2 * nodes, np.int64),
        is_child=np.zeros(nodes, np.bool_),
    )


def new_rescaled_forest_work(
    nodes: int, rows: int, levels: int, n_states: int
) -> RescaledForestWork:
    """``rows`` is the largest result of ``plan_merges``, ``levels`` the largest M + 1."""
    return RescaledForestWork(
        new_merges(nodes),
        np.empty((rows, n_states)),
        np.empty((levels, n_states)),
        np.zeros(nodes, np.int64),
    )


@compiled
def _rows(start, number):
    return start[number + 1] - start[number]


@compiled
def _plan_merge(n, p, child, parent, edge, merges):
    table, start, made = merges.table, merges.start, n + p
    merges.child[p], merges.parent[p], merges.edge[p] = child, parent, edge
    merges.child_table[p], merges.parent_table[p] = table[child], table[parent]
    start[made + 1] = start[made] + _rows(start, table[child]) + _rows(start, table[parent]) - 1
    merges.is_child[child] = True
    table[parent] = made


@compiled
def plan_merges(level, states, ends, n, m, order, merges):
    """Lay out the tables of a forest; returns how many rows they have together."""
    merges.start[0] = 0
    for t in range(n):
        merges.table[t] = t
        merges.is_child[t] = False
        merges.start[t + 1] = merges.start[t] + largest(level[t, : states[t]]) + 1
    for p in range(m):
        e = order[p]
        if e >= 0:
            _plan_merge(n, p, ends[e, 0], ends[e, 1], e, merges)
        else:
            _plan_merge(n, p, ends[-e - 1, 1], ends[-e - 1, 0], e, merges)
    p = m
    root = -1
    for t in range(n):
        if not merges.is_child[t]:
            if root >= 0:
                _plan_merge(n, p, root, t, NO_EDGE, merges)
                p += 1
            root = t
    return merges.start[2 * n - 1]


@compiled
def edge_score(pair, e, k, other):
    """Of child and parent in states (k, other)."""
    if e == NO_EDGE:
        return 0.0
    return pair[e, k, other] if e >= 0 else pair[-e - 1, other, k]


@compiled
def _send(below, pair, e, child_states, parent_states, message):
    for c in range(below.shape[0]):
        message[c] = -np.inf
        if is_reached(below[c, :child_states]):
            for other in range(parent_states):
                value = -np.inf
                for k in range(child_states):
                    value = max(value, below[c, k] + edge_score(pair, e, k, other))
                message[c, other] = value


@compiled
def _merge(before, message, states, after):
    after[:] = -np.inf
    for a in range(before.shape[0]):
        if is_reached(before[a, :states]):
            for b in range(message.shape[0]):
                for state in range(states):
                    value = before[a, state] + message[b, state]
                    if value > after[a + b, state]:
                        after[a + b, state] = value


@compiled
def _fill_tables(theta, level, states, pair, n, work):
    merges, best = work.merges, work.best
    start = merges.start
    for t in range(n):
        table = best[start[t] : start[t + 1]]
        table[:] = -np.inf
        for k in range(states[t]):
            table[level[t, k], k] = theta[t, k]
    for p in range(n - 1):
        number = merges.child_table[p]
        below = best[start[number] : start[number + 1]]
        message = work.message[: below.shape[0]]
        child_states, parent_states = states[merges.child[p]], states[merges.parent[p]]
        _send(below, pair, merges.edge[p], child_states, parent_states, message)
        number = merges.parent_table[p]
        before = best[start[number] : start[number + 1]]
        _merge(before, message, parent_states, best[start[n + p] : start[n + p + 1]])


@compiled
def _undo_merge(below, before, pair, e, child_states, total, other):
    """(level, state) of the child in the best of the parent's, of level ``total``."""
    best, level, state = -np.inf, 0, 0
    for c in range(max(total - before.shape[0] + 1, 0), min(total + 1, below.shape[0])):
        for k in range(child_states):
            value = before[total - c, other] + (below[c, k] + edge_score(pair, e, k, other))
            if value > best:
                best, level, state = value, c, k
    return level, state


@compiled
def _read_off(states, pair, n, work, y):
    """The states of all nodes, from state and level of the last root."""
    merges, best, left = work.merges, work.best, work.left
    start = merges.start
    for p in range(n - 2, -1, -1):
        child, parent = merges.child[p], merges.parent[p]
        number = merges.child_table[p]
        below = best[start[number] : start[number + 1]]
        number = merges.parent_table[p]
        before = best[start[number] : start[number + 1]]
        left[child], y[child] = _undo_merge(
            below, before, pair, merges.edge[p], states[child], left[parent], y[parent]
        )
        left[parent] -= left[child]


@compiled
def rescaled_max_sum(theta, states, ends, pair, n, m, order, level, truth, work, y):
    """Write the best labelling of a forest into ``y`` and return its value, in units of the loss.

    The truth's is 0. It is the answer where no labelling has a positive value; otherwise, of equal
    values, the lowest level wins, then the lowest state of the last root, and so on down.
    """
    plan_merges(level, states, ends, n, m, order, work.merges)
    _fill_tables(theta, level, states, pair, n, work)
    truth_score = labelling_score(theta, ends, pair, n, m, truth)
    root = n - 1
    while work.merges.is_child[root]:
        root -= 1
    number = work.merges.table[root]
    table = work.best[work.merges.start[number] : work.merges.start[number + 1]]
    value = 0.0
    for c in range(1, table.shape[0]):
        for k in range(states[root]):
            candidate = c * (1.0 + (table[c, k] - truth_score))
            if candidate > value:
                value = candidate
                work.left[root] = c
                y[root] = k
    if value > 0.0:
        _read_off(states, pair, n, work, y)
    else:
        for t in range(n):
            y[t] = truth[t]
    return value
