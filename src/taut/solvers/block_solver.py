"""What solvers with a dual block for every example have in common: options, and their run.

They differ in how ``advance`` moves blocks: see ``bcfw``, ``sdca`` and ``frank_wolfe``.
"""

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from taut._compile import Problem, compiled, in_mode
from taut.arrays.accumulator import DENSE, Accumulator, dense_accumulator
from taut.problem import add_corner, advance, begin_change, true_label
from taut.solvers.block_state import (
    AVERAGED,
    GLOBAL_GAP,
    L1,
    LOSS_AVERAGE,
    MOMENTUM,
    ORACLE_CALLS,
    State,
    rebuild_weights,
)
from taut.solvers.certificate import Certificate, OraclePass, Point
from taut.solvers.checks import parsed
from taut.solvers.corners import Corners, new_scratch, no_corners, shrink
from taut.solvers.objective import Objective, placed, problem_bounds
from taut.solvers.oracle_run import OracleRun
from taut.solvers.sampling import Order, new_sampler, set_all_gaps
from taut.solvers.solution import Solution, describe
from taut.solvers.solver import Solver


class BlockSolver(Solver):
    """``refresh`` is the number of passes between two certificates that also compute all gaps anew.

    None: the stored gaps are those of the last visits, the certificate is still computed.
    """

    order: Order | str = Order.CYCLIC
    refresh: int | None = None

    def check_options(self) -> None:
        """To be called by ``__post_init__``."""
        object.__setattr__(self, "order", parsed(Order, self.order, "order"))
        if self.refresh is not None and self.refresh < 1:
            raise ValueError(f"refresh={self.refresh}; a number of passes, or None for never")

    @property
    def check_every(self) -> int:
        return self.refresh or 10

    @property
    def keeps_gram(self) -> bool:
        """Whether remembered labellings have their inner products with them."""
        return False

    @abstractmethod
    def start(self, problem: Any, objective: Objective) -> "BlockRun": ...


