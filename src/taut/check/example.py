"""One example of a problem that is checked: calls of its functions, and what is found wrong."""

import traceback
from itertools import product
from math import prod
from typing import Any

import numpy as np

from taut import problem as functions
from taut.arrays.accumulator import add_to, clear
from taut.problem.capability import Capability

MOST_TRIED = 64  # labellings of an example, beside what the oracle finds
UNWRITTEN = -12345
# What is interpreted keeps single precision where data have it. Mistakes are larger.
ROUNDING = 1e-6


class Broken(Exception):
    """A finding after which there is nothing more to try on an example."""


def failure(name: str, error: Exception) -> str:
    """An exception in words, with the line that raised it."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{name} fails: {type(error).__name__}: {error} ({last.filename}:{last.lineno})"


class Example:
    """One example, the labellings of it that are known, and what is found wrong."""

    def __init__(self, problem: Any, i: int):
        self.problem, self.i = problem, i
        self.work, self.delta = problem.new_work(), problem.new_delta()
        self.worst = problem.worst_losses()
        self.scale = 1.0
        self.found: list[str] = []

    def begin(self, random: np.random.Generator) -> None:
        self.size, longest = self.call("length", self.i), self.problem.longest
        if not 1 <= self.size <= longest:
            raise Broken(f"length is {self.size}; from 1 to longest, {longest}, is expected")
        self.truth = self.written("true_label", self.i)
        self.labellings = [self.truth]
        for each in self._tried(random):
            self.know(each)

    def _tried(self, random: np.random.Generator) -> Any:
        choices = self.problem.choices(self.i)
        if choices is None:
            return []
        if prod(map(int, choices)) <= MOST_TRIED:
            return product(*map(range, choices))
        return random.integers(0, choices, (MOST_TRIED, len(choices)))

    def can(self, what: Capability) -> bool:
        return what in self.problem.capabilities

    # --- calls -----------------------------------------------------------------------------------

    def call(self, name: str, *arguments: Any) -> Any:
        try:
            return getattr(functions, name)(self.problem, *arguments)
        except Exception as error:
            raise Broken(failure(name, error)) from error

    def written(self, name: str, *arguments: Any) -> np.ndarray:
        """The labelling that a function writes, which must be all of it."""
        y = np.full(self.problem.longest, UNWRITTEN, np.int32)
        self.call(name, *arguments, y)
        if np.any(y[: self.size] == UNWRITTEN):
            raise Broken(f"{name} writes only a part of the {self.size} numbers of a labelling")
        return y

    def prepare(self, w: np.ndarray, work: Any) -> None:
        self.call("scores", w, self.i, work)
        self.call("add_loss", self.i, work)

    def know(self, labelling: Any) -> None:
        y = np.zeros(self.problem.longest, np.int32)
        y[: self.size] = np.asarray(labelling)[: self.size]
        if not any(np.array_equal(y[: self.size], z[: self.size]) for z in self.labellings):
            self.labellings.append(y)

    def say(self, what: str) -> None:
        self.found.append(f"example {self.i}: {what}")

    def name(self, y: np.ndarray) -> str:
        """A labelling in words; some are the bits of marginals."""
        if self.problem.n_states is None and self.size > 8:
            return f"a distribution with loss {self.call('label_loss', self.i, y):.6g}"
        return str(y[: self.size].tolist())

    def differ(self, one: float, other: float) -> bool:
        """Beyond the rounding of sums of such terms."""
        return not abs(one - other) <= ROUNDING * (self.scale + abs(one) + abs(other))

    def compare(self, what: str, one: float, expected: str, other: float) -> None:
        if self.differ(one, other):
            self.say(f"{what} is {one:.6g}, but {expected} is {other:.6g}")

    # --- what is asked more than once ------------------------------------------------------------

    def value(self, w: np.ndarray, y: np.ndarray) -> float:
        return self.call("label_value", w, self.i, self.work, y)

    def measure(self, w: np.ndarray) -> None:
        """How large the terms of scores are under these weights, by known labellings."""
        self.scale = 1.0 + max(float(abs(w) @ abs(self.features(y))) for y in self.labellings)

    def answer(self, w: np.ndarray, work: Any) -> tuple[float, np.ndarray, float]:
        y = np.full(self.problem.longest, UNWRITTEN, np.int32)
        value = self.call("argmax", w, self.i, work, y)
        if np.any(y[: self.size] == UNWRITTEN):
            raise Broken(f"argmax writes only a part of the {self.size} numbers of a labelling")
        if not np.isfinite(value):
            raise Broken(f"argmax returns {value}; the truth alone has value 0")
        n_states = self.problem.n_states
        if n_states is not None and np.any((y[: self.size] < 0) | (y[: self.size] >= n_states)):
            raise Broken(f"argmax answers {y[: self.size]}; numbers below {n_states} are expected")
        return value, y, self.call("attained", w, self.i, work, y, value)

    def features(self, y: np.ndarray, amount: float = 1.0) -> np.ndarray:
        """Psi_i (e(y) - e(truth)), as ``project`` sees it."""
        mu = self.problem.new_dual()
        self.call("begin_change", self.i, mu, -1.0, self.work)
        self.call("add_corner", self.i, y, 1.0, self.work)
        return self.projected(amount)

    def projected(self, amount: float) -> np.ndarray:
        self.call("project", self.i, self.work, amount, self.delta)
        return self.collected()

    def collected(self) -> np.ndarray:
        total = np.zeros(self.problem.dim)
        add_to(self.delta, 1.0, total)
        clear(self.delta)
        return total

    def same_dual(self, one: Any, other: Any) -> bool:
        return np.array_equal(self.problem.dual_array(one), self.problem.dual_array(other))

    def compare_weights(self, what: str, one: np.ndarray, expected: np.ndarray) -> None:
        wrong = np.flatnonzero(abs(one - expected) > ROUNDING * (1.0 + abs(expected)))
        if wrong.size:
            p = wrong[0]
            self.say(f"{what} adds {one[p]:.6g} to weight {p}, where {expected[p]:.6g} is expected")
