"""Viterbi where labels are many and most steps score zero: exact, and most labels are passed over.

Scores: ``theta[t, k]`` of label k at position t, ``step[e, s]`` of the pair s at step e (one row
shared by all steps, or one each); a step that is no pair scores 0. With b = best[t-1], the row

    reach[t, l] = max_k (b[k] + score of the step from k to l)

begins with the best label k alone. Its smallest entry is a *floor*: a source k whose best step
stays below, b[k] + most[k] <= floor, cannot change the row, and any other may raise the floor.
Where labels differ clearly, as after a little training, few sources are left, and a position costs
little more than a look at its labels.

Values, and the order among equals, are those of :mod:`taut.inference.viterbi`.
"""

from typing import NamedTuple

import numpy as np

from taut._compile import Matrix, by_reference, compiled
from taut.inference.pairs import pair_of


@by_reference
class SparseSearch(NamedTuple):
    """Scratch memory."""

    table: Matrix  # (K, K) the scores of one step; zero but for pairs
    most: Matrix  # (steps or 1, K) the largest score of a step from each label


def new_sparse_search(n_tables: int, n_states: int) -> SparseSearch:
    return SparseSearch(np.zeros((n_states, n_states)), np.zeros((n_tables, n_states)))


@compiled
def _write_table(step, pairs, table, most):
    """The scores of a step as a matrix, and the largest of each row."""
    n_states = table.shape[0]
    for k in range(n_states):
        begin, end = pairs.begin[k], pairs.begin[k + 1]
        top = 0.0 if end - begin < n_states else -np.inf
        row = table[k]
        for s in range(begin, end):
            row[pairs.target[s]] = step[s]
            top = max(top, step[s])
        most[k] = top


@compiled
def _first(value, step, row):
    """row = value + step; returns the smallest."""
    low = np.inf
    for label in range(row.size):
        row[label] = value + step[label]
        low = min(low, row[label])
    return low


@compiled
def _maxima(value, step, row):
    """row[l] = max(row[l], value + step[l]); returns the smallest."""
    low = np.inf
    for label in range(row.size):
        candidate = value + step[label]
        row[label] = candidate if candidate > row[label] else row[label]
        low = row[label] if row[label] < low else low
    return low


@compiled
def best_label(row):
    """The first of the largest."""
    winner, top = 0, row[0]
    for label in range(1, row.size):
        if row[label] > top:
            winner, top = label, row[label]
    return winner


@compiled
def best_of_few(before, table, most, row):
    """row[l] = max_k (before[k] + table[k, l])."""
    best = best_label(before)
    floor = _first(before[best], table[best], row)
    for k in range(row.size):
        if before[k] + most[k] > floor and k != best:
            floor = _maxima(before[k], table[k], row)


@compiled
def sparse_viterbi(theta, step, pairs, length, best, reach, search, y):
    """Write the best labelling into ``y[:length]`` and return its score."""
    n_states = theta.shape[1]
    shared = step.shape[0] == 1
    table, most = search.table, search.most
    for label in range(n_states):
        best[0, label] = theta[0, label]
    for t in range(1, length):
        row, e = reach[t], 0 if shared else t - 1
        if t == 1 or not shared:
            _write_table(step[e], pairs, table, most[e])
        best_of_few(best[t - 1], table, most[e], row)
        for label in range(n_states):
            best[t, label] = row[label] + theta[t, label]

    winner = best_label(best[length - 1])
    total = best[length - 1, winner]
    y[length - 1] = winner
    for t in range(length - 1, 0, -1):
        e = 0 if shared else t - 1
        y[t - 1] = _came_from(best[t - 1], step[e], pairs, most[e], y[t], reach[t, y[t]])
    return total


@compiled
def _came_from(before, step, pairs, most, label, value):
    """The first label from which ``label`` is reached with this value."""
    # The bound only matters for scores that are not numbers.
    for k in range(before.size - 1):
        if before[k] + most[k] >= value:
            pair = pair_of(pairs, k, label)
            if before[k] + (step[pair] if pair >= 0 else 0.0) == value:
                return k
    return before.size - 1
