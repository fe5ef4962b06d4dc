"""A sparse vector in weight space, filled by a structure and consumed by a solver.

A block's direction ``Psi_i d`` touches few of the weights. Structures add to it entry by entry;
the solver then takes its norm, a line search along it, and a multiple of it, without knowing where
the entries came from. Where nearly every weight is touched (dense node features) the list of
touched entries is not kept, ``count`` is -1, and the loops run over the whole vector in order.
"""

from typing import NamedTuple

import numpy as np

from taut._compile import both_modes, compiled

DENSE = -1
CANCELLED = 1e-300


class Accumulator(NamedTuple):
    value: np.ndarray  # (dim,) zero outside the touched entries
    touched: np.ndarray  # entries that may be non-zero
    count: np.ndarray  # type: ignore[assignment]  # (1,) how many of them, or DENSE


def new_accumulator(dim: int, capacity: int) -> Accumulator:
    """``capacity`` bounds the number of ``push`` calls between two ``clear`` calls."""
    return Accumulator(np.zeros(dim), np.empty(capacity, np.int64), np.zeros(1, np.int64))


@compiled(inline=True)
def push(delta, entry, amount):
    """delta[entry] += amount."""
    before = delta.value[entry]
    count = delta.count[0]
    if count != DENSE and before == 0.0:
        delta.touched[count] = entry
        delta.count[0] = count + 1
    after = before + amount
    # An entry that cancels keeps a token value: zero would list it twice at the next push.
    delta.value[entry] = after if after != 0.0 else CANCELLED


# The kernels take plain arrays: unpacking a named tuple costs a Python model more than the work.


@compiled(fastmath=True)
def _squared_norm(value, touched, count):
    total = 0.0
    if count[0] == DENSE:
        for entry in range(value.size):
            total += value[entry] * value[entry]
    else:
        for position in range(count[0]):
            amount = value[touched[position]]
            total += amount * amount
    return total


@compiled
def _add_to(value, touched, count, step, w):
    if count[0] == DENSE:
        for entry in range(w.size):
            w[entry] += step * value[entry]
    else:
        for position in range(count[0]):
            entry = touched[position]
            w[entry] += step * value[entry]


@compiled
def _clear(value, touched, count):
    if count[0] == DENSE:
        value[:] = 0.0
    else:
        for position in range(count[0]):
            value[touched[position]] = 0.0
    count[0] = 0


@both_modes
def squared_norm(delta):
    return _squared_norm(delta.value, delta.touched, delta.count)


@both_modes
def add_to(delta, step, w):
    """w += step * delta."""
    _add_to(delta.value, delta.touched, delta.count, step, w)


@both_modes
def clear(delta):
    _clear(delta.value, delta.touched, delta.count)
