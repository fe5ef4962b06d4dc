"""The subgradient method's options."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Any, ClassVar

from taut.solvers.bcfw import parsed
from taut.solvers.checks import is_count
from taut.solvers.sampling import Order
from taut.solvers.solver import Objective, Solver

# With so many weights, computing them takes about as long as the oracle of a short chain.
WEIGHTS_PER_VISIT = 20_000


class StepRule(IntEnum):
    PEGASOS = 0
    POLYAK = 1


@dataclass(frozen=True)
class Subgradient(Solver):
    """Options of the subgradient method.

    ``step="pegasos"`` visits examples in batches with steps 1 / (lambda t); the ``order`` is
    "permuted", "cyclic" or "uniform". ``step="polyak"`` moves by all examples at once, as far as
    the objective is above its best lower bound.

    A step of Pegasos changes all weights, however few features an example has. ``batch=None``
    therefore makes batches of dim / 20000 examples, at least 1, so that this takes no longer than
    the oracle; Pegasos has such batches too (its k).

    ``averaging`` also keeps the weighted average of the iterates, later ones counting more, and
    returns it unless only the last iterate is within the tolerance. The lower bound is then that
    of labellings averaged likewise, which is much tighter. Certificates are made every
    ``check_every`` passes.

    >>> Subgradient(batch=8).describe()
    'subgradient (Pegasos, order permuted, batch 8, averaging)'
    """

    step: StepRule | str = StepRule.PEGASOS
    order: Order | str = Order.PERMUTED
    batch: int | None = None
    averaging: bool = True
    check_every: int = 10  # type: ignore[assignment]  # an option, not a property

    takes_squared_slacks: ClassVar[bool] = True
    # Iterates of Pegasos approach the optimum from afar, and their average follows slowly.
    average_must_be_lower: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "step", parsed(StepRule, self.step, "step"))
        object.__setattr__(self, "order", parsed(Order, self.order, "order"))
        if self.order is Order.GAP:
            raise ValueError(
                "order='gap'; a subgradient needs examples drawn alike: 'permuted', 'cyclic' or "
                "'uniform'. Sampling by gaps is for BCFW"
            )
        if self.batch is not None and not is_count(self.batch):
            raise ValueError(
                f"batch={self.batch!r}; a whole number of examples, at least 1, or None to choose "
                "by the number of weights"
            )
        if self.batch is not None and self.is_polyak:
            raise ValueError(
                f"batch={self.batch} with step='polyak', which moves by all examples at once; "
                "leave batch out, or use step='pegasos'"
            )
        if not is_count(self.check_every):
            raise ValueError(
                f"check_every={self.check_every!r}; a whole number of passes, at least 1"
            )

    @property
    def is_polyak(self) -> bool:
        return self.step is StepRule.POLYAK

    def batch_size(self, dim: int, n: int) -> int:
        """
        >>> Subgradient().batch_size(4_000, 600), Subgradient().batch_size(1_000_000, 600)
        (1, 50)
        """
        batch = max(1, dim // WEIGHTS_PER_VISIT) if self.batch is None else int(self.batch)
        return min(batch, n)

    def describe(self) -> str:
        assert isinstance(self.order, Order)
        parts = ["Polyak"] if self.is_polyak else ["Pegasos", f"order {self.order.name.lower()}"]
        parts += [] if self.batch is None else [f"batch {self.batch}"]
        parts += ["averaging"] * self.averaging
        return f"subgradient ({', '.join(parts)})"

    def start(self, problem: Any, objective: Objective) -> Any:
        from taut.solvers.subgradient.run import SubgradientRun  # which knows this class

        return SubgradientRun(problem, self, objective)
