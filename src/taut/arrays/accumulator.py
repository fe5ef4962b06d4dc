"""A sparse vector in weight space, filled by a structure and consumed by a solver.

A block's direction ``Psi_i d`` touches few of the weights. Structures add to it entry by entry;
the solver then takes its norm, a line search along it, and a multiple of it, without knowing where
the entries came from. Values stand in a row in the order they were first touched, and ``place``
finds them: small enough to stay in the processor's cache however many weights there are. Where
nearly every weight is touched anyway (dense node features) the accumulator is an ordinary vector.

Where whole rows of weights are touched, as by marginals, it can keep rows instead of entries: only
the place of a row's first entry is looked up, and its values are added side by side. Such an
accumulator is filled by ``row_place`` alone, and its entries are listed only if asked for.
"""

from typing import NamedTuple

import numpy as np

from taut._compile import Integers, Labels, Vector, both_modes, by_reference, compiled

DENSE = -1


@by_reference
class Accumulator(NamedTuple):
    value: Vector  # of the touched entries; of all if dense
    touched: Integers  # which entries they are
    place: Labels  # (dim,) 1 + where an entry (or row) stands in ``value``, 0 if untouched
    rows: Integers  # (2 * most rows,) first entry and size of each; empty if entries are kept
    count: Integers  # type: ignore[assignment]  # (2,) how many entries (or DENSE), and rows


def new_accumulator(dim: int, capacity: int) -> Accumulator:
    """A sparse accumulator; ``capacity`` bounds the number of entries touched at a time."""
    capacity = min(capacity, dim)
    return Accumulator(
        np.zeros(capacity),
        np.zeros(capacity, np.int64),
        np.zeros(dim, np.int32),
        np.zeros(0, np.int64),
        np.zeros(2, np.int64),
    )


def row_accumulator(dim: int, capacity: int, most_rows: int) -> Accumulator:
    """A sparse accumulator of rows; they are disjoint, and always named by the same start."""
    return new_accumulator(dim, capacity)._replace(rows=np.zeros(2 * most_rows, np.int64))


def dense_accumulator(value: np.ndarray) -> Accumulator:
    """An accumulator that adds to ``value`` itself."""
    nothing = np.zeros(0, np.int64)
    return Accumulator(value, nothing, np.zeros(0, np.int32), nothing, np.array([DENSE, 0]))


@compiled(inline=True)
def add_scaled(x, amount, out):
    for f in range(x.size):
        out[f] += amount * x[f]


@compiled(fastmath=True)
def dot(x, w):
    total = 0.0
    for f in range(x.size):
        total += x[f] * w[f]
    return total


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
def keeps_rows(delta):
    """Whether ``row_place`` may be used: of a dense accumulator, or one that was made for rows."""
    return delta.rows.size > 0 or delta.count[0] == DENSE


@compiled(inline=True)
def row_place(delta, start, size):
    """Where the row of entries start .. start + size stands in ``value``, at zero if it is new."""
    count = delta.count[0]
    if count == DENSE:
        return start
    place = delta.place[start]
    if place > 0:
        return place - 1
    for j in range(size):
        delta.value[count + j] = 0.0
    row = delta.count[1]
    delta.rows[2 * row] = start
    delta.rows[2 * row + 1] = size
    delta.place[start] = count + 1
    delta.count[0] = count + size
    delta.count[1] = row + 1
    return count


@compiled
def list_entries(delta):
    """Write all entries of the rows into ``touched``."""
    at = 0
    for row in range(delta.count[1]):
        for j in range(delta.rows[2 * row + 1]):
            delta.touched[at] = delta.rows[2 * row] + j
            at += 1


# The kernels take plain arrays: unpacking a named tuple costs a Python model more than the work.


@compiled(fastmath=True)
def _squared_norm(value, count):
    total = 0.0
    for j in range(value.size if count[0] == DENSE else count[0]):
        total += value[j] * value[j]
    return total


@compiled
def _add_to(value, touched, rows, count, step, w):
    if count[0] == DENSE:
        add_scaled(value, step, w)
    elif rows.size > 0:
        at = 0
        for row in range(count[1]):
            start, size = rows[2 * row], rows[2 * row + 1]
            add_scaled(value[at : at + size], step, w[start : start + size])
            at += size
    else:
        for j in range(count[0]):
            w[touched[j]] += step * value[j]


@compiled
def _clear(value, touched, place, rows, count):
    if count[0] == DENSE:
        value[:] = 0.0
    elif rows.size > 0:
        for row in range(count[1]):
            place[rows[2 * row]] = 0
        count[0] = count[1] = 0
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
    _add_to(delta.value, delta.touched, delta.rows, delta.count, step, w)


@both_modes
def clear(delta):
    _clear(delta.value, delta.touched, delta.place, delta.rows, delta.count)
