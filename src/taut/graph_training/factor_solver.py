"""What the solvers without inference have in common: options, and the run they move."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np

from taut._compile import ready
from taut.graph_training.bracket import bracket, measure
from taut.graph_training.factor_state import (
    LENGTH,
    PROGRESS,
    RHO,
    SCALE,
    FactorState,
    Rules,
    View,
    add_features,
    fill_truth,
    fill_uniform,
    new_state,
    rebuild,
    write_weights,
)
from taut.graph_training.lower_bound import compile_lower_bound, loss_of, new_witness
from taut.graph_training.multipliers import move_multipliers, penalties, set_penalty
from taut.graph_training.warm_start import take_marginals
from taut.problem.capability import Capability
from taut.solvers.any_run import AnyRun, check_follows
from taut.solvers.certificate import Certificate
from taut.solvers.checks import parsed
from taut.solvers.objective import Objective, problem_bounds
from taut.solvers.sampling import Order, new_sampler, set_all_gaps
from taut.solvers.solution import Solution, describe
from taut.solvers.solver import Solver
from taut.structures.graphs.factors import Factors, factors_of

# What rho is multiplied by after a pass of annealing: 100 becomes 1 in 21 passes.
TIGHTEN = 0.8
# Rounding of a long run; a distribution's sum is off by no more.
ROUNDING = 1e-9


@dataclass(frozen=True)
class FactorSolver(Solver):
    """Options shared by all; see the subclasses.

    ``rho`` is the penalty parameter: a violation B mu costs |B mu|^2 / (2 rho), so small values
    enforce consistency. It is in the scale of a sum over examples, like C. ``temperature`` is the
    weight of the Gini entropy, 0 for the structured SVM. ``order`` is "permuted" or "cyclic"
    (example by example, and the blocks of each), "uniform" (IDAL's) or "gap" (any block). A cold
    run starts with rho ``anneal`` times as large and tightens it pass by pass: loosely held blocks
    go far in few steps; 1 keeps rho fixed. Unless told otherwise it is 100 from the truth, and 1
    with a temperature, where a run starts in the middle of all simplices. Multipliers rest
    meanwhile.
    """

    rho: float = 1.0
    temperature: float = 0.0
    order: Order | str = Order.PERMUTED
    anneal: float | None = None
    check_every: int = 10  # type: ignore[assignment]  # passes between certificates

    needs: ClassVar[Capability] = Capability.FACTORS
    # What the tolerance is about: the bracket of the hard problem, or the soft gap.
    closes_bracket: ClassVar[bool] = False
    is_loose_at_first: ClassVar[bool] = True
    has_multipliers: ClassVar[bool] = False  # or they are zero
    has_free_weights: ClassVar[bool] = False  # or whether w and delta follow from the marginals
    takes_tables: ClassVar[bool] = False  # factors over three or more nodes
    name: ClassVar[str] = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", parsed(Order, self.order, "order"))
        if not (is_real(self.rho) and 0 < self.rho < float("inf")):
            raise ValueError(
                f"rho={self.rho!r}; the penalty parameter must be a positive number: small values "
                "enforce consistency, 1 is a good start"
            )
        if not is_real(self.temperature) or not 0 <= self.temperature < float("inf"):
            raise ValueError(
                f"temperature={self.temperature!r}; it must be a finite number, not negative: 0 is "
                "the structured SVM"
            )
        given = 1.0 if self.anneal is None else self.anneal
        if not (is_real(given) and 1 <= given < float("inf")):
            raise ValueError(
                f"anneal={self.anneal!r}; how many times larger rho is at the start, at least 1"
            )
        self._check_passes("check_every")

    def _check_passes(self, name: str) -> None:
        value = getattr(self, name)
        if type(value) is bool or not isinstance(value, Integral) or value < 1:
            raise ValueError(f"{name}={value!r}; a whole number of passes, at least 1")

    def with_options(
        self, *, averaging: bool = False, temperature: float = 0.0, **penalty: Any
    ) -> Self:
        same = super().with_options(averaging=averaging)
        if self.temperature not in (0.0, temperature):
            raise ValueError(
                f"the solver has temperature {self.temperature:g}, the estimator {temperature:g}; "
                "give it to the estimator: GraphCRF(temperature=..., loss_augmented=True) is the "
                "one with a margin"
            )
        return replace(same, temperature=temperature, **penalty)

    def check_example_order(self) -> None:
        if not self.by_example:
            assert isinstance(self.order, Order)
            raise ValueError(
                f"order={self.order.name.lower()!r}; {type(self).__name__} goes from example to "
                'example, "permuted" or "cyclic"'
            )

    def extend(self, state: FactorState, factors: Factors, n: int) -> FactorState:
        """What the solver keeps beside what all keep."""
        return state

    def keep_free_variables(self, state: FactorState, earlier: Solution, C: float) -> None:
        """What it takes over, beside marginals and multipliers."""

    def check_factors(self, factors: Factors) -> None:
        """Refuse what the solver cannot do, beside tables unless it takes them."""

    @abstractmethod
    def move(self, view: View, n_steps: int) -> None:
        """Visit ``n_steps`` blocks, or as many more as complete an example."""

    def after_pass(self, view: View, passes: int) -> None:
        """What is done between passes, of which there were so many."""
        self.tightens(view)

    def tightens(self, view: View) -> bool:
        """Whether rho is still larger than asked for; then it is made smaller."""
        rho = float(view.state.total[RHO])
        if rho > self.rho:
            set_penalty(view.state, max(TIGHTEN * rho, self.rho))
            view.state.total[PROGRESS] = 0.0
            return True
        return False

    @property
    def by_example(self) -> bool:
        return self.order in (Order.CYCLIC, Order.PERMUTED)

    @property
    def first_rho(self) -> float:
        if self.anneal is None:
            return self.rho * (100.0 if self.temperature == 0 else 1.0)
        return self.rho * self.anneal

    def describe(self) -> str:
        assert isinstance(self.order, Order)
        parts = [f"rho {self.rho:g}", f"order {self.order.name.lower()}"]
        if self.temperature > 0:
            parts.append(f"temperature {self.temperature:g}")
        return f"{self.name} ({', '.join(parts)})"

    def start(self, problem: Any, objective: Objective) -> "FactorRun":
        return FactorRun(problem, self, objective)


def is_real(value: Any) -> bool:
    return isinstance(value, Real)


class FactorRun(AnyRun):
    """Starts cold, or from an earlier solution; then ``advance`` and ``certify``."""

    def __init__(self, problem: Any, solver: FactorSolver, objective: Objective):
        super().__init__(problem, solver, objective)
        self.is_compiled, self.inference, self.certifies = True, "none", "LP relaxation"
        if solver.temperature > 0:
            self.certifies = f"relaxed CRF (Gini entropy, temperature {solver.temperature:g})"
        self.graph, self.factors = problem.arrays, factors_of(problem.arrays)
        n_tables = len(self.factors.tables.norm)
        if n_tables and not solver.takes_tables:
            raise ValueError(
                f"{describe(solver)} steps on nodes, edges and counts, and there are {n_tables} "
                'tables over three or more nodes; use solver="soft-bcfw", "soft-sdca", '
                '"augmented-lagrangian" or "idal"'
            )
        solver.check_factors(self.factors)
        self.blocks = len(self.factors.owner)
        self.state = self._cold_state(objective)
        degree = int(np.diff(self.factors.sender_start).max(initial=0))
        rules = Rules(
            C=self.C,
            temperature=float(solver.temperature),
            # Without entropy, count factors leave no more than 1 / L_d = 1 / rho.
            norm=np.inf if len(self.factors.low) else float(degree + self._most_summed()),
        )
        self.view = View(self.graph, self.factors, self.importance, rules, self.state)

    def _most_summed(self) -> int:
        """Of how many entries of a factor's marginals one of a node's is the sum, at most."""
        tables, states = self.factors.tables, self.graph.nodes.width
        cells = np.repeat(np.diff(tables.at), np.diff(tables.pointer))
        return max(states, int((cells // tables.size).max(initial=0)))

    def _cold_state(self, objective: Objective) -> FactorState:
        problem, solver = self.problem, self.solver
        lower, upper = problem_bounds(problem, objective.bounds)
        v = np.zeros(problem.dim)
        w = np.clip(v, lower, upper) if lower.size else v
        assert isinstance(solver.order, Order)
        sampler = new_sampler(solver.order, self.n if solver.by_example else self.blocks, self.seed)
        state = new_state(self.graph, self.factors, w, v, (lower, upper), sampler)
        state = solver.extend(state, self.factors, self.n)
        state.total[RHO] = solver.first_rho
        state.total[LENGTH] = state.total[SCALE] = 1.0
        fill_truth(self.graph, self.factors, state)
        self.witness = new_witness(state, problem.dim)
        if solver.temperature > 0:
            fill_uniform(self.factors, state)
        return state

    needs_same_relaxation = False

    def take_over(self, earlier: Solution, n_before: int, share: float) -> None:
        """Whichever solver found it."""
        if n_before < self.n:
            raise ValueError(
                f"warm_start: the earlier solution is of {n_before} examples, this run has "
                f"{self.n}, and {describe(self.solver)} cannot add to them; start cold"
            )
        take_marginals(self, earlier, share)
        rebuild(self.view)
        self.solver.keep_free_variables(self.state, earlier, self.C)

    def rebuild(self) -> None:
        """Recompute weights and messages from marginals and multipliers, where they follow."""
        if not self.solver.has_free_weights:
            rebuild(self.view)

    def compile(self) -> None:
        """Have every kernel ready, so that compilation is not counted as training."""
        self.solver.move(self.view, 0)
        state, numbers = self.state, np.zeros(0)
        move_multipliers(state.nu, state.delta, self.factors.message_at[:1], state.active, 1.0)
        ready(penalties, self.view)
        ready(measure, self.view, numbers, numbers, numbers)
        compile_lower_bound(self.view)
        self.rebuild()  # of a start that is not the truth

    # --- moving -------------------------------------------------------------------------------

    def advance(self, n_steps: int) -> None:
        """Visit ``n_steps`` blocks, or as many more as complete an example."""
        before, solver = self.steps // self.blocks, self.solver
        solver.move(self.view, n_steps)
        for passes in range(before + 1, self.steps // self.blocks + 1):
            solver.after_pass(self.view, passes)
            if solver.order == Order.GAP and passes % 2 == 0:
                self._refresh_gaps()

    def _refresh_gaps(self) -> None:
        gaps = np.zeros(self.blocks)
        measure(self.view, np.zeros(self.n), np.zeros(self.n), gaps)
        set_all_gaps(self.state.sampler.tree, gaps)

    # --- checkpoints --------------------------------------------------------------------------

    # Scratch memory, and arrays that follow from the rest.
    left_out = frozenset({"w", "lower", "upper", "scratch"})
    recomputes_objectives = False  # ``primal_of`` is a bound, by the messages of now

    def saved_arrays(self) -> dict[str, np.ndarray]:
        best = self.witness.best._asdict()
        return self.saved_state() | {f"witness.{k}": v for k, v in best.items()}

    def put(self, arrays: dict[str, np.ndarray]) -> None:
        state = self.state
        self._check_distributions(arrays)
        total = arrays["total"]
        if not (total[RHO] > 0 and 0 < total[LENGTH] <= 1 and 0 < total[SCALE] <= 1):
            raise ValueError("a penalty, a step length or a scale that no run has")
        if total[SCALE] != 1 and not self.solver.has_free_weights:
            raise ValueError("a scale that no run of this solver has")
        self.put_state(arrays)
        for name, value in self.witness.best._asdict().items():
            value[...] = arrays[f"witness.{name}"]
        write_weights(state)

    def _check_distributions(self, arrays: dict[str, np.ndarray]) -> None:
        factors = self.factors
        of_edges = np.concatenate([factors.edge_at, factors.tables.at[1:]])
        places = {"node": factors.node_at, "edge": of_edges}
        places |= {f"witness.{name}": at for name, at in places.items()}
        for name, at in places.items():
            marginals = arrays[name]
            sums = np.add.reduceat(marginals, at[:-1]) if len(at) > 1 else np.ones(0)
            if marginals.min(initial=0.0) < -ROUNDING or np.any(abs(sums - 1.0) > ROUNDING):
                raise ValueError(f"array {name} does not hold distributions")
        chosen = arrays["chosen"]
        outside = chosen.min(initial=0.0) < -ROUNDING or chosen.max(initial=0.0) > 1.0 + ROUNDING
        factor = np.repeat(np.arange(len(factors.low)), np.diff(factors.count_at))
        sums = np.bincount(factor, chosen, minlength=len(factors.low))
        slack = ROUNDING * (1.0 + sums)
        if outside or np.any(sums < factors.low - slack) or np.any(sums > factors.high + slack):
            raise ValueError("array chosen does not satisfy the count factors")

    def check(self, arrays: dict[str, np.ndarray], certificate: Certificate) -> None:
        """Weights, messages and the witness's numbers follow from marginals and multipliers."""
        self.put(arrays)
        self.rebuild()
        check_follows(arrays["v"], self.state.v, "weights and dual point")
        check_follows(arrays["delta"], self.state.delta, "messages and dual point")
        best = self.witness.best
        v = np.zeros(len(best.v))
        add_features(self.view, best.node, best.edge, v)
        check_follows(best.v, v, "weights and marginals of the witness")
        loss = np.array([loss_of(self.view, best.node)])
        check_follows(best.loss, loss, "loss and marginals of the witness")

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
            found.upper, found.lower, found.block_gaps / self.n, soft_gap, found.violation,
            found.squared_violation,
        )  # fmt: skip

    def first_certificate(self, worst: np.ndarray, cold: bool) -> Certificate:
        return self.certify()

    def worst_losses(self, cold: bool) -> np.ndarray:
        """The objective at w = 0, delta = 0, example by example."""
        zero = np.zeros(self.problem.dim)
        return self._values(self.state._replace(w=zero, delta=np.zeros(len(self.state.delta))))

    def primal_of(self, w: np.ndarray) -> float:
        """An upper bound of the objective at these weights, by the present messages."""
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
