"""Remembered labellings of every block: the active set S_i and the oracle cache C_i.

Pairwise and away steps need the weights alpha_i(y) of the labellings mu_i is made of; an oracle
cache needs labellings worth trying again. Both are one linked list per block of *slots* in a
common pool: a slot with alpha > 0 is active, one with alpha = 0 is only cached. The pool is
allocated by Python; a pass that finds it full returns early, and continues in a larger one.
"""

from typing import NamedTuple

import numpy as np

from taut._compile import both_modes, compiled
from taut.problem import forget, label_value, length, true_label


class Corners(NamedTuple):
    head: np.ndarray  # (n,) first slot of block i, -1 if none
    size: np.ndarray  # (n,) slots of block i
    following: np.ndarray  # next slot of the same block, -1 at the end
    alpha: np.ndarray  # weight of the labelling in mu_i
    used_at: np.ndarray  # step of the last use, for eviction
    label_at: np.ndarray  # where its labelling starts in ``labels``
    labels: np.ndarray
    used: np.ndarray  # (2,) slots and labels in use


def no_corners() -> Corners:
    empty = np.zeros(0, np.int64)
    return Corners(
        empty, empty, empty, np.zeros(0), empty, empty, np.zeros(0, np.int32), np.zeros(2, np.int64)
    )


def new_corners(problem, lengths: np.ndarray) -> Corners:
    """One slot per block, holding the truth with weight 1, and room for one more per block."""
    n, slots = len(lengths), 2 * len(lengths)
    corners = Corners(
        np.arange(n),
        np.ones(n, np.int64),
        np.full(slots, -1),
        np.concatenate([np.ones(n), np.zeros(n)]),
        np.zeros(slots, np.int64),
        np.zeros(slots, np.int64),
        np.zeros(int(2 * lengths.sum() + lengths.max()), np.int32),
        np.array([n, lengths.sum()]),
    )
    corners.label_at[:n] = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    for i in range(n):
        true_label(problem, i, corners.labels[corners.label_at[i] :])
    return corners


def grown(corners: Corners) -> Corners:
    """The same corners in a pool of twice the size."""

    def double(array: np.ndarray, fill: int) -> np.ndarray:
        return np.concatenate([array, np.full(len(array), fill, array.dtype)])

    return corners._replace(
        following=double(corners.following, -1),
        alpha=double(corners.alpha, 0),
        used_at=double(corners.used_at, 0),
        label_at=double(corners.label_at, 0),
        labels=double(corners.labels, 0),
    )


@compiled
def has_room(corners, longest):
    return (
        corners.used[0] < corners.alpha.size
        and corners.used[1] + longest <= corners.labels.size
    )


@both_modes
def labelling(corners, slot):
    """The labelling in a slot (longer than the example's; only its first entries count)."""
    return corners.labels[corners.label_at[slot] :]


@compiled
def _equal(a, b, count):
    for t in range(count):
        if a[t] != b[t]:
            return False
    return True


@both_modes
def insert(problem, corners, i, y, limit, now):
    """Slot of labelling y in block i, found or made.

    Beyond ``limit`` slots the least recently used cached one is overwritten; active ones never.
    """
    count = length(problem, i)
    spare = -1
    slot = corners.head[i]
    while slot >= 0:
        if _equal(labelling(corners, slot), y, count):
            corners.used_at[slot] = now
            forget(problem, i, y)
            return slot
        if corners.alpha[slot] == 0.0 and (
            spare < 0 or corners.used_at[slot] < corners.used_at[spare]
        ):
            spare = slot
        slot = corners.following[slot]
    if spare >= 0 and corners.size[i] >= limit:
        slot = spare
        forget(problem, i, labelling(corners, slot))
    else:
        slot = corners.used[0]
        corners.used[0] += 1
        corners.label_at[slot] = corners.used[1]
        corners.used[1] += count
        corners.following[slot] = corners.head[i]
        corners.head[i] = slot
        corners.size[i] += 1
    kept = labelling(corners, slot)
    for t in range(count):
        kept[t] = y[t]
    corners.alpha[slot] = 0.0
    corners.used_at[slot] = now
    return slot


@both_modes
def best_and_worst(problem, corners, w, i, work):
    """(best remembered slot, its value, worst active slot, its value) under prepared scores."""
    best, away = -1, -1
    best_value, away_value = -np.inf, np.inf
    slot = corners.head[i]
    while slot >= 0:
        value = label_value(problem, w, i, work, labelling(corners, slot))
        if value > best_value:
            best, best_value = slot, value
        if corners.alpha[slot] > 0.0 and value < away_value:
            away, away_value = slot, value
        slot = corners.following[slot]
    return best, best_value, away, away_value


@compiled
def rescale(head, following, alpha, i, factor):
    """alpha_i *= factor."""
    slot = head[i]
    while slot >= 0:
        alpha[slot] *= factor
        slot = following[slot]
