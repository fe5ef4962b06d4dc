"""One training run without inference: what :class:`taut.solvers.run.Run` is to the others."""

from typing import Any

import numpy as np

from taut._compile import ready
from taut.graph_training.certificate import bracket, measure
from taut.graph_training.dlpw import count_as_visited, keep_free_variables
from taut.graph_training.lower_bound import compile_lower_bound, new_witness
from taut.graph_training.multipliers import (
    penalties,
    set_penalty,
    take_direct_step,
    update_multipliers,
)
from taut.graph_training.options import FactorSolver
from taut.graph_training.resume import resume, saved_arrays
from taut.graph_training.state import (
    LENGTH,
    PROGRESS,
    RHO,
    FactorState,
    Rules,
    View,
    fill_truth,
    fill_uniform,
    new_state,
    rebuild,
)
from taut.graph_training.warm_start import take_over
from taut.solvers.any_run import AnyRun, Objective
from taut.solvers.best import Best
from taut.solvers.bounds import problem_bounds
from taut.solvers.certificate import Certificate
from taut.solvers.resume import Damaged
from taut.solvers.sampling import Order, new_sampler, set_all_gaps
from taut.solvers.solution import Solution
from taut.structures.graphs.factors import factors_of

# What rho is multiplied by after a pass of annealing: 100 becomes 1 in 21 passes.
TIGHTEN = 0.8


