"""Solvers by name, for estimators and the command line."""

from dataclasses import replace
from typing import Any

from taut.solvers.auto import choose_solver
from taut.solvers.bcfw import BCFW, Direction
from taut.solvers.frank_wolfe import FrankWolfe
from taut.solvers.sampling import Order

SOLVERS: dict[str, BCFW | FrankWolfe] = {
    # For text: a good model after few passes over many examples.
    "averaged": BCFW(order=Order.PERMUTED, averaging=True, refresh=6),
    "fw": FrankWolfe(),
    "bcfw": BCFW(order=Order.GAP),
    "bcpfw": BCFW(order=Order.GAP, direction=Direction.PAIRWISE),
    "bcafw": BCFW(order=Order.GAP, direction=Direction.AWAY),
    "corrective": BCFW(order=Order.GAP, direction=Direction.CORRECTIVE),
}


def named_solver(solver: Any, problem: Any, averaging: bool) -> BCFW | FrankWolfe:
    """The solver of this name, or the solver itself; "auto" chooses by the problem."""
    if isinstance(solver, str):
        if solver == "auto":
            return choose_solver(problem, averaging=averaging)
        if solver not in SOLVERS:
            raise ValueError(
                f'solver={solver!r}; expected "auto", '
                f"{', '.join(map(repr, SOLVERS))}, or a BCFW or FrankWolfe object"
            )
        chosen = SOLVERS[solver]
    elif isinstance(solver, BCFW | FrankWolfe):
        chosen = solver
    else:
        raise TypeError(f"solver={solver!r}; a name, BCFW or FrankWolfe is expected")
    return replace(chosen, averaging=True) if averaging else chosen
