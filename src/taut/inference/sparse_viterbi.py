"""Viterbi where most steps score zero: exact, for less than the square of the number of labels.

Scores: ``theta[t, k]`` of label k at position t, ``step[e, s]`` of the pair s at step e (one row
shared by all steps, or one each); a step that is no pair scores 0. With b = best[t-1],

    reach[t, l] = max( max of b[k] over all k that have no pair with l,
                       max of b[k] + step[s] over the pairs s = (k, l) )

The first maximum is nearly always that of the best labels: they are gone through in falling order
until each l has met one that it has no pair with. The smallest of these values is a *floor*: a
source k whose best pair stays below it, b[k] + max_s step[s] <= floor, cannot matter. Where labels
differ clearly, as after a little training, hardly any source is left, and a position costs little
more than a look at its labels.

Values, and the order among equals, are those of :mod:`taut.inference.viterbi`.
"""

from typing import NamedTuple

import numpy as np

from taut._compile import Labels, Vector, by_reference, compiled

# After so many of the best labels, targets still without a value are looked at one by one.
ROUNDS = 8


@by_reference
class SparseSearch(NamedTuple):
    """Scratch memory."""

    most: Vector  # (K,) the largest score of a source's pairs
    column: Vector  # (K,) scores of all steps into one label, from its best beginnings
    left: Labels  # (K,) targets without a value


def new_sparse_search(n_states: int) -> SparseSearch:
    return SparseSearch(np.zeros(n_states), np.zeros(n_states), np.zeros(n_states, np.int32))


@compiled
def _largest_of_sources(step, begin, most):
    for k in range(most.size):
        top = -np.inf
        for s in range(begin[k], begin[k + 1]):
            top = max(top, step[s])
        most[k] = top


@compiled
def _next_best(before, value, label):
    """The best label after ``label``, whose value this is: of equals the lower comes first."""
    best, found = -np.inf, -1
    for k in range(before.size):
        b = before[k]
        if (b < value or (b == value and k > label)) and (b > best or found < 0):
            best, found = b, k
    return found


@compiled
def _without_pair(before, steps, search, row):
    """row[l] = max of before[k] over labels k that have no pair with l; returns how many labels
    are left without a value in ``search.left``."""
    begin, target, left = steps.begin, steps.target, search.left
    n_states = before.size
    best = 0
    for k in range(1, n_states):
        if before[k] > before[best]:
            best = k
    for label in range(n_states):
        row[label] = before[best]
    n_left = 0
    for s in range(begin[best], begin[best + 1]):
        left[n_left] = target[s]
        n_left += 1
    for _ in range(ROUNDS):
        if n_left == 0:
            return 0
        best = _next_best(before, before[best], best)
        if best < 0:
            return n_left
        # Both lists rise.
        s, stop, still = begin[best], begin[best + 1], 0
        for j in range(n_left):
            label = left[j]
            while s < stop and target[s] < label:
                s += 1
            if s < stop and target[s] == label:
                left[still] = label
                still += 1
            else:
                row[label] = before[best]
        n_left = still
    return n_left


@compiled
def write_column(before, step, steps, label, column):
    """column[k] = before[k] + the score of the step from k to ``label``."""
    for k in range(column.size):
        column[k] = before[k]
    for j in range(steps.into[label], steps.into[label + 1]):
        k = steps.source[j]
        column[k] = before[k] + step[steps.pair[j]]


@compiled
def best_sparse_steps(before, step, steps, search, row):
    """row[l] = max_k (before[k] + the score of the step from k to l)."""
    n_left = _without_pair(before, steps, search, row)
    column = search.column
    for j in range(n_left):
        label = search.left[j]
        write_column(before, step, steps, label, column)
        top = column[0]
        for k in range(1, column.size):
            top = max(top, column[k])
        row[label] = top
    floor = row[0]
    for label in range(1, row.size):
        floor = min(floor, row[label])
    begin, target, most = steps.begin, steps.target, search.most
    for k in range(row.size):
        b = before[k]
        if b + most[k] > floor:
            for s in range(begin[k], begin[k + 1]):
                value = b + step[s]
                if value > row[target[s]]:
                    row[target[s]] = value


@compiled
def sparse_viterbi(theta, step, steps, length, best, reach, search, y):
    """Write the best labelling into ``y[:length]`` and return its score."""
    n_states = theta.shape[1]
    shared = step.shape[0] == 1
    for label in range(n_states):
        best[0, label] = theta[0, label]
    for t in range(1, length):
        row, scores = reach[t], step[0 if shared else t - 1]
        if t == 1 or not shared:
            _largest_of_sources(scores, steps.begin, search.most)
        best_sparse_steps(best[t - 1], scores, steps, search, row)
        for label in range(n_states):
            best[t, label] = row[label] + theta[t, label]

    last = best[length - 1]
    winner = 0
    for label in range(1, n_states):
        if last[label] > last[winner]:
            winner = label
    total = last[winner]
    y[length - 1] = winner
    column = search.column
    for t in range(length - 1, 0, -1):
        label = y[t]
        write_column(best[t - 1], step[0 if shared else t - 1], steps, label, column)
        winner = 0
        # The bound only matters for scores that are not numbers.
        while winner < n_states - 1 and column[winner] != reach[t, label]:
            winner += 1
        y[t - 1] = winner
    return total
