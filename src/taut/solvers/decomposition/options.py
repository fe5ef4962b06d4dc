"""What simplicial decomposition and cutting planes have in common."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from taut.solvers.decomposition.points import Points
from taut.solvers.solver import Objective, Solver

# Up to so many examples there is one master problem for all of them.
MOST_TOGETHER = 500
AT_A_TIME = 200


@dataclass(frozen=True)
class Decomposition(Solver):
    """Solvers that keep labellings as points and weigh them by a master problem."""

    takes_squared_slacks: ClassVar[bool] = True

    @property
    @abstractmethod
    def is_product(self) -> bool:
        """Whether every example has a simplex of its own."""

    @property
    @abstractmethod
    def examples_at_a_time(self) -> int | None:
        """Of one iteration; None leaves it to ``working_set_size``."""

    @property
    def cache_size(self) -> int:
        """Labellings remembered per example, to make planes of without the oracle."""
        return 0

    @property
    def smallest_violation(self) -> float:
        """Labellings that violate their constraint by no more are left out."""
        return 0.0

    @property
    def check_every(self) -> int:
        """Passes between certificates; where the master is about all examples, each has one."""
        return 1

    @abstractmethod
    def make_room(self, points: Points, blocks: np.ndarray, *, is_cone: bool) -> None:
        """Called before a point is added to each of these blocks."""

    def start(self, problem: Any, objective: Objective) -> Any:
        from taut.solvers.decomposition.run import DecompositionRun  # which knows this class

        return DecompositionRun(problem, self, objective)


def working_set_size(solver: Decomposition, n: int) -> int:
    """How many examples an iteration is about."""
    if not solver.is_product:
        return n
    if solver.examples_at_a_time is not None:
        return min(solver.examples_at_a_time, n)
    return n if n <= MOST_TOGETHER else AT_A_TIME
