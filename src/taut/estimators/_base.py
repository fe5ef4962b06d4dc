"""What all estimators share: options, from a problem to a model, warm starts, warnings."""

import os
import sys
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from taut.choice.named import is_without_inference, named_solver
from taut.prepared import Prepared
from taut.problem.python_problem import PythonProblem
from taut.solvers import Solution
from taut.solvers.checks import is_number
from taut.solvers.sampling import drawn_seed, seed_of
from taut.solvers.sdca import SDCA
from taut.solvers.solution import UNFINISHED
from taut.spelling import in_python
from taut.structures.slack_rescaled import checked_formulation, slack_rescaled

WARM_STARTS = (False, True, "dual", "primal")
WEIGHTS_ONLY = (
    "this model was loaded from a file or taken from a path, and has its weights but not the state "
    "of its training"
)


class StructuredEstimator(BaseEstimator, ABC):
    """Training of a problem; subclasses say what the problem is.

    Every subclass stores at least C, solver, averaging, tol, max_passes, time_limit, cpu_limit,
    bounds, callback, warm_start, checkpoint, checkpoint_seconds, resume, n_jobs, random_state,
    verbose.
    Those that offer them also store formulation, slack_penalty and l1.
    """

    formulation = "margin"
    slack_penalty = "linear"
    l1 = 0.0

    @abstractmethod
    def prepare(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Prepared:
        """All that ``fit`` would train with; nothing is trained, the estimator stays as it is.

        The data are checked. ``taut.solve(prepared.problem, prepared.solver, **prepared.options)``
        is what ``fit`` does with the answer, a :class:`taut.prepared.Prepared`, and
        ``prepared.complete(solution)`` makes this estimator the fitted model of a solution.
        """

    def _fit(self, prepared: Prepared) -> Self:
        """Train, and only then become the model: a fit that fails leaves it as it was."""
        prepared.complete(prepared.solve())
        # Last, because a warning may be an error, and the model must be whole by then.
        self._warn_if_unfinished()
        return self

    def _prepared(
        self,
        problem: Any,
        complete: Callable[[Solution], None],
        earlier: Solution | None,
        **options: Any,
    ) -> Prepared:
        """A problem as ``prepare`` returns it; a warm start goes on from the ``earlier`` solution.

        ``complete`` sets every attribute of a fitted model; ``options`` come before the
        estimator's own.
        """
        drawn = drawn_seed(check_random_state(self.random_state))
        own = {
            "C": self.C,
            "slack_penalty": self.slack_penalty,
            "l1": self.l1,
            "bounds": self.bounds,
            "tol": self.tol,
            "max_passes": self.max_passes,
            "time_limit": self.time_limit,
            "cpu_limit": self.cpu_limit,
            "callback": self.callback,
            "warm_start": earlier,
            "keep": "primal" if self.warm_start == "primal" else "dual",
            "seed": seed_of(drawn, self.random_state),
            "n_threads": self._n_threads(),
            "checkpoint": self.checkpoint,
            "checkpoint_seconds": self.checkpoint_seconds,
            "resume": self.resume,
            "progress": bool(self.verbose) if self.verbose is not None else None,
        }
        return Prepared(
            problem, complete, own | options, self.solver, self._chosen_solver, self._no_path()
        )

    def _no_path(self) -> str:
        """Why a regularisation path cannot be followed; empty if it can."""
        return ""

    def _chosen_solver(self, problem: Any, earlier: Solution | None = None) -> Any:
        solver = named_solver(
            self.solver,
            problem,
            self.averaging,
            slack_penalty=self.slack_penalty,
            **self._solver_options(),
        )
        if earlier is not None and self.solver == "auto" and self._goes_on(solver, earlier):
            return earlier.solver  # a run goes on with the solver it began with
        return solver

    def _goes_on(self, solver: Any, earlier: Solution) -> bool:
        """Whether both solvers or neither use inference, for the same slacks."""
        same_slacks = earlier.slack_penalty == self.slack_penalty
        return same_slacks and solver.needs == earlier.solver.needs

    def _formulated(self, problem: Any) -> Any:
        """The problem as the formulation wants it; a Python model's is made for it already."""
        if checked_formulation(self.formulation) == "margin" or isinstance(problem, PythonProblem):
            return problem
        if is_without_inference(self.solver):
            raise ValueError(
                f'formulation="slack" needs an oracle, and solver={self.solver!r} uses none; use '
                'another solver, or formulation="margin"'
            )
        return slack_rescaled(problem)

    def _solver_options(self) -> dict[str, Any]:
        """What solvers named by a string are told."""
        return {}

    def _training_inference(self) -> str:
        """Solvers without inference leave that choice to prediction."""
        return "auto" if is_without_inference(self.solver) else self.inference

    def _oracle_accuracy(self) -> float:
        """What an approximate oracle may add to the relative gap; ``solve`` judges ``tol``."""
        return 0.1 * self.tol if is_number(self.tol) and self.tol > 0 else 1e-6

    def _warn_if_unfinished(self) -> None:
        solution = self.solution_
        told = [in_python(solution.doubt)] if solution.doubt else []
        if solution.status in UNFINISHED:
            soft = not getattr(solution.solver, "closes_bracket", True)
            gap = solution.soft_gap / solution.scale if soft else solution.relative_gap
            hint = ", or try another rho" * is_without_inference(solution.solver)
            hint += ', or use solver="lbfgs"' * isinstance(solution.solver, SDCA)
            hint += ", as does a fit with warm_start=True" * solution.status.is_interruption
            where = f"relative {'soft ' * soft}gap {gap:.2g}, tol {self.tol:g}"
            told = [f"{solution.status.value}{hint} ({where})", *told]
        if told:
            what = f"{type(self).__name__}: {'; '.join(told)}"
            warnings.warn(what, ConvergenceWarning, stacklevel=_frames_of_taut())

    def _store(self, solution: Solution) -> None:
        self.solution_ = solution
        self.w_ = solution.w
        self.n_iter_ = int(np.ceil(solution.passes))

    def _earlier(self) -> Solution | None:
        """What a warm start goes on from; None to start cold."""
        if self.warm_start not in WARM_STARTS:
            raise ValueError(f"warm_start={self.warm_start!r}; expected one of {WARM_STARTS}")
        earlier = getattr(self, "solution_", None) if self.warm_start else None
        if earlier is not None and earlier.state is None:
            raise ValueError(
                f"warm_start: {WEIGHTS_ONLY}; fit it without warm_start, or resume a checkpoint"
            )
        return earlier

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
