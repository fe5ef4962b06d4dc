"""Slack rescaling on a small graph: the labelling with the largest loss * (1 + score - truth's
score), by trying all of them, whatever the losses of nodes' states.

Like :mod:`taut.inference.exhaustive`, with the loss of the first t nodes kept beside their score.
"""

from typing import NamedTuple

import numpy as np

from taut._compile import Vector, by_reference, compiled
from taut.inference.exhaustive import (
    ExhaustiveWork,
    add_node,
    count_up,
    list_edges,
    new_exhaustive_work,
)
from taut.inference.labelling import labelling_score


@by_reference
class RescaledExhaustiveWork(NamedTuple):
    search: ExhaustiveWork
    partial: Vector  # (nodes + 1,) loss of the nodes before t


def new_rescaled_exhaustive_work(nodes: int, edges: int) -> RescaledExhaustiveWork:
    return RescaledExhaustiveWork(new_exhaustive_work(nodes, edges), np.zeros(nodes + 1))


@compiled
def try_all_rescaled(theta, states, ends, pair, n, m, loss, truth, work, y):
    """Write the best labelling into ``y`` and return its value; its loss is that of its nodes.

    The truth's is 0. It is the answer where no labelling has a positive value; otherwise the first
    one of equal values wins.
    """
    search, partial = work.search, work.partial
    digits = search.digits
    truth_score = labelling_score(theta, ends, pair, n, m, truth)
    list_edges(ends, n, m, search)
    for t in range(n):
        digits[t] = 0
        y[t] = truth[t]
    search.partial[0] = 0.0
    partial[0] = 0.0
    best = 0.0
    changed = 0
    while changed >= 0:
        for t in range(changed, n):
            add_node(theta, ends, pair, t, search)
            partial[t + 1] = partial[t] + loss[t, digits[t]]
        value = partial[n] * (1.0 + (search.partial[n] - truth_score))
        if value > best:
            best = value
            for t in range(n):
                y[t] = digits[t]
        changed = count_up(states, n, digits)
    return best
