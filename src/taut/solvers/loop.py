"""The loop that all solvers share: certificates, and what they say of stopping.

What else may stop a run, and what is saved and shown meanwhile, is in :mod:`taut.solvers.watch`.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from taut.solvers.any_run import AnyRun
from taut.solvers.best import Best
from taut.solvers.certificate import Certificate
from taut.solvers.checkpoint import Checkpoint
from taut.solvers.progress import time_left
from taut.solvers.solution import HISTORY, Row, Solution, Status
from taut.solvers.watch import Watch

Score = Callable[[np.ndarray], float]  # of weights, on held-out data

# A certificate's sums are right but for this part of an example's weight.
ROUNDING = 1e-12


def check_scale(scale: float) -> None:
    """The objective at w = 0 is what tolerances are relative to."""
    if scale > 0 and not np.isfinite(scale):
        raise ValueError(
            f"the objective at w = 0 is {scale}: losses or sample weights are too large to add up; "
            "make them smaller"
        )
    if not scale > 0:
        raise ValueError(
            "at w = 0 the oracle finds no labelling that costs anything: there is nothing to "
            "learn. Look at the loss; with a model of your own, check_problem() says more"
        )


def score_of(validate: Score, w: np.ndarray) -> float:
    """A comparison with what is not a number would choose any weights."""
    score = float(validate(w))
    if np.isnan(score):
        raise ValueError("the score on held-out data is not a number")
    return score


@dataclass
class Loop:
    """Runs a solver until a certificate, a limit or the user says stop."""

    run: AnyRun
    tol: float
    max_passes: float
    validate: Score | None
    patience: int
    watch: Watch
    best: Best = field(default_factory=Best)

    def take_up(self, best: Best | None) -> None:
        """Go on with what a checkpoint has; scores are of the held-out data of this run."""
        if best is not None:
            self.best = best
            best.score = self._score(best.w)

    def run_to_end(self, earlier: Solution | None) -> Solution:
        run, best = self.run, self.best
        self.watch.begin(best.seconds)
        with best.timed("certificates", run):
            self.worst = run.worst_losses(cold=not best.rows)
        self.scale = float(run.importance @ run.penalty.cost(self.worst)) / run.n
        if run.formulation != "likelihood":  # with a single labelling, all is known
            check_scale(self.scale)
        if not best.rows:
            status = self._check(self._first_certificate(earlier))
        elif run.passes > best.rows[-1].passes:
            status = None  # saved between two certificates: nothing is known of where it stands
        else:
            status = self._verdict()
        is_extra = False
        with self.watch.noting():
            while status is None:
                stopped = self._advance_to_next_check()
                # Without the limit or the signal there would be no certificate here, and a
                # certificate moves the run: who goes on is to go on from before it.
                is_extra = run.passes < self._next_check() and run.passes not in self._looks
                if is_extra:
                    self.watch.save(self)
                status = self._check() or stopped
            if not is_extra:
                self.watch.save(self)
        return Solution(
            w=best.w,
            primal=float(best.primal),
            dual=float(best.dual),
            status=status,
            history=np.array(best.rows, HISTORY).view(np.recarray),
            passes=run.passes,
            oracle_calls=run.oracle_calls,
            seconds=self.watch.seconds,
            C=run.C,
            lam=run.lam,
            n_examples=run.n,
            scale=self.scale,
            is_worse_than_zero=self._is_worse_than_zero(),
            returned=best.returned,
            found_at=best.found_at,
            score=np.nan if self.validate is None else best.score,
            inference=run.inference,
            formulation=run.formulation,
            slack_penalty=run.penalty.value,
            l1=run.l1,
            certifies=run.certifies,
            soft_gap=float(best.rows[-1].soft_gap),
            violation=float(best.rows[-1].violation),
            seconds_in=best.seconds_in,
            solver=run.solver,
            fingerprint=run.problem.fingerprint(),
            state=run.final_state(),
        )

    def _is_worse_than_zero(self) -> bool:
        state = self.run.state
        if state.lower.size and np.any((state.lower > 0) | (state.upper < 0)):
            return False  # zero is not allowed
        return self.validate is None and self.best.primal > (1.0 + 1e-9) * self.scale

    def save_to(self, checkpoint: Checkpoint) -> None:
        self.best.seconds = self.watch.seconds
        with self.best.timed("checkpoints", self.run):
            checkpoint.save(self.run, self.best)

    def line(self) -> str:
        run, rows = self.run, self.best.rows
        # The tolerance is about one of the gaps.
        seen = [(row.seconds, row.soft_gap if self._is_soft else row.gap) for row in rows]
        score, target = rows[-1].score, self.tol * self.scale
        calls = f"  {run.oracle_calls} oracle calls" if run.oracle_calls else ""
        held_out = "" if np.isnan(score) else f"  held-out score {score:.4f}"
        return (
            f"pass {run.passes:.1f}  {'soft gap' if self._is_soft else 'gap'} "
            f"{seen[-1][1]:.3g} (target {target:.3g}){held_out}{calls}  {self.watch.seconds:.0f} s"
            f"{time_left(seen, target)}"
        )

    def _first_certificate(self, earlier: Solution | None) -> Certificate:
        run, best = self.run, self.best
        # ``_check_finite`` says it in words
        with best.timed("certificates", run), np.errstate(over="ignore", invalid="ignore"):
            certificate = run.first_certificate(self.worst, cold=earlier is None)
        if earlier is not None and run.has_problem_of(earlier):
            # What was proved of it still holds.
            proved, lasts = Certificate(earlier.primal, earlier.dual), run.bounds_last
            best.note(proved, lasts)
            score = self._score(earlier.w)
            best.consider(proved, score, "earlier", lambda: earlier.w, 0.0, lasts)
        return certificate

    def _advance_to_next_check(self) -> Status | None:
        """Steps in slices short enough for Ctrl-C, time limit, progress and checkpoints."""
        run, n = self.run, self.run.pass_steps
        if not run.solver.check_every > 0:
            raise ValueError(
                f"{run.solver.describe()} has check_every={run.solver.check_every!r}; passes "
                "between two certificates, more than 0"
            )
        end = min(self._next_check(), max(self.max_passes, self.best.rows[-1].passes))
        end_steps = int(np.ceil(end * n))
        slice_steps = n if run.is_compiled else 1
        while run.steps < end_steps:
            before, steps = time.perf_counter(), run.steps
            # Slices end with passes, because cheap passes are made between passes.
            with self.best.timed("steps", run):
                run.advance(min(end_steps - run.steps, slice_steps, n - run.steps % n))
            elapsed = time.perf_counter() - before
            if run.steps <= steps:
                raise RuntimeError(
                    f"advance of {type(run).__name__} counted no step: state.count[STEPS] is still "
                    f"{steps}; every call adds to it the steps that it takes, {n} a pass"
                )
            slice_steps = max(slice_steps // 2, 1) if elapsed > 0.2 else 2 * slice_steps
            stop = self.watch.after_slice(self)
            if stop is not None:
                if stop.is_interruption:
                    self.watch.progress.say("interrupted: certifying the current model")
                return Status[stop.name]
        return None

    @property
    def _looks(self) -> tuple[int, ...]:
        """Passes after which there is an early look; a score on held-out data would cost more."""
        return self.run.early_looks if self.validate is None else ()

    def _next_check(self) -> float:
        """Where the next certificate is due; looks do not shift the others."""
        done, looks = [row.passes for row in self.best.rows], self._looks
        regular = max(passes for passes in done if passes not in looks)
        coming = [passes for passes in looks if passes > done[-1]]
        return min([regular + self.run.solver.check_every, *coming])

    def _check(self, certificate: Certificate | None = None) -> Status | None:
        """Certify the iterate (and the average), record it, and decide whether to stop."""
        run, best = self.run, self.best
        if certificate is None:
            with best.timed("certificates", run), np.errstate(over="ignore", invalid="ignore"):
                certificate = run.look() if run.passes in self._looks else run.certify()
        self._check_finite(certificate)
        best.begin_check()
        if self._returns_later() and self.validate is None:
            best.forget()  # the limit is wanted, also where an earlier iterate has a lower value
        best.note(certificate, run.bounds_last)
        with best.timed("certificates", run):
            averaged = run.certified_average()
        # An average scores higher but for chance, which is not to be given another one.
        score = self._score(run.state.w if averaged is None else averaged[0].w)
        if averaged is None:
            best.consider(certificate, score, "last", run.state.w.copy, run.passes, run.bounds_last)
        else:
            average, of_average = averaged
            best.note(of_average)
            if self._prefers_average(certificate, of_average):
                best.consider(of_average, score, "average", lambda: average.w, run.passes)
            # Neither preferred nor better than before; a score is that of the average.
            if self.validate is None and best.returned == "earlier":
                best.consider(certificate, score, "last", run.state.w.copy, run.passes)
        shown = np.nan if self.validate is None else score
        best.rows.append(
            Row(
                passes=run.passes,
                seconds=self.watch.seconds,
                oracle_calls=run.oracle_calls,
                primal=float(best.primal),
                dual=float(best.dual),
                gap=float(best.primal - best.dual),
                score=shown,
                soft_gap=certificate.soft_gap,
                violation=certificate.violation,
                squared_violation=certificate.squared_violation,
                iterate_primal=certificate.primal,
                iterate_dual=certificate.dual,
            )
        )
        stop = self.watch.tell(best.rows[-1:], HISTORY)
        return self._verdict() if stop is None else Status[stop.name]

    def _check_finite(self, certificate: Certificate) -> None:
        """Numbers that overflowed prove nothing; least of all that infinity is within tol."""
        if np.isfinite(certificate.primal) and np.isfinite(certificate.dual):
            return
        largest = float(np.abs(self.run.state.w).max(initial=0.0))
        raise ValueError(
            f"after {self.run.passes:.1f} passes the objective is {certificate.primal} and its "
            f"lower bound {certificate.dual}, with weights of up to {largest:.3g}: a sum "
            "overflowed. Scale the features down, or lower C"
        )

    def _prefers_average(self, iterate: Certificate, average: Certificate) -> bool:
        """The average generalises better, so the iterate must have converged alone."""
        if self.validate is not None:
            return True
        if self.run.solver.average_must_be_lower:
            return average.primal <= iterate.primal
        return self._is_within_tol(average.primal) or not self._is_within_tol(iterate.primal)

    def _returns_later(self) -> bool:
        """Whether the weights of this check are wanted whatever their bound.

        Where bounds are loose at first, w = 0 may have the lowest for long, and is no model.
        """
        if self._is_soft:
            return True
        return len(self.best.rows) == 1 and self.run.solver.is_loose_at_first

    @property
    def _is_soft(self) -> bool:
        """Whether the tolerance is about the soft gap, because the solver closes no other."""
        return not self.run.solver.closes_bracket

    def _is_within_tol(self, primal: float) -> bool:
        return bool(primal - self.best.dual <= self.tol * self.scale)

    def _proved_enough(self) -> Status | None:
        """The status of a run that has converged; None if it has not."""
        best, soft_gap = self.best, self.best.rows[-1].soft_gap
        if self._is_soft and self.run.is_soft_final and soft_gap <= self.tol * self.scale:
            return Status.BEST_SCORE if best.returned == "earlier" else Status.SOFT_CONVERGED
        if self._is_within_tol(best.primal):
            return Status.CONVERGED
        if self.validate is not None and self._has_converged():
            return Status.BEST_SCORE
        return None

    def _has_converged(self) -> bool:
        """Whether some weights have, if not those with the best score."""
        if self.run.bounds_last:
            return self._is_within_tol(self.best.lowest)
        last = self.best.rows[-1]
        return bool(last.iterate_primal - last.iterate_dual <= self.tol * self.scale)

    def _score(self, w: np.ndarray) -> float:
        if self.validate is None:
            return -np.inf
        with self.best.timed("scores", self.run):
            return score_of(self.validate, w)

    def _verdict(self) -> Status | None:
        run, best = self.run, self.best
        rounding = 1e-6 * max(self.scale, abs(best.primal)) + ROUNDING * float(
            np.mean(run.importance)
        )
        if best.primal - best.dual < -rounding:
            raise RuntimeError(
                f"a dual value, {best.dual}, exceeds a primal value, {best.primal}: the "
                "certificate is void. With a model of your own the oracle does not maximise, and "
                "check_problem() says more; otherwise this is a bug in taut, please report it"
            )
        # With held-out data the score decides, however small the gap.
        if self.validate is None and (proved := self._proved_enough()) is not None:
            return proved
        if run.is_finished:
            chosen = self.validate is not None and best.returned == "earlier"
            return Status.BEST_SCORE if chosen else run.finished_as
        if self.validate is not None and best.checks_since >= self.patience:
            return Status.NO_BETTER_SCORE
        if run.passes >= self.max_passes:
            return self._proved_enough() or Status.MAX_PASSES
        stop = self.watch.limit_reached()
        return None if stop is None else Status[stop.name]
