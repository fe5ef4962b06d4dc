"""The regularisation path and its rival, the grid."""

from pathlib import Path
from typing import Any

import numpy as np

from taut.metrics.scorers import Scorer
from taut.path.held_out import checked_lambdas
from taut.path.result import RegularizationPath
from taut.path.task import GRID, LINEAR, PathOptions, Task, check_path_limits
from taut.solvers.loop import Score
from taut.solvers.objective import Bounds
from taut.solvers.watch import Callback


def regularization_path(
    problem: Any,
    X: Any = None,
    y: Any = None,
    *,
    sample_weight: Any = None,
    eps: float = 0.1,
    lam_min: float | None = None,
    method: str = LINEAR,
    kappa: float | None = None,
    floor: float | None = None,
    solver: Any = None,
    bounds: Bounds | None = None,
    validate: Score | tuple[Any, Any] | None = None,
    validate_at: Any = None,
    scoring: str | Scorer | None = None,
    keep_weights: bool = True,
    max_passes: float = 1000,
    time_limit: float | None = None,
    cpu_limit: float | None = None,
    callback: Callback | None = None,
    seed: int | None = None,
    n_threads: int | None = None,
    checkpoint: str | Path | None = None,
    checkpoint_seconds: float = 60.0,
    resume: bool = False,
    progress: bool | None = None,
) -> RegularizationPath:
    """Weights for every lambda >= ``lam_min``, each proved within ``eps`` of the optimum.

    Parameters
    ----------
    problem : problem, or estimator with ``X`` and ``y`` (and ``sample_weight``)
        An estimator's C and tol do not matter; its solver, bounds, random_state, n_jobs and verbose
        do, unless given here.
    eps : float
        The suboptimality allowed, as a part of the objective at w = 0, as ``tol`` is elsewhere.
        (Where the largest loss of every example is 1, that objective is 1.)
    lam_min : float or None
        Where to end, unless the training loss has fallen below eps before, from where on the
        weights are good for all smaller lambdas. None chooses C = 1/(lambda n) so large that one
        example alone would satisfy its margin with a thousandth of it.
    method : {"linear", "constant", "heuristic"}
        "linear" interpolates between breakpoints, linearly in 1/lambda. "constant" keeps the
        weights of a breakpoint down to the next (Osokin et al. 2016): many more breakpoints.
        "heuristic" is that without asking the oracle whether the gaps are right: no guarantee.
    kappa : float or None
        The part of eps that is solved to at each breakpoint; 0.8 (linear), 0.9 (constant), 0.7.
    floor : float or None
        With a floor, such as 0.001, ``eps`` is a part of the optimum at each lambda instead, but
        never less than ``floor`` times the objective at w = 0: more accurate where the training
        loss is small. For the linear method.
    solver : None, str or BCFW
    bounds : (lower, upper) or None
    validate : function of the weights, pair (X, y) of held-out data for an estimator, or None
        What the weights of every breakpoint score, computed along with the path; see ``scores``.
    validate_at : array or None
        Score at these lambdas instead of the breakpoints.
    scoring : None, str or function of (estimator, X, y)
        How held-out data are scored: by the estimator's ``score``, by a name of scikit-learn's, by
        "span_f1", "token_accuracy" or "sequence_accuracy", or by a function.
    keep_weights : bool
        False keeps no weights, where only scores are wanted.
    max_passes : float
        Give up after so many passes at one lambda.
    time_limit, cpu_limit, callback, seed, n_threads, checkpoint, checkpoint_seconds, resume, \
progress
        As in :func:`taut.solve`; the callback gets each new breakpoint. Ctrl-C returns the path so
        far.

    Examples
    --------
    >>> import taut
    >>> from taut.datasets import make_digit_words
    >>> X, y = make_digit_words(40, random_state=0)
    >>> path = taut.regularization_path(taut.ChainSVM(random_state=0), X, y, eps=0.1)
    >>> path.guaranteed, bool(path.bound(path.lambdas[2]) <= 0.1 * path.scale)
    (True, True)
    >>> path.estimator(C=0.1).score(X, y) > 0.9
    True
    """
    check_path_limits(max_passes, time_limit, cpu_limit, callback)
    options = PathOptions(eps, lam_min, method, kappa, floor, max_passes, keep_weights)
    if method == GRID:
        raise ValueError("method='grid' has a function of its own, regularization_grid")
    task = Task(
        problem, (X, y, sample_weight), solver=solver, bounds=bounds, seed=seed,
        n_threads=n_threads, progress=progress,
    )  # fmt: skip
    path = RegularizationPath(task, options, task.validation(validate, scoring, validate_at))
    path.keep_in(checkpoint, checkpoint_seconds, resume)
    return path.extend(time_limit=time_limit, cpu_limit=cpu_limit, callback=callback)


def regularization_grid(
    problem: Any,
    X: Any = None,
    y: Any = None,
    *,
    lambdas: Any,
    sample_weight: Any = None,
    warm_start: str | None = "best",
    eps: float = 1e-3,
    solver: Any = None,
    bounds: Bounds | None = None,
    validate: Score | tuple[Any, Any] | None = None,
    scoring: str | Scorer | None = None,
    keep_weights: bool = True,
    max_passes: float = 1000,
    time_limit: float | None = None,
    cpu_limit: float | None = None,
    callback: Callback | None = None,
    seed: int | None = None,
    n_threads: int | None = None,
    checkpoint: str | Path | None = None,
    checkpoint_seconds: float = 60.0,
    resume: bool = False,
    progress: bool | None = None,
) -> RegularizationPath:
    """Solve at given lambdas, largest first, to a gap of ``eps`` times the objective at w = 0.

    ``warm_start`` says what each value takes from the one before: "dual" keeps the dual point (the
    weights grow with C), "primal" the weights (the dual point shrinks), "best" whichever multiple
    of the dual point is best there, None starts from nothing. Other parameters are those of
    :func:`taut.regularization_path`. Between the values ``bound`` says what is proved there; nobody
    has seen to it that it is within eps.

    >>> from taut.structures import multiclass_problem
    >>> problem = multiclass_problem(np.eye(3), np.array([0, 1, 2]), n_states=3, bias=False)
    >>> grid = regularization_grid(problem, lambdas=[1.0, 0.1, 0.01])
    >>> len(grid), bool(np.all(grid.gaps <= 1e-3))
    (3, True)
    """
    values = np.unique(checked_lambdas(lambdas, "lambdas"))[::-1]
    check_path_limits(max_passes, time_limit, cpu_limit, callback)
    options = PathOptions(
        eps, values[-1], GRID, max_passes=max_passes, keep_weights=keep_weights,
        lambdas=values.tolist(), warm_start=warm_start,
    )  # fmt: skip
    task = Task(
        problem, (X, y, sample_weight), solver=solver, bounds=bounds, seed=seed,
        n_threads=n_threads, progress=progress,
    )  # fmt: skip
    path = RegularizationPath(task, options, task.validation(validate, scoring))
    path.keep_in(checkpoint, checkpoint_seconds, resume)
    return path.extend(time_limit=time_limit, cpu_limit=cpu_limit, callback=callback)
