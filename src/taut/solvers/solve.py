"""The loop that all solvers share: certificates, stopping, interruption, progress, checkpoints."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from taut.solvers.bcfw import BCFW
from taut.solvers.certificate import Certificate
from taut.solvers.checkpoint import Checkpoint
from taut.solvers.frank_wolfe import FrankWolfe
from taut.solvers.progress import Progress, announce_compilation
from taut.solvers.run import Bounds, Run, Solver
from taut.solvers.solution import HISTORY, Solution, Status

Callback = Callable[[np.record], bool | None]


def solve(
    problem: Any,
    solver: Solver | None = None,
    *,
    C: float = 1.0,
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
) -> Solution:
    """Minimise lambda/2 |w|^2 + 1/n sum_i s_i max_y H_i(y; w), lambda = 1/(C n).

    Stops when the gap is at most ``tol`` times the objective at w = 0, after ``max_passes`` passes
    or ``time_limit`` seconds, or when ``callback(row)`` returns true; it is called with the newest
    row of the history at every certificate. Ctrl-C returns the best model so far.

    ``warm_start`` continues from an earlier solution of the same (or a shorter) problem,
    ``checkpoint`` names a file that is rewritten every ``checkpoint_seconds`` and from which
    ``resume=True`` continues. The result does not depend on ``n_threads``.

    >>> from taut.structures import multiclass_problem
    >>> problem = multiclass_problem(np.eye(3), np.array([0, 1, 2]), n_states=3, bias=False)
    >>> solution = solve(problem, tol=1e-6)
    >>> solution.status.name, round(solution.primal, 4), solution.relative_gap <= 1e-6
    ('CONVERGED', 0.5556, True)
    """
    if not (np.isfinite(C) and C > 0):
        raise ValueError(f"C={C}; it must be a positive number (C = 1/(lambda n))")
    if not tol >= 0:
        raise ValueError(f"tol={tol}; it must not be negative")
    solver = solver or BCFW()
    announce_compilation(problem, progress)
    run = Run(problem, solver, C, bounds=bounds, seed=seed, n_threads=n_threads)
    if warm_start is not None:
        run.continue_from(warm_start.state, warm_start.C, keep)
    saved = Checkpoint(checkpoint, checkpoint_seconds, run) if checkpoint is not None else None
    loop = _Loop(run, tol, max_passes, time_limit, callback, saved, Progress(progress))
    if saved is not None and resume:
        loop.resume()
    return loop.run_to_end(cold=warm_start is None)


@dataclass
class _Loop:
    run: Run
    tol: float
    max_passes: float
    time_limit: float | None
    callback: Callback | None
    saved: Checkpoint | None
    progress: Progress
    rows: list[tuple] = field(default_factory=list)
    best_primal: float = np.inf
    best_dual: float = -np.inf
    best_w: np.ndarray | None = None
    returned: str = "last"
    seconds_before: float = 0.0  # of the run that this one resumes

    def run_to_end(self, cold: bool) -> Solution:
        run = self.run
        self.started = time.perf_counter()
        self.scale = self._scale()
        status = self._check(self._first_certificate(cold) if not self.rows else None)
        try:
            while status is None:
                interrupted = self._advance_to_next_check()
                status = self._check() or interrupted
        except KeyboardInterrupt:
            self.progress.say("interrupted: certifying the current model")
            self._check()
            status = Status.INTERRUPTED
        self.progress.close()
        assert self.best_w is not None
        return Solution(
            w=self.best_w,
            primal=self.best_primal,
            dual=self.best_dual,
            status=status,
            history=np.array(self.rows, HISTORY).view(np.recarray),
            passes=run.passes,
            oracle_calls=run.oracle_calls,
            seconds=self._seconds(),
            C=run.C,
            lam=1.0 / (run.C * run.n),
            scale=self.scale,
            returned=self.returned,
            solver=run.solver,
            state=run.state,
        )

    def _scale(self) -> float:
        self.worst = self.run.problem.worst_losses()
        return float(self.run.importance @ self.worst) / self.run.n

    def _seconds(self) -> float:
        return self.seconds_before + time.perf_counter() - self.started

    def _first_certificate(self, cold: bool) -> Certificate | None:
        """At w = 0 the oracle's values are the worst losses: the first gaps cost nothing."""
        run = self.run
        if not cold or isinstance(run.solver, FrankWolfe) or np.any(run.state.w):
            return None
        gaps = run.importance * self.worst / run.n
        certificate = Certificate(float(gaps.sum()), 0.0, gaps)
        run.store_gaps(certificate)
        return certificate

    def _advance_to_next_check(self) -> Status | None:
        """Steps in slices short enough for Ctrl-C, time limit, progress and checkpoints."""
        run, solver = self.run, self.run.solver
        passes = min(solver.check_every, max(self.max_passes - run.passes, 0.0))
        left = max(int(np.ceil(passes * run.n)), 1)
        slice_steps = min(left, run.n if run.problem.is_compiled else 1)
        while left > 0:
            before = time.perf_counter()
            steps = min(left, slice_steps, run.n - run.state.count[0] % run.n)
            run.advance(steps)
            left -= steps
            elapsed = time.perf_counter() - before
            if elapsed > 0.2:
                slice_steps = max(slice_steps // 2, 1)
            elif elapsed < 0.05:
                slice_steps *= 2
            if self.saved is not None:
                self.saved.maybe_save(run, self.rows, self._seconds())
            self.progress.line(run, self.rows, self.tol * self.scale, self._seconds())
            if self.time_limit is not None and self._seconds() >= self.time_limit:
                return Status.TIME_LIMIT
            if isinstance(solver, FrankWolfe):
                break
        return None

    def _check(self, certificate: Certificate | None = None) -> Status | None:
        """Certify the iterate (and the average), record it, and decide whether to stop."""
        run = self.run
        if certificate is None:
            certificate = run.certify()
        self._consider(certificate, run.state.w, "last")
        average = run.average_point()
        if average is not None:
            self._consider(run.certify_average(average), average.w, "average")
        self.rows.append(
            (
                run.passes,
                self._seconds(),
                run.oracle_calls,
                certificate.primal,
                certificate.dual,
                certificate.gap,
            )
        )
        gap = self.best_primal - self.best_dual
        if self.callback is not None:
            row = np.array(self.rows[-1:], HISTORY).view(np.recarray)[0]
            if self.callback(row):
                return Status.CALLBACK
        if gap <= self.tol * self.scale:
            return Status.CONVERGED
        if run.passes >= self.max_passes:
            return Status.MAX_PASSES
        if self.time_limit is not None and self._seconds() >= self.time_limit:
            return Status.TIME_LIMIT
        return None

    def _consider(self, certificate: Certificate, w: np.ndarray, name: str) -> None:
        """Keep the weights with the lowest objective; every dual value is a valid bound."""
        self.best_dual = max(self.best_dual, certificate.dual)
        if certificate.primal <= self.best_primal:
            self.best_primal, self.returned = certificate.primal, name
            self.best_w = w.copy()
        elif name == "last" and self.returned == "last":
            self.returned = "earlier"

    def resume(self) -> None:
        assert self.saved is not None
        loaded = self.saved.load(self.run)
        if loaded is not None:
            self.rows, self.seconds_before = loaded
            self.rows = self.rows[:-1] if self.rows else self.rows
