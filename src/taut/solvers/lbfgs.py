"""L-BFGS on the primal of a conditional random field, with a certificate at every evaluation.

Problem, F_i being the smoothed maximum over labellings (see ``docs/mathematics.md``):

    minimise  P(w) = lambda (|w|^2 / 2 + l1 |w|_1) + 1/n sum_i s_i F_i(w),   lower <= w <= upper

Update: one evaluation of P and its gradient where the line search of ``quasi_newton`` wants it.
The marginals at w are a dual point (see ``expectations``). Without bounds and l1 the gap is

    P(w) - D(q(w)) = lambda/2 |w - v|^2 = |gradient|^2 / (2 lambda)

so a small gradient is a proof, not a hope.

References: Liu and Nocedal (1989), "On the limited memory BFGS method for large scale
optimization"; those of ``quasi_newton``.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from taut.problem.capability import Capability
from taut.solvers.any_run import AnyRun, check_follows
from taut.solvers.block_state import ORACLE_CALLS, STEPS
from taut.solvers.certificate import Certificate
from taut.solvers.checks import is_count
from taut.solvers.expectations import Expectations
from taut.solvers.objective import Objective, placed, problem_bounds
from taut.solvers.quasi_newton import QuasiNewton
from taut.solvers.solution import Solution, Status
from taut.solvers.solver import Solver

SEARCH = "search."  # prefix of the minimiser's arrays in a checkpoint


@dataclass(frozen=True)
class LBFGS(Solver):
    """Options of limited-memory BFGS, for :func:`taut.smoothed` problems.

    ``memory`` is the number of earlier steps that the curvature is estimated from. Every pass is
    one evaluation of objective and gradient, on all threads, and brings a certificate.

    >>> LBFGS().describe()
    'L-BFGS (memory 10)'
    """

    memory: int = 10

    needs: ClassVar[Capability] = Capability.LIKELIHOOD
    returns: ClassVar[str] = "its best iterate"

    def __post_init__(self) -> None:
        if not is_count(self.memory):
            raise ValueError(f"memory={self.memory!r}; a whole number of steps, at least 1")

    def describe(self) -> str:
        return f"L-BFGS (memory {self.memory})"

    def start(self, problem: Any, objective: Objective) -> "LBFGSRun":
        return LBFGSRun(problem, self, objective)


class State(NamedTuple):
    w: np.ndarray  # the best so far
    lower: np.ndarray  # (dim,), or empty without bounds
    upper: np.ndarray
    count: np.ndarray  # type: ignore[assignment]


class Evaluation(NamedTuple):
    primal: float
    dual: float
    gradient: np.ndarray


class LBFGSRun(AnyRun):
    """Starts at zero, or from an earlier solution; then ``advance`` and ``certify``."""

    def __init__(self, problem: Any, solver: LBFGS, objective: Objective):
        super().__init__(problem, solver, objective)
        lower, upper = problem_bounds(problem, objective.bounds, self.l1)
        w = np.zeros(problem.dim)
        self.state = State(placed(w, lower, upper), lower, upper, np.zeros(2, np.int64))
        self.free = Expectations(problem.free, objective.n_threads)
        self.known = (
            None if problem.known is None else Expectations(problem.known, objective.n_threads)
        )
        self.parts = [self.free] if self.known is None else [self.free, self.known]
        self.truth = self.free.of_truth(self.C) if self.known is None else np.zeros(0)
        self.minimiser: QuasiNewton | None = None
        self.lowest, self.bound = np.inf, -np.inf  # at state.w
        self.is_certified = False

    # --- what the loop asks ---------------------------------------------------------------------

    @property
    def bounds_last(self) -> bool:
        """Missing labels are filled in anew at other weights, which is another convex problem."""
        return self.known is None

    @property
    def is_finished(self) -> bool:
        return self.is_certified and self.minimiser is not None and self.minimiser.is_finished

    finished_as = Status.NO_WAY_DOWN

    def compile(self) -> None:
        for part in self.parts:
            part.run(self.state.w, 0.0, nothing=True)

    def worst_losses(self, cold: bool) -> np.ndarray:
        worst = self.problem.worst_losses()
        if worst is None:
            calls = self.oracle_calls
            self._expect(np.zeros(self.problem.dim))
            worst = self._difference("value").copy()
            if not cold:  # counted before the checkpoint was written
                self.state.count[ORACLE_CALLS] = calls
        return worst

    needs_dual_point = False

    def take_over(self, earlier: Solution, n_before: int, share: float) -> None:
        """The weights of any solver's solution of the same examples are a start."""
        self.state.w[:] = placed(earlier.w, self.state.lower, self.state.upper)

    # --- moving and measuring -------------------------------------------------------------------

    def advance(self, n_steps: int) -> None:
        """One evaluation, whatever the number of steps."""
        self._visit(self._started())
        self.is_certified = False
        self.state.count[STEPS] += self.n

    def first_certificate(self, worst: np.ndarray, cold: bool) -> Certificate:
        self._visit(self._started())
        return self.certify()

    def certify(self) -> Certificate:
        self.is_certified = True
        return Certificate(self.lowest, self.bound)

    def _started(self) -> QuasiNewton:
        if self.minimiser is None:
            state, l1 = self.state, self.l1 / (self.C * self.n)
            self.minimiser = QuasiNewton(
                state.w, state.lower, state.upper, l1=l1, memory=self.solver.memory
            )
        return self.minimiser

    def _visit(self, minimiser: QuasiNewton) -> None:
        """Evaluate where it is wanted; keep the weights if they are the best so far."""
        w = minimiser.point
        if w is None:
            return
        found = self.evaluate(w)
        # At the end objectives differ by rounding only, and bounds still rise.
        if (found.primal, -found.dual) < (self.lowest, -self.bound):
            self.lowest, self.bound = found.primal, found.dual
            self.state.w[:] = w
        minimiser.tell(found.primal, found.gradient)

    def evaluate(self, w: np.ndarray) -> Evaluation:
        """Objective at w, gradient of its smooth part, and the dual value of the marginals."""
        v = self._expect(w)
        u = placed(v, self.state.lower, self.state.upper, self.l1)
        loss = float(self.importance @ self._difference("loss"))
        return Evaluation(
            self.primal_value(w, self._difference("value")),
            self.dual_value(v, u, loss),
            self.lam * (w - v),
        )

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
        return {
            "count": self.state.count,
            "w": self.state.w,
            "values": np.array([self.lowest, self.bound]),
            "certified": np.array([self.is_certified]),
            **{SEARCH + name: array for name, array in self._started().arrays().items()},
        }

    def put(self, arrays: dict[str, np.ndarray]) -> None:
        state, minimiser = self.state, self._started()
        if np.any(placed(arrays["w"], state.lower, state.upper) != arrays["w"]):
            raise ValueError("array w is outside the bounds")
        minimiser.take_up({name: arrays[SEARCH + name] for name in minimiser.arrays()})
        state.w[:], state.count[:] = arrays["w"], arrays["count"]
        self.lowest, self.bound = map(float, arrays["values"])
        # Checkpoints are also written between an evaluation and its certificate.
        self.is_certified = bool(arrays["certified"][0])

    def check(self, arrays: dict[str, np.ndarray], certificate: Certificate) -> None:
        found = self.evaluate(self.state.w)
        check_follows(arrays["values"], np.array([found.primal, found.dual]), "weights and bounds")

    def primal_of(self, w: np.ndarray) -> float:
        return self.evaluate(w).primal
