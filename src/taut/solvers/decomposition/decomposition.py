"""What simplicial decomposition and cutting planes have in common: options, and their run.

The oracle finds points, the master problem weighs them, the weights follow.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from taut.solvers.any_run import check_follows, flattened
from taut.solvers.block_state import State
from taut.solvers.certificate import Certificate
from taut.solvers.checkpoint import MOST_COUNTED
from taut.solvers.corners import losses_of, saved_corners
from taut.solvers.decomposition.boxed_master import solve_boxed_master
from taut.solvers.decomposition.hulls import Hulls, OneCone, Product
from taut.solvers.decomposition.iterations import iteration_of_all, working_set_iteration
from taut.solvers.decomposition.label_cache import LabelCache
from taut.solvers.decomposition.master import solve_master
from taut.solvers.decomposition.points import Points, Rows
from taut.solvers.decomposition.quadratic import gap_of, new_quadratic
from taut.solvers.decomposition.row_maker import RowMaker
from taut.solvers.objective import Bounds, Objective, SlackPenalty, placed, problem_bounds
from taut.solvers.oracle_run import OracleRun
from taut.solvers.solution import Solution, describe
from taut.solvers.solver import Solver

# A master problem is solved when it can gain no more than this part of the worst losses.
WEIGHED = 1e-10
# Arrays of the state that follow from nothing else.
KEPT = ("v", "gaps", "last_cut", "count")


class Decomposition(Solver):
    """Solvers that keep labellings as points and weigh them by a master problem."""

    takes_squared_slacks: ClassVar[bool] = True
    returns: ClassVar[str] = "the solution of its master problem"

    # Options: how many examples an iteration is about, None for the run to choose; labellings
    # remembered per example, to make planes of without the oracle; and the violation of their
    # constraint up to which labellings are left out.
    working_set: int | None = None
    cache: int = 0
    epsilon: float | None = None

    @property
    @abstractmethod
    def hulls(self) -> type[Hulls]:
        """Whether every example has a simplex of its own, or what they share."""

    @abstractmethod
    def make_room(self, points: Points, blocks: np.ndarray, *, is_cone: bool) -> None:
        """Called before a point is added to each of these blocks."""

    def start(self, problem: Any, objective: Objective) -> "DecompositionRun":
        return DecompositionRun(problem, self, objective)


@dataclass
class DecompositionState:
    """Everything a run moves; it goes into the solution, for warm starts."""

    w: np.ndarray
    v: np.ndarray  # C * sum_k weight_k row_k; w is its part of features, inside the bounds
    lower: np.ndarray
    upper: np.ndarray
    points: Points
    gaps: np.ndarray  # (n_blocks,) as last seen
    last_cut: np.ndarray  # (1,) what the oracle's last plane cut off
    count: np.ndarray  # steps, oracle calls


class DecompositionRun(OracleRun):
    """Deterministic: nothing is drawn at random, and threads only share out the oracle's calls."""

    state: DecompositionState

    def __init__(self, problem: Any, solver: Decomposition, objective: Objective):
        super().__init__(problem, solver, objective)
        self.truth = problem.new_dual()  # the dual point is kept as points and weights instead
        self.maker = RowMaker(problem, self.oracle.labels, self.oracle.label_at, self.truth)
        self.hulls = solver.hulls(self)
        self.share = self.hulls.weighted(np.ones(self.n))  # of every block
        is_product = solver.hulls is Product
        squared = self.penalty is SlackPenalty.SQUARED
        self.is_cone = squared if is_product else solver.hulls is OneCone
        self.smallest = solver.epsilon or 0.0
        remembers = solver.cache and not is_product
        self.cache = LabelCache(problem, self.lengths, solver.cache) if remembers else None
        self.worst = np.zeros(self.n)
        self.wanted = np.zeros(0, np.int64)  # blocks that the last oracle pass can improve
        self.state = self._cold_state(objective.bounds)

    def _cold_state(self, bounds: Bounds | None) -> DecompositionState:
        lower, upper = problem_bounds(self.problem, bounds)
        v = np.zeros(self.problem.dim + self.hulls.extra)
        points = Points(
            len(v),
            self.hulls.n_blocks,
            is_sparse=self.maker.is_sparse and self.solver.hulls is Product,
            keeps_gram=self.hulls.is_together,
        )
        if not self.is_cone:
            points.add_origins(np.arange(points.n_blocks))
        return DecompositionState(
            w=placed(v[: self.problem.dim], lower, upper),
            v=v,
            lower=lower,
            upper=upper,
            points=points,
            gaps=np.zeros(points.n_blocks),
            last_cut=np.zeros(1),
            count=np.zeros(2, np.int64),
        )

    @property
    def dual(self) -> Any:
        return self.truth

    @property
    def keeps_answers(self) -> bool:
        return True

    def compile_steps(self) -> None:
        self.maker.compile()
        self.solve_master()
        if self.cache is not None:
            self.cache.compile(self.maker.source.work, self.oracle.labels)

    def take_over(self, earlier: Solution, n_before: int, share: float) -> None:
        """Points do not depend on C: with another one, the first master problem weighs them anew.

        The dual point of a block-coordinate run becomes the retained point of every simplex.
        """
        if isinstance(earlier.state, DecompositionState):
            self._take_points(earlier, n_before)
        elif isinstance(earlier.state, State):
            self._take_dual_point(earlier, n_before)
        else:
            raise self._cannot(earlier)
        points = self.state.points
        if share < 1.0 and not self.is_cone:
            points.move_toward_origin(share)
        self.rebuild()

    def _cannot(self, earlier: Any) -> ValueError:
        return ValueError(
            f"{describe(self.solver)} cannot start from the points of the earlier run, "
            f"{describe(earlier.solver)}; warm-start with the same solver, or start cold"
        )

    def _take_points(self, earlier: Solution, n_before: int) -> None:
        before, now = earlier.state.points, self.state.points
        if earlier.solver.hulls is not self.solver.hulls:
            raise self._cannot(earlier)
        rows = before.rows.copy()
        if self.solver.hulls is not Product:
            if n_before < self.n:
                raise ValueError(
                    "warm_start: a plane is a sum over all examples, so those of fewer examples "
                    'say nothing about these; start cold, or use simplexes="product" (slacks="n")'
                )
            if before.n_blocks != now.n_blocks:
                raise self._cannot(earlier)
            rows[:, self.problem.dim :] *= np.sqrt(earlier.C / self.C)
        now.take(before, rows)
        if not self.is_cone:
            now.add_origins(np.arange(n_before, now.n_blocks))

    def _take_dual_point(self, earlier: Solution, n_before: int) -> None:
        """Every example's marginals, as one point: it stands in for the origin."""
        problem, points = self.problem, self.state.points
        loss = np.zeros(self.n)
        loss[:n_before] = self.importance[:n_before] * earlier.state.ell
        points.keep(np.zeros(len(points), bool))
        if points.n_blocks == 1 < self.n:
            rows, loss = earlier.state.v[None] / earlier.C, loss.sum()[None]
        else:
            mu = problem.copy_dual(earlier.state.mu, problem.new_dual())
            rows, loss = self.hulls.summed(self.maker.rows(np.arange(self.n), mu)[0], loss)
        points.add(rows, loss, np.arange(points.n_blocks), retained=True)

    # --- moving -------------------------------------------------------------------------------

    def advance(self, n_steps: int) -> None:
        """One iteration, however many steps were asked for."""
        if self.hulls.is_together:
            iteration_of_all(self)
        else:
            working_set_iteration(self)

    def add_points(self, rows: Rows, loss: np.ndarray, blocks: np.ndarray) -> None:
        self.solver.make_room(self.state.points, blocks, is_cone=self.is_cone)
        self.state.points.add(rows, loss, blocks)

    def solve_master(self, which: np.ndarray | None = None) -> None:
        """Weigh the points of some blocks, or of all, as well as possible; then move the weights.

        In units of 1/C^2 of the dual, the Gram matrix needs no factor.
        """
        state, points, C = self.state, self.state.points, self.C
        of: Any = slice(None)
        rows, blocks, mass_cost = points.rows, points.block, self.share / C
        rest = np.zeros(len(state.v))
        if which is not None:
            of = np.flatnonzero(np.isin(points.block, which))
            rows, mass_cost = points.rows[of], mass_cost[which]
            blocks = np.searchsorted(which, points.block[of])
            rest = state.v / C - rows.T @ points.weight[of]
        weights, linear = points.weight[of].copy(), points.loss[of] / C
        program = dict(
            gram=points.gram(None if which is None else of),
            blocks=blocks,
            weights=weights,
            mass_cost=mass_cost if self.is_cone else None,
        )
        if state.lower.size:
            free = np.full(self.hulls.extra, np.inf)
            bounds = np.append(state.lower / C, -free), np.append(state.upper / C, free)
            solve_boxed_master(rows=rows, linear=linear, rest=rest, bounds=bounds, **program)
        else:
            solve_master(linear=linear if which is None else linear - rows @ rest, **program)
        points.set_weights(of, weights)
        state.v[:] = C * (rest + rows.T @ weights)
        self.clip()

    def rebuild(self) -> None:
        """Recompute the weights from the points."""
        self.state.v[:] = self.C * self.state.points.combination()
        self.clip()

    def clip(self) -> None:
        state = self.state
        state.w[:] = placed(state.v[: self.problem.dim], state.lower, state.upper)

    # --- measuring ----------------------------------------------------------------------------

    def certify(self) -> Certificate:
        """Exact certificate; its oracle pass finds the points of the next iteration."""
        state, points = self.state, self.state.points
        if not self.hulls.is_together:
            self.rebuild()
        self.ask_all()
        state.gaps[:] = self.block_gaps()
        self.wanted = self.hulls.improvable()
        return Certificate(
            self.primal_value(state.w, np.maximum(self.oracle.best, 0.0)),
            self.dual_value(
                state.v[: len(state.w)], state.w, points.total_loss() - self._mass_cost().sum()
            ),
            state.gaps / self.n,
        )

    def worst_losses(self, cold: bool) -> np.ndarray:
        self.worst = super().worst_losses(cold)
        if self.oracle_is_fresh:  # a run taken up again
            self.wanted = self.hulls.improvable()
        return self.worst

    @property
    def is_finished(self) -> bool:
        """Nothing to add, and what is there is weighed as well as possible."""
        if not self.oracle_is_fresh or self.wanted.size:
            return False
        points = self.state.points
        mass_cost = self.share if self.is_cone else None
        master = new_quadratic(np.zeros((0, 0)), points.loss, points.block, mass_cost)
        gap, _ = gap_of(master, points.weight, self.gradient())
        return gap <= WEIGHED * float(self.importance @ self.worst)

    def point_values(self) -> np.ndarray:
        """loss_k - <w, row_k> of every point."""
        points, nothing = self.state.points, np.zeros(self.hulls.extra)
        return points.loss - points.rows @ np.append(self.state.w, nothing)

    def block_values(self) -> np.ndarray:
        """The same of every block, by the weights of its points."""
        return self.state.points.sums(self.state.points.weight * self.point_values())

    def gradient(self) -> np.ndarray:
        """What more weight of every point would gain."""
        points, behind = self.state.points, self.state.v[self.problem.dim :]
        gradient = points.loss - points.rows @ np.append(self.state.w, behind)
        if self.is_cone:
            gradient -= (self.share * points.sums(points.weight))[points.block]
        return gradient

    def _mass_cost(self) -> np.ndarray:
        if not self.is_cone:
            return np.zeros(1)
        return self.hulls.weighted(self.penalty.conjugate(self.hulls.masses()))

    def block_gaps(self) -> np.ndarray:
        slack = np.maximum(self.oracle.best, 0.0)
        paid = self.hulls.weighted(self.penalty.cost(slack)) + self._mass_cost()
        return paid - self.block_values()

    def final_state(self) -> DecompositionState:
        self.state.points.forget_gram()
        return self.state

    # --- checkpoints --------------------------------------------------------------------------

    @property
    def unsavable(self) -> str:
        if self.cache is None or self.problem.is_compiled:
            return ""
        return (
            "a checkpoint cannot hold the labels of a Python model (they may be any object); "
            'use CuttingPlane(slacks="one", cache=0), which remembers none, or no checkpoint'
        )

    @property
    def growing(self) -> tuple[str, ...]:
        return ("points.", "cache.")

    def saved_arrays(self) -> dict[str, np.ndarray]:
        state = self.state
        arrays = {f"points.{name}": value for name, value in state.points.arrays().items()}
        arrays |= {name: getattr(state, name) for name in KEPT}
        if self.cache is not None:
            arrays |= flattened(self.cache.corners, frozenset(), "cache.")
            arrays["time"] = np.array([self.cache.time])
        return arrays | self.saved_oracle()

    def put(self, arrays: dict[str, np.ndarray]) -> None:
        state, points = self.state, self.state.points
        points.put({name: arrays[f"points.{name}"] for name in points.arrays()})
        sums = points.sums(points.weight)
        if points.weight.min(initial=0.0) < 0 or not (
            self.is_cone or np.allclose(sums, 1.0, rtol=0, atol=1e-9)
        ):
            raise ValueError("the points' weights do not sum to one")
        if self.cache is not None:
            corners = saved_corners(
                "cache.", "remembered labellings", arrays, self.lengths, self.problem.n_states
            )
            time = int(arrays["time"][0])
            if not 0 <= time <= MOST_COUNTED:
                raise ValueError(f"its remembered labellings are at time {time}")
            self.cache.corners, self.cache.time = corners, time
        for name in KEPT:
            getattr(state, name)[...] = arrays[name]
        self.clip()
        self.restore_oracle(arrays)

    def check(self, arrays: dict[str, np.ndarray], certificate: Certificate) -> None:
        self.rebuild()
        check_follows(arrays["v"], self.state.v, "weights and points")
        self.hulls.check()
        points = self.state.points
        most = self.hulls.most_loss(super().worst_losses(cold=False))[points.block]
        if np.any(points.loss > (1.0 + 1e-6) * most):  # as accurate as the slowest oracle
            raise ValueError("a point has a loss that no labelling has")
        if self.cache is not None:
            corners = self.cache.corners
            found = losses_of(self.problem, corners)
            check_follows(corners.loss, found, "losses and remembered labellings")
