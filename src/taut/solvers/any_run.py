"""What the loop asks of a run, whatever moves it."""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np

from taut.solvers.best import Best
from taut.solvers.bounds import Bounds
from taut.solvers.certificate import Certificate, Point
from taut.solvers.penalty import SlackPenalty
from taut.solvers.resume import Damaged
from taut.solvers.solution import Status


class Objective(NamedTuple):
    """What is minimised, beside what the problem says, and what a run has to itself."""

    C: float
    penalty: SlackPenalty = SlackPenalty.LINEAR
    l1: float = 0.0
    bounds: Bounds | None = None
    seed: int = 0
    n_threads: int = 1


class AnyRun(ABC):
    """A problem, a solver's options and the state they move."""

    state: Any  # has w and count, whose first entry counts steps

    def __init__(self, problem: Any, solver: Any, objective: Objective):
        self.problem, self.solver = problem, solver
        self.C, self.penalty, self.l1 = objective.C, objective.penalty, objective.l1
        self.seed = objective.seed
        self.n = problem.n  # examples
        self.importance = np.asarray(problem.importance, np.float64)  # (n,)

    @property
    def steps(self) -> int:
        return int(self.state.count[0])

    @property
    @abstractmethod
    def pass_steps(self) -> int:
        """How many steps make a pass."""

    @property
    def passes(self) -> float:
        return self.steps / self.pass_steps

    @property
    @abstractmethod
    def oracle_calls(self) -> int: ...

    @property
    @abstractmethod
    def is_compiled(self) -> bool: ...

    @property
    @abstractmethod
    def inference(self) -> str:
        """The method of the oracle, where there is a choice; "none" without one."""

    @property
    @abstractmethod
    def certifies(self) -> str:
        """Which relaxation the certificate is about; "" if none."""

    @property
    def formulation(self) -> str:
        """What is rescaled by the loss."""
        return getattr(self.problem, "formulation", "margin")

    @property
    def bounds_last(self) -> bool:
        """Whether a dual value bounds the objective of all weights, not only of those it came
        with."""
        return True

    @property
    def is_soft_final(self) -> bool:
        """Whether the soft gap, if there is one, is that of the penalty asked for."""
        return True

    @property
    def is_finished(self) -> bool:
        """Whether the last certificate found nothing more to do."""
        return False

    finished_as = Status.NO_VIOLATION  # if it is

    @abstractmethod
    def compile(self) -> None:
        """Run every kernel on little, so that compilation is not counted as training."""

    @abstractmethod
    def continue_from(self, earlier: Any, keep: str) -> None:
        """Start from the dual point of an earlier solution."""

    @abstractmethod
    def advance(self, n_steps: int) -> None:
        """Take about so many steps."""

    @abstractmethod
    def certify(self) -> Certificate: ...

    @abstractmethod
    def first_certificate(self, worst: np.ndarray, cold: bool) -> Certificate: ...

    @abstractmethod
    def worst_losses(self, cold: bool) -> np.ndarray:
        """The objective at w = 0, example by example."""

    def certified_average(self) -> tuple[Point, Certificate] | None:
        """The average of the iterates, if the solver keeps one."""
        return None

    def final_state(self) -> Any:
        """What a solution keeps, for warm starts."""
        return self.state

    # --- checkpoints ---

    @property
    def unsavable(self) -> str:
        """Why the state cannot be written to a file; "" if it can."""
        return ""

    @abstractmethod
    def saved_arrays(self) -> dict[str, np.ndarray]: ...

    @abstractmethod
    def resume(self, arrays: dict[str, np.ndarray], best: Best, damaged: Damaged) -> None:
        """Go on from saved arrays; ``best`` is left with what they prove."""
