"""Primal, dual and gap of a point, computed from scratch by one pass of the oracle.

    primal(w)  = lambda/2 |w|^2 + 1/n sum_i s_i max_y H_i(y; w)    (or an upper bound on max_y)
    dual(mu)   = 1/n sum_i s_i ell_i - lambda (<v, w> - |w|^2 / 2)      (v = w without bounds)
    gap        = 1/n sum_i s_i [max_y H_i(y; w) - H_i(mu_i; w)] = primal - dual

An l1 norm adds lambda l1 |w|_1 to both.

Blocks are divided among threads; each writes to its own places and the sums are taken afterwards
in a fixed order, so the number of threads never changes a bit.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from taut._compile import (
    Integers,
    Labels,
    Opaque,
    Problem,
    Vector,
    by_reference,
    compiled,
    in_mode,
)
from taut.problem import (
    add_loss,
    argmax,
    attained,
    block_value,
    forget,
    length,
    scores,
    value_alone,
)


class Point(NamedTuple):
    """Weights and what is needed of the dual point behind them."""

    w: np.ndarray
    v: np.ndarray
    loss: float  # sum_i s_i ell_i


NO_GAPS = np.zeros(0)


class Certificate(NamedTuple):
    primal: float
    dual: float
    block_gaps: np.ndarray = NO_GAPS
    soft_gap: float = np.nan  # of solvers with soft constraints: what their steps reduce
    violation: float = np.nan  # by how much their constraints are missed, the largest one
    squared_violation: float = np.nan  # and the sum of squares

    @property
    def gap(self) -> float:
        return self.primal - self.dual


@by_reference
class Answers(NamedTuple):
    """Of all examples."""

    best: Vector  # the oracle's values
    reached: Vector  # what its labellings attain
    mean: Vector  # the values of mu_i
    labels: Labels  # empty unless they are kept
    label_at: Integers  # where those of each example begin


@compiled
def ask_oracle(problem: Problem, w, mu, work: Opaque, y, which, answers):
    """The oracle's answers about the examples ``which``."""
    for position in range(which.size):
        i = which[position]
        scores(problem, w, i, work)
        add_loss(problem, i, work)
        answers.mean[i] = block_value(problem, w, i, work, mu)
        if answers.labels.size == 0:
            value = value_alone(problem, w, i, work)
            if not np.isnan(value):
                answers.best[i] = answers.reached[i] = value
                continue
        bound = argmax(problem, w, i, work, y)
        answers.best[i] = bound
        answers.reached[i] = attained(problem, w, i, work, y, bound)
        if answers.labels.size > 0:
            for t in range(length(problem, i)):
                answers.labels[answers.label_at[i] + t] = y[t]
        else:
            forget(problem, i, y)


@compiled
def block_averages(problem: Problem, w, mu, work: Opaque, averages):
    """H_i averaged over mu_i, of every block; at w = 0, the losses of all mu_i."""
    for i in range(averages.size):
        scores(problem, w, i, work)
        add_loss(problem, i, work)
        averages[i] = block_value(problem, w, i, work, mu)


def lengths_of(problem: Any) -> np.ndarray:
    return np.array([length(problem, i) for i in range(problem.n)], np.int64)


def on_threads(count: int, part: Callable[[int], None]) -> None:
    """Call ``part`` with the number of each thread, on that thread."""
    if count == 1:
        part(0)
        return
    with ThreadPoolExecutor(count) as pool:
        list(pool.map(part, range(count)))


class OraclePass:
    """One exact oracle call for every block, on all cores; owns its threads' scratch memory."""

    def __init__(self, problem: Any, n_threads: int, keeps_answers: bool = False):
        n = problem.n
        self.problem, self.keeps_answers = problem, keeps_answers
        n_threads = min(n_threads, n) if problem.is_compiled else 1
        self.parts = np.array_split(np.arange(n), n_threads)
        self.works = [problem.new_work() for _ in range(n_threads)]
        self.ys = [np.zeros(problem.longest, np.int32) for _ in range(n_threads)]
        lengths = lengths_of(problem) if keeps_answers else np.zeros(0, np.int64)
        self.best, self.reached, self.mean = np.zeros(n), np.zeros(n), np.zeros(n)
        self.labels = np.zeros(int(lengths.sum()), np.int32)
        self.label_at = np.cumsum(lengths) - lengths
        self.answers = Answers(self.best, self.reached, self.mean, self.labels, self.label_at)

    def run(self, w: np.ndarray, mu: Any, nothing: bool = False) -> None:
        """Call the oracle for all blocks; for none with ``nothing``, which only compiles."""

        def part(k: int) -> None:
            self.ask(w, mu, self.parts[k][:0] if nothing else self.parts[k], k)

        on_threads(len(self.works), part)

    def ask(self, w: np.ndarray, mu: Any, which: np.ndarray, thread: int = 0) -> None:
        """Call the oracle for these blocks."""
        in_mode(ask_oracle, self.problem)(
            self.problem, w, mu, self.works[thread], self.ys[thread], which, self.answers
        )
