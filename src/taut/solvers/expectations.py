"""One pass of the sum oracle over all examples: objective, gradient, and the dual point they give.

At weights w the marginals q_i(w) of all examples are a dual point, with its own weights

    v = C sum_i s_i Psi_i (truth_i - q_i),      gradient of the objective = lambda (w - v)

Examples are divided into as many parts as there is memory for their sums, however many threads
there are, and the parts are added in order: the number of threads never changes a bit.
"""

from typing import Any, NamedTuple

import numpy as np

from taut._compile import Opaque, Problem, Vector, by_reference, compiled, in_mode
from taut.arrays.accumulator import dense_accumulator
from taut.problem import (
    add_corner,
    add_loss,
    argmax,
    begin_change,
    label_loss,
    project,
    scores,
    weight,
)
from taut.solvers.certificate import on_threads

MOST_PARTS = 8
# Numbers that the parts may take together; beyond that two are enough for two threads.
MOST_NUMBERS = 2**24


@by_reference
class Found(NamedTuple):
    """Of all examples, and the dual point that is at the truth."""

    value: Vector
    loss: Vector  # with the entropy
    mu: Vector


@compiled
def add_expectations(problem: Problem, w, part, amount, work: Opaque, y, direct, found):
    """direct += amount * sum of s_i Psi_i q_i; value and entropy of every q_i of a part."""
    for i in range(part[0], part[1]):
        scores(problem, w, i, work)
        add_loss(problem, i, work)
        found.value[i] = argmax(problem, w, i, work, y)
        found.loss[i] = label_loss(problem, i, y)
        begin_change(problem, i, found.mu, 0.0, work)
        add_corner(problem, i, y, 1.0, work)
        project(problem, i, work, amount * weight(problem, i), direct)


@compiled
def add_truths(problem: Problem, n, mu, amount, work: Opaque, direct):
    """direct += amount * sum of s_i Psi_i truth_i, from the dual that is at the truth."""
    for i in range(n):
        begin_change(problem, i, mu, 1.0, work)
        project(problem, i, work, amount * weight(problem, i), direct)


class Expectations:
    """Sums over all examples; ``value`` and ``loss`` are those of each at the last run."""

    def __init__(self, problem: Any, n_threads: int):
        self.problem = problem
        n, dim = problem.n, problem.dim
        n_parts = min(n, MOST_PARTS if MOST_PARTS * dim <= MOST_NUMBERS else 2)
        self.edges = np.linspace(0, n, n_parts + 1).astype(int)
        self.sums = [np.zeros(dim) for _ in range(n_parts)]
        self.n_threads = min(n_threads, n_parts) if problem.is_compiled else 1
        self.mu = problem.new_dual()
        self.value, self.loss = np.zeros(n), np.zeros(n)
        self.found = Found(self.value, self.loss, self.mu)
        self.scratch = [self._scratch() for _ in range(self.n_threads)]

    def _scratch(self) -> tuple[Any, np.ndarray]:
        return self.problem.new_work(), np.zeros(self.problem.longest, np.int32)

    def of_truth(self, amount: float) -> np.ndarray:
        """amount * sum_i s_i Psi_i truth_i."""
        total, work = np.zeros(self.problem.dim), self.scratch[0][0]
        add = in_mode(add_truths, self.problem)
        add(self.problem, self.problem.n, self.mu, amount, work, dense_accumulator(total))
        return total

    def run(self, w: np.ndarray, amount: float, nothing: bool = False) -> np.ndarray:
        """amount * sum_i s_i Psi_i q_i(w); with ``nothing`` of no example, to compile."""

        def some(thread: int) -> None:
            for part in range(thread, len(self.sums), self.n_threads):
                examples = np.zeros(2, np.int64) if nothing else self.edges[part : part + 2]
                self.sums[part][:] = 0.0
                direct = dense_accumulator(self.sums[part])
                in_mode(add_expectations, self.problem)(
                    self.problem, w, examples, amount, *self.scratch[thread], direct, self.found
                )

        on_threads(self.n_threads, some)
        for part in self.sums[1:]:
            self.sums[0] += part
        return self.sums[0]
