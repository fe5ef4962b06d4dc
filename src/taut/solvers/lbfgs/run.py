"""One run of L-BFGS: evaluations of the primal, each of which also proves a lower bound.

The marginals at w are a dual point (see ``gradient``). Without bounds on the weights the gap is

    P(w) - D(q(w)) = lambda/2 |w - v|^2 = |gradient|^2 / (2 lambda)

so a small gradient is a proof, not a hope. With an l1 norm, SciPy moves two vectors that are not
negative, w = p - m, for which |p + m|_1 is smooth.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import optimize
from threadpoolctl import ThreadpoolController  # scikit-learn requires it

from taut.solvers.any_run import Objective
from taut.solvers.best import Best
from taut.solvers.bounds import endless_if_none, placed, problem_bounds
from taut.solvers.certificate import Certificate
from taut.solvers.checkpoint import checked_arrays
from taut.solvers.lbfgs.gradient import Expectations
from taut.solvers.lbfgs.minimiser import Minimiser
from taut.solvers.lbfgs.options import LBFGS
from taut.solvers.oracle_run import OracleRun
from taut.solvers.resume import Damaged
from taut.solvers.solution import Solution, Status
from taut.solvers.state import ORACLE_CALLS, STEPS
from taut.solvers.warm_start import check_keep, check_same_objective, earlier_examples

NO_GAPS = np.zeros(0)


class State(NamedTuple):
    w: np.ndarray  # the best so far
    lower: np.ndarray  # (dim,), or empty without bounds
    upper: np.ndarray
    count: np.ndarray  # type: ignore[assignment]


class Evaluation(NamedTuple):
    primal: float
    dual: float
    gradient: np.ndarray


class LBFGSRun(OracleRun):
    """Starts at zero, or from an earlier solution; then ``advance`` and ``certify``."""

    def __init__(self, problem: Any, solver: LBFGS, objective: Objective):
        super().__init__(problem, solver, objective)
        lower, upper = problem_bounds(problem, objective.bounds)
        if self.l1:
            lower, upper = endless_if_none((lower, upper), problem.dim)
        w = np.zeros(problem.dim)
        self.state = State(placed(w, lower, upper), lower, upper, np.zeros(2, np.int64))
        self.free = Expectations(problem.free, objective.n_threads)
        self.known = (
            Expectations(problem.known, objective.n_threads) if problem.is_partial else None
        )
        self.parts = [self.free] if self.known is None else [self.free, self.known]
        self.truth = self.free.of_truth(self.C) if self.known is None else np.zeros(0)
        self.libraries = ThreadpoolController()  # looks for them, so not where it is imported
        self.minimiser: Minimiser | None = None
        self.lowest, self.bound = np.inf, -np.inf  # at state.w

    # --- what the loop asks ---------------------------------------------------------------------

    @property
    def dual(self) -> None:
        """The marginals at w, which are not kept."""

    @property
    def bounds_last(self) -> bool:
        """Missing labels are filled in anew at other weights, which is another convex problem."""
        return self.known is None

    @property
    def is_finished(self) -> bool:
        return self.minimiser is not None and self.minimiser.point is None

    finished_as = Status.NO_WAY_DOWN

    def compile(self) -> None:
        for part in self.parts:
            part.run(self.state.w, 0.0, nothing=True)

    def worst_losses(self, cold: bool) -> np.ndarray:
        worst = self.problem.worst_losses()
        if worst is None:
            self._expect(np.zeros(self.problem.dim))
            worst = self._difference("value")
        return worst

    def continue_from(self, earlier: Solution, keep: str) -> None:
        """The weights of any solver's solution of the same examples are a start."""
        check_keep(keep)
        check_same_objective(self, earlier)
        earlier_examples(self, earlier)
        self.state.w[:] = placed(earlier.w, self.state.lower, self.state.upper)

    def final_state(self) -> State:
        if self.minimiser is not None:
            self.minimiser.stop()
        return self.state

    # --- moving and measuring -------------------------------------------------------------------

    def advance(self, n_steps: int) -> None:
        """One evaluation, whatever the number of steps."""
        minimiser = self._started()
        if minimiser.point is not None:
            self._visit(minimiser)
        self.state.count[STEPS] += self.n

    def first_certificate(self, worst: np.ndarray, cold: bool) -> Certificate:
        self._visit(self._started())
        return self.certify()

    def certify(self) -> Certificate:
        return Certificate(self.lowest, self.bound, NO_GAPS)

    def _started(self) -> Minimiser:
        if self.minimiser is None:
            lower, upper, start = self.state.lower, self.state.upper, self.state.w.copy()
            if self.l1:
                start = np.concatenate([np.maximum(start, 0.0), np.maximum(-start, 0.0)])
                lower, upper = np.concatenate([lower, -upper]), np.concatenate([upper, -lower])
                lower, upper = np.maximum(lower, 0.0), np.maximum(upper, 0.0)
            box = optimize.Bounds(lower, upper) if lower.size else None
            self.minimiser = Minimiser(start, box, self.solver.memory)
        return self.minimiser

    def _visit(self, minimiser: Minimiser) -> None:
        """Evaluate where SciPy wants it; keep the weights if they are the best so far."""
        # Sums over weights are short; BLAS would take longer to wake its threads than to add.
        with self.libraries.limit(limits=1, user_api="blas"):
            self._evaluate_and_tell(minimiser)

    def _evaluate_and_tell(self, minimiser: Minimiser) -> None:
        point = minimiser.point
        assert point is not None
        w = point[: len(self.state.w)] - point[len(self.state.w) :] if self.l1 else point
        found = self.evaluate(w)
        if found.primal < self.lowest:
            self.lowest, self.bound = found.primal, found.dual
            self.state.w[:] = w
        value, gradient = found.primal, found.gradient
        if self.l1:
            slope = self.l1 / (self.C * self.n)
            value += slope * float(point.sum() - np.abs(w).sum())
            gradient = np.concatenate([slope + gradient, slope - gradient])
        minimiser.tell(value, gradient)

    def evaluate(self, w: np.ndarray) -> Evaluation:
        """Objective at w, gradient of its smooth part, and the dual value of the marginals."""
        n, lam = self.n, 1.0 / (self.C * self.n)
        v = self._expect(w)
        u = placed(v, self.state.lower, self.state.upper, self.l1)
        primal = lam * self._norm(w) + float(self.importance @ self._difference("value")) / n
        loss = float(self.importance @ self._difference("loss")) / n
        return Evaluation(primal, loss - lam * (v @ u - self._norm(u)), lam * (w - v))

    def _norm(self, w: np.ndarray) -> float:
        return 0.5 * float(w @ w) + (self.l1 * float(np.abs(w).sum()) if self.l1 else 0.0)

    def _expect(self, w: np.ndarray) -> np.ndarray:
        """v = C sum_i s_i Psi_i (truth - q_i), or what is known of the truth."""
        self.state.count[ORACLE_CALLS] += self.n * len(self.parts)
        known = self.truth if self.known is None else self.known.run(w, self.C)
        return known - self.free.run(w, self.C)

    def _difference(self, name: str) -> np.ndarray:
        """The free labellings' value or loss, beyond that of those that agree with the truth."""
        of_all = getattr(self.free, name)
        return of_all if self.known is None else of_all - getattr(self.known, name)

    # --- checkpoints ----------------------------------------------------------------------------

    def saved_arrays(self) -> dict[str, np.ndarray]:
        """Only the weights: SciPy keeps the curvature to itself, and begins it anew."""
        return {"count": self.state.count}

    def resume(self, arrays: dict[str, np.ndarray], best: Best, damaged: Damaged) -> None:
        checked_arrays({"count": self.state.count}, arrays, damaged, growing="")
        if not np.all(np.isfinite(best.w)):
            raise damaged("array best_w has values that are not finite")
        found = self.evaluate(best.w)
        if not np.isclose(found.primal, best.primal, rtol=1e-9):
            raise damaged("its best weights do not have the objective it says")
        self.state.w[:] = best.w
        self.state.count[:] = arrays["count"]
        self.lowest, self.bound = found.primal, found.dual
        best.dual, best.lowest = found.dual, found.primal
