"""Ordinal regression as a problem of one's own: grades 0 < 1 < ... < K - 1.

The complete example of the page "How a solver sees a problem".
"""

import hashlib
from typing import NamedTuple

import numpy as np

from taut._compile import Labels, Matrix, Vector, by_reference
from taut.arrays.accumulator import Accumulator, new_accumulator, push
from taut.problem.problem_type import problem_type


@by_reference
class Work(NamedTuple):
    """Scratch memory: scores of the K grades, and the change d of a dual block."""

    theta: Vector
    change: Vector


@problem_type
@by_reference
class Ordinal(NamedTuple):
    """Grade k of input x scores k <v, x> - t_1 - ... - t_k; answering k for g costs |k - g|.

    The weights are (v, t). Features and loss are linear in p_j = P(grade >= j), j = 1, ..., K - 1,
    so these K - 1 numbers are all that is kept of a distribution over grades.
    """

    rows: Matrix  # (n, d) inputs
    truth: Labels  # (n,) true grades
    importance: Vector  # (n,) sample weights
    n_grades: int
    n: int
    dim: int

    # --- labellings: one integer, the grade ---

    def length(problem, i):
        return 1

    def weight(problem, i):
        return problem.importance[i]

    def true_label(problem, i, y):
        y[0] = problem.truth[i]

    def label_loss(problem, i, y):
        return float(abs(y[0] - problem.truth[i]))

    # --- H_i(.; w): scores, loss, oracle ---

    def scores(problem, w, i, work):
        x = problem.rows[i]
        slope = 0.0
        for f in range(x.size):
            slope += w[f] * x[f]
        work.theta[0] = 0.0
        for k in range(1, problem.n_grades):
            work.theta[k] = work.theta[k - 1] + slope - w[x.size + k - 1]

    def add_loss(problem, i, work):
        for k in range(problem.n_grades):
            work.theta[k] += abs(k - problem.truth[i])

    def argmax(problem, w, i, work, y):
        best = 0
        for k in range(1, problem.n_grades):
            if work.theta[k] > work.theta[best]:
                best = k
        y[0] = best
        return work.theta[best] - work.theta[problem.truth[i]]

    def label_value(problem, w, i, work, y):
        return work.theta[y[0]] - work.theta[problem.truth[i]]

    def block_value(problem, w, i, work, mu):
        first = i * (problem.n_grades - 1)
        total = work.theta[0] - work.theta[problem.truth[i]]
        for k in range(1, problem.n_grades):
            total += mu[first + k - 1] * (work.theta[k] - work.theta[k - 1])
        return total

    # --- a change d of the dual block, and the weights that follow ---

    def begin_change(problem, i, mu, keep, work):
        first = i * work.change.size
        for j in range(work.change.size):
            work.change[j] = keep * mu[first + j]

    def add_corner(problem, i, y, amount, work):
        for j in range(y[0]):
            work.change[j] += amount

    def project(problem, i, work, amount, delta):
        x = problem.rows[i]
        slope = 0.0
        for j in range(work.change.size):
            slope += work.change[j]
            push(delta, x.size + j, -amount * work.change[j])
        for f in range(x.size):
            push(delta, f, amount * slope * x[f])

    def advance(problem, i, mu, step, work):
        first = i * work.change.size
        for j in range(work.change.size):
            mu[first + j] += step * work.change[j]

    # --- one labelling against the truth ---

    def margin(problem, w, i, y, work):
        x = problem.rows[i]
        true, other = problem.truth[i], y[0]
        total = 0.0
        for f in range(x.size):
            total += w[f] * x[f]
        total *= true - other
        for j in range(true):
            total -= w[x.size + j]
        for j in range(other):
            total += w[x.size + j]
        return total

    def shift(problem, i, y, amount, scale, mu, delta, work):
        x = problem.rows[i]
        true, other = problem.truth[i], y[0]
        first = i * (problem.n_grades - 1)
        for j in range(true):
            mu[first + j] -= amount
            push(delta, x.size + j, -scale * amount)
        for j in range(other):
            mu[first + j] += amount
            push(delta, x.size + j, scale * amount)
        for f in range(x.size):
            push(delta, f, scale * amount * (true - other) * x[f])

    # --- what the Python side calls ---

    @property
    def longest(problem) -> int:
        return 1

    @property
    def n_states(problem) -> int:
        return problem.n_grades

    def choices(problem, i) -> np.ndarray:
        return np.array([problem.n_grades])

    def new_dual(problem) -> np.ndarray:
        """p_j of every example, at the truth."""
        grades = np.arange(1, problem.n_grades)
        return (problem.truth[:, None] >= grades).astype(float).ravel()

    def new_work(problem) -> Work:
        return Work(np.zeros(problem.n_grades), np.zeros(problem.n_grades - 1))

    def new_delta(problem) -> Accumulator:
        return new_accumulator(problem.dim, problem.dim)

    def worst_losses(problem) -> np.ndarray:
        return np.maximum(problem.truth, problem.n_grades - 1 - problem.truth).astype(float)

    def fingerprint(problem, n: int | None = None) -> str:
        """A hash of the first n examples: a dual point proves nothing of other ones."""
        n = problem.n if n is None else n
        parts = (problem.rows[:n], problem.truth[:n], problem.importance[:n])
        return hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()


def ordinal_problem(rows: np.ndarray, truth: np.ndarray, n_grades: int | None = None) -> Ordinal:
    """To predict, say how many grades there were in training: some may be missing in ``truth``."""
    rows, truth = np.asarray(rows, float), np.asarray(truth, np.int32)
    n_grades = int(truth.max()) + 1 if n_grades is None else n_grades
    n, d = rows.shape
    return Ordinal(rows, truth, np.ones(n), n_grades, n, d + n_grades - 1)
