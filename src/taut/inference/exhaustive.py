"""The best labelling of a small graph by trying all of them.

Labellings are counted up like the digits of a number, the last node fastest. The score of the first
t nodes and the edges among them is kept for every t, so that a step recomputes only the digits that
changed: little more than one node per labelling. Among equal scores the first labelling wins.
"""

from typing import NamedTuple

import numpy as np

from taut._compile import Integers, Labels, Vector, by_reference, compiled


@by_reference
class ExhaustiveWork(NamedTuple):
    digits: Labels  # (nodes,) the labelling under trial
    partial: Vector  # (nodes + 1,) score of the nodes before t and the edges among them
    first: Integers  # (nodes + 2,) where the edges begin whose later end is node t
    listed: Integers  # (edges,) the edges, by their later end


def new_exhaustive_work(nodes: int, edges: int) -> ExhaustiveWork:
    return ExhaustiveWork(
        np.zeros(nodes, np.int32),
        np.zeros(nodes + 1),
        np.zeros(nodes + 2, np.int64),
        np.zeros(edges, np.int64),
    )


@compiled
def list_edges(ends, n, m, work):
    """Sort the edges by their later end, by counting."""
    first, listed = work.first, work.listed
    first[: n + 2] = 0
    for e in range(m):
        first[max(ends[e, 0], ends[e, 1]) + 2] += 1
    for t in range(2, n + 2):
        first[t] += first[t - 1]
    for e in range(m):
        later = max(ends[e, 0], ends[e, 1])
        listed[first[later + 1]] = e
        first[later + 1] += 1


@compiled
def add_node(theta, ends, pair, t, work):
    """The score of the nodes up to t, from that of the nodes before."""
    digits, first, listed = work.digits, work.first, work.listed
    score = work.partial[t] + theta[t, digits[t]]
    for position in range(first[t], first[t + 1]):
        e = listed[position]
        score += pair[e, digits[ends[e, 0]], digits[ends[e, 1]]]
    work.partial[t + 1] = score


@compiled
def count_up(states, n, digits):
    """The next labelling; returns the first node that changed, -1 after the last labelling."""
    changed = n - 1
    while changed >= 0 and digits[changed] == states[changed] - 1:
        digits[changed] = 0
        changed -= 1
    if changed >= 0:
        digits[changed] += 1
    return changed


@compiled
def try_all(theta, states, ends, pair, n, m, work, y):
    """Write the best labelling into ``y`` and return its score."""
    digits, partial = work.digits, work.partial
    list_edges(ends, n, m, work)
    digits[:n] = 0
    partial[0] = 0.0
    best = -np.inf
    changed = 0
    while changed >= 0:
        for t in range(changed, n):
            add_node(theta, ends, pair, t, work)
        if partial[n] > best:
            best = partial[n]
            for t in range(n):
                y[t] = digits[t]
        changed = count_up(states, n, digits)
    return best
