"""What a solver is: the options of a method, what it needs of a problem, and the run it starts.

``solve`` and the loop ask a solver; they know none by its class.
"""

from abc import ABC, abstractmethod
from dataclasses import fields, replace
from typing import Any, ClassVar, Self

import numpy as np

from taut.problem.capability import CRF, Capability
from taut.problem.problem_type import require
from taut.solvers.any_run import AnyRun
from taut.solvers.objective import Objective, SlackPenalty


def check_solver(solver: Any) -> None:
    """Refuse what is no solver, in words for who writes one."""
    if isinstance(solver, type):
        raise TypeError(f"{solver.__name__} is a class; give a solver: {solver.__name__}()")
    if not isinstance(solver, Solver):
        raise TypeError(f"{solver!r} is not a solver; expected an object of a subclass of Solver")
    name = type(solver).__name__
    parameters = getattr(type(solver), "__dataclass_params__", None)
    if parameters is None or not parameters.frozen:
        raise TypeError(
            f"{name} is not a frozen dataclass; write @dataclass(frozen=True) above it: "
            "checkpoints know a solver by its options"
        )
    if not isinstance(solver.needs, Capability):
        raise TypeError(
            f"{name}.needs is {solver.needs!r}; a Capability of taut.problem.capability is "
            "expected, such as Capability.MAX_ORACLE"
        )


class Solver(ABC):
    """Subclasses are frozen dataclasses of options."""

    # What it needs of a problem, and can do.
    needs: ClassVar[Capability] = Capability.MAX_ORACLE
    takes_squared_slacks: ClassVar[bool] = False
    follows_paths: ClassVar[bool] = False  # its run can go on at another C
    # How the loop is to judge it.
    closes_bracket: ClassVar[bool] = True  # else the tolerance is about the soft gap
    is_loose_at_first: ClassVar[bool] = False  # at first no bound is better than that of w = 0
    average_must_be_lower: ClassVar[bool] = False  # or is preferred anyway, as it generalises
    # What it returns, in words, if it has no option ``averaging``.
    returns: ClassVar[str] = "its last iterate"
    averaging: bool = False
    temperature: float = 0.0

    @property
    def check_every(self) -> int:
        """Passes between two certificates."""
        return 1

    @property
    def keeps_alpha(self) -> bool:
        """Whether a run remembers labellings with their weights."""
        return False

    @abstractmethod
    def describe(self) -> str:
        """The solver in words."""

    @property
    def can_average(self) -> bool:
        return any(field.name == "averaging" for field in fields(self))  # type: ignore[arg-type]

    def with_options(
        self, *, averaging: bool = False, temperature: float = 0.0, **penalty: Any
    ) -> Self:
        """The same solver, as an estimator with these options wants it.

        A solver that can average has an option of that name. Estimators of graphs always have a
        ``penalty`` parameter, rho, and solvers that have none need not care.
        """
        if temperature:
            raise ValueError(f"temperature={temperature:g}; {self.describe()} has none")
        if not isinstance(averaging, bool | np.bool_):
            raise TypeError(f"averaging={averaging!r}; expected True or False")
        if not averaging:
            return self
        if not self.can_average:
            raise ValueError(
                "averaging=True is for solvers that take many small steps and can average them; "
                f"{self.describe()} returns {self.returns}"
            )
        return replace(self, averaging=True)  # type: ignore[type-var]

    @abstractmethod
    def start(self, problem: Any, objective: Objective) -> AnyRun:
        """A run at the truth, where w = 0 (or as near as the bounds allow)."""

    def check_fits(self, problem: Any, objective: Objective) -> None:
        """Refuse what this solver cannot train, and say what can."""
        require(problem, self.needs, self.describe())
        is_crf = bool(self.needs & CRF)
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
