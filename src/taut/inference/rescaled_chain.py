"""Slack rescaling on a chain: the labelling with the largest loss * (1 + score - truth's score).

A product of loss and score does not decompose, but the best score of a given loss does. The loss of
a labelling is a whole multiple of some unit, its *level*: the sum of level[truth_t, y_t]. With
best[t, c, l] the best score of a beginning of level c that ends at position t in label l,

    best[t, c, l] = theta[t, l] + max_k (best[t-1, c - level[truth_t, l], k] + pair[k, l])

which is Viterbi's recurrence for every level that the positions before can have: T K^2 M steps with
M the largest level of all, or T^2 K^2 / 2 under Hamming loss. What remains is to compare M numbers,
c * (1 + max_l best[T-1, c, l] - truth's score). On the way back the best k is found again.

Scores are those of :mod:`taut.inference.viterbi`: minus infinity forbids a label or a step, and a
level that no labelling has is left out by the same value.
"""

from typing import NamedTuple

import numpy as np

from taut._compile import Matrix, Vector, by_reference, compiled
from taut.inference.viterbi import best_steps


@by_reference
class LevelWork(NamedTuple):
    best: Matrix  # (rows, K) row t * (M + 1) + c holds best[t, c]
    row: Vector  # (K,)


def new_level_work(rows: int, n_states: int) -> LevelWork:
    """``rows`` is the largest T * (M + 1) of any chain."""
    return LevelWork(np.empty((rows, n_states)), np.empty(n_states))


@compiled
def is_reached(scores):
    """Whether a table's row holds the score of any labelling."""
    for k in range(scores.size):
        if scores[k] > -np.inf:
            return True
    return False


@compiled
def largest(levels):
    found = 0
    for k in range(levels.size):
        found = max(found, levels[k])
    return found


@compiled
def _highest_level(level, truth, length):
    """M, the largest level of any labelling."""
    total = 0
    for t in range(length):
        total += largest(level[truth[t]])
    return total


@compiled
def _score(theta, pair, shared, length, y):
    total = theta[0, y[0]]
    for t in range(1, length):
        total += pair[0 if shared else t - 1, y[t - 1], y[t]] + theta[t, y[t]]
    return total


@compiled
def _fill_tables(theta, pair, level, truth, length, stride, work):
    best, row = work.best, work.row
    shared = pair.shape[0] == 1
    highest = largest(level[truth[0]])
    best[: highest + 1] = -np.inf
    for label in range(row.size):
        best[level[truth[0], label], label] = theta[0, label]
    for t in range(1, length):
        before = best[(t - 1) * stride : t * stride]
        table = best[t * stride : (t + 1) * stride]
        step = pair[0 if shared else t - 1]
        levels = level[truth[t]]
        table[: highest + largest(levels) + 1] = -np.inf
        for c in range(highest + 1):
            if is_reached(before[c]):
                best_steps(before[c], step, row)
                for label in range(row.size):
                    table[c + levels[label], label] = row[label] + theta[t, label]
        highest += largest(levels)


@compiled
def _best_before(before, step, label):
    winner = 0
    for k in range(1, before.size):
        if before[k] + step[k, label] > before[winner] + step[winner, label]:
            winner = k
    return winner


@compiled
def rescaled_viterbi(theta, pair, level, truth, length, work, y):
    """Write the best labelling into ``y[:length]`` and return its value, in units of the loss.

    The truth's is 0. It is the answer where no labelling has a positive value; otherwise, of equal
    values, the lowest level wins, then the lowest labels, the last one first.
    """
    shared = pair.shape[0] == 1
    stride = _highest_level(level, truth, length) + 1
    _fill_tables(theta, pair, level, truth, length, stride, work)
    truth_score = _score(theta, pair, shared, length, truth)
    last = work.best[(length - 1) * stride : length * stride]
    value, level_left, label = 0.0, 0, 0
    for c in range(1, stride):
        for k in range(last.shape[1]):
            candidate = c * (1.0 + (last[c, k] - truth_score))
            if candidate > value:
                value, level_left, label = candidate, c, k
    for t in range(length - 1, -1, -1):
        if value == 0.0:
            y[t] = truth[t]
            continue
        y[t] = label
        level_left -= level[truth[t], label]
        if t > 0:
            before = work.best[(t - 1) * stride + level_left]
            label = _best_before(before, pair[0 if shared else t - 1], label)
    return value
