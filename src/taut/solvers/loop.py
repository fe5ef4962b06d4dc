"""The loop that all solvers share: certificates, stopping, interruption, progress, checkpoints."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from taut.solvers.any_run import AnyRun
from taut.solvers.best import Best
from taut.solvers.certificate import Certificate
from taut.solvers.checkpoint import Checkpoint
from taut.solvers.factorwise import FactorSolver
from taut.solvers.interrupt import Interrupt, deferred_interrupt
from taut.solvers.one_blas_thread import one_blas_thread
from taut.solvers.progress import GAP, SOFT_GAP, VIOLATION, Progress
from taut.solvers.solution import HISTORY, Solution, Status
from taut.solvers.subgradient import Subgradient

NO_GAPS = np.zeros(0)
Callback = Callable[[np.record], bool | None]


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
class Loop:
    """Runs a solver until a certificate, a limit or the user says stop."""

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

    @one_blas_thread()
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
