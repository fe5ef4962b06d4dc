"""A sparse vector in weight space, filled by a structure and consumed by a solver.

A block's direction ``Psi_i d`` touches few of the weights. Structures add to it entry by entry;
the solver then takes its norm, a line search along it, and a multiple of it, without knowing where
the entries came from. Values stand in a row in the order they were first touched, and ``place``
finds them: small enough to stay in the processor's cache however many weights there are. Where
nearly every weight is touched anyway (dense node features) the accumulator is an ordinary vector.
"""

from typing import NamedTuple

import numpy as np

from taut._compile import both_modes, compiled

DENSE = -1


class Accumulator(NamedTuple):
    value: np.ndarray  # of the touched entries; of all if dense
    touched: np.ndarray  # which entries they are
    place: np.ndarray  # (dim,) 1 + where an entry stands in ``value``, 0 if untouched
    count: np.ndarray  # type: ignore[assignment]  # (1,) how many are touched, or DENSE


def new_accumulator(dim: int, capacity: int) -> Accumulator:
    """A sparse accumulator; ``capacity`` bounds the number of entries touched at a time."""
    capacity = min(capacity, dim)
    return Accumulator(
        np.zeros(capacity),
        np.zeros(capacity, np.int64),
        np.zeros(dim, np.int32),
        np.zeros(1, np.int64),
    )


def dense_accumulator(value: np.ndarray) -> Accumulator:
    """An accumulator that adds to ``value`` itself."""
    return Accumulator(value, np.zeros(0, np.int64), np.zeros(0, np.int32), np.full(1, DENSE))


@compiled(inline=True)
def push(delta, entry, amount):
    """delta[entry] += amount."""
    count = delta.count[0]
    if count == DENSE:
        delta.value[entry] += amount
    elif delta.place[entry] == 0:
        delta.value[count] = amount
        delta.touched[count] = entry
        delta.place[entry] = count + 1
        delta.count[0] = count + 1
    else:
        delta.value[delta.place[entry] - 1] += amount


@compiled(inline=True)
def row_place(delta, start, size):
    """Where the entries start .. start + size stand side by side in ``value``, at zero if they are
    new; -1 if some were touched apart from the others."""
    count = delta.count[0]
    if count == DENSE:
        return start
    place = delta.place[start : start + size]
    first = place[0]
    apart = 0
    if first == 0:
        for j in range(size):
            apart |= place[j]
        if apart != 0:
            return -1
        for j in range(size):
            delta.value[count + j] = 0.0
            delta.touched[count + j] = start + j
            place[j] = count + 1 + j
        delta.count[0] = count + size
        return count
    for j in range(size):
        apart |= place[j] - first - j
    return first - 1 if apart == 0 else -1


# The kernels take plain arrays: unpacking a named tuple costs a Python model more than the work.


@compiled(fastmath=True)
def _squared_norm(value, count):
    total = 0.0
    for j in range(value.size if count[0] == DENSE else count[0]):
        total += value[j] * value[j]
    return total


@compiled
def _add_to(value, touched, count, step, w):
    if count[0] == DENSE:
        for entry in range(w.size):
            w[entry] += step * value[entry]
    else:
        for j in range(count[0]):
            w[touched[j]] += step * value[j]


@compiled
def _clear(value, touched, place, count):
    if count[0] == DENSE:
        value[:] = 0.0
    else:
        for j in range(count[0]):
            place[touched[j]] = 0
        count[0] = 0


@both_modes
def squared_norm(delta):
    return _squared_norm(delta.value, delta.count)


@both_modes
def add_to(delta, step, w):
    """w += step * delta."""
    _add_to(delta.value, delta.touched, delta.count, step, w)


@both_modes
def clear(delta):
    _clear(delta.value, delta.touched, delta.place, delta.count)
