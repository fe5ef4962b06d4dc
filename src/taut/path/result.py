"""A regularisation path: weights for every lambda, with what is proved of them."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from taut.path.display import summary, table
from taut.path.held_out import Validation, mixed
from taut.path.path_kinds import METHODS
from taut.path.pieces import (
    TABLE,
    Breakpoint,
    constant_gap,
    largest_linear_gap,
    linear_gap,
    place,
)
from taut.path.storage import PathCheckpoint
from taut.path.task import GRID, PathOptions, Task, check_lam_min, check_path_limits
from taut.path.walk import PathStatus
from taut.plotting import plot_path
from taut.solvers.checks import is_number
from taut.solvers.loop import Score
from taut.solvers.objective import placed
from taut.solvers.one_blas_thread import one_blas_thread
from taut.solvers.progress import Progress
from taut.solvers.solution import Solution
from taut.solvers.watch import Callback, Watch


class RegularizationPath:
    """Weights for every lambda from infinity down to ``end``, each with a proved gap.

    Made by :func:`taut.regularization_path` and :func:`taut.regularization_grid`.

    Attributes
    ----------
    lambdas, Cs : arrays, decreasing and increasing
        The breakpoints; C = 1/(lambda n).
    gaps : array
        Duality gaps at the breakpoints; certificates, unless the method is "heuristic".
    eps, scale : float
        The accuracy asked for, as a part of ``scale``, the objective at w = 0.
    floor : float or None
        With a floor, eps is a part of the optimum at each lambda, at least ``floor * scale``.
    guaranteed : bool
        Whether the weights at every lambda are proved within that of the optimum.
    end : float
        The smallest lambda with weights; 0 if the last ones are good for all smaller values.
    breakpoints : record array
        All that is known of the breakpoints; ``table()`` shows the most of it.
    scores, score_lambdas : arrays
        On held-out data, at the breakpoints or at the lambdas that were given; NaN below ``end``.
    best_lambda, best_C : float
        Where the score is best.
    method, status, lam_min, oracle_calls, seconds, n_examples, nbytes
    """

    def __init__(self, task: Task, options: PathOptions, validation: Validation | None = None):
        """A path on which no step has been taken."""
        self._walk = walk = METHODS[options.method](task, options, validation)
        self.method, self.guaranteed, self.n_examples = walk.method, walk.guarantees, walk.run.n
        self.eps, self.scale, self.floor = walk.eps, walk.scale, walk.floor
        self.status: PathStatus | None = None
        self.checkpoint: PathCheckpoint | None = None
        self._recomputed: list[Breakpoint] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """A copy writes no checkpoint: the file is that of the path it was copied from."""
        return {**self.__dict__, "checkpoint": None}

    def keep_in(
        self, file: str | Path | None, every_seconds: float, resume: bool, **about: Any
    ) -> None:
        """Save the walk to a file now and then; ``resume`` takes it up from there first.

        ``about`` is what a file to resume from must have been told as well.
        """
        if file is None and resume:
            raise ValueError("resume=True needs a checkpoint to resume from: give checkpoint=path")
        if file is not None:
            self.checkpoint = PathCheckpoint(file, every_seconds, self._walk, about)
        if self.checkpoint is not None and resume:
            self.checkpoint.load(self._walk)
        elif self.checkpoint is not None:
            self.checkpoint.may_replace()

    def score_at(self, lambdas: Any, score: Score) -> None:
        """From now on score the weights at these lambdas, as far as they are still to come."""
        self._walk.validation = Validation(score, lambdas)

    # --- what there is --------------------------------------------------------------------------

    @property
    def _points(self) -> list[Breakpoint]:
        """The breakpoints, the limit of infinite lambda first."""
        return self._walk.points if self._recomputed is None else self._recomputed

    @property
    def breakpoints(self) -> np.recarray:
        return np.array(self._points[1:], TABLE).view(np.recarray)

    @property
    def lambdas(self) -> np.ndarray:
        return np.array([point.lam for point in self._points[1:]])

    @property
    def Cs(self) -> np.ndarray:
        return 1.0 / (self.lambdas * self.n_examples)

    @property
    def gaps(self) -> np.ndarray:
        return np.array([point.gap for point in self._points[1:]])

    @property
    def end(self) -> float:
        return self._walk.end

    @property
    def lam_min(self) -> float:
        """Where the path was to end."""
        return self._walk.lam_min

    @property
    def share_done(self) -> float:
        """Of the way from the first breakpoint to ``lam_min``, in log lambda."""
        return self._walk.share_done

    @property
    def oracle_calls(self) -> int:
        return self._walk.oracle_calls

    @property
    def seconds(self) -> float:
        return self._walk.seconds

    @property
    def nbytes(self) -> int:
        """Memory that the weights of all breakpoints take."""
        return 0 if self._walk.storage is None else self._walk.storage.nbytes

    @property
    def score_lambdas(self) -> np.ndarray:
        validation = self._walk.validation
        given = None if validation is None else validation.lambdas
        return self.lambdas if given is None else given

    @property
    def scores(self) -> np.ndarray:
        validation = self._walk.validation
        if validation is None or validation.lambdas is None:
            return np.array([point.score for point in self._points[1:]])
        return validation.scores

    @property
    def best_lambda(self) -> float:
        """Where the score on held-out data is best; of equals the largest."""
        if np.all(np.isnan(self.scores)):
            raise ValueError("there are no scores: give held-out data to validate=")
        order = np.argsort(-self.score_lambdas, kind="stable")
        return float(self.score_lambdas[order[np.nanargmax(self.scores[order])]])

    @property
    def best_C(self) -> float:
        return 1.0 / (self.best_lambda * self.n_examples)

    def __len__(self) -> int:
        return len(self._points) - 1

    # --- at any lambda --------------------------------------------------------------------------

    def weights(self, lam: float | None = None, *, C: float | None = None) -> np.ndarray:
        """The weights at a lambda (or C), in an array of their own."""
        lam = self._checked(lam, C)
        before, point = self._around(lam)
        if before is None:
            return self._stored(point).copy()
        w = mixed((before, point), (self._stored(before), self._stored(point)), lam)
        state = self._walk.run.state
        return placed(w, state.lower, state.upper)  # rounding may have left the bounds

    def bound(self, lam: float | None = None, *, C: float | None = None) -> float:
        """A proved bound on how far the weights there are from the optimum of the objective."""
        lam = self._checked(lam, C)
        if not self.is_proved:
            raise ValueError(
                "a heuristic path proves nothing until true_gaps() has asked the oracle at every "
                "breakpoint"
            )
        before, point = self._around(lam)
        return constant_gap(point, lam) if before is None else linear_gap(before, point, lam)

    def solution(self, lam: float | None = None, *, C: float | None = None) -> Solution:
        """The weights at a lambda (or C) with their certificate, as ``taut.solve`` returns it.

        ``primal`` is the objective or an upper bound on it, and ``gap`` is ``bound(lam)``; of a
        heuristic path they are NaN until ``true_gaps()`` has been called.
        """
        lam = self._checked(lam, C)
        return self._certified(self.weights(lam), lam)

    def best(self) -> Solution:
        """The weights with the best score on held-out data, with their certificate.

        They are there even if the path keeps no weights, unless it was taken up again.
        """
        lam, validation = self.best_lambda, self._walk.validation
        if self._walk.storage is not None or validation is None:
            return self._certified(self.weights(lam), lam)
        if validation.best_w is None:
            raise ValueError(
                "the best weights were found before this path was taken up from its checkpoint, "
                "which keeps none (keep_weights=False); keep them, or train at best_C"
            )
        return self._certified(validation.best_w, lam)

    def _certified(self, w: np.ndarray, lam: float) -> Solution:
        run = self._walk.run
        with one_blas_thread():
            norm = float(w @ w)
        primal = 0.5 * lam * norm + self._hinge(lam) if self.is_proved else np.nan
        gap = self.bound(lam) if self.is_proved else np.nan
        return replace(
            self._walk.task.only_weights(w),
            primal=primal,
            dual=primal - gap,
            passes=run.passes,
            oracle_calls=self.oracle_calls,
            seconds=self.seconds,
            C=1.0 / (lam * run.n),
            lam=lam,
            scale=self.scale,
            formulation=run.formulation,
            certifies=run.certifies,
            fingerprint=run.problem.fingerprint(),
        )

    def estimator(self, lam: float | None = None, *, C: float | None = None) -> Any:
        """A fitted copy of the estimator with the weights at a lambda (or C)."""
        return self._walk.task.fitted(self.solution(self._checked(lam, C)))

    def _checked(self, lam: float | None, C: float | None) -> float:
        if (lam is None) == (C is None):
            raise ValueError("give a lambda, or C= instead (C = 1/(lambda n)): one of them")
        name, value = ("lam", lam) if C is None else ("C", C)
        if not (is_number(value) and value > 0):  # type: ignore[operator]
            raise ValueError(f"{name}={value!r}; a positive number is expected")
        lam = float(lam) if C is None else 1.0 / (C * self.n_examples)  # type: ignore[arg-type]
        if len(self) == 0:
            raise ValueError("the path has no breakpoint yet; extend() goes on")
        if lam < self.end * (1.0 - 1e-12):
            remedy = f"path.extend(lam_min={lam:g}) goes there"
            if self.method == GRID:
                remedy = "make a grid that goes there"
            raise ValueError(f"lambda {lam:g} is below the end of the path, {self.end:g}; {remedy}")
        return lam

    def _around(self, lam: float) -> tuple[Breakpoint | None, Breakpoint]:
        """The point with the weights at lambda, after the one they are mixed with, if any."""
        points = self._points
        j = 1 + int(np.count_nonzero(self.lambdas > lam))  # the first one that is not larger
        if j < len(points) and points[j].lam == lam:
            return None, points[j]
        if j < len(points) and (j == 1 or self._walk.interpolates):
            return points[j - 1], points[j]
        return None, points[j - 1]

    def largest_bound(self, j: int) -> float:
        """What is proved of all lambdas between breakpoint j - 1 (or infinity) and breakpoint j."""
        if not self.is_proved:
            return np.nan
        a, b = self._points[j : j + 2]
        if j > 0 and not self._walk.interpolates:
            return max(constant_gap(a, b.lam), b.gap)
        return largest_linear_gap(a, b)

    @property
    def is_proved(self) -> bool:
        """Whether the gaps are certificates: always, but for a heuristic path as it was made."""
        return not self._walk.estimates or self._recomputed is not None

    def _hinge(self, lam: float) -> float:
        """1/n sum_i s_i max_y H_i(y; w) of the weights at lambda, or what convexity says of it."""
        before, point = self._around(lam)
        if before is None:
            return point.hinge
        t = place(before, point, lam)
        return (1.0 - t) * before.hinge + t * point.hinge

    def _stored(self, point: Breakpoint) -> np.ndarray:
        """Its weights, not to be changed."""
        if self._walk.storage is None:
            raise ValueError("this path was computed without keeping weights (keep_weights=False)")
        if np.isinf(point.lam):
            state = self._walk.run.state
            return placed(np.zeros(len(state.w)), state.lower, state.upper)
        return self._walk.storage.weights(point.lam)

    # --- more of it -----------------------------------------------------------------------------

    @one_blas_thread()
    def true_gaps(self) -> np.ndarray:
        """The gaps at the breakpoints, with an oracle pass for each; from now on also in ``gaps``.

        Only a heuristic path needs it; for the others it repeats what was proved.
        """
        run, points = self._walk.run, self._walk.points[:1]
        oracle = run.new_oracle()
        for point in self._walk.points[1:]:
            oracle.run(self._stored(point), run.state.mu)
            hinge = float(run.importance @ oracle.best) / run.n
            gap = hinge + point.lam * point.product - point.loss
            points = [*points, point._replace(hinge=hinge, gap=gap)]
        self._recomputed = points
        return self.gaps

    def extend(
        self,
        lam_min: float | None = None,
        *,
        max_passes: float | None = None,
        time_limit: float | None = None,
        cpu_limit: float | None = None,
        callback: Callback | None = None,
    ) -> "RegularizationPath":
        """Go on after an interruption, or to a smaller lambda; returns itself."""
        walk = self._walk
        check_path_limits(max_passes, time_limit, cpu_limit, callback)
        check_lam_min(lam_min)
        if lam_min is not None:
            if self.method == GRID:
                raise ValueError("a grid has no values to go on to; make another one")
            walk.lam_min = float(lam_min)
        if max_passes is not None:
            walk.max_passes = max_passes
        progress = Progress(self._walk.task.progress)
        return self.go_on(Watch(progress, time_limit, cpu_limit, callback, self.checkpoint))

    def go_on(self, watch: Watch) -> "RegularizationPath":
        """``extend`` under someone's own watch, such as that of several paths at a time."""
        self._recomputed = None
        self.status = self._walk.go(watch)
        return self

    def last(self) -> Solution:
        """The last breakpoint's solution with its dual point, for ``taut.solve`` to go on from."""
        return replace(self.solution(self.lambdas[-1]), state=self._walk.run.state)

    # --- to look at -----------------------------------------------------------------------------

    def table(self) -> str:
        """The breakpoints, a line for each.

        The columns: lambda, C, the gap relative to the objective at w = 0, what the piece from the
        breakpoint before is proved within, the length of w, cumulative oracle passes and seconds,
        and the score on held-out data, if there is one.
        """
        return table(self)

    def plot(self, weights: Sequence[int] = (), names: Sequence[str] | None = None) -> Any:
        """Gap, score (if any), cost and, for the chosen ``weights``, their values against lambda.

        Returns the matplotlib figure; ``names`` are for the legend.
        """
        return plot_path(self, weights, names)

    def __repr__(self) -> str:
        return f"<RegularizationPath: {self.method}, {len(self)} breakpoints, end {self.end:.3g}>"

    def __str__(self) -> str:
        return summary(self)
