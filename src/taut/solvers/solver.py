"""What a solver is: the options of a method, what it needs of a problem, and the run it starts.

``solve`` and the loop ask a solver; they know none by its class.
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from taut.solvers.any_run import AnyRun, Objective
from taut.solvers.penalty import SlackPenalty


class Solver(ABC):
    """Subclasses are frozen dataclasses of options."""

    # What it needs of a problem, and can do.
    trains_crfs: ClassVar[bool] = False  # by a sum oracle; others need a max oracle, or factors
    takes_missing_labels: ClassVar[bool] = False
    takes_squared_slacks: ClassVar[bool] = False
    # How the loop is to judge it.
    closes_bracket: ClassVar[bool] = True  # else the tolerance is about the soft gap
    is_loose_at_first: ClassVar[bool] = False  # at first no bound is better than that of w = 0
    average_must_be_lower: ClassVar[bool] = False  # or is preferred anyway, as it generalises
    averaging: bool = False
    temperature: float = 0.0

    @property
    @abstractmethod
    def check_every(self) -> int:
        """Passes between two certificates."""

    @property
    def keeps_alpha(self) -> bool:
        """Whether a run remembers labellings with their weights."""
        return False

    @abstractmethod
    def describe(self) -> str:
        """The solver in words."""

    @abstractmethod
    def start(self, problem: Any, objective: Objective) -> AnyRun:
        """A run at the truth, where w = 0 (or as near as the bounds allow)."""

    def check_fits(self, problem: Any, objective: Objective) -> None:
        """Refuse what this solver cannot train, and say what can."""
        is_crf = getattr(problem, "is_smoothed", False)
        if is_crf != self.trains_crfs:
            what = "CRFs (ChainCRF, smoothed(...))"
            if is_crf:
                what = "SVMs; train a CRF by SDCA or LBFGS"
            raise ValueError(f"{self.describe()} is for {what}")
        if is_crf and problem.is_partial and not self.takes_missing_labels:
            raise ValueError(
                f"{self.describe()} needs all labels, and some are missing; use LBFGS "
                '(solver="lbfgs")'
            )
        if objective.l1 and not is_crf:
            raise ValueError(
                f"l1={objective.l1}: an l1 norm is for CRFs; {self.describe()} trains SVMs"
            )
        if objective.penalty is SlackPenalty.LINEAR:
            return
        given = f'slack_penalty="{objective.penalty.value}"'
        if is_crf:
            raise ValueError(f"{given} is for SVMs: a CRF has no slacks; leave it out")
        if not self.takes_squared_slacks:
            raise ValueError(
                f"{given}: {self.describe()} is for linear slacks, where every example has a "
                "simplex of labellings; use Simplicial, CuttingPlane or Subgradient (by name "
                '"simplicial", "cutting-plane", "subgradient")'
            )
