"""L-BFGS's options."""

from dataclasses import dataclass
from typing import ClassVar

from taut.solvers.checks import is_count


@dataclass(frozen=True)
class LBFGS:
    """Options of limited-memory BFGS (SciPy's L-BFGS-B), for :func:`taut.smoothed` problems.

    ``memory`` is the number of earlier steps that the curvature is estimated from. Every pass is
    one evaluation of objective and gradient, on all threads, and brings a certificate.

    >>> LBFGS().describe()
    'L-BFGS (memory 10)'
    """

    memory: int = 10

    averaging: ClassVar[bool] = False
    keeps_alpha: ClassVar[bool] = False
    check_every: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if not is_count(self.memory):
            raise ValueError(f"memory={self.memory!r}; a whole number of steps, at least 1")

    def describe(self) -> str:
        return f"L-BFGS (memory {self.memory})"
