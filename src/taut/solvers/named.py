"""Solvers by name, for estimators and the command line."""

from dataclasses import replace
from typing import Any

from taut.solvers.auto import choose_solver
from taut.solvers.bcfw import BCFW, Direction
from taut.solvers.factorwise import (
    DLPW,
    GDMM,
    IDAL,
    AugmentedLagrangian,
    FactorSolver,
    SoftBCFW,
    SoftSDCA,
)
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

# Without inference, for graphs; they have a penalty rho.
FACTOR_SOLVERS: dict[str, type[FactorSolver]] = {
    "soft-bcfw": SoftBCFW,
    "augmented-lagrangian": AugmentedLagrangian,
    "soft-sdca": SoftSDCA,
    "idal": IDAL,
    "gdmm": GDMM,
    "dlpw": DLPW,
}


def named_solver(
    solver: Any,
    problem: Any,
    averaging: bool,
    *,
    rho: float | None = None,
    temperature: float = 0.0,
) -> BCFW | FrankWolfe | FactorSolver:
    """The solver of this name, or the solver itself; "auto" chooses by the problem.

    Estimators of graphs have ``rho``; those with a ``temperature`` are trained without inference.
    """
    if rho is not None and (isinstance(solver, FactorSolver) or solver in FACTOR_SOLVERS):
        return _factor_solver(solver, averaging, rho, temperature)
    names = [*SOLVERS, *(FACTOR_SOLVERS if rho is not None else ())]
    if temperature > 0:
        raise ValueError(
            f"solver={solver!r} has no temperature; expected one of "
            f"{', '.join(map(repr, FACTOR_SOLVERS))}, or such an object"
        )
    if isinstance(solver, str):
        if solver == "auto":
            return choose_solver(problem, averaging=averaging, rho=rho)
        if solver not in SOLVERS:
            raise ValueError(
                f'solver={solver!r}; expected "auto", '
                f"{', '.join(map(repr, names))}, or a solver object"
            )
        chosen = SOLVERS[solver]
    elif isinstance(solver, BCFW | FrankWolfe):
        chosen = solver
    else:
        raise TypeError(f"solver={solver!r}; a name or a solver object such as BCFW is expected")
    return replace(chosen, averaging=True) if averaging else chosen


def _factor_solver(solver: Any, averaging: bool, rho: float, temperature: float) -> FactorSolver:
    if averaging:
        raise ValueError(
            f"averaging=True is for solvers with an oracle; solver={solver!r} returns its last "
            "iterate"
        )
    if isinstance(solver, str):
        return FACTOR_SOLVERS[solver](rho=rho, temperature=temperature)
    return replace(solver, temperature=temperature) if temperature > 0 else solver
