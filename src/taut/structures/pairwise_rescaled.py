"""The oracle of chains and single nodes under slack rescaling: argmax loss * (1 + score - truth's).

A single node tries its K labels, whatever they cost. Longer examples need costs that are whole
multiples of one unit (see :mod:`taut.inference.rescaled_chain`).
"""

from typing import Any, NamedTuple

import numpy as np

from taut._compile import IntegerMatrix, both_modes, by_reference, compiled
from taut.inference.rescaled_chain import LevelWork, new_level_work, rescaled_viterbi
from taut.structures.loss_levels import check_memory, no_levels, whole_levels
from taut.structures.pairwise_kernels import close_scores


@by_reference
class PairwiseSearch(NamedTuple):
    """What the oracle needs beyond the problem and its work."""

    level: (
        IntegerMatrix  # (K, K) cost[true, other] in units; empty if all examples are single nodes
    )
    work: LevelWork


def new_pairwise_search(problem: Any) -> PairwiseSearch:
    n_states, lengths = problem.n_states, np.diff(problem.pointer)
    if problem.longest <= 1:
        return PairwiseSearch(np.zeros((0, 0), np.int64), new_level_work(0, n_states))
    level = whole_levels(problem.cost)
    if level is None:
        raise no_levels("the costs of labels (and class weights)")
    per_node = level.max(axis=1).astype(float)[problem.truth]
    rows = lengths * (np.add.reduceat(per_node, problem.pointer[:-1]) + 1.0)
    i = int(rows.argmax())
    check_memory(rows[i], n_states, f"for example {i}, which has {lengths[i]} nodes")
    return PairwiseSearch(level, new_level_work(int(rows[i]), n_states))


@compiled
def _best_of_one(theta, cost, true, y):
    """The same for one node, with any costs."""
    best = 0.0
    y[0] = true
    for k in range(theta.size):
        value = cost[k] * (1.0 + (theta[k] - theta[true]))
        if value > best:
            best = value
            y[0] = k


@both_modes
def rescaled_labelling(problem, i, work, search, y):
    """Write the best labelling into ``y``, under scores without loss."""
    first = problem.pointer[i]
    length = problem.pointer[i + 1] - first
    truth = problem.truth[first : first + length]
    theta, pair = work.theta, work.pair
    if problem.closed.size > 0 or problem.forced.size > 0:
        close_scores(problem, first, length, work)
        theta = work.closed_theta
        if problem.closed.size > 0:
            pair = work.closed_pair
    if search.level.size == 0:
        _best_of_one(theta[0], problem.cost[truth[0]], truth[0], y)
    else:
        rescaled_viterbi(theta, pair, search.level, truth, length, search.work, y)
