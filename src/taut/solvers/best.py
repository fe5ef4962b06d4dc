"""What a run has to show for itself so far."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from taut.solvers.any_run import AnyRun
from taut.solvers.certificate import Certificate
from taut.solvers.solution import ORACLE, Row

ALWAYS = ("steps", "certificates")  # take time in every run
# Of sums over examples, relative.
ROUNDING = 1e-9


@dataclass
class Best:
    """The history of a run, and its best weights with their bounds."""

    rows: list[Row] = field(default_factory=list)
    primal: float = np.inf  # of w
    dual: float = 0.0  # no objective is negative
    w: np.ndarray = field(default_factory=lambda: np.zeros(0))
    returned: str = "last"
    found_at: float = 0.0  # pass
    seconds: float = 0.0
    seconds_in: dict[str, float] = field(default_factory=lambda: dict.fromkeys(ALWAYS, 0.0))
    lowest: float = np.inf  # of all objectives seen, also of weights with a lower score
    score: float = -np.inf  # of w on held-out data
    checks_since: int = 0  # since w was found

    @contextmanager
    def timed(self, what: str, run: AnyRun) -> Iterator[None]:
        """Count the seconds of what is done here, and those of the oracle if it counts them."""
        began, oracle, spent = time.perf_counter(), run.problem.oracle_seconds, self.seconds_in
        yield
        spent[what] = spent.get(what, 0.0) + time.perf_counter() - began
        if oracle is not None and run.problem.oracle_seconds is not None:
            spent[ORACLE] = spent.get(ORACLE, 0.0) + run.problem.oracle_seconds - oracle

    def begin_check(self) -> None:
        self.checks_since += 1
        self.returned = "earlier"

    def forget(self) -> None:
        """Whatever weights come next are taken; proved bounds stay."""
        self.primal = np.inf

    def note(self, certificate: Certificate, bounds_last: bool = True) -> None:
        """Every dual value is a valid bound, whatever becomes of the weights (if it lasts)."""
        if bounds_last:
            self.dual = max(self.dual, certificate.dual)
        self.lowest = min(self.lowest, certificate.primal)

    def consider(
        self,
        certificate: Certificate,
        score: float,
        name: str,
        w: Callable[[], np.ndarray],
        passes: float,
        bounds_last: bool = True,
    ) -> None:
        """Keep the weights if their score is better, or as good with a lower objective.

        ``w()`` returns an array that no one changes from now on. A dual value that does not last
        is a bound for the weights that it came with only.
        """
        if (score, -certificate.primal) >= (self.score, -self.primal):
            if score > self.score:
                self.checks_since = 0
            self.score, self.primal, self.returned, self.w = score, certificate.primal, name, w()
            self.found_at = passes
            if not bounds_last:
                self.dual = max(certificate.dual, 0.0)
