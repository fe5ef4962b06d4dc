"""One training run: a problem, a solver's options and the state they move."""

from typing import Any

import numpy as np

from taut._compile import Problem, compiled, in_mode, ready
from taut.accumulator import DENSE, Accumulator, dense_accumulator
from taut.problem import add_corner, advance, begin_change, true_label
from taut.solvers.any_run import Objective
from taut.solvers.bcfw import BCFW, bcfw_steps, parsed, pass_options
from taut.solvers.bounds import endless_if_none, placed, problem_bounds
from taut.solvers.certificate import Certificate, OraclePass, Point, certify
from taut.solvers.checkpoint import check_follows, flattened
from taut.solvers.corners import (
    Corners,
    are_sound,
    are_weights,
    grown,
    new_corners,
    new_scratch,
    no_corners,
    with_new_blocks,
)
from taut.solvers.corrective import (
    cheap_passes,
    corrective_steps,
    sweep,
)
from taut.solvers.frank_wolfe import FrankWolfe, fw_step
from taut.solvers.oracle_run import OracleRun, oracle_memory
from taut.solvers.sampling import Order, new_sampler, set_all_gaps
from taut.solvers.sdca import SDCA, sdca_steps
from taut.solvers.solution import Solution, describe
from taut.solvers.state import (
    AVERAGED,
    GLOBAL_GAP,
    L1,
    LOSS_AVERAGE,
    MOMENTUM,
    ORACLE_CALLS,
    State,
    lengths_of,
    rebuild_weights,
)

Solver = BCFW | FrankWolfe
# Scratch memory, and arrays that follow from the rest.
LEFT_OUT = frozenset(
    ["w", "lower", "upper", "delta", "direct", "plane", "work", "y", "y_away", "mu", "scratch"]
)


