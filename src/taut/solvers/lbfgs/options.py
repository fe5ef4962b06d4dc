"""L-BFGS's options."""

from dataclasses import dataclass
from typing import Any, ClassVar

from taut.solvers.checks import is_count
from taut.solvers.solver import Objective, Solver


@dataclass(frozen=True)
class LBFGS(Solver):
    """Options of limited-memory BFGS (SciPy's L-BFGS-B), for :func:`taut.smoothed` problems.

    ``memory`` is the number of earlier steps that the curvature is estimated from. Every pass is
    one evaluation of objective and gradient, on all threads, and brings a certificate.

    >>> LBFGS().describe()
    'L-BFGS (memory 10)'
    """

    memory: int = 10

    trains_crfs: ClassVar[bool] = True
    takes_missing_labels: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not is_count(self.memory):
            raise ValueError(f"memory={self.memory!r}; a whole number of steps, at least 1")

    @property
    def check_every(self) -> int:
        return 1

    def describe(self) -> str:
        return f"L-BFGS (memory {self.memory})"

    def start(self, problem: Any, objective: Objective) -> Any:
        from taut.solvers.lbfgs.run import LBFGSRun  # which knows this class

        return LBFGSRun(problem, self, objective)
