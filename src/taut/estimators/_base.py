"""What all estimators share: options, the call of ``solve``, warm starts, warnings."""

import os
import sys
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from taut.solvers import BCFW, Direction, FrankWolfe, Order, Solution, Status, solve
from taut.solvers.auto import choose_solver

SOLVERS: dict[str, BCFW | FrankWolfe] = {
    "fw": FrankWolfe(),
    "bcfw": BCFW(order=Order.GAP),
    "bcpfw": BCFW(order=Order.GAP, direction=Direction.PAIRWISE),
    "bcafw": BCFW(order=Order.GAP, direction=Direction.AWAY),
    "corrective": BCFW(order=Order.GAP, direction=Direction.CORRECTIVE),
}
WARM_STARTS = (False, True, "dual", "primal")


class StructuredEstimator(BaseEstimator):
    """Training of a problem; subclasses say what the problem is.

    Every subclass stores at least C, solver, averaging, tol, max_passes, time_limit, bounds,
    callback, warm_start, checkpoint, checkpoint_seconds, resume, n_jobs, random_state, verbose.
    """

    def _train(self, problem: Any, *, continues: bool, validate: Any = None) -> Solution:
        """Solve; ``continues`` starts from ``solution_``."""
        earlier = self.solution_ if continues else None
        # Under "auto" a run goes on with the solver it began with.
        again = earlier is not None and self.solver == "auto"
        return solve(
            problem,
            earlier.solver if earlier is not None and again else self._solver(problem),
            C=self.C,
            bounds=self.bounds,
            tol=self.tol,
            max_passes=self.max_passes,
            time_limit=self.time_limit,
            callback=self.callback,
            warm_start=earlier,
            keep="primal" if self.warm_start == "primal" else "dual",
            seed=int(check_random_state(self.random_state).randint(2**31 - 1)),
            n_threads=self._n_threads(),
            checkpoint=self.checkpoint,
            checkpoint_seconds=self.checkpoint_seconds,
            resume=self.resume,
            progress=bool(self.verbose) if self.verbose is not None else None,
            validate=validate,
            patience=getattr(self, "patience", 3),
        )

    def _warn_if_unfinished(self) -> None:
        """To be called last: a warning may be an error, and the model must be whole by then."""
        solution = self.solution_
        if solution.status in (Status.MAX_PASSES, Status.TIME_LIMIT, Status.INTERRUPTED):
            warnings.warn(
                f"{type(self).__name__}: {solution.status.value} (relative gap "
                f"{solution.relative_gap:.2g}, tol {self.tol:g})",
                ConvergenceWarning,
                stacklevel=_frames_of_taut(),
            )

    def _store(self, problem: Any, solution: Solution) -> None:
        self.solution_ = solution
        self.w_ = solution.w
        self.n_iter_ = int(np.ceil(solution.passes))

    def _solver(self, problem: Any) -> Any:
        if isinstance(self.solver, str):
            if self.solver == "auto":
                return choose_solver(problem, averaging=self.averaging)
            if self.solver not in SOLVERS:
                raise ValueError(
                    f'solver={self.solver!r}; expected "auto", '
                    f"{', '.join(map(repr, SOLVERS))}, or a BCFW or FrankWolfe object"
                )
            chosen = SOLVERS[self.solver]
        elif isinstance(self.solver, BCFW | FrankWolfe):
            chosen = self.solver
        else:
            raise TypeError(f"solver={self.solver!r}; a name, BCFW or FrankWolfe is expected")
        return replace(chosen, averaging=True) if self.averaging else chosen

    def _checked_warm_start(self) -> bool:
        if self.warm_start not in WARM_STARTS:
            raise ValueError(f"warm_start={self.warm_start!r}; expected one of {WARM_STARTS}")
        return bool(self.warm_start)

    def _n_threads(self) -> int:
        if self.n_jobs is None:
            return 1
        if self.n_jobs < 0:
            cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
            return max((cores or os.cpu_count() or 1) + 1 + self.n_jobs, 1)
        if self.n_jobs == 0:
            raise ValueError("n_jobs=0; use -1 for all cores or a positive number")
        return self.n_jobs


def _frames_of_taut() -> int:
    """How far up the stack the user's own line is, as ``warnings.warn`` counts from the caller."""
    frame, level = sys._getframe(1), 1
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "taut":
        frame, level = frame.f_back, level + 1  # type: ignore[assignment]
    return level
