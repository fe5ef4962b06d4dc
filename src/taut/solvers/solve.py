"""``solve``: checks what it is asked, and which solver fits which problem."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from taut.solvers.any_run import AnyRun
from taut.solvers.bcfw import BCFW
from taut.solvers.bounds import Bounds
from taut.solvers.checkpoint import Checkpoint
from taut.solvers.checks import is_number
from taut.solvers.decomposition import Decomposition, Simplicial
from taut.solvers.decomposition.run import DecompositionRun
from taut.solvers.factorwise import FactorSolver
from taut.solvers.factorwise.run import FactorRun
from taut.solvers.lbfgs import LBFGS, LBFGSRun
from taut.solvers.loop import Callback, Loop
from taut.solvers.penalty import SlackPenalty, named_penalty
from taut.solvers.progress import Progress, announced_compilation
from taut.solvers.run import Run, Solver
from taut.solvers.sdca import SDCA
from taut.solvers.solution import Solution, describe
from taut.solvers.subgradient import Subgradient
from taut.solvers.subgradient.run import SubgradientRun


def solve(
    problem: Any,
    solver: Solver | FactorSolver | Decomposition | Subgradient | LBFGS | None = None,
    *,
    C: float = 1.0,
    slack_penalty: str = "linear",
    l1: float = 0.0,
    bounds: Bounds | None = None,
    tol: float = 1e-3,
    max_passes: float = 1000,
    time_limit: float | None = None,
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
    or ``time_limit`` seconds, or when ``callback(row)`` returns true; it is called with the newest
    row of the history at every certificate. Ctrl-C returns the best model so far.

    ``validate(w)`` scores weights on held-out data at every certificate, higher is better: the best
    ones are returned, and the run stops when ``patience`` certificates brought no better score.

    ``warm_start`` continues from an earlier solution of the same (or a shorter) problem,
    ``checkpoint`` names a file that is rewritten every ``checkpoint_seconds`` and from which
    ``resume=True`` continues. The result does not depend on ``n_threads``.

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
    if time_limit is not None and not (is_number(time_limit) and time_limit >= 0):
        raise ValueError(f"time_limit={time_limit!r}; a number of seconds, or None for no limit")
    if callback is not None and not callable(callback):
        raise TypeError(f"callback={callback!r}; a function of one row of the history is expected")
    if not (isinstance(patience, int | np.integer) and patience >= 1):
        raise ValueError(f"patience={patience!r}; a number of certificates, at least 1")
    if resume and checkpoint is None:
        raise ValueError("resume=True needs a checkpoint to resume from: give checkpoint=path")
    if isinstance(solver, str | type):
        raise TypeError(
            f"solver={solver!r}; solve takes a solver with its options, such as BCFW() or "
            "Simplicial(); names are for estimators"
        )
    if not (is_number(l1) and 0 <= l1 < np.inf):
        raise ValueError(f"l1={l1!r}; it must be a number, not negative")
    penalty = named_penalty(slack_penalty)
    solver = solver or default_solver(problem, penalty)
    run = _new_run(
        problem, solver, float(C), penalty, l1, bounds=bounds, seed=seed, n_threads=n_threads
    )
    with announced_compilation(problem, progress):
        run.compile()
        if warm_start is not None:
            run.continue_from(warm_start, keep)
    saved = Checkpoint(checkpoint, checkpoint_seconds, run) if checkpoint is not None else None
    shown = Progress(progress)
    loop = Loop(run, tol, max_passes, time_limit, callback, validate, patience, saved, shown)
    if saved is not None and resume:
        loop.take_up(saved.load(run))
    return loop.run_to_end(warm_start)


def default_solver(problem: Any, penalty: SlackPenalty) -> Any:
    if getattr(problem, "is_smoothed", False):
        return LBFGS() if problem.is_partial else SDCA()
    return BCFW() if penalty is SlackPenalty.LINEAR else Simplicial()


def check_fits(problem: Any, solver: Any) -> None:
    """CRFs have solvers of their own, and these no other problems."""
    of_crf = isinstance(solver, SDCA | LBFGS)
    if getattr(problem, "is_smoothed", False) != of_crf:
        what = "CRFs (ChainCRF, smoothed(...))" if of_crf else "SVMs; train a CRF by SDCA or LBFGS"
        raise ValueError(f"{describe(solver)} is for {what}")
    if of_crf and problem.is_partial and not isinstance(solver, LBFGS):
        raise ValueError(
            f'{describe(solver)} needs all labels, and some are missing; use LBFGS (solver="lbfgs")'
        )


def _new_run(
    problem: Any, solver: Any, C: float, penalty: SlackPenalty, l1: float, **options: Any
) -> AnyRun:
    check_fits(problem, solver)
    if isinstance(solver, SDCA | LBFGS):
        if penalty is not SlackPenalty.LINEAR:
            raise ValueError(
                f'slack_penalty="{penalty.value}" is for SVMs: a CRF has no slacks; leave it out'
            )
        kind_of_crf: Any = Run if isinstance(solver, SDCA) else LBFGSRun
        return kind_of_crf(problem, solver, C, l1=float(l1), **options)
    if l1:
        raise ValueError(f"l1={l1}: an l1 norm is for CRFs; {describe(solver)} trains SVMs")
    if isinstance(solver, Decomposition):
        return DecompositionRun(problem, solver, C, penalty=penalty, **options)
    if isinstance(solver, Subgradient):
        return SubgradientRun(problem, solver, C, penalty=penalty, **options)
    if penalty is not SlackPenalty.LINEAR:
        raise ValueError(
            f'slack_penalty="{penalty.value}": {describe(solver)} is for linear slacks, where '
            "every example has a simplex of labellings; use Simplicial, CuttingPlane or "
            'Subgradient (by name "simplicial", "cutting-plane", "subgradient")'
        )
    kind: Any = FactorRun if isinstance(solver, FactorSolver) else Run
    return kind(problem, solver, C, **options)