class BlockRun(OracleRun):
    """Starts cold, or from the state of an earlier solution; then ``advance`` and ``certify``."""

    state: State
    # Whether ``visit`` comes back where ``dual_has_room`` says no; else it is called for one block.
    stops_when_full: ClassVar[bool] = False
    # Scratch memory, and arrays that follow from the rest.
    left_out = frozenset(
        ["w", "lower", "upper", "delta", "direct", "plane", "work", "y", "y_away", "mu", "scratch"]
    )

    @property
    def growing(self) -> tuple[str, ...]:
        return ("corners.", *super().growing)

    def __init__(self, problem: Any, solver: Any, objective: Objective):
        super().__init__(problem, solver, objective)
        v = np.zeros(problem.dim)
        delta = problem.new_delta()
        lower, upper = problem_bounds(problem, objective.bounds, self.l1)
        self.state = State(
            w=placed(v, lower, upper),
            v=v,
            lower=lower,
            upper=upper,
            mu=problem.new_dual(),
            ell=np.zeros(self.n),
            corners=self.first_corners(),
            sampler=new_sampler(solver.order, self.n, objective.seed),
            average=np.zeros(problem.dim if solver.averaging else 0),
            count=np.zeros(3, np.int64),
            total=np.array([0.0, 0.0, 0.0, self.l1]),
            delta=delta,
            direct=dense_accumulator(v),
            plane=self._plane(delta),
            work=problem.new_work(),
            y=np.zeros(problem.longest, np.int32),
            y_away=np.zeros(problem.longest, np.int32),
            scratch=new_scratch(32),
        )

    def first_corners(self) -> Corners:
        return no_corners()

    def _plane(self, delta: Accumulator) -> np.ndarray:
        if not self.solver.keeps_gram:
            return np.zeros(0)
        return delta.value if delta.count[0] == DENSE else np.zeros(self.problem.dim)

    @property
    def dual(self) -> Any:
        return self.state.mu

    # --- starting elsewhere -------------------------------------------------------------------

    def take_over(self, earlier: Solution, n_before: int, share: float) -> None:
        if not isinstance(earlier.state, State):
            raise ValueError(
                f"the earlier run, {describe(earlier.solver)}, kept no labellings or marginals "
                f"that {describe(self.solver)} could start from; start cold, or go on with the "
                "same kind of solver"
            )
        self.put_dual(earlier.state.mu)
        self.state.ell[:n_before] = earlier.state.ell
        self.take_memory(earlier)
        self._shrink(share, n_before)
        self.rebuild()

    def take_memory(self, earlier: Solution) -> None:
        """What the run remembers beside the dual point."""

    def _shrink(self, share: float, n_blocks: int) -> None:
        if share < 1.0:
            in_mode(shrink_toward_truth, self.problem)(self.problem, self.state, share, n_blocks)
            shrink(self.state.corners, share, n_blocks)

    def change_C(self, C: float, shrink: float) -> None:
        """Go on at another C, from this multiple of the dual point (the truth takes the rest).

        ``shrink = 1`` keeps the dual point, ``shrink = old C / C`` the weights. What was learnt
        about the way here, momentum and average, is forgotten.
        """
        state = self.state
        self._shrink(shrink, self.n)
        self.C = C
        self.rebuild()
        self.oracle_is_fresh = False
        state.total[MOMENTUM] = state.total[LOSS_AVERAGE] = 0.0
        state.average[:] = 0.0
        state.count[AVERAGED] = 0
        state.corners.before[:] = state.corners.alpha

    def rebuild(self) -> None:
        """Recompute the weights from the dual point."""
        in_mode(rebuild_weights, self.problem)(self.problem, self.state, self.C, self.n)

    # --- moving -------------------------------------------------------------------------------

    def advance(self, n_steps: int) -> None:
        """Take ``n_steps`` block steps, with what goes on between passes."""
        self.visit_all(n_steps)

    def compile_steps(self) -> None:
        self.visit(0)

    def visit_all(self, n_blocks: int) -> None:
        """Block steps alone, in as many calls as what grows needs."""
        end = self.steps + n_blocks
        at_once = self.stops_when_full or not self.problem.dual_grows
        self.visit(n_blocks if at_once else 0)
        before = -1
        while before < self.steps < end:  # who counts no steps is told so elsewhere
            before = self.steps
            self.make_room()
            self.visit(end - self.steps if at_once else 1)

    @abstractmethod
    def visit(self, n_blocks: int) -> None:
        """Up to so many block steps; fewer, if something is full that Python must make larger."""

    def make_room(self, for_all: bool = False) -> None:
        """For a change of any block, or of all of them."""
        mu = self.problem.with_room(self.state.mu, for_all)
        self.state = self.state._replace(mu=mu)

    # --- checkpoints --------------------------------------------------------------------------

    def place_weights(self) -> None:
        state = self.state
        state.total[L1] = self.l1
        if state.lower.size:
            state.w[:] = placed(state.v, state.lower, state.upper, self.l1)

    # --- measuring ----------------------------------------------------------------------------

    def look(self) -> Certificate:
        before = self.problem.memory.copy()
        certificate = self._certificate()
        self.problem.memory[...] = before
        return certificate

    def _certificate(self) -> Certificate:
        state = self.state
        point = Point(state.w, state.v, float(self.importance @ state.ell))
        return self._certificate_of(point, self.oracle)

    def _certificate_of(self, point: Point, oracle: OraclePass) -> Certificate:
        """One oracle call per example."""
        oracle.run(point.w, self.dual)
        self.state.count[ORACLE_CALLS] += self.n
        return Certificate(
            self.primal_value(point.w, oracle.best),
            self.dual_value(point.v, point.w, point.loss),
            self.importance * (oracle.best - oracle.mean) / self.n,
        )

    def certify(self) -> Certificate:
        """Exact certificate of the current iterate; refreshes the stored gaps if so asked."""
        self.memory_before = self.problem.memory.copy()
        certificate = self._certificate()
        self.oracle_is_fresh = self.keeps_answers
        if self.solver.refresh is not None:
            self.store_gaps(certificate)
        return certificate

    def store_gaps(self, certificate: Certificate) -> None:
        set_all_gaps(self.state.sampler.tree, certificate.block_gaps)
        self.state.total[GLOBAL_GAP] = certificate.gap

    def average_point(self) -> Point | None:
        """The weighted average of the iterates, with the average of their dual points' losses."""
        state, k = self.state, float(self.state.count[AVERAGED])
        if not state.average.size or k == 0:
            return None
        factor = 2.0 / (k * (k + 1.0))
        v = state.average * -factor
        v += state.v  # in place: these are large
        loss = float(self.importance @ state.ell) - factor * state.total[LOSS_AVERAGE]
        return Point(placed(v, state.lower, state.upper, self.l1), v, loss)

    def certified_average(self) -> tuple[Point, Certificate] | None:
        """With an oracle pass of its own: batch steps need the labellings of the iterate's."""
        point = self.average_point()
        return None if point is None else (point, self._certificate_of(point, self.new_oracle()))


@compiled
def shrink_toward_truth(problem: Problem, state, rho, n_blocks):
    """mu_i <- rho mu_i + (1 - rho) e(truth) for the first ``n_blocks`` blocks."""
    for i in range(n_blocks):
        true_label(problem, i, state.y)
        begin_change(problem, i, state.mu, -1.0, state.work)
        add_corner(problem, i, state.y, 1.0, state.work)
        advance(problem, i, state.mu, 1.0 - rho, state.work)
        state.ell[i] *= rho
