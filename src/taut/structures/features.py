"""Node features and the layout of the weights that multiply them: three kinds, one type.

* *Dense*: rows of numbers. Weights are stored label by label, so that a score is a dot product of
  two contiguous vectors.
* *Sparse*: CSR rows, a weight for every (attribute, label). Weights are stored attribute by
  attribute: one token adds few contiguous rows.
* *Observed*: CSR rows, a weight only for the pairs (attribute, label) seen together in training, as
  CRFsuite does. On text this is a small fraction of all pairs, so the weights stay in the
  processor's cache.

``node_scores`` and ``node_score`` read weights, ``push_node`` and ``push_states`` write them;
nothing else knows the layout. Which kind it is costs a comparison for each node, nothing beside the
row; so every kernel is compiled once for all three.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from taut._compile import Labels, Shorts, both_modes, by_reference, compiled
from taut.arrays.accumulator import add_scaled, dot, push, row_place
from taut.structures.rows import Rows, as_rows


@by_reference
class Features(NamedTuple):
    """Made by ``node_features`` and, of sparse ones, ``with_pairs``."""

    rows: Rows  # of the nodes
    # Of observed features, else empty. Attributes seen with many labels keep a full row of weights,
    # the unseen ones held at zero: adding a whole row is one vector operation, picking out labels
    # is not.
    weight_pointer: Labels  # weights of attribute f: weight_pointer[f] to weight_pointer[f+1]
    weight_state: Shorts  # the label each of them belongs to, -1 if it is held at zero

    @property
    def is_observed(features) -> bool:
        return features.weight_pointer.size > 0

    @property
    def kind(features) -> str:
        return (
            "dense" if features.rows.is_dense else "observed" if features.is_observed else "sparse"
        )

    def with_pairs(features, weight_pointer: np.ndarray, weight_state: np.ndarray) -> "Features":
        """The same rows, with weights for some pairs (attribute, label) only."""
        return features._replace(weight_pointer=weight_pointer, weight_state=weight_state)

    def of_first(features, nodes: int) -> tuple[np.ndarray, ...]:
        """The arrays that describe the first nodes."""
        layout = (features.weight_pointer, features.weight_state)
        return features.rows.of_first(nodes) + (layout if features.is_observed else ())

    def dim(features, n_states: int) -> int:
        if features.is_observed:
            return features.weight_state.size
        return features.rows.n_features * n_states

    def most_touched(features, pointer: np.ndarray, n_states: int) -> int:
        """Bounds the weights that one example has, of sparse or observed features."""
        if not features.is_observed:
            return int(np.diff(features.rows.indptr[pointer]).max()) * n_states
        per_entry = np.diff(features.weight_pointer)[features.rows.indices]
        total = np.concatenate([[0], np.cumsum(per_entry)])
        return int(np.diff(total[features.rows.indptr[pointer]]).max())

    def held_at_zero(features) -> np.ndarray:
        return np.flatnonzero(features.weight_state < 0)

    def weight_matrix(features, w: np.ndarray, n_states: int) -> np.ndarray | sparse.csr_array:
        """The weights as (feature, label); of observed features sparse, without other pairs."""
        if features.rows.is_dense:
            return w.reshape(n_states, -1).T
        if not features.is_observed:
            return w.reshape(-1, n_states)
        attributes = np.repeat(
            np.arange(features.rows.n_features), np.diff(features.weight_pointer)
        )
        kept = features.weight_state >= 0
        return sparse.csr_array(
            (w[kept], (attributes[kept], features.weight_state[kept])),
            shape=(features.rows.n_features, n_states),
        )


def node_features(matrix: Any) -> Features:
    """Wrap a matrix with one row per node, without copying what already has the right type."""
    return Features(as_rows(matrix), np.zeros(0, np.int32), np.zeros(0, np.int16))


@both_modes
def node_scores(features, w, first, length, theta):
    """theta[t, k] = score of label k at node ``first + t``, for t < length."""
    if features.rows.indptr.size == 0:
        _dense_scores(features.rows, w, first, length, theta)
    elif features.weight_pointer.size == 0:
        _sparse_scores(features.rows, w, first, length, theta)
    else:
        _observed_scores(features, w, first, length, theta)


@both_modes
def node_score(features, w, node, k, n_states):
    """The score of label k at one node."""
    rows = features.rows
    if rows.indptr.size == 0:
        x = rows.dense[node]
        return dot(x, w[k * x.size : (k + 1) * x.size])
    total = 0.0
    if features.weight_pointer.size == 0:
        for position in range(rows.indptr[node], rows.indptr[node + 1]):
            total += rows.data[position] * w[rows.indices[position] * n_states + k]
    else:
        for position in range(rows.indptr[node], rows.indptr[node + 1]):
            entry = _entry_of(features, rows.indices[position], k, n_states)
            if entry >= 0:
                total += rows.data[position] * w[entry]
    return total


@both_modes
def push_node(features, node, k, n_states, amount, delta):
    """delta += amount * (features of ``node`` with label k)."""
    rows = features.rows
    if rows.indptr.size == 0:
        x = rows.dense[node]
        add_scaled(x, amount, delta.value[k * x.size : (k + 1) * x.size])
    elif features.weight_pointer.size == 0:
        for position in range(rows.indptr[node], rows.indptr[node + 1]):
            push(delta, rows.indices[position] * n_states + k, amount * rows.data[position])
    else:
        for position in range(rows.indptr[node], rows.indptr[node + 1]):
            entry = _entry_of(features, rows.indices[position], k, n_states)
            if entry >= 0:
                push(delta, entry, amount * rows.data[position])


@both_modes
def push_states(features, node, row, amount, delta):
    """delta += amount * (features of ``node`` with every label k, times row[k]); it keeps rows."""
    rows, n_states, value = features.rows, row.size, delta.value
    if rows.indptr.size == 0:
        for k in range(n_states):
            if row[k] != 0.0:  # of a labelling, nearly all are
                push_node(features, node, k, n_states, amount * row[k], delta)
    elif features.weight_pointer.size == 0:
        for position in range(rows.indptr[node], rows.indptr[node + 1]):
            factor = amount * rows.data[position]
            start = rows.indices[position] * n_states
            at = row_place(delta, start, n_states)
            add_scaled(row, factor, value[at : at + n_states])
    else:
        states = features.weight_state
        for position in range(rows.indptr[node], rows.indptr[node + 1]):
            factor, attribute = amount * rows.data[position], rows.indices[position]
            start, stop = features.weight_pointer[attribute], features.weight_pointer[attribute + 1]
            if start == stop:
                continue
            at = row_place(delta, start, stop - start)
            _add_states(row, factor, states[start:stop], value[at : at + stop - start])


@compiled(fastmath=True)
def _four_dots(x, w, first, length, out, column):
    """out[column + j] = dot(x, w[first + j*length : ...]) for j < 4: each x is loaded once."""
    a = b = c = d = 0.0
    w0 = w[first : first + length]
    w1 = w[first + length : first + 2 * length]
    w2 = w[first + 2 * length : first + 3 * length]
    w3 = w[first + 3 * length : first + 4 * length]
    for f in range(length):
        value = x[f]
        a += value * w0[f]
        b += value * w1[f]
        c += value * w2[f]
        d += value * w3[f]
    out[column] = a
    out[column + 1] = b
    out[column + 2] = c
    out[column + 3] = d


@compiled
def _add_four_rows(w, row0, row1, row2, row3, value0, value1, value2, value3, out):
    """out += sum_j value_j * w[row_j : ...]: one pass over ``out`` instead of four."""
    # Slices first: an index like w[row + k] might be negative for all the compiler knows, and
    # the loop would not be vectorised.
    size = out.size
    a, b = w[row0 : row0 + size], w[row1 : row1 + size]
    c, d = w[row2 : row2 + size], w[row3 : row3 + size]
    for k in range(size):
        out[k] += (value0 * a[k] + value1 * b[k]) + (value2 * c[k] + value3 * d[k])


@both_modes
def _dense_scores(rows, w, first, length, theta):
    n_features = rows.dense.shape[1]
    n_states = theta.shape[1]
    blocked = n_states - n_states % 4
    for t in range(length):
        x = rows.dense[first + t]
        out = theta[t]
        for k in range(0, blocked, 4):
            _four_dots(x, w, k * n_features, n_features, out, k)
        for k in range(blocked, n_states):
            out[k] = dot(x, w[k * n_features : (k + 1) * n_features])


@both_modes
def _sparse_scores(rows, w, first, length, theta):
    n_states = theta.shape[1]
    indices, data = rows.indices, rows.data
    for t in range(length):
        out = theta[t]
        for k in range(n_states):
            out[k] = 0.0
        position, stop = rows.indptr[first + t], rows.indptr[first + t + 1]
        while position + 3 < stop:
            _add_four_rows(
                w, indices[position] * n_states, indices[position + 1] * n_states,
                indices[position + 2] * n_states, indices[position + 3] * n_states,
                data[position], data[position + 1], data[position + 2], data[position + 3], out,
            )  # fmt: skip
            position += 4
        while position < stop:
            row = indices[position] * n_states
            add_scaled(w[row : row + n_states], data[position], out)
            position += 1


@both_modes
def _observed_scores(features, w, first, length, theta):
    pointer, states = features.weight_pointer, features.weight_state
    rows, indices, data = features.rows, features.rows.indices, features.rows.data
    n_states = theta.shape[1]
    for t in range(length):
        out = theta[t]
        for k in range(n_states):
            out[k] = 0.0
        # Full rows wait until there are four of them.
        waiting = 0
        row0 = row1 = row2 = 0
        value0 = value1 = value2 = 0.0
        for position in range(rows.indptr[first + t], rows.indptr[first + t + 1]):
            attribute, value = indices[position], data[position]
            start, stop = pointer[attribute], pointer[attribute + 1]
            if stop - start != n_states:
                for entry in range(start, stop):
                    out[states[entry]] += value * w[entry]
            elif waiting == 3:
                _add_four_rows(w, row0, row1, row2, start, value0, value1, value2, value, out)
                waiting = 0
            else:
                row0, row1, row2 = start, row0, row1
                value0, value1, value2 = value, value0, value1
                waiting += 1
        if waiting > 0:
            add_scaled(w[row0 : row0 + n_states], value0, out)
        if waiting > 1:
            add_scaled(w[row1 : row1 + n_states], value1, out)
        if waiting > 2:
            add_scaled(w[row2 : row2 + n_states], value2, out)


@both_modes
def _entry_of(features, attribute, k, n_states):
    """Where the weight of (attribute, label k) is, -1 if there is none."""
    start, stop = features.weight_pointer[attribute], features.weight_pointer[attribute + 1]
    if stop - start == n_states:
        return start + k if features.weight_state[start + k] >= 0 else -1
    for entry in range(start, stop):
        if features.weight_state[entry] == k:
            return entry
    return -1


@compiled
def _add_states(row, factor, states, out):
    """out += factor * row, entry by entry of ``out`` for the label it belongs to (-1: none)."""
    if out.size == row.size:  # all labels in order
        for j in range(out.size):
            out[j] += factor * row[j] if states[j] >= 0 else 0.0
        return
    for j in range(out.size):
        out[j] += factor * row[states[j]]
