"""Feature rows of nodes or edges, dense or CSR behind one type.

One type, not two, for chains and graphs: every kernel is compiled once, and the test which of the
two it is costs nothing beside the row. In graphs a weight vector meets a row with a stride, so that
weights may be stored label by label (dense rows: contiguous dot products) or feature by feature
(sparse rows: one cache line holds the weights of many labels).
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from taut._compile import Integers, Labels, Matrix, Vector, by_reference, compiled
from taut.arrays.accumulator import DENSE, add_scaled, dot, push
from taut.arrays.sound_sparse import csr_arrays


@by_reference
class Rows(NamedTuple):
    dense: Matrix  # (rows, features), or (0, 0)
    indptr: Integers  # of a CSR matrix; empty if dense
    indices: Labels
    data: Vector
    n_features: int
    n_rows: int

    @property
    def is_dense(rows) -> bool:
        return rows.indptr.size == 0

    @property
    def values(rows) -> np.ndarray:
        """All that are stored."""
        return rows.dense.reshape(-1) if rows.is_dense else rows.data

    @property
    def n_used(rows) -> int:
        """How many features some row has."""
        is_used = np.full(rows.n_features, rows.is_dense)
        is_used[rows.indices] = True
        return int(np.count_nonzero(is_used))

    def of_first(rows, count: int) -> tuple[np.ndarray, ...]:
        """The arrays that describe the first ``count`` rows."""
        if rows.is_dense:
            return (rows.dense[:count],)
        entries = rows.indptr[count]
        return rows.indptr[: count + 1], rows.indices[:entries], rows.data[:entries]

    def lengths(rows) -> np.ndarray:
        """Stored entries of every row."""
        if rows.is_dense:
            return np.full(rows.n_rows, rows.dense.shape[1])
        return np.diff(rows.indptr)

    def followed_by(rows, others: "Rows") -> "Rows":
        if rows.is_dense != others.is_dense:
            raise TypeError("dense and sparse features cannot be mixed; convert one of them")
        ends = rows.indptr[-1:] + others.indptr[1:]
        return rows._replace(
            dense=np.concatenate([rows.dense, others.dense]),
            indptr=np.concatenate([rows.indptr, ends]),
            indices=np.concatenate([rows.indices, others.indices]),
            data=np.concatenate([rows.data, others.data]),
            n_rows=rows.n_rows + others.n_rows,
        )

    def empty_like(rows) -> "Rows":
        """No rows of the same kind; a view would keep all of the others in memory."""
        none = np.zeros((0, rows.n_features))
        return as_rows(none if rows.is_dense else sparse.csr_array(none))


def as_rows(values: Any) -> Rows:
    """Wrap a matrix with one row per node or edge.

    >>> as_rows(np.eye(3)).n_features
    3
    """
    if isinstance(values, Rows):
        return values
    if sparse.issparse(values):
        return Rows(np.zeros((0, 0)), *csr_arrays(values), values.shape[1], values.shape[0])
    dense = np.ascontiguousarray(values, np.float64)
    nothing = np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0)
    return Rows(dense, *nothing, dense.shape[1], dense.shape[0])


def squared_norms(rows: Rows) -> np.ndarray:
    """Of every row.

    >>> squared_norms(as_rows([[3.0, 4.0], [0.0, 1.0]]))
    array([25.,  1.])
    """
    if rows.is_dense:
        return np.einsum("rf,rf->r", rows.dense, rows.dense)
    row = np.repeat(np.arange(rows.n_rows), np.diff(rows.indptr))
    return np.bincount(row, rows.data**2, minlength=rows.n_rows)


@compiled
def combine_row(rows, r, w, at, feature_stride, basis_stride, out):
    """out[b] = sum_f x_rf w[at + f * feature_stride + b * basis_stride]."""
    if rows.indptr.size > 0:
        out[:] = 0.0
        for position in range(rows.indptr[r], rows.indptr[r + 1]):
            value = rows.data[position]
            start = at + rows.indices[position] * feature_stride
            for b in range(out.size):
                out[b] += value * w[start + b * basis_stride]
    elif feature_stride == 1:
        x = rows.dense[r]
        for b in range(out.size):
            start = at + b * basis_stride
            out[b] = dot(x, w[start : start + x.size])
    else:
        out[:] = 0.0
        x = rows.dense[r]
        for f in range(x.size):
            start = at + f * feature_stride
            for b in range(out.size):
                out[b] += x[f] * w[start + b * basis_stride]


@compiled
def push_row(rows, r, amount, at, stride, delta):
    """delta[at + f * stride] += amount * x_rf."""
    if rows.indptr.size == 0:
        x = rows.dense[r]
        if delta.count[0] == DENSE and stride == 1:
            add_scaled(x, amount, delta.value[at : at + x.size])
        else:
            for f in range(x.size):
                push(delta, at + f * stride, amount * x[f])
    else:
        for position in range(rows.indptr[r], rows.indptr[r + 1]):
            push(delta, at + rows.indices[position] * stride, amount * rows.data[position])


@compiled
def add_row_to(rows, r, amount, at, stride, out):
    """The same, added to a vector."""
    if rows.indptr.size == 0:
        x = rows.dense[r]
        if stride == 1:
            add_scaled(x, amount, out[at : at + x.size])
        else:
            for f in range(x.size):
                out[at + f * stride] += amount * x[f]
    else:
        for position in range(rows.indptr[r], rows.indptr[r + 1]):
            out[at + rows.indices[position] * stride] += amount * rows.data[position]
