"""Solvers by name, for estimators and the command line."""

import difflib
from dataclasses import replace
from typing import Any

from taut.choice.auto import choose_solver
from taut.graph_training import (
    DLPW,
    GDMM,
    IDAL,
    AugmentedLagrangian,
    FactorSolver,
    SoftBCFW,
    SoftSDCA,
)
from taut.solvers.bcfw import BCFW, Direction
from taut.solvers.decomposition import CuttingPlane, Decomposition, Simplicial
from taut.solvers.frank_wolfe import FrankWolfe
from taut.solvers.lbfgs import LBFGS
from taut.solvers.penalty import named_penalty
from taut.solvers.sampling import Order
from taut.solvers.sdca import SDCA
from taut.solvers.subgradient import Subgradient

OracleSolver = BCFW | FrankWolfe | Decomposition | Subgradient

SOLVERS: dict[str, OracleSolver] = {
    # For text: a good model after few passes over many examples.
    "averaged": BCFW(order=Order.PERMUTED, averaging=True, refresh=6),
    "fw": FrankWolfe(),
    "bcfw": BCFW(order=Order.GAP),
    "bcpfw": BCFW(order=Order.GAP, direction=Direction.PAIRWISE),
    "bcafw": BCFW(order=Order.GAP, direction=Direction.AWAY),
    "corrective": BCFW(order=Order.GAP, direction=Direction.CORRECTIVE),
    "simplicial": Simplicial(),
    "cutting-plane": CuttingPlane(slacks="n"),
    "cutting-plane-one": CuttingPlane(slacks="one"),
    "subgradient": Subgradient(),
}

# For conditional random fields whose marginals are exact.
CRF_SOLVERS: dict[str, SDCA | LBFGS] = {"sdca": SDCA(), "lbfgs": LBFGS()}

# Without inference, for graphs; they have a penalty rho.
FACTOR_SOLVERS: dict[str, type[FactorSolver]] = {
    "soft-bcfw": SoftBCFW,
    "augmented-lagrangian": AugmentedLagrangian,
    "soft-sdca": SoftSDCA,
    "idal": IDAL,
    "gdmm": GDMM,
    "dlpw": DLPW,
}


# Of estimators that have no rho: their models are not graphs.
NO_GRAPH = object()


def is_without_inference(solver: Any) -> bool:
    return isinstance(solver, FactorSolver) or (
        isinstance(solver, str) and solver in FACTOR_SOLVERS
    )


def named_solver(
    solver: Any,
    problem: Any,
    averaging: bool,
    *,
    slack_penalty: str = "linear",
    rho: Any = NO_GRAPH,
    temperature: float = 0.0,
) -> OracleSolver | FactorSolver:
    """The solver of this name, or the solver itself; "auto" chooses by the problem.

    Estimators of graphs have ``rho``; those with a ``temperature`` are trained without inference.
    """
    has_rho = rho is not NO_GRAPH
    if is_without_inference(solver):
        if not has_rho:
            raise ValueError(
                f"solver={solver!r} is for graphs (GraphSVM, GraphCRF, MultilabelSVM); this model "
                f"has exact and fast inference: use {_listed(['auto', *SOLVERS])}"
            )
        return _factor_solver(solver, averaging, rho, temperature)
    names = (
        [*FACTOR_SOLVERS]
        if temperature > 0
        else ["auto", *SOLVERS, *(FACTOR_SOLVERS if has_rho else ())]
    )
    check_name(solver, names)
    if temperature > 0:
        raise TypeError(
            f"solver={solver!r} has no temperature; expected {_listed(names)}, or such an object"
        )
    if solver == "auto":
        return choose_solver(
            problem,
            averaging=averaging,
            rho=rho if has_rho else None,
            penalty=named_penalty(slack_penalty),
        )
    chosen = SOLVERS[solver] if isinstance(solver, str) else solver
    if not isinstance(chosen, OracleSolver):
        raise TypeError(f"solver={solver!r}; a name or a solver object such as BCFW is expected")
    if averaging and isinstance(chosen, Decomposition):
        raise ValueError(
            f"averaging=True is for solvers that take many small steps; solver={solver!r} solves "
            "its master problem exactly and returns that"
        )
    return replace(chosen, averaging=True) if averaging else chosen  # type: ignore[arg-type]


def named_crf_solver(solver: Any, problem: Any, averaging: bool = False) -> SDCA | LBFGS:
    """The solver of a CRF by its name, or the solver itself; "auto" chooses by the problem."""
    check_name(solver, ["auto", *CRF_SOLVERS])
    if solver == "auto":
        solver = "lbfgs" if problem.is_partial else "sdca"
    chosen = CRF_SOLVERS[solver] if isinstance(solver, str) else solver
    if not isinstance(chosen, SDCA | LBFGS):
        raise TypeError(f"solver={solver!r}; a CRF is trained by SDCA or LBFGS")
    if not averaging:
        return chosen
    if isinstance(chosen, LBFGS):
        raise ValueError('averaging=True is for solver="sdca"; L-BFGS returns its best iterate')
    return replace(chosen, averaging=True)


def check_name(solver: Any, names: list[str]) -> None:
    if isinstance(solver, str) and solver not in names:
        close = difflib.get_close_matches(solver.lower(), names, 1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise ValueError(f"solver={solver!r}; expected {_listed(names)}, or a solver object{hint}")
    if isinstance(solver, type):
        raise TypeError(f"solver={solver.__name__} is a class; make one: {solver.__name__}()")


def _listed(names: list[str]) -> str:
    return ", ".join(map(repr, names))


def _factor_solver(solver: Any, averaging: bool, rho: Any, temperature: float) -> FactorSolver:
    if averaging:
        raise ValueError(
            f"averaging=True is for solvers with an oracle; solver={solver!r} returns its last "
            "iterate"
        )
    if isinstance(solver, str):
        return FACTOR_SOLVERS[solver](rho=rho, temperature=temperature)
    if solver.temperature not in (0.0, temperature):
        raise ValueError(
            f"the solver has temperature {solver.temperature:g}, the estimator {temperature:g}; "
            "give it to the estimator: GraphCRF(temperature=..., loss_augmented=True) is the one "
            "with a margin"
        )
    return replace(solver, temperature=temperature)
