"""From what a user gives as ``solver=``, a name or an object, to the solver of a problem."""

import difflib
from collections.abc import Callable
from typing import Any

from taut.choice.auto import choose_solver
from taut.choice.registry import (
    AUTO,
    registered_solver,
    solver_names,
    trains_crfs,
    trains_without_inference,
    what_it_trains,
)
from taut.problem.capability import CRF
from taut.solvers.objective import named_penalty
from taut.solvers.solver import Solver

# Of estimators that have no rho: their models are not graphs.
NO_GRAPH = object()


def is_without_inference(solver: Any) -> bool:
    known = registered_solver(solver) if isinstance(solver, str) else solver
    return isinstance(known, Solver) and trains_without_inference(known)


def named_solver(
    solver: Any,
    problem: Any,
    averaging: bool = False,
    *,
    slack_penalty: str = "linear",
    rho: Any = NO_GRAPH,
    temperature: float = 0.0,
    C: float | None = None,
    l1: float = 0.0,
) -> Solver:
    """The solver of this name, or the solver itself; "auto" chooses by the problem.

    For a CRF also by ``C``, if there is but one, and ``l1``. Estimators of graphs have ``rho``;
    those with a ``temperature`` are trained without inference.
    """
    is_crf, has_rho = bool(problem.capabilities & CRF), rho is not NO_GRAPH

    def fits(one: Solver) -> bool:
        if trains_without_inference(one):
            return has_rho and not is_crf
        return trains_crfs(one) == is_crf and temperature == 0

    if is_auto(solver) and temperature == 0:
        penalty = named_penalty(slack_penalty)
        return choose_solver(problem, averaging, rho if has_rho else None, penalty, C, l1)
    chosen = fitting_solver(solver, fits, may_be_auto=temperature == 0)
    # An object has a rho of its own.
    penalty_parameter = {"rho": rho} if has_rho and isinstance(solver, str) else {}
    return chosen.with_options(averaging=averaging, temperature=temperature, **penalty_parameter)


def is_auto(solver: Any) -> bool:
    return isinstance(solver, str) and solver == AUTO


def fitting_solver(
    solver: Any, fits: Callable[[Solver], bool], *, may_be_auto: bool = True
) -> Solver:
    """The solver itself, or that of this name; what does not fit is refused with what does."""
    if isinstance(solver, type):
        raise TypeError(f"solver={solver.__name__} is a class; make one: {solver.__name__}()")
    chosen = registered_solver(solver) if isinstance(solver, str) else solver
    if isinstance(chosen, Solver) and fits(chosen):
        return chosen
    names = [AUTO] * may_be_auto + solver_names(fits)
    trains = f" trains {what_it_trains(chosen)}" if isinstance(chosen, Solver) else ""
    wrong = f"solver={solver!r}{trains}; expected {', '.join(map(repr, names))}, or such an object"
    if not isinstance(solver, str):
        raise TypeError(wrong)
    close = [] if trains else difflib.get_close_matches(solver.lower(), names, 1)
    raise ValueError(wrong + (f"; did you mean {close[0]!r}?" if close else ""))
