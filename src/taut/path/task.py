"""What a path is of: a problem, or an estimator with data, and the options of a run."""

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from taut.choice.auto import CHEAP_ORACLE_SECONDS, oracle_seconds
from taut.choice.named import SOLVERS, named_crf_solver
from taut.path.scoring import as_scorer
from taut.path.validation import Validation
from taut.solvers.bcfw import BCFW, Direction
from taut.solvers.bounds import Bounds
from taut.solvers.loop import check_scale
from taut.solvers.progress import announced_compilation
from taut.solvers.run import Run
from taut.solvers.sdca import SDCA
from taut.solvers.seeds import seed_of
from taut.solvers.solution import HISTORY, Solution, Status, describe
from taut.solvers.solver import Objective


class Task:
    """A problem and how to run it; an estimator says both itself, unless told otherwise."""

    def __init__(
        self,
        model: Any,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        solver: Any = None,
        bounds: Bounds | None = None,
        seed: int | None = None,
        n_threads: int | None = None,
        progress: bool | None = None,
    ):
        self.complete: Any = None
        if getattr(model, "is_partial", False):
            raise ValueError("a path needs all labels, and some are missing; fit for each C")
        if isinstance(model, type) or not (
            hasattr(model, "_prepare") or hasattr(model, "new_dual")
        ):
            raise TypeError(
                f"{model!r} is neither a problem nor an estimator of taut's; "
                "regularization_path(ChainSVM(), X, y) is one way to call it"
            )
        if hasattr(model, "_prepare"):
            if X is None or y is None:
                raise TypeError("an estimator needs data: regularization_path(estimator, X, y)")
            if "C" not in model.get_params(deep=False):
                name = type(model).__name__
                raise TypeError(f"{name} chooses C itself; paths are of {name.removesuffix('CV')}")
            if model._solver_options().get("temperature"):
                raise TypeError(
                    f"paths are of SVMs; {type(model).__name__} is a CRF: fit it at each C"
                )
            self.copy = clone(model).set_params(warm_start=False)
            _check_linear_slacks(self.copy)
            self.problem, _, self.complete, _ = self.copy._prepare(X, y, sample_weight)
            own = self.copy
            solver = own.solver if solver is None else solver
            bounds = own.bounds if bounds is None else bounds
            if seed is None:
                seed = seed_of(
                    check_random_state(own.random_state).randint(2**31 - 1), own.random_state
                )
            n_threads = own._n_threads() if n_threads is None else n_threads
            progress = own.verbose if progress is None else progress
        elif not (X is None and y is None and sample_weight is None):
            raise TypeError(
                f"{type(model).__name__} is a problem and has its data; X, y and sample_weight are "
                "for estimators"
            )
        else:
            self.problem = model
        self.solver = path_solver(solver, self.problem)
        self.bounds, self.seed, self.n_threads = bounds, seed or 0, n_threads or 1
        self.progress = progress

    def __getstate__(self) -> dict[str, Any]:
        """A path can be pickled; what it knows of becoming an estimator stays behind."""
        return {**self.__dict__, "complete": None}

    def new_run(self) -> Run:
        """A run at the truth; its C is set by the walk."""
        objective = Objective(1.0, bounds=self.bounds, seed=self.seed, n_threads=self.n_threads)
        return Run(self.problem, self.solver, objective)

    def first_run(self) -> tuple[Run, np.ndarray]:
        """A run that is ready to go, and the objective at w = 0, example by example."""
        run = self.new_run()
        self.compile(run)
        worst = run.worst_losses(cold=True)
        check_scale(float(run.importance @ worst) / run.n)
        return run, worst

    def compile(self, what: Any) -> None:
        """A run or a walk; if it takes long, the user is told why."""
        with announced_compilation(self.problem, self.progress):
            what.compile()

    def fingerprint(self) -> str:
        return self.problem.fingerprint()

    def validation(self, validate: Any, scoring: Any, lambdas: Any = None) -> Validation | None:
        """Scores by a function of the weights, or of an estimator on held-out data."""
        if validate is None and lambdas is not None:
            raise ValueError("validate_at= says where to score, but there is nothing to validate=")
        if validate is None or callable(validate):
            if scoring is not None:
                raise ValueError("scoring= is for held-out data: validate=(X, y)")
            return None if validate is None else Validation(validate, lambdas)
        if not (isinstance(validate, tuple) and len(validate) == 2) or self.complete is None:
            raise TypeError(
                "validate= takes a function of the weights or, for an estimator, a pair (X, y) of "
                "held-out data"
            )
        scorer, (X, y) = as_scorer(scoring), validate
        model = self.copy

        def score(w: np.ndarray) -> float:
            self.complete(untrained(self.problem, self.solver, w))
            return scorer(model, X, y)

        return Validation(score, lambdas)

    def fitted(self, solution: Solution) -> Any:
        """A copy of the estimator with these weights."""
        if self.complete is None:
            raise TypeError(
                "this path is of a problem, or was pickled, and knows no estimator; "
                "weights(lam) and solution(lam) are there"
            )
        self.complete(solution)
        other = clone(self.copy)
        other.__dict__.update(self.copy.__dict__)  # later completions leave it alone
        return other.set_params(C=solution.C)