class FactorRun(AnyRun):
    """Starts cold, or from an earlier solution; then ``advance`` and ``certify``."""

    def __init__(self, problem: Any, solver: FactorSolver, objective: Objective):
        super().__init__(problem, solver, objective)
        if not hasattr(problem, "arrays") or not hasattr(problem.arrays, "counts"):
            raise TypeError(
                f"{type(solver).__name__} works on nodes and edges one at a time, and "
                f"{type(problem).__name__} has none to show; use it with GraphSVM, GraphCRF or "
                'MultilabelSVM, or a solver with an oracle such as "bcfw"'
            )
        self.graph, self.factors = problem.arrays, factors_of(problem.arrays)
        solver.check_factors(self.factors)
        self.blocks = len(self.factors.owner)
        self.state = self._cold_state(objective)
        degree = int(np.diff(self.factors.sender_start).max(initial=0))
        rules = Rules(
            C=self.C,
            temperature=float(solver.temperature),
            step=int(solver.step),
            # Without entropy, count factors leave no more than 1 / L_d = 1 / rho.
            norm=np.inf if len(self.factors.low) else float(degree + self.graph.nodes.width),
        )
        self.view = View(self.graph, self.factors, self.importance, rules, self.state)

    def _cold_state(self, objective: Objective) -> FactorState:
        problem, solver = self.problem, self.solver
        lower, upper = problem_bounds(problem, objective.bounds)
        v = np.zeros(problem.dim)
        w = np.clip(v, lower, upper) if lower.size else v
        assert isinstance(solver.order, Order)
        sampler = new_sampler(solver.order, self.n if solver.by_example else self.blocks, self.seed)
        state = new_state(self.graph, self.factors, w, v, (lower, upper), sampler)
        if solver.has_working_set:
            state = state._replace(active=np.zeros(len(self.factors.ends), np.bool_))
        if solver.has_free_weights:
            state = state._replace(share=np.zeros(self.n))
            count_as_visited(state)
        state.total[RHO], state.total[LENGTH] = solver.first_rho, 1.0
        fill_truth(self.graph, self.factors, state)
        self.witness = new_witness(state, problem.dim)
        if solver.temperature > 0:
            fill_uniform(self.factors, state)
        return state

    def continue_from(self, earlier: Solution, keep: str) -> None:
        """Start from the dual point of an earlier solution, whichever solver found it."""
        take_over(self, earlier, keep)
        rebuild(self.view)
        if self.solver.has_free_weights:
            count_as_visited(self.state)
            keep_free_variables(self.state, earlier, self.C)

    def rebuild(self) -> None:
        """Recompute weights and messages from marginals and multipliers, where they follow."""
        if not self.solver.has_free_weights:
            rebuild(self.view)

    def compile(self) -> None:
        """Have every kernel ready, so that compilation is not counted as training."""
        self.solver.move(self.view, 0)
        state, numbers = self.state, np.zeros(0)
        update_multipliers(state.nu, state.delta, self.factors.message_at[:1], state.active, 1.0)
        ready(penalties, self.view)
        ready(measure, self.view, numbers, numbers, numbers)
        compile_lower_bound(self.view)
        self.rebuild()  # of a start that is not the truth

    # --- moving -------------------------------------------------------------------------------

    def advance(self, n_steps: int) -> None:
        """Visit ``n_steps`` blocks, or as many more as complete an example."""
        before = self.steps // self.blocks
        self._block_steps(n_steps)
        for passes in range(before, self.steps // self.blocks):
            self._between_passes(passes + 1)

    def _block_steps(self, n_steps: int) -> None:
        self.solver.move(self.view, n_steps)

    def _between_passes(self, passes: int) -> None:
        state, solver = self.state, self.solver
        rho = float(state.total[RHO])
        if rho > solver.rho:
            set_penalty(state, max(TIGHTEN * rho, solver.rho))
            state.total[PROGRESS] = 0.0
        elif solver.inner_passes and passes % solver.inner_passes == 0:
            take_direct_step(self.view)
        if solver.order == Order.GAP and passes % 2 == 0:
            self._refresh_gaps()

    def _refresh_gaps(self) -> None:
        gaps = np.zeros(self.blocks)
        measure(self.view, np.zeros(self.n), np.zeros(self.n), gaps)
        set_all_gaps(self.state.sampler.tree, gaps)

    # --- checkpoints --------------------------------------------------------------------------

    def saved_arrays(self) -> dict[str, np.ndarray]:
        return saved_arrays(self)

    def resume(self, arrays: dict[str, np.ndarray], best: Best, damaged: Damaged) -> None:
        resume(self, arrays, best, damaged)

    # --- measuring ----------------------------------------------------------------------------

    @property
    def pass_steps(self) -> int:
        return self.blocks

    @property
    def oracle_calls(self) -> int:
        return 0

    def certify(self) -> Certificate:
        """The bracket of the problem with hard constraints."""
        self.rebuild()
        found = bracket(self.view, self.witness)
        if self.solver.order == Order.GAP:
            set_all_gaps(self.state.sampler.tree, found.block_gaps)
        # Free messages are not those that the penalty's gap is about.
        soft_gap = np.nan if self.solver.has_free_weights else found.soft_gap
        return Certificate(
            found.upper, found.lower, found.block_gaps / self.n, soft_gap, found.violation
        )

    def first_certificate(self, worst: np.ndarray, cold: bool) -> Certificate:
        return self.certify()

    def worst_losses(self, cold: bool) -> np.ndarray:
        """The objective at w = 0, delta = 0, example by example."""
        zero = np.zeros(self.problem.dim)
        return self._values(self.state._replace(w=zero, delta=np.zeros(len(self.state.delta))))

    def upper_bound(self, w: np.ndarray) -> float:
        """Of the objective at these weights, by the present messages."""
        mean = float(self.importance @ self._values(self.state._replace(w=w))) / self.n
        return 0.5 * float(w @ w) / (self.C * self.n) + mean

    def _values(self, state: FactorState) -> np.ndarray:
        """Of all examples, the sum over blocks beyond the truth's score."""
        values = np.zeros(self.n)
        view = self.view._replace(state=state)
        measure(view, values, np.zeros(self.n), np.zeros(self.blocks))
        return values

    @property
    def is_soft_final(self) -> bool:
        """Whether the soft gap is that of the penalty asked for."""
        return bool(self.state.total[RHO] <= self.solver.rho)

    @property
    def is_compiled(self) -> bool:
        return True

    @property
    def inference(self) -> str:
        return "none"

    @property
    def certifies(self) -> str:
        if self.solver.temperature > 0:
            return f"relaxed CRF (Gini entropy, temperature {self.solver.temperature:g})"
        return "LP relaxation"