class Run(OracleRun):
    """Starts cold, or from the state of an earlier solution; then ``advance`` and ``certify``."""

    def __init__(self, problem: Any, solver: Solver, objective: Objective):
        super().__init__(problem, solver, objective)
        self.lengths = lengths_of(problem)
        label_at = np.concatenate([[0], np.cumsum(self.lengths)])
        batch = isinstance(solver, FrankWolfe)
        self.oracle = OraclePass(problem, objective.n_threads, label_at if batch else None)
        self.memory_before = oracle_memory(problem).copy()
        self.state = self._cold_state(objective)

    def _cold_state(self, objective: Objective) -> State:
        problem, solver = self.problem, self.solver
        v = np.zeros(problem.dim)
        delta = problem.new_delta()
        lower, upper = problem_bounds(problem, objective.bounds)
        if self.l1:
            lower, upper = endless_if_none((lower, upper), problem.dim)
        order = parsed(Order, solver.order, "order") if isinstance(solver, BCFW) else Order.CYCLIC
        return State(
            w=placed(v, lower, upper),
            v=v,
            lower=lower,
            upper=upper,
            mu=problem.new_dual(),
            ell=np.zeros(self.n),
            corners=(
                new_corners(problem, self.lengths, solver.keeps_gram)
                if solver.keeps_corners
                else no_corners()
            ),
            sampler=new_sampler(order, self.n, objective.seed),
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

    def _plane(self, delta: Accumulator) -> np.ndarray:
        if not self.solver.keeps_gram:
            return np.zeros(0)
        return delta.value if delta.count[0] == DENSE else np.zeros(self.problem.dim)

    def take_over(self, earlier: Solution, n_before: int, share: float) -> None:
        if not isinstance(earlier.state, State):
            raise ValueError(
                f"the earlier run, {describe(earlier.solver)}, kept no labellings or marginals "
                f"that {describe(self.solver)} could start from; start cold, or go on with the "
                "same kind of solver"
            )
        self.problem.copy_dual(earlier.state.mu, self.state.mu)
        self.state.ell[:n_before] = earlier.state.ell
        if self.solver.keeps_alpha:
            self._continue_corners(earlier)
        if share < 1.0:
            shrink = in_mode(shrink_toward_truth, self.problem)
            shrink(self.problem, self.state, share, n_before)
        self.rebuild()

    def change_C(self, C: float, shrink: float) -> None:
        """Go on at another C, from this multiple of the dual point (the truth takes the rest).

        ``shrink = 1`` keeps the dual point, ``shrink = old C / C`` the weights. What was learnt
        about the way here, momentum and average, is forgotten.
        """
        state = self.state
        if shrink < 1.0:
            in_mode(shrink_toward_truth, self.problem)(self.problem, state, shrink, self.n)
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

    def _continue_corners(self, earlier: Solution) -> None:
        before, now = earlier.solver, self.solver
        if not before.keeps_alpha or (now.keeps_gram and not before.keeps_gram):
            raise ValueError(
                f"the earlier run, {describe(before)}, did not keep the active sets that "
                f"{describe(now)} needs; warm-start with the same solver, or start cold"
            )
        corners = earlier.state.corners
        if not now.keeps_gram:
            corners = corners._replace(gram=np.zeros(0))
        if not self.problem.is_compiled:
            self._hold_labels(corners)
        corners = with_new_blocks(self.problem, corners, self.lengths, len(earlier.state.ell))
        scratch = new_scratch(2 * int(corners.used[3]) + 32)
        self.state = self.state._replace(corners=corners, scratch=scratch)

    def _hold_labels(self, corners: Corners) -> None:
        """The earlier solution and this run both remember these labels."""
        for i, slot in enumerate(corners.head):
            while slot >= 0:
                self.problem.hold(i, corners.labels[corners.label_at[slot] :])
                slot = corners.following[slot]

    def compile(self) -> None:
        """Run every kernel on nothing, so that compilation is not counted as training."""
        if not self.problem.is_compiled:
            return
        self.oracle.run(self.state.w, self.state.mu, nothing=True)
        if isinstance(self.solver, FrankWolfe):
            oracle, state = self.oracle, self.state
            nothing = dense_accumulator(np.zeros(self.problem.dim))
            step = in_mode(fw_step, self.problem)
            step(self.problem, state, self.C, 0.0, oracle.labels, oracle.label_at[:0], nothing)
            state.count[:] = 0
            return
        self._block_steps(0)
        if self.solver.keeps_gram:
            ready(sweep, self.problem, self.state, self.C, 0, 0.0)

    # --- moving -------------------------------------------------------------------------------

    def advance(self, n_steps: int) -> None:
        """Take ``n_steps`` block steps (batch Frank-Wolfe: one step of all blocks)."""
        if isinstance(self.solver, FrankWolfe):
            self._batch_step()
            return
        solver, before = self.solver, self.steps
        self.visit(n_steps)
        if solver.keeps_gram and self.steps // self.n > before // self.n:
            cheap_passes(self.problem, self.state, self.C, self.n, solver.cheap_passes)

    def visit(self, n_blocks: int) -> None:
        """Block steps alone, without the cheap passes between passes."""
        end = self.steps + n_blocks
        while self.steps < end:
            self._block_steps(end - self.steps)
            if self.steps < end:
                self.state = with_more_room(self.state)

    def _block_steps(self, n_steps: int) -> None:
        problem, state, solver = self.problem, self.state, self.solver
        assert isinstance(solver, BCFW)
        if isinstance(solver, SDCA):
            in_mode(sdca_steps, problem)(problem, state, self.C, self.n, n_steps)
        elif solver.keeps_gram:
            steps = in_mode(corrective_steps, problem)
            steps(problem, state, self.C, self.n, solver.slots, n_steps)
        else:
            steps = in_mode(bcfw_steps, problem)
            steps(problem, state, pass_options(solver, self.C, self.n), n_steps)

    def _batch_step(self) -> None:
        """Uses the labellings of the last certificate, if it is of the current iterate."""
        if not self.oracle_is_fresh:
            self.certify()
        self.oracle_is_fresh = False
        step = in_mode(fw_step, self.problem)
        oracle = self.oracle
        gain = float(self.importance @ (oracle.reached - oracle.mean))
        whole = dense_accumulator(np.zeros(self.problem.dim))
        step(self.problem, self.state, self.C, gain, oracle.labels, oracle.label_at, whole)

    # --- checkpoints --------------------------------------------------------------------------

    @property
    def unsavable(self) -> str:
        if not self.solver.keeps_corners or self.problem.is_compiled:
            return ""
        return (
            "a checkpoint cannot hold the labels of a Python model (they may be any object); "
            'use solver="bcfw", which remembers none, or no checkpoint'
        )

    growing = ("corners.", "mu")

    def saved_arrays(self) -> dict[str, np.ndarray]:
        mu = {"mu": self.problem.dual_array(self.state.mu)}
        return flattened(self.state, LEFT_OUT) | mu | self.saved_oracle()

    def put(self, arrays: dict[str, np.ndarray]) -> None:
        state = self.state
        self._put_corners(arrays)
        self.problem.copy_dual(arrays["mu"], state.mu)
        for name, array in flattened(state, LEFT_OUT).items():
            if not name.startswith(("corners.", "sampler.kind", "sampler.tree")):
                array[...] = arrays[name]
        state.total[L1] = self.l1
        leaves = state.sampler.tree.size // 2
        set_all_gaps(state.sampler.tree, arrays["sampler.tree"][leaves : leaves + self.n])
        if state.lower.size:
            state.w[:] = placed(state.v, state.lower, state.upper, self.l1)
        self.restore_oracle(arrays)

    def _put_corners(self, arrays: dict[str, np.ndarray]) -> None:
        corners, keeps = self.state.corners, self.solver
        if arrays["corners.used"].shape != corners.used.shape:  # of all corners, it alone is fixed
            raise ValueError("array corners.used")
        # Copies: a run that goes on changes them.
        saved = {name: arrays[f"corners.{name}"].copy() for name in corners._fields}
        corners = corners._replace(**saved)
        if keeps.keeps_corners and not (
            are_sound(corners, self.lengths, self.problem.n_states)
            and (corners.gram.size > 0) == keeps.keeps_gram
            and (not keeps.keeps_alpha or are_weights(corners, self.n))
        ):
            raise ValueError("the active sets are inconsistent")
        scratch = new_scratch(2 * int(corners.used[3]) + 32)
        self.state = self.state._replace(corners=corners, scratch=scratch)

    def check(self, arrays: dict[str, np.ndarray], certificate: Certificate) -> None:
        self.rebuild()
        check_follows(arrays["v"], self.state.v, "weights and dual point")
        # The gap follows from the dual point alone, the dual value from its stored losses.
        if not np.isclose(certificate.block_gaps.sum(), certificate.gap, rtol=1e-6, atol=1e-9):
            raise ValueError("losses and dual point do not belong together")

    def primal_of(self, w: np.ndarray) -> float:
        point = Point(w, w, 0.0, self.state.mu)
        return certify(self.oracle, self.importance, point, self.C, self.l1).primal

    # --- measuring ----------------------------------------------------------------------------

    @property
    def dual(self) -> Any:
        return self.state.mu

    def certify(self) -> Certificate:
        """Exact certificate of the current iterate; refreshes the stored gaps if so asked."""
        state = self.state
        loss = float(self.importance @ state.ell)
        self.memory_before = oracle_memory(self.problem).copy()
        certificate = certify(
            self.oracle, self.importance, Point(state.w, state.v, loss, state.mu), self.C, self.l1
        )
        state.count[ORACLE_CALLS] += self.n
        self.oracle_is_fresh = isinstance(self.solver, FrankWolfe)  # others forget the answers
        if isinstance(self.solver, BCFW) and self.solver.refresh is not None:
            self.store_gaps(certificate)
        return certificate

    def store_gaps(self, certificate: Certificate) -> None:
        set_all_gaps(self.state.sampler.tree, certificate.block_gaps)
        self.state.total[GLOBAL_GAP] = certificate.gap

    def first_certificate(self, worst: np.ndarray, cold: bool) -> Certificate:
        """At w = 0 the oracle's values are the worst losses: the first gaps cost nothing."""
        if not cold or np.any(self.state.w) or isinstance(self.solver, FrankWolfe):
            return self.certify()
        gaps = self.importance * worst / self.n
        certificate = Certificate(float(gaps.sum()), 0.0, gaps)
        self.store_gaps(certificate)
        return certificate

    def average_point(self) -> Point | None:
        """The weighted average of the iterates, with the average of their dual points' losses."""
        state, k = self.state, float(self.state.count[AVERAGED])
        if not state.average.size or k == 0:
            return None
        factor = 2.0 / (k * (k + 1.0))
        v = state.average * -factor
        v += state.v  # in place: these are large
        loss = float(self.importance @ state.ell) - factor * state.total[LOSS_AVERAGE]
        return Point(placed(v, state.lower, state.upper, self.l1), v, loss, state.mu)

    def certified_average(self) -> tuple[Point, Certificate] | None:
        """With an oracle pass of its own: batch steps need the labellings of the iterate's."""
        point = self.average_point()
        if point is None:
            return None
        self.state.count[ORACLE_CALLS] += self.n
        oracle = OraclePass(self.problem, len(self.oracle.works))
        return point, certify(oracle, self.importance, point, self.C, self.l1)


@compiled
def shrink_toward_truth(problem: Problem, state, rho, n_blocks):
    """mu_i <- rho mu_i + (1 - rho) e(truth) for the first ``n_blocks`` blocks."""
    corners = state.corners
    for i in range(n_blocks):
        true_label(problem, i, state.y)
        begin_change(problem, i, state.mu, -1.0, state.work)
        add_corner(problem, i, state.y, 1.0, state.work)
        advance(problem, i, state.mu, 1.0 - rho, state.work)
        state.ell[i] *= rho
        if corners.head.size > 0:
            slot = corners.head[i]
            while slot >= 0:
                corners.alpha[slot] *= rho
                if corners.rank[slot] == 0:  # the truth
                    corners.alpha[slot] += 1.0 - rho
                corners.before[slot] = corners.alpha[slot]
                slot = corners.following[slot]


def with_more_room(state: State) -> State:
    """The same state with a larger pool of corners and scratch memory to match."""
    corners = grown(state.corners)
    return state._replace(corners=corners, scratch=new_scratch(2 * int(corners.used[3]) + 32))
