"""From labellings to points: the rows s_i psi_i(y) and losses that a master problem sees."""

from typing import Any

import numpy as np
from scipy import sparse

from taut._compile import Opaque, Problem, both_modes, compiled, in_mode
from taut.accumulator import DENSE, Accumulator, clear, dense_accumulator
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


@both_modes
def prepare_row(problem, i, y, mu, of_labels, work, truth):
    """truth - e(y), or truth - mu_i, as a prepared change."""
    true_label(problem, i, truth)
    begin_change(problem, i, mu, 0.0 if of_labels else -1.0, work)
    add_corner(problem, i, truth, 1.0, work)
    if of_labels:
        add_corner(problem, i, y, -1.0, work)


@compiled
def write_rows(
    problem: Problem,
    which,
    labels,
    label_at,
    mu,
    of_labels,
    work: Opaque,
    truth,
    delta,
    first,
    out,
    loss,
):
    """Rows of examples ``which[first:]``, as far as there is room; returns where it ended.

    They are those of their labellings with their losses, or of their blocks of mu, without.
    ``out`` is (indptr, indices, values) of a CSR matrix, or of a dense one stored in ``values``.
    """
    indptr, indices, values = out
    at = 0
    for position in range(first, which.size):
        if at + delta.value.size > values.size:
            return position
        i = which[position]
        y = labels[label_at[i] :]
        prepare_row(problem, i, y, mu, of_labels, work, truth)
        project(problem, i, work, weight(problem, i), delta)
        count = delta.value.size if delta.count[0] == DENSE else delta.count[0]
        for j in range(count):
            values[at + j] = delta.value[j]
        if delta.count[0] != DENSE:
            for j in range(count):
                indices[at + j] = delta.touched[j]
        at += count
        indptr[position - first + 1] = at
        if of_labels:
            loss[position] = weight(problem, i) * label_loss(problem, i, y)
        clear(delta)
    return which.size


@compiled
def add_plane(problem: Problem, slope, labels, label_at, mu, work: Opaque, truth, whole):
    """whole += sum_i slope_i s_i psi_i(y_i); returns the same sum of losses."""
    total = 0.0
    for i in range(slope.size):
        if slope[i] != 0.0:
            y = labels[label_at[i] :]
            prepare_row(problem, i, y, mu, True, work, truth)
            project(problem, i, work, slope[i] * weight(problem, i), whole)
            total += slope[i] * weight(problem, i) * label_loss(problem, i, y)
    return total


@compiled
def forget_all(problem: Problem, which, labels, label_at):
    for position in range(which.size):
        i = which[position]
        forget(problem, i, labels[label_at[i] :])


class RowMaker:
    """Makes points of the labellings in a buffer."""

    # Rows are written in pieces of at least so many numbers.
    PIECE = 1 << 20

    def __init__(self, problem: Any, labels: np.ndarray, label_at: np.ndarray, mu: Any):
        self.problem, self.labels, self.label_at, self.mu = problem, labels, label_at, mu
        self.work = problem.new_work()
        self.truth = np.zeros(problem.longest, np.int32)
        self.delta: Accumulator = problem.new_delta()
        self.is_sparse = self.delta.count[0] != DENSE

    def compile(self) -> None:
        none, problem = np.zeros(0, np.int64), self.problem
        in_mode(write_rows, problem)(
            problem, none, self.labels, self.label_at, self.mu, True, self.work, self.truth,
            self.delta, 0, (none, none, np.zeros(0)), np.zeros(0),
        )  # fmt: skip
        self.plane(np.zeros(0))
        self.forget(none)

    def rows(self, which: np.ndarray, mu: Any = None) -> tuple[Rows, np.ndarray]:
        """Rows and losses of the labellings of examples ``which``; of a dual point, rows only."""
        write = in_mode(write_rows, self.problem)
        loss, pieces = np.zeros(len(which)), []
        dim, done = self.problem.dim, 0
        size = max(self.PIECE, self.delta.value.size)
        if not self.is_sparse:
            size = dim * max(len(which), 1)
        values = np.zeros(size)
        indices = np.zeros(size if self.is_sparse else 0, np.int64)
        while done < len(which):
            indptr = np.zeros(len(which) - done + 1, np.int64)
            before = done
            done = write(
                self.problem, which, self.labels, self.label_at,
                self.mu if mu is None else mu, mu is None, self.work, self.truth,
                self.delta, before, (indptr, indices, values), loss,
            )  # fmt: skip
            if not self.is_sparse:
                return values.reshape(-1, dim)[: len(which)], loss
            count = done - before
            end = indptr[count]
            piece = (values[:end].copy(), indices[:end].copy(), indptr[: count + 1])
            pieces.append(sparse.csr_array(piece, shape=(count, dim)))
        if not self.is_sparse:
            return np.zeros((0, dim)), loss
        if not pieces:
            return sparse.csr_array((0, dim)), loss
        return sparse.vstack(pieces, format="csr"), loss

    def plane(self, slope: np.ndarray) -> tuple[np.ndarray, float]:
        """The sum of rows and losses of all examples, each times its slope."""
        whole = np.zeros(self.problem.dim)
        add = in_mode(add_plane, self.problem)
        loss = add(
            self.problem, slope, self.labels, self.label_at, self.mu, self.work, self.truth,
            dense_accumulator(whole),
        )  # fmt: skip
        return whole, loss

    def forget(self, which: np.ndarray) -> None:
        """The labellings themselves are no longer needed."""
        in_mode(forget_all, self.problem)(self.problem, which, self.labels, self.label_at)
