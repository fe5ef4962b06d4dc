"""What the solvers without inference have in common: penalty, temperature, order, step."""

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

from taut.graph_training.steps import Step, drawn_steps, example_steps
from taut.solvers.bcfw import parsed
from taut.solvers.sampling import Order
from taut.solvers.solver import Objective, Solver
from taut.structures.graphs.factors import Factors


@dataclass(frozen=True)
class FactorSolver(Solver):
    """Options shared by all; see the subclasses.

    ``rho`` is the penalty parameter: a violation B mu costs |B mu|^2 / (2 rho), so small values
    enforce consistency. It is in the scale of a sum over examples, like C. ``temperature`` is the
    weight of the Gini entropy, 0 for the structured SVM. ``order`` is "permuted" or "cyclic"
    (example by example, and the blocks of each), "uniform" or "gap" (any block). A cold run starts
    with rho ``anneal`` times as large and tightens it pass by pass: loosely held blocks go far in
    few steps; 1 keeps rho fixed. Unless told otherwise it is 100 from the truth, and 1 with a
    temperature, where a run starts in the middle of all simplices. Multipliers rest meanwhile.
    """

    rho: float = 1.0
    temperature: float = 0.0
    order: Order | str = Order.PERMUTED
    anneal: float | None = None
    check_every: int = 10  # type: ignore[assignment]  # passes between certificates

    # What the tolerance is about: the bracket of the hard problem, or the soft gap.
    closes_bracket: ClassVar[bool] = False
    is_loose_at_first: ClassVar[bool] = True
    has_working_set: ClassVar[bool] = False  # whether only some edges are moved
    has_free_weights: ClassVar[bool] = False  # or whether w and delta follow from the marginals
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

    def check_example_order(self) -> None:
        if not self.by_example:
            assert isinstance(self.order, Order)
            raise ValueError(
                f"order={self.order.name.lower()!r}; {type(self).__name__} goes from example to "
                'example, "permuted" or "cyclic"'
            )

    def check_factors(self, factors: Factors) -> None:
        """Refuse what the solver cannot do."""

    def move(self, view: Any, n_steps: int) -> None:
        """Visit ``n_steps`` blocks, or as many more as complete an example."""
        steps = example_steps if self.by_example else drawn_steps
        steps(view, n_steps)

    @property
    def by_example(self) -> bool:
        return self.order in (Order.CYCLIC, Order.PERMUTED)

    @property
    def step(self) -> Step:
        return Step.PROJECTED

    @property
    def inner_passes(self) -> int:
        """Passes between two updates of the multipliers; 0 leaves them at zero."""
        return 0

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

    def start(self, problem: Any, objective: Objective) -> Any:
        from taut.graph_training.run import FactorRun  # which knows this class

        return FactorRun(problem, self, objective)


def is_real(value: Any) -> bool:
    return isinstance(value, Real)
