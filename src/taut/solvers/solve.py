"""``solve``: checks what it is asked, and which solver fits which problem."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from taut.problem.capability import CRF, Capability
from taut.problem.problem_type import require
from taut.solvers.bcfw import BCFW
from taut.solvers.checkpoint import Checkpoint
from taut.solvers.checks import check_limits, is_number
from taut.solvers.decomposition import Simplicial
from taut.solvers.lbfgs import LBFGS
from taut.solvers.loop import Loop
from taut.solvers.objective import Bounds, Objective, SlackPenalty, named_penalty
from taut.solvers.one_blas_thread import one_blas_thread
from taut.solvers.progress import Progress, announced_compilation
from taut.solvers.sdca import SDCA
from taut.solvers.solution import Solution
from taut.solvers.solver import Solver, check_solver
from taut.solvers.watch import Callback, Watch


@one_blas_thread()
def solve(
    problem: Any,
    solver: Solver | None = None,
    *,
    C: float = 1.0,
    slack_penalty: str = "linear",
    l1: float = 0.0,
    bounds: Bounds | None = None,
    tol: float = 1e-3,
    max_passes: float = 1000,
    time_limit: float | None = None,
    cpu_limit: float | None = None,
    callback: Callback | None = None,
    warm_start: Solution | None = None,
    keep: str = "dual",
    seed: int = 0,
    n_threads: int = 1,
    checkpoint: str | Path | None = None,
    checkpoint_seconds: float = 60.0,
    resume: bool = False,
    progress: bool | None = None,
    validate: Callable[[np.ndarray], float] | None = None,
    patience: int = 3,
) -> Solution:
    """Minimise ``lambda/2 |w|^2 + 1/n sum_i s_i h(max_y H_i(y; w))``, lambda = 1/(C n).

    ``slack_penalty`` says what h is: "linear", h(xi) = xi, or "squared", h(xi) = xi^2 / 2.

    ``l1`` adds ``lambda l1 |w|_1``, which makes weights exactly zero (of CRFs only; CRFsuite's c1
    is l1 / C).

    Stops when the gap is at most ``tol`` times the objective at w = 0, after ``max_passes`` passes
    or ``time_limit`` seconds of this call (``cpu_limit``: seconds of this process on all cores
    together, which a busy machine does not shorten), or when ``callback(row)`` returns true; it is
    called with the newest row of the history at every certificate. Ctrl-C returns the best model so
    far.

    ``validate(w)`` scores weights on held-out data at every certificate, higher is better: the best
    ones are returned, and the run stops when ``patience`` certificates brought no better score.

    ``warm_start`` continues from an earlier solution of the same (or a shorter) problem. With
    another C, ``keep="dual"`` keeps its dual point, so that the weights are scaled, and
    ``keep="primal"`` the weights. ``checkpoint`` names a file that is rewritten every
    ``checkpoint_seconds`` and from which ``resume=True`` continues. ``seed`` is what estimators
    draw from ``random_state``. The result does not depend on ``n_threads``.

    >>> from taut.structures import multiclass_problem
    >>> problem = multiclass_problem(np.eye(3), np.array([0, 1, 2]), n_states=3, bias=False)
    >>> solution = solve(problem, tol=1e-6)
    >>> solution.status.name, round(solution.primal, 4), solution.relative_gap <= 1e-6
    ('CONVERGED', 0.3333, True)
    """
    if not (is_number(C) and 0 < C < np.inf):
        raise ValueError(f"C={C!r}; it must be a positive number (C = 1/(lambda n))")
    if not (is_number(tol) and tol >= 0):
        raise ValueError(f"tol={tol!r}; it must be a number, not negative")
    if not (is_number(max_passes) and max_passes >= 0):
        raise ValueError(f"max_passes={max_passes!r}; it must be a number, not negative")
    check_limits(time_limit, cpu_limit)
    if callback is not None and not callable(callback):
        raise TypeError(f"callback={callback!r}; a function of one row of the history is expected")
    if not (isinstance(patience, int | np.integer) and patience >= 1):
        raise ValueError(f"patience={patience!r}; a number of certificates, at least 1")
    if resume and checkpoint is None:
        raise ValueError("resume=True needs a checkpoint to resume from: give checkpoint=path")
    if isinstance(solver, str):
        raise TypeError(
            f"solver={solver!r}; solve takes a solver with its options, such as BCFW() or "
            "Simplicial(); names are for estimators"
        )
    if not (is_number(l1) and 0 <= l1 < np.inf):
        raise ValueError(f"l1={l1!r}; it must be a number, not negative")
    penalty = named_penalty(slack_penalty)
    solver = default_solver(problem, penalty) if solver is None else solver
    check_solver(solver)
    objective = Objective(float(C), penalty, float(l1), bounds, seed, n_threads)
    solver.check_fits(problem, objective)
    run = solver.start(problem, objective)
    with announced_compilation(problem, progress):
        run.compile()
        if warm_start is not None:
            run.continue_from(warm_start, keep)
    saved = Checkpoint(checkpoint, checkpoint_seconds, run) if checkpoint is not None else None
    watch = Watch(Progress(progress), time_limit, cpu_limit, callback, saved)
    loop = Loop(run, tol, max_passes, validate, patience, watch)
    if saved is not None and resume:
        loop.take_up(saved.load(run))
    elif saved is not None:
        saved.may_replace()
    return loop.run_to_end(warm_start)


def default_solver(problem: Any, penalty: SlackPenalty) -> Any:
    require(problem, Capability(0), "solve")
    if problem.capabilities & CRF:
        is_whole = Capability.SMOOTHED in problem.capabilities and problem.known is None
        return SDCA() if is_whole else LBFGS()
    return BCFW() if penalty is SlackPenalty.LINEAR else Simplicial()
