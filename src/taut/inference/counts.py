"""Factors that count: of these two-state nodes, between ``low`` and ``high`` are in state 1.

"At most k of these labels" is (0, k), "exactly one" is (1, 1), "at least one" is (1, size). Such a
factor over s nodes has up to 2^s labellings, but it is determined by s numbers, the *compact
marginals* p_i = P(node i is in state 1). Their polytope

    { 0 ≤ p ≤ 1,  low ≤ Σ p ≤ high }

is integral: its corners are the labellings that are allowed. The two things an algorithm needs of
it are here, the best corner and the projection of a point. Both take arrays of exactly the factor's
size and expect 0 ≤ low ≤ high and low ≤ size; :func:`check_counts` makes sure.

Reference: O. Meshi, N. Srebro, T. Hazan, "Efficient training of structured SVMs via soft
constraints", 2015, appendix D.
"""

from collections.abc import Sequence
from numbers import Integral

import numpy as np

from taut._compile import compiled


def check_counts(counts: Sequence, states: np.ndarray) -> None:
    """Refuse counts, each (nodes, low, high), that do not fit a graph or that nothing fulfils.

    >>> check_counts([([0, 2], 0, 1)], np.array([2, 3, 2]))
    >>> check_counts([([0, 1], 0, 1)], np.array([2, 3, 2]))
    Traceback (most recent call last):
        ...
    ValueError: counts[0] is over node 1, which has 3 states; only two-state nodes can be counted
    """
    for i, (nodes, low, high) in enumerate(counts):
        nodes = np.asarray(nodes, None if len(nodes) else int)
        if not np.issubdtype(nodes.dtype, np.integer):
            raise ValueError(f"counts[{i}] has nodes of type {nodes.dtype}; they must be integers")
        outside = nodes[(nodes < 0) | (nodes >= len(states))]
        if outside.size:
            raise ValueError(
                f"counts[{i}] is over node {outside[0]}, but the nodes are 0 to {len(states) - 1}"
            )
        if len(np.unique(nodes)) < len(nodes):
            raise ValueError(f"counts[{i}] lists a node twice: {nodes.tolist()}; list it once")
        other = nodes[np.asarray(states)[nodes] != 2]
        if other.size:
            raise ValueError(
                f"counts[{i}] is over node {other[0]}, which has {states[other[0]]} states; "
                "only two-state nodes can be counted"
            )
        whole = isinstance(low, Integral) and isinstance(high, Integral)
        if not (whole and 0 <= low <= min(high, len(nodes))):
            raise ValueError(
                f"counts[{i}] wants {low} to {high} of {len(nodes)} nodes in state 1; "
                "integers with 0 <= low <= high and low <= the number of nodes are possible"
            )


# --- the best corner -----------------------------------------------------------------------------


@compiled(inline=True)
def _ahead(gain, i, j):
    return gain[i] > gain[j] or (gain[i] == gain[j] and i < j)


@compiled
def _sift_down(gain, heap, at, size):
    """Restore the heap, the best on top, below a position that may hold too bad an element."""
    moving = heap[at]
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and _ahead(gain, heap[child + 1], heap[child]):
            child += 1
        if not _ahead(gain, heap[child], moving):
            break
        heap[at] = heap[child]
        at = child
    heap[at] = moving


@compiled
def _choose_best(gain, number, heap, size, chosen):
    """Choose this many of the elements listed in ``heap[:size]``."""
    for at in range(size // 2 - 1, -1, -1):
        _sift_down(gain, heap, at, size)
    for _ in range(min(number, size)):
        chosen[heap[0]] = 1
        size -= 1
        heap[0] = heap[size]
        _sift_down(gain, heap, 0, size)


@compiled
def best_count(gain, low, high, order, chosen):
    """Write 0 or 1 into ``chosen``, low to high of them 1, of the largest total gain; returns it.

    ``gain`` is the score of state 1 minus that of state 0. Among equal gains the first element is
    chosen, and of gain zero none that need not be. ``order`` is scratch memory: as many integers.
    """
    positive = 0
    for i in range(gain.size):
        chosen[i] = 1 if gain[i] > 0.0 else 0
        positive += gain[i] > 0.0
    too_many = positive > high
    if too_many or positive < low:
        # The best of the chosen remain; or the best of the others join them.
        size = 0
        for i in range(gain.size):
            if (gain[i] > 0.0) == too_many:
                chosen[i] = 0
                order[size] = i
                size += 1
        _choose_best(gain, high if too_many else low - positive, order, size, chosen)
    total = 0.0
    for i in range(gain.size):
        if chosen[i] > 0:
            total += gain[i]
    return total


# --- the projection ------------------------------------------------------------------------------


@compiled(fastmath=True)
def _clipped_sum(target, threshold):
    """Σ clip(target − threshold, 0, 1)."""
    total = 0.0
    for i in range(target.size):
        total += min(max(target[i] - threshold, 0.0), 1.0)
    return total


@compiled
def _mean_kink(target, left, right):
    """The mean of the sum's kinks strictly between two numbers; NaN if there are none.

    The kinks are ``target`` and ``target − 1``.
    """
    first, last, total, count = right, left, 0.0, 0
    for i in range(target.size):
        for kink in (target[i], target[i] - 1.0):
            if left < kink < right:
                first, last = min(first, kink), max(last, kink)
                total += kink
                count += 1
    # Rounding must not move the mean out of the interval.
    return min(max(total / count, first), last) if count else np.nan


@compiled
def _piece_with_sum(target, goal, left, right):
    """The part of [left, right] without a kink inside, on which Σ clip(target − t, 0, 1) = goal."""
    # Every cut leaves at least one kink less inside, and about half of them as a rule.
    for _ in range(2 * target.size):
        cut = _mean_kink(target, left, right)
        if np.isnan(cut):
            break
        if _clipped_sum(target, cut) >= goal:
            left = cut
        else:
            right = cut
    return left, right


@compiled
def _threshold(target, goal, left, right):
    """t = origin + step with Σ clip(target − t, 0, 1) = goal, as two numbers.

    Added up they would lose digits: entries strictly between 0 and 1 are small differences of
    targets that may be large.
    """
    left, right = _piece_with_sum(target, goal, left, right)
    ones, free = 0, 0
    # Kahan's sum: an error of the threshold counts as often as there are free entries.
    total, lost = 0.0, 0.0
    for i in range(target.size):
        if target[i] - 1.0 >= right:
            ones += 1
        elif target[i] >= right:
            free += 1
            term = target[i] - left - lost
            before, total = total, total + term
            lost = total - before - term
    return left, (ones - goal + total) / free if free else 0.0


@compiled
def project_count(target, low, high, out):
    """Write the point of { 0 ≤ p ≤ 1, low ≤ Σ p ≤ high } that is nearest to ``target``.

    It is clip(target − t, 0, 1) with the multiplier t of the sum: zero if the sum then is within
    its bounds, else what puts it on the bound it violates. ``out`` may be ``target`` itself.
    """
    origin, step = 0.0, 0.0
    total = _clipped_sum(target, 0.0)
    if total > high:
        largest = target[0]
        for i in range(1, target.size):
            largest = max(largest, target[i])
        origin, step = _threshold(target, high, 0.0, largest)
    elif total < low:
        smallest = target[0]
        for i in range(1, target.size):
            smallest = min(smallest, target[i])
        origin, step = _threshold(target, low, smallest - 1.0, 0.0)
    for i in range(target.size):
        out[i] = min(max(target[i] - origin - step, 0.0), 1.0)
