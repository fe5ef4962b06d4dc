"""Feature vectors of a Python model: dense, or sorted indices with their values.

Numba takes arrays as arguments in 0.1 microseconds and named tuples in one: kernels called from
Python, once or more per step, take arrays.
"""

import math
from typing import Any

import numpy as np
from scipy import sparse

from taut._compile import compiled, local
from taut.arrays.accumulator import Accumulator, add_scaled, dot, push
from taut.arrays.sound_sparse import check_sound

local_accumulator = local(Accumulator)


class Vector:
    """Dense ``values``, or ``values`` at sorted ``indices``."""

    __slots__ = ("indices", "values")

    def __init__(self, values: np.ndarray, indices: np.ndarray | None = None):
        self.values, self.indices = values, indices

    def dot(self, w: np.ndarray) -> float:
        if self.indices is None:
            return dot(self.values, w)
        return _sparse_dot(self.indices, self.values, w)

    def add_to(self, delta: Accumulator, amount: float) -> None:
        """delta += amount * self."""
        if self.indices is None:
            add_scaled(self.values, amount, delta.value)
        else:
            _push_all(*delta, self.indices, self.values, amount)

    def combined(self, factor: float, other: "Vector", amount: float) -> "Vector":
        """factor * self + amount * other, a new vector; ``other`` is of the same kind."""
        if self.indices is None or other.indices is None:
            values = np.empty_like(self.values)
            _combine_dense(self.values, factor, other.values, amount, values)
            return Vector(values)
        size = self.indices.size + other.indices.size
        indices, values = np.empty(size, np.int64), np.empty(size)
        size = _combine_sparse(
            self.indices, self.values, factor, other.indices, other.values, amount, indices, values
        )
        return Vector(values[:size].copy(), indices[:size].copy())

    def copy(self) -> "Vector":
        return Vector(self.values.copy(), None if self.indices is None else self.indices.copy())

    def scaled(self, factor: float) -> "Vector":
        return Vector(factor * self.values, self.indices)

    def is_finite(self) -> bool:
        # The squares are finite if the values are, unless they are huge; one pass, no flags.
        return math.isfinite(dot(self.values, self.values)) or bool(np.isfinite(self.values).all())

    def to_dense(self, dim: int) -> np.ndarray:
        if self.indices is None:
            return self.values
        dense = np.zeros(dim)
        dense[self.indices] = self.values
        return dense


def as_vector(phi: Any) -> tuple[Vector, int]:
    """What a user calls a feature vector, and its length; shares memory where it can."""
    if not sparse.issparse(phi):
        values = np.ascontiguousarray(phi, np.float64)
        if np.ndim(phi) != 1:
            raise ValueError(
                f"returned an array of shape {np.shape(phi)}; a feature vector is 1-dimensional"
            )
        return Vector(values), values.size
    check_sound(phi, "what it returned")
    if phi.ndim == 1 or phi.shape[0] != 1:
        if phi.ndim == 2 and phi.shape[1] != 1:
            raise ValueError(f"returned a matrix of shape {phi.shape}; one row is expected")
        phi = phi.reshape(1, -1)
    row = phi.tocsr()
    if not row.has_canonical_format:
        row = row.copy()
        row.sum_duplicates()
    indices = row.indices.astype(np.int64, copy=False)
    return Vector(row.data.astype(np.float64, copy=False), indices), row.shape[1]


@compiled
def _sparse_dot(indices, values, w):
    total = 0.0
    for j in range(indices.size):
        total += values[j] * w[indices[j]]
    return total


@compiled
def _push_all(value, touched, place, rows, count, indices, values, amount):
    delta = local_accumulator(value, touched, place, rows, count)
    for j in range(indices.size):
        push(delta, indices[j], amount * values[j])


@compiled
def _combine_dense(x, factor, y, amount, out):
    for j in range(x.size):
        out[j] = factor * x[j] + amount * y[j]


@compiled
def _combine_sparse(x_at, x, factor, y_at, y, amount, out_at, out):
    """Merge two sorted vectors; what cancels is left out. Returns the number of entries."""
    i, j, size = 0, 0, 0
    while i < x_at.size or j < y_at.size:
        value = 0.0
        at = min(
            x_at[i] if i < x_at.size else y_at[j],
            y_at[j] if j < y_at.size else x_at[i],
        )
        if i < x_at.size and x_at[i] == at:
            value += factor * x[i]
            i += 1
        if j < y_at.size and y_at[j] == at:
            value += amount * y[j]
            j += 1
        if value != 0.0:
            out_at[size] = at
            out[size] = value
            size += 1
    return size