def untrained(problem: Any, solver: BCFW, w: np.ndarray) -> Solution:
    """Weights of which nothing is known, for an estimator to predict with."""
    return Solution(
        w=w, primal=np.nan, dual=np.nan, status=Status.ON_PATH,
        history=np.zeros(0, HISTORY).view(np.recarray), passes=0.0, oracle_calls=0, seconds=0.0,
        C=np.nan, lam=np.nan, n_examples=problem.n, scale=np.nan, returned="path", solver=solver,
        fingerprint="", inference=getattr(problem, "inference", ""),
    )  # fmt: skip


def _check_linear_slacks(estimator: Any) -> None:
    if estimator.l1:
        raise ValueError(f"l1={estimator.l1}: paths are without an l1 norm; fit for each C")
    if estimator.slack_penalty != "linear":
        raise ValueError(
            f"slack_penalty={estimator.slack_penalty!r}: paths are followed by block-coordinate "
            'Frank-Wolfe, which is for linear slacks; use slack_penalty="linear", or fit for each C'
        )


def _crf_solver(solver: Any, problem: Any) -> SDCA:
    chosen = named_crf_solver("auto" if solver is None else solver, problem)
    if problem.is_partial or not isinstance(chosen, SDCA):
        why = "needs all labels, and some are missing" if problem.is_partial else "needs SDCA"
        raise ValueError(f"{describe(chosen)} cannot follow a path, which {why}; fit for each C")
    return _with_exact_gaps(chosen)


def _with_exact_gaps(solver: Any) -> Any:
    if solver.refresh is None:
        raise ValueError("refresh=None: a path needs exact gaps at its breakpoints; set refresh")
    return replace(solver, averaging=False)


def path_solver(solver: Any, problem: Any) -> BCFW:
    """A block-coordinate solver: they take their dual point along to another lambda."""
    if getattr(problem, "is_smoothed", False):
        return _crf_solver(solver, problem)
    if isinstance(solver, str) and solver != "auto":
        if not isinstance(SOLVERS.get(solver), BCFW):
            names = [name for name, known in SOLVERS.items() if isinstance(known, BCFW)]
            raise ValueError(
                f"solver={solver!r} cannot follow a path; expected 'auto', "
                f"{', '.join(map(repr, names))}, or a BCFW object"
            )
        solver = SOLVERS[solver]
    if solver is None or solver == "auto":
        cheap = not problem.is_compiled and oracle_seconds(problem) <= CHEAP_ORACLE_SECONDS
        return BCFW(direction=Direction.PAIRWISE if cheap else Direction.CORRECTIVE)
    if not isinstance(solver, BCFW):
        raise TypeError(
            f"{describe(solver)} cannot follow a path; use BCFW, with any order and direction"
        )
    solver.check_fits(problem, Objective(1.0))
    return _with_exact_gaps(solver)
