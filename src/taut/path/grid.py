"""Given values of lambda, one after the other: what a path is compared with.

Each is solved to a gap of eps, from the solution before or from nothing. Linear pieces prove
something between them too, though nobody has seen to it that it is within eps.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from taut.path.breakpoint import Breakpoint
from taut.path.multiple import best_multiple
from taut.path.walk import Solved, Walk
from taut.solvers.run import Run

WARM_STARTS = ("best", "primal", "dual", None)


class GridWalk(Walk):
    """``new_run`` makes a run at the truth; a grid without warm start makes one for each lambda."""

    def __init__(
        self,
        run: Run,
        worst: np.ndarray,
        new_run: Callable[[], Run],
        lambdas: np.ndarray,
        warm_start: str | None,
        **options: Any,
    ):
        super().__init__(run, worst, kappa=1.0, lam_min=float(lambdas[-1]), **options)
        self.new_run, self.lambdas, self.warm_start = new_run, lambdas, warm_start

    def about(self) -> dict[str, Any]:
        return {"lambdas": self.lambdas.tolist(), "warm start": self.warm_start}

    def begin(self) -> None:
        hinge = self._begin_cold(float(self.lambdas[0]))
        norm = float(self.w @ self.w)
        self.points.append(Breakpoint(np.inf, 0.0, hinge, 0.0, norm, 0.0, 0.0))

    def _begin_cold(self, lam: float) -> float:
        """Set a new run to lambda, at the truth, with the gaps it has there; returns its hinge."""
        run = self.run
        run.C = 1.0 / (lam * run.n)
        certificate = run.first_certificate(self.worst, cold=True)
        self.is_at(lam)
        return certificate.primal - 0.5 * lam * float(run.state.w @ run.state.w)

    @property
    def certifies_first(self) -> bool:
        """From a warm start the next value may be there already."""
        return self.warm_start is not None and len(self.points) > 1

    def reach(self) -> float:
        return self.points[-1].lam

    def arrive(self, solved: Solved) -> None:
        self.accept(solved)

    def set_out(self) -> None:
        lam = float(self.lambdas[len(self.points) - 1])
        if self.warm_start is None:
            self.calls_before += self.run.oracle_calls
            self.run = self.new_run()
            self._begin_cold(lam)
        elif self.warm_start == "best":
            self.go_to(lam, best_multiple(self.run, lam))
        else:
            self.go_to(lam, lam / self.lam if self.warm_start == "primal" else 1.0)
