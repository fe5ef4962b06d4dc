"""Viterbi by NumPy: the best labellings of one chain, or of many beside each other.

    best[t, l] = max_k (best[t - 1, k] + pair[k, l]) + theta[t, l]

Where labels are many, most of them cannot win and are passed over: with b = best[t - 1] and the
best label k, the row ``b[k] + pair[k]`` has a smallest entry, and a label whose best step stays
below that changes nothing.

Scores are summed in another order than by compiled code. So a labelling that wins by less than
rounding could explain is reported as a *tie*, which :mod:`taut.tagger.ties` decides.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

DOUBT = 1e-10  # of the largest score: far more than rounding, far less than what means anything
MANY_LABELS = 64
AT_ONCE = 64  # sequences; a step of so many fits into the processor's cache

maximum = np.maximum.reduce


class Steps(NamedTuple):
    """Scores of steps, shared by all positions; minus infinity forbids."""

    onward: np.ndarray  # (K, K) [from, to]
    back: np.ndarray  # (K, K) [to, from]
    both_ways: np.ndarray  # (K, 2, K): of each label, the rows of both
    most: np.ndarray  # (K,) the largest of each row of ``onward``
    largest: float  # of the absolute values


def steps_of(pair: np.ndarray) -> Steps:
    finite = np.where(np.isfinite(pair), np.abs(pair), 0.0)
    back = np.ascontiguousarray(pair.T)
    return Steps(pair, back, np.stack([pair, back], axis=1), pair.max(axis=1), float(finite.max()))


def best_labels(
    theta: np.ndarray, lengths: np.ndarray, steps: Steps
) -> tuple[np.ndarray, list[int]]:
    """Label numbers of all positions, and the sequences in which something is a tie.

    ``theta`` (positions, K) has the scores of all sequences, one after the other.
    """
    if len(lengths) == 1 and len(theta):
        labels, is_tie = best_of_one(theta, steps)
        return np.array(labels), [0] if is_tie else []
    numbers = np.empty(len(theta), np.int64)
    first = lengths.cumsum() - lengths
    ties: list[int] = []
    longest_first = np.argsort(-lengths, kind="stable")
    longest_first = longest_first[: np.count_nonzero(lengths)]
    if len(steps.onward) > MANY_LABELS:
        for i in longest_first.tolist():
            part = slice(first[i], first[i] + lengths[i])
            numbers[part], is_tie = best_of_one(theta[part], steps)
            ties += [i] * is_tie
    else:
        for at in range(0, len(longest_first), AT_ONCE):
            chosen = longest_first[at : at + AT_ONCE]
            in_doubt = _several(theta, first[chosen], lengths[chosen], steps, numbers)
            ties += chosen[in_doubt].tolist()
    return numbers, ties


def best_of_one(theta: np.ndarray, steps: Steps) -> tuple[list[int], bool]:
    """The labels of one sequence, and whether there is a tie.

    The search begins at both ends and meets in the middle: calls of NumPy on small arrays cost
    nearly the same for two tables as for one.
    """
    if len(steps.onward) > MANY_LABELS:
        return _one_of_many_labels(theta, steps)
    n = len(theta)
    half = (n - 1) // 2
    both = np.empty((half + 1, 2, theta.shape[1]))  # from the left, from the right
    both[:, 0], both[:, 1] = theta[: half + 1], theta[n - half - 1 :][::-1]
    reach, reached = np.empty_like(steps.both_ways), None
    for before, after in pairwise(both):
        # The largest over the first axis: rows are compared whole, which is quicker.
        np.add(steps.both_ways, before.T[:, :, None], reach)
        reached = maximum(reach, 0)
        after += reached
    left, right = both[:, 0], both[:, 1]
    if n % 2 == 0:  # the middle is between two positions
        total = right[half] + maximum(steps.onward + left[half][:, None], 0)
    else:
        total = left[half] if reached is None else left[half] + reached[1]
    values = np.empty_like(theta)  # of the labels at a position, given the one that was found after
    values[0] = total
    winner = k = int(total.argmax())
    labels = [winner]
    for row, found in zip(left[: n - half - 1][::-1], values[1:], strict=False):
        k = int(np.add(steps.back[k], row, found).argmax())
        labels.append(k)
    labels.reverse()
    k = winner
    for row, found in zip(right[:half][::-1], values[n - half :], strict=True):
        k = int(np.add(steps.onward[k], row, found).argmax())
        labels.append(k)
    return labels, _is_tie(values, float(total[winner]), steps)


def _one_of_many_labels(theta: np.ndarray, steps: Steps) -> tuple[list[int], bool]:
    rows = [theta[0]]
    for scores in theta[1:]:
        rows.append(_best_of_few(rows[-1], steps) + scores)
    labels, values = [int(rows[-1].argmax())], [rows[-1]]
    for row in rows[-2::-1]:
        values.append(steps.back[labels[-1]] + row)
        labels.append(int(values[-1].argmax()))
    labels.reverse()
    return labels, _is_tie(np.array(values), float(values[0].max()), steps)


def _is_tie(values: np.ndarray, best: float, steps: Steps) -> bool:
    """Whether in some row another label does as well as the winner."""
    least = maximum(values, 1) - DOUBT * (1.0 + steps.largest + abs(best))
    return bool(np.count_nonzero(values >= least[:, None]) > len(values))


def _best_of_few(before: np.ndarray, steps: Steps) -> np.ndarray:
    """max_k (before[k] + onward[k]), over those k that can matter."""
    best = int(before.argmax())
    floor = float((before[best] + steps.onward[best]).min())
    sources = np.flatnonzero(before + steps.most >= floor)
    if not len(sources):  # every labelling is forbidden
        return np.full(len(before), -np.inf)
    found: np.ndarray = maximum(steps.onward[sources] + before[sources, None], 0)
    return found


def _several(
    theta: np.ndarray, first: np.ndarray, lengths: np.ndarray, steps: Steps, numbers: np.ndarray
) -> np.ndarray:
    """The same for sequences of falling length; returns in which there is a tie."""
    longest = int(lengths[0])
    rows, room = [theta[first]], np.empty((theta.shape[1], len(lengths), theta.shape[1]))
    for t in range(1, longest):
        n = int(np.count_nonzero(lengths > t))
        # (source, sequence, target): the largest over the first axis, as in ``best_of_one``.
        reach = np.add(steps.onward[:, None], rows[-1][:n].T[:, :, None], room[:, :n])
        rows.append(maximum(reach, 0) + theta[first[:n] + t])
    in_doubt = np.zeros(len(lengths), bool)
    winner = np.zeros(len(lengths), np.int64)
    highest = max(abs(float(row[0].max())) for row in (rows[0], rows[-1]))
    doubt = DOUBT * (1.0 + steps.largest + highest)
    for t in range(longest - 1, -1, -1):
        row = rows[t]
        n, n_onward = len(row), len(rows[t + 1]) if t + 1 < longest else 0
        reach = row.copy()
        reach[:n_onward] += steps.back[winner[:n_onward]]
        winner[:n] = reach.argmax(axis=1)
        top = maximum(reach, 1)
        in_doubt[:n] |= np.count_nonzero(reach >= (top - doubt)[:, None], axis=1) > 1
        numbers[first[:n] + t] = winner[:n]
    return in_doubt
