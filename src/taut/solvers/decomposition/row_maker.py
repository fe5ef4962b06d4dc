"""From labellings to points: the rows s_i psi_i(y) and losses that a master problem sees."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from taut._compile import (
    Integers,
    Labels,
    Opaque,
    Problem,
    Vector,
    both_modes,
    by_reference,
    compiled,
    in_mode,
)
from taut.arrays.accumulator import DENSE, Accumulator, clear, dense_accumulator
from taut.problem import (
    add_corner,
    begin_change,
    forget,
    label_loss,
    project,
    true_label,
    weight,
)
from taut.solvers.decomposition.points import Rows


@by_reference
class Source(NamedTuple):
    """What rows are made of, and scratch memory."""

    labels: Labels
    label_at: Integers
    mu: Vector  # a dual point, as the problem keeps it
    truth: Labels
    delta: Accumulator
    work: Opaque


@both_modes
def prepare_row(problem, source, i, of_labels):
    """truth - e(y), or truth - mu_i, as a prepared change."""
    truth, work = source.truth, source.work
    true_label(problem, i, truth)
    begin_change(problem, i, source.mu, 0.0 if of_labels else -1.0, work)
    add_corner(problem, i, truth, 1.0, work)
    if of_labels:
        add_corner(problem, i, source.labels[source.label_at[i] :], -1.0, work)


@compiled
def write_rows(problem: Problem, source, which, of_labels, first, out, loss):
    """Rows of examples ``which[first:]``, as far as there is room; returns where it ended.

    They are those of their labellings with their losses, or of their blocks of mu, without.
    ``out`` is (indptr, indices, values) of a CSR matrix, or of a dense one stored in ``values``.
    """
    indptr, indices, values = out
    delta, at = source.delta, 0
    for position in range(first, which.size):
        if at + delta.value.size > values.size:
            return position
        i = which[position]
        prepare_row(problem, source, i, of_labels)
        project(problem, i, source.work, weight(problem, i), delta)
        count = delta.value.size if delta.count[0] == DENSE else delta.count[0]
        for j in range(count):
            values[at + j] = delta.value[j]
        if delta.count[0] != DENSE:
            for j in range(count):
                indices[at + j] = delta.touched[j]
        at += count
        indptr[position - first + 1] = at
        if of_labels:
            y = source.labels[source.label_at[i] :]
            loss[position] = weight(problem, i) * label_loss(problem, i, y)
        clear(delta)
    return which.size


@compiled
def add_plane(problem: Problem, source, slope, whole):
    """whole += sum_i slope_i s_i psi_i(y_i); returns the same sum of losses."""
    total = 0.0
    for i in range(slope.size):
        if slope[i] != 0.0:
            y = source.labels[source.label_at[i] :]
            prepare_row(problem, source, i, True)
            project(problem, i, source.work, slope[i] * weight(problem, i), whole)
            total += slope[i] * weight(problem, i) * label_loss(problem, i, y)
    return total


@compiled
def forget_all(problem: Problem, source, which):
    for position in range(which.size):
        i = which[position]
        forget(problem, i, source.labels[source.label_at[i] :])


class RowMaker:
    """Makes points of the labellings in a buffer."""

    # Rows are written in pieces of at least so many numbers.
    PIECE = 1 << 20

    def __init__(self, problem: Any, labels: np.ndarray, label_at: np.ndarray, mu: Any):
        self.problem, truth = problem, np.zeros(problem.longest, np.int32)
        self.source = Source(labels, label_at, mu, truth, problem.new_delta(), problem.new_work())
        self.is_sparse = self.source.delta.count[0] != DENSE

    def compile(self) -> None:
        none, problem = np.zeros(0, np.int64), self.problem
        out = (none, none, np.zeros(0))
        in_mode(write_rows, problem)(problem, self.source, none, True, 0, out, np.zeros(0))
        self.plane(np.zeros(0))
        self.forget(none)

    def rows(self, which: np.ndarray, mu: Any = None) -> tuple[Rows, np.ndarray]:
        """Rows and losses of the labellings of examples ``which``; of a dual point, rows only."""
        write, of_labels = in_mode(write_rows, self.problem), mu is None
        source = self.source if of_labels else self.source._replace(mu=mu)
        dim, count, loss = self.problem.dim, len(which), np.zeros(len(which))
        if not self.is_sparse:
            dense = np.zeros((count, dim))
            out = (np.zeros(count + 1, np.int64), np.zeros(0, np.int64), dense.reshape(-1))
            write(self.problem, source, which, of_labels, 0, out, loss)
            return dense, loss
        pieces, done = [sparse.csr_array((0, dim))], 0
        size = max(self.PIECE, source.delta.value.size)
        values, indices = np.zeros(size), np.zeros(size, np.int64)
        while done < count:
            first, indptr = done, np.zeros(count - done + 1, np.int64)
            out = (indptr, indices, values)
            done = write(self.problem, source, which, of_labels, first, out, loss)
            end = indptr[done - first]
            piece = (values[:end].copy(), indices[:end].copy(), indptr[: done - first + 1])
            pieces.append(sparse.csr_array(piece, shape=(done - first, dim)))
        return sparse.vstack(pieces, format="csr"), loss

    def plane(self, slope: np.ndarray) -> tuple[np.ndarray, float]:
        """The sum of rows and losses of all examples, each times its slope."""
        whole = np.zeros(self.problem.dim)
        add = in_mode(add_plane, self.problem)
        loss = add(self.problem, self.source, slope, dense_accumulator(whole))
        return whole, loss

    def forget(self, which: np.ndarray) -> None:
        """The labellings themselves are no longer needed."""
        in_mode(forget_all, self.problem)(self.problem, self.source, which)
