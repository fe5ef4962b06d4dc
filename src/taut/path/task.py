"""What a path is of, a problem or an estimator with data, and what is asked of it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from taut.choice.auto import CHEAP_ORACLE_SECONDS, oracle_seconds
from taut.choice.named import is_auto
from taut.choice.registry import AUTO, registered_solver, solver_names, trains_crfs
from taut.metrics.scorers import as_scorer
from taut.path.held_out import Validation
from taut.prepared import Prepared, Preparing
from taut.problem.capability import CRF, Capability
from taut.problem.problem_type import is_problem, require
from taut.solvers.bcfw import BCFW
from taut.solvers.block_solver import BlockRun, BlockSolver
from taut.solvers.checks import check_limits, is_number
from taut.solvers.directions import Direction
from taut.solvers.objective import Bounds, Objective
from taut.solvers.sdca import SDCA
from taut.solvers.solution import HISTORY, Solution, Status
from taut.solvers.solver import Solver
from taut.solvers.step_length import StepLength

LINEAR, CONSTANT, HEURISTIC, GRID = "linear", "constant", "heuristic", "grid"
WARM_STARTS = ("best", "primal", "dual", None)


@dataclass(frozen=True)
class PathOptions:
    """What is asked of a path, checked; :func:`taut.regularization_path` describes it."""

    eps: float
    lam_min: float | None = None
    method: str = LINEAR
    kappa: float | None = None
    floor: float | None = None
    max_passes: float = 1000
    keep_weights: bool = True
    # Of a grid: where, and what each value takes from the one before.
    lambdas: Sequence[float] = ()
    warm_start: str | None = "best"

    def __post_init__(self) -> None:
        if self.warm_start not in WARM_STARTS:
            raise ValueError(f"warm_start={self.warm_start!r}; expected one of {WARM_STARTS}")
        what = "the part of the objective at w = 0 by which weights may miss the optimum"
        _check_part("eps", self.eps, f", {what}")
        check_lam_min(self.lam_min)
        if self.method not in (LINEAR, CONSTANT, HEURISTIC, GRID):
            raise ValueError(
                f"method={self.method!r}; expected one of 'linear', 'constant', 'heuristic'"
            )
        if self.kappa is not None:
            _check_part("kappa", self.kappa)
        if self.floor is not None:
            _check_part("floor", self.floor, ", a part of the objective at w = 0, or None")
            if self.method != LINEAR:
                raise ValueError(
                    'floor= is for method="linear"; other methods have the same eps everywhere'
                )


def _check_part(name: str, value: Any, meaning: str = "") -> None:
    if not (is_number(value) and 0 < value < 1):
        raise ValueError(f"{name}={value!r}; a number between 0 and 1 is expected{meaning}")


def check_lam_min(lam_min: Any) -> None:
    if lam_min is not None and not (is_number(lam_min) and 0 < lam_min < np.inf):
        raise ValueError(f"lam_min={lam_min!r}; a positive number is expected (C = 1/(lambda n))")


def check_path_limits(
    max_passes: Any, time_limit: Any, cpu_limit: Any = None, callback: Any = None
) -> None:
    if max_passes is not None and not (is_number(max_passes) and max_passes > 0):
        raise ValueError(f"max_passes={max_passes!r}; a positive number is expected")
    check_limits(time_limit, cpu_limit)
    if callback is not None and not callable(callback):
        raise TypeError(f"callback={callback!r}; a function of a breakpoint is expected")


def check_accuracy(problem: Any, target: float, eps: float) -> None:
    """An approximate oracle adds to every gap: with too much of it none comes to the target."""
    slack = problem.slack()
    if slack > 0.5 * target:
        raise ValueError(
            f"eps={eps:g}: approximate inference alone may add {slack:.3g} to the gap, and "
            f"{target:.3g} is to be reached; lower the estimator's tol, which sets its accuracy, "
            "or raise eps"
        )


class Task:
    """A problem and how to run it; an estimator says both itself, unless told otherwise.

    ``data`` are an estimator's X, y and sample weights.
    """

    def __init__(
        self,
        model: Any,
        data: tuple[Any, Any, Any] = (None, None, None),
        *,
        solver: Any = None,
        bounds: Bounds | None = None,
        seed: int | None = None,
        n_threads: int | None = None,
        progress: bool | None = None,
    ):
        self.problem, self.prepared = model, None
        own: dict[str, Any] = {"bounds": None, "seed": 0, "n_threads": 1, "progress": None}
        if isinstance(model, type) or not (isinstance(model, Preparing) or is_problem(model)):
            raise TypeError(
                f"{model!r} is neither a problem nor an estimator of taut's; "
                "regularization_path(ChainSVM(), X, y) is one way to call it"
            )
        if isinstance(model, Preparing):
            self.copy, self.prepared = prepared_copy(model, data)
            self.problem, own = self.prepared.problem, self.prepared.options
            solver = self.prepared.named_solver if solver is None else solver
        elif any(part is not None for part in data):
            raise TypeError(
                f"{type(model).__name__} is a problem and has its data; X, y and sample_weight are "
                "for estimators"
            )
        self.solver = path_solver(solver, self.problem)
        self.objective = Objective(
            1.0,
            bounds=own["bounds"] if bounds is None else bounds,
            seed=own["seed"] if seed is None else seed,
            n_threads=n_threads or own["n_threads"],
        )
        self.progress = own["progress"] if progress is None else progress

    def __getstate__(self) -> dict[str, Any]:
        """A path can be pickled; what it knows of becoming an estimator stays behind."""
        return {**self.__dict__, "prepared": None}

    def new_run(self) -> BlockRun:
        """A run at the truth; its C is set by the walk."""
        return self.solver.start(self.problem, self.objective)

    def validation(self, validate: Any, scoring: Any, lambdas: Any = None) -> Validation | None:
        """Scores by a function of the weights, or of an estimator on held-out data."""
        if validate is None and lambdas is not None:
            raise ValueError("validate_at= says where to score, but there is nothing to validate=")
        if validate is None or callable(validate):
            if scoring is not None:
                raise ValueError("scoring= is for held-out data: validate=(X, y)")
            return None if validate is None else Validation(validate, lambdas)
        if not (isinstance(validate, tuple) and len(validate) == 2) or self.prepared is None:
            raise TypeError(
                "validate= takes a function of the weights or, for an estimator, a pair (X, y) of "
                "held-out data"
            )
        scorer, (X, y), complete = as_scorer(scoring), validate, self.prepared.complete

        def score(w: np.ndarray) -> float:
            complete(self.only_weights(w))
            return scorer(self.copy, X, y)

        return Validation(score, lambdas)

    def only_weights(self, w: np.ndarray) -> Solution:
        """Weights of which nothing else is known, for an estimator to predict with."""
        return Solution(
            w=w, primal=np.nan, dual=np.nan, status=Status.ON_PATH,
            history=np.zeros(0, HISTORY).view(np.recarray), passes=0.0, oracle_calls=0, seconds=0.0,
            C=np.nan, lam=np.nan, n_examples=self.problem.n, scale=np.nan, returned="path",
            solver=self.solver, fingerprint="", inference=self.problem.inference,
        )  # fmt: skip

    def fitted(self, solution: Solution) -> Any:
        """A copy of the estimator with these weights."""
        if self.prepared is None:
            raise TypeError(
                "this path is of a problem, or was pickled, and knows no estimator; "
                "weights(lam) and solution(lam) are there"
            )
        self.prepared.complete(solution)
        other = clone(self.copy)
        other.__dict__.update(self.copy.__dict__)  # later completions leave it alone
        return other.set_params(C=solution.C)


def prepared_copy(model: Any, data: tuple[Any, Any, Any]) -> tuple[Any, Prepared]:
    """A copy of the estimator, and what it would train; not of all is there a path."""
    if data[0] is None or data[1] is None:
        raise TypeError("an estimator needs data: regularization_path(estimator, X, y)")
    if "C" not in model.get_params(deep=False):
        name = type(model).__name__
        raise TypeError(f"{name} chooses C itself; paths are of {name.removesuffix('CV')}")
    copy = clone(model).set_params(warm_start=False)
    prepared = copy.prepare(*data)
    if prepared.no_path:
        raise TypeError(prepared.no_path)
    l1, penalty = prepared.options["l1"], prepared.options["slack_penalty"]
    if l1:
        raise ValueError(f"l1={l1}: paths are without an l1 norm; fit for each C")
    if penalty != "linear":
        raise ValueError(
            f"slack_penalty={penalty!r}: paths are followed by block-coordinate "
            'Frank-Wolfe, which is for linear slacks; use slack_penalty="linear", or fit for each C'
        )
    return copy, prepared


def path_solver(solver: Any, problem: Any) -> BlockSolver:
    """One that takes its dual point along to another lambda."""
    is_crf = bool(problem.capabilities & CRF)
    require(problem, Capability.SMOOTHED if is_crf else Capability.MAX_ORACLE, "a path")
    if solver is None or is_auto(solver):
        if is_crf:
            return SDCA()
        cheap = not problem.is_compiled and oracle_seconds(problem) <= CHEAP_ORACLE_SECONDS
        return BCFW(direction=Direction.PAIRWISE if cheap else Direction.CORRECTIVE)

    chosen: Any = registered_solver(solver) if isinstance(solver, str) else solver
    can_follow = isinstance(chosen, Solver) and chosen.follows_paths
    if not can_follow:
        known = solver_names(lambda one: one.follows_paths and trains_crfs(one) == is_crf)
        names = ", ".join(map(repr, [AUTO, *known]))
        kind = ValueError if isinstance(solver, str) else TypeError
        raise kind(f"solver={solver!r} cannot follow a path; expected {names}, or such an object")
    chosen.check_fits(problem, Objective(1.0))
    if chosen.refresh is None:
        raise ValueError("refresh=None: a path needs exact gaps at its breakpoints; set refresh")
    if isinstance(chosen, BCFW) and chosen.step is StepLength.FIXED:
        raise ValueError(
            'step="fixed": a path goes on from the point before, and fixed steps do not know how '
            'near it is; use step="line-search"'
        )
    return replace(chosen, averaging=False)
