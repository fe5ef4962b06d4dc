"""A sparse vector in weight space, filled by a structure and consumed by a solver.

A block's direction ``Psi_i d`` touches few of the weights. Structures add to it entry by entry;
the solver then takes its norm, a line search along it, and a multiple of it, without knowing where
the entries came from. Where nearly every weight is touched (dense node features) the list of
touched entries is not kept, ``count`` is -1, and the loops run over the whole vector in order.
"""

from typing import NamedTuple

import numpy as np

from taut._compile import compiled

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


@compiled(fastmath=True)
def squared_norm(delta):
    total = 0.0
    if delta.count[0] == DENSE:
        for entry in range(delta.value.size):
            total += delta.value[entry] * delta.value[entry]
    else:
        for position in range(delta.count[0]):
            amount = delta.value[delta.touched[position]]
            total += amount * amount
    return total


@compiled
def add_to(delta, step, w):
    """w += step * delta."""
    if delta.count[0] == DENSE:
        for entry in range(w.size):
            w[entry] += step * delta.value[entry]
    else:
        for position in range(delta.count[0]):
            entry = delta.touched[position]
            w[entry] += step * delta.value[entry]


@compiled
def clear(delta):
    if delta.count[0] == DENSE:
        delta.value[:] = 0.0
    else:
        for position in range(delta.count[0]):
            delta.value[delta.touched[position]] = 0.0
    delta.count[0] = 0
