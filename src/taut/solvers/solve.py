"""The loop that all solvers share: certificates, stopping, interruption, progress, checkpoints."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from taut.solvers.any_run import AnyRun
from taut.solvers.bcfw import BCFW
from taut.solvers.best import Best
from taut.solvers.bounds import Bounds
from taut.solvers.certificate import Certificate
from taut.solvers.checkpoint import Checkpoint
from taut.solvers.checks import is_number
from taut.solvers.decomposition import Decomposition, Simplicial
from taut.solvers.decomposition.run import DecompositionRun
from taut.solvers.factorwise import FactorSolver
from taut.solvers.factorwise.run import FactorRun
from taut.solvers.interrupt import Interrupt, deferred_interrupt
from taut.solvers.lbfgs import LBFGS
from taut.solvers.lbfgs.run import LBFGSRun
from taut.solvers.penalty import SlackPenalty, named_penalty
from taut.solvers.progress import GAP, SOFT_GAP, VIOLATION, Progress, announced_compilation
from taut.solvers.run import Run, Solver
from taut.solvers.sdca import SDCA
from taut.solvers.solution import HISTORY, Solution, Status, describe
from taut.solvers.subgradient import Subgradient
from taut.solvers.subgradient.run import SubgradientRun

NO_GAPS = np.zeros(0)
Callback = Callable[[np.record], bool | None]


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

    ``l1`` adds lambda l1 |w|_1, which makes weights exactly zero (of CRFs only; CRFsuite's c1 is
    l1 / C).

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
    loop = _Loop(run, tol, max_passes, time_limit, callback, validate, patience, saved, shown)
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


def check_scale(scale: float) -> None:
    """The objective at w = 0 is what tolerances are relative to."""
    if not scale > 0:
        raise ValueError(
            "at w = 0 the oracle finds no labelling that costs anything: there is nothing to "
            "learn. Look at the loss; with a model of your own, check_problem() says more"
        )


def _temperature(solver: Any) -> float:
    return getattr(solver, "temperature", 0.0)


@dataclass
class _Loop:
    run: AnyRun
    tol: float
    max_passes: float
    time_limit: float | None
    callback: Callback | None
    validate: Callable[[np.ndarray], float] | None
    patience: int
    saved: Checkpoint | None
    progress: Progress
    best: Best = field(default_factory=Best)

    def take_up(self, best: Best | None) -> None:
        """Go on with what a checkpoint has; scores are of the held-out data of this run."""
        if best is not None:
            self.best = best
            best.score = self._score(best.w)

    def run_to_end(self, earlier: Solution | None) -> Solution:
        run, best = self.run, self.best
        self.started = time.perf_counter() - best.seconds
        self.worst = run.worst_losses(cold=not best.rows)
        self.scale = float(run.importance @ run.penalty.cost(self.worst)) / run.n
        if run.formulation != "likelihood":  # with a single labelling, all is known
            check_scale(self.scale)
        first = not best.rows
        status = self._check(self._first_certificate(earlier)) if first else self._verdict()
        with deferred_interrupt() as interrupt:
            while status is None:
                stopped = self._advance_to_next_check(interrupt)
                status = self._check() or stopped
        self.progress.close()
        if self.saved is not None:
            self._save()
        return Solution(
            w=best.w,
            primal=float(best.primal),
            dual=float(best.dual),
            status=status,
            history=np.array(best.rows, HISTORY).view(np.recarray),
            passes=run.passes,
            oracle_calls=run.oracle_calls,
            seconds=self._seconds(),
            C=run.C,
            lam=1.0 / (run.C * run.n),
            n_examples=run.n,
            scale=self.scale,
            returned=best.returned,
            inference=run.inference,
            formulation=run.formulation,
            slack_penalty=run.penalty.value,
            l1=run.l1,
            certifies=run.certifies,
            soft_gap=float(best.rows[-1][SOFT_GAP]),
            violation=float(best.rows[-1][VIOLATION]),
            solver=run.solver,
            fingerprint=run.problem.fingerprint(),
            state=run.final_state(),
        )

    def _seconds(self) -> float:
        return time.perf_counter() - self.started

    def _save(self) -> None:
        assert self.saved is not None
        self.best.seconds = self._seconds()
        self.saved.save(self.run, self.best)

    def _first_certificate(self, earlier: Solution | None) -> Certificate:
        run = self.run
        certificate = run.first_certificate(self.worst, cold=earlier is None)
        if earlier is not None and self._is_same_problem(earlier):
            # What was proved of it still holds.
            proved, lasts = Certificate(earlier.primal, earlier.dual, NO_GAPS), run.bounds_last
            self.best.note(proved, lasts)
            score = self._score(earlier.w)
            self.best.consider(proved, score, "earlier", lambda: earlier.w, lasts)
        return certificate

    def _is_same_problem(self, earlier: Solution) -> bool:
        run, before = self.run, earlier.state
        if before is None:
            return False  # whether it had bounds, nothing tells
        same_box = np.array_equal(before.lower, run.state.lower) and np.array_equal(
            before.upper, run.state.upper
        )
        return (
            same_box
            and earlier.C == run.C
            and earlier.n_examples == run.n
            and earlier.slack_penalty == run.penalty.value
            and bool(earlier.certifies) == bool(run.certifies)
            and _temperature(earlier.solver) == _temperature(run.solver)
        )

    def _advance_to_next_check(self, interrupt: Interrupt) -> Status | None:
        """Steps in slices short enough for Ctrl-C, time limit, progress and checkpoints."""
        run, n = self.run, self.run.pass_steps
        last_check = self.best.rows[-1][0]
        end = min(last_check + run.solver.check_every, max(self.max_passes, last_check))
        end_steps = int(np.ceil(end * n))
        slice_steps = n if run.is_compiled else 1
        while run.steps < end_steps:
            before = time.perf_counter()
            # Slices end with passes, because cheap passes are made between passes.
            run.advance(min(end_steps - run.steps, slice_steps, n - run.steps % n))
            elapsed = time.perf_counter() - before
            slice_steps = max(slice_steps // 2, 1) if elapsed > 0.2 else 2 * slice_steps
            if self.saved is not None and self.saved.is_due():
                self._save()
            self.progress.line(
                run, self.best.rows, self._distance, self.tol * self.scale, self._seconds()
            )
            if interrupt.requested:
                self.progress.say("interrupted: certifying the current model")
                return Status.INTERRUPTED
            if self._out_of_time():
                return Status.TIME_LIMIT
        return None

    def _out_of_time(self) -> bool:
        return self.time_limit is not None and self._seconds() >= self.time_limit

    def _check(self, certificate: Certificate | None = None) -> Status | None:
        """Certify the iterate (and the average), record it, and decide whether to stop."""
        run, best = self.run, self.best
        certificate = certificate or run.certify()
        best.begin_check()
        if self._returns_later() and self.validate is None:
            best.forget()  # the limit is wanted, also where an earlier iterate has a lower value
        score = self._score(run.state.w)
        best.note(certificate, run.bounds_last)
        averaged = run.certified_average()
        if averaged is None:
            best.consider(certificate, score, "last", run.state.w.copy, run.bounds_last)
        else:
            average, of_average = averaged
            other = self._score(average.w)
            best.note(of_average)
            if self._prefers_average(certificate, of_average, score, other):
                best.consider(of_average, other, "average", lambda: average.w)
            if best.returned == "earlier":  # neither preferred nor better than before
                best.consider(certificate, score, "last", run.state.w.copy)
            score = max(score, other)
        primal, dual = certificate.primal, certificate.dual
        shown = np.nan if self.validate is None else score
        best.rows.append(
            (
                run.passes,
                self._seconds(),
                run.oracle_calls,
                primal,
                dual,
                certificate.gap,
                shown,
                certificate.soft_gap,
                certificate.violation,
            )
        )
        if self.callback is not None:
            row = np.array(best.rows[-1:], HISTORY).view(np.recarray)[0]
            if self.callback(row):
                return Status.CALLBACK
        return self._verdict()

    def _prefers_average(
        self, iterate: Certificate, average: Certificate, score: float, other: float
    ) -> bool:
        """The average generalises better, so the iterate must score higher or have converged alone.

        Without held-out data the scores are equal. Iterates of Pegasos approach the optimum from
        afar, and their average follows slowly: there the lower objective counts.
        """
        if score != other:
            return other > score
        if isinstance(self.run.solver, Subgradient):
            return average.primal <= iterate.primal
        return self._is_within_tol(average.primal) or not self._is_within_tol(iterate.primal)

    def _returns_later(self) -> bool:
        """Whether the weights of this check are wanted whatever their bound.

        Where bounds are loose at first, w = 0 may have the lowest for long, and is no model.
        """
        if self._is_soft:
            return True
        return len(self.best.rows) == 1 and isinstance(self.run.solver, FactorSolver)

    @property
    def _is_soft(self) -> bool:
        """Whether the tolerance is about the soft gap, because the solver closes no other."""
        return not getattr(self.run.solver, "closes_bracket", True)

    @property
    def _distance(self) -> int:
        """The column of the history that the tolerance is about."""
        return SOFT_GAP if self._is_soft else GAP

    def _is_within_tol(self, primal: float) -> bool:
        return bool(primal - self.best.dual <= self.tol * self.scale)

    def _has_converged(self) -> bool:
        """Whether some weights have, if not those with the best score."""
        if self.run.bounds_last:
            return self._is_within_tol(self.best.lowest)
        return bool(self.best.rows[-1][GAP] <= self.tol * self.scale)

    def _score(self, w: np.ndarray) -> float:
        score = -np.inf if self.validate is None else float(self.validate(w))
        if np.isnan(score):
            raise ValueError("the score on held-out data is not a number")
        return score

    def _verdict(self) -> Status | None:
        run, best = self.run, self.best
        if best.primal - best.dual < -1e-6 * max(self.scale, abs(best.primal)):
            raise RuntimeError(
                f"a dual value, {best.dual}, exceeds a primal value, {best.primal}: the "
                "certificate is void. With a model of your own the oracle does not maximise, and "
                "check_problem() says more; otherwise this is a bug in taut, please report it"
            )
        soft_gap = best.rows[-1][SOFT_GAP]
        if self._is_soft and run.is_soft_final and soft_gap <= self.tol * self.scale:
            return Status.BEST_SCORE if best.returned == "earlier" else Status.SOFT_CONVERGED
        if self._is_within_tol(best.primal):
            return Status.CONVERGED
        if run.is_finished:
            return run.finished_as
        if self.validate is not None:
            if self._has_converged():
                return Status.BEST_SCORE
            if best.checks_since >= self.patience:
                return Status.NO_BETTER_SCORE
        if run.passes >= self.max_passes:
            return Status.MAX_PASSES
        return Status.TIME_LIMIT if self._out_of_time() else None
