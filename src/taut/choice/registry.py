"""The names of solvers: one registry for estimators, command line, warm-up and documentation.

A name stands for a solver with its options. Which models it trains is not said here: the solver's
class declares it. Solvers of other packages join by :func:`register_solver`, or by an entry point
in the group "taut.solvers", which needs no import: these are looked at when a name is asked for
that is not known yet, or when all names are listed.
"""

import re
import warnings
from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from taut.graph_training import IDAL, AugmentedLagrangian, SoftBCFW, SoftSDCA
from taut.problem.capability import CRF, Capability
from taut.solvers.bcfw import BCFW
from taut.solvers.decomposition import CuttingPlane, Simplicial
from taut.solvers.frank_wolfe import FrankWolfe
from taut.solvers.lbfgs import LBFGS
from taut.solvers.sdca import SDCA
from taut.solvers.solver import Solver, check_solver
from taut.solvers.subgradient import Subgradient

GROUP = "taut.solvers"
AUTO = "auto"  # not a solver's name: it chooses one
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")

_registered: dict[str, Solver] = {}


def register_solver(name: str, solver: Solver, *, replace: bool = False) -> None:
    """Give a solver of your own a name, for ``solver=`` of estimators and ``--solver``.

    ``replace=True`` gives the name of an earlier solver of yours to this one, as when a cell of a
    notebook is run again; the names of taut's own solvers stay theirs. The name is known in this
    process. To have it in every one, the command line's too, let your package declare an entry
    point in the group "taut.solvers".

    >>> from taut import BCFW
    >>> register_solver("bcfw", BCFW(order="permuted"))
    Traceback (most recent call last):
    ValueError: the solver name 'bcfw' is taken, by block-coordinate Frank-Wolfe (order gap, \
direction toward); choose another
    """
    if not (isinstance(name, str) and NAME.fullmatch(name)) or name == AUTO:
        raise ValueError(
            f"{name!r} cannot be the name of a solver; expected lower-case letters and digits, "
            f'with hyphens between words, such as "my-solver", and not {AUTO!r}'
        )
    check_solver(solver)
    if name in _registered and (name in OWN or not replace):
        remedy = "choose another" + ", or say replace=True" * (name not in OWN)
        raise ValueError(
            f"the solver name {name!r} is taken, by {_registered[name].describe()}; {remedy}"
        )
    _registered[name] = solver


def registered_solver(name: str) -> Solver | None:
    """The solver of this name; None if there is none."""
    if name not in _registered:
        for entry in entry_points(group=GROUP, name=name):
            _load(entry)
            break
    return _registered.get(name)


def solver_names(fits: Callable[[Solver], bool]) -> list[str]:
    """The names of all solvers of this kind, taut's own first."""
    for entry in entry_points(group=GROUP):
        if entry.name in OWN or entry.name not in _registered:
            try:
                _load(entry)
            except ValueError as error:  # the other solvers still work
                warnings.warn(str(error), RuntimeWarning, stacklevel=2)
    return [name for name, solver in _registered.items() if fits(solver)]


def trains_svms(solver: Solver) -> bool:
    return Capability.MAX_ORACLE in solver.needs


def trains_crfs(solver: Solver) -> bool:
    return bool(solver.needs & CRF)


def trains_without_inference(solver: Solver) -> bool:
    return Capability.FACTORS in solver.needs


def what_it_trains(solver: Solver) -> str:
    if not trains_without_inference(solver):
        return "CRFs" if trains_crfs(solver) else "SVMs"
    return "graphs without inference (GraphSVM, GraphCRF, MultilabelSVM)"


def _load(entry: EntryPoint) -> None:
    """Register what an installed package offers, a solver or its class."""
    before = set(_registered)
    try:
        offered: Any = entry.load()
        if entry.name in set(_registered) - before:
            return  # its module did so itself
        register_solver(entry.name, offered() if isinstance(offered, type) else offered)
    except Exception as error:  # of code that is not ours
        package = entry.dist.name if entry.dist is not None else "an installed package"
        raise ValueError(
            f"the solver {entry.name!r} of {package} ({entry.value}) cannot be used: {error}; "
            "repair or uninstall the package"
        ) from error


OWN: frozenset[str] = frozenset()  # below they are being registered
# For text: a good model after few passes over many examples.
register_solver("averaged", BCFW(order="permuted", averaging=True, refresh=6))
register_solver("fw", FrankWolfe())
register_solver("bcfw", BCFW())
register_solver("bcpfw", BCFW(direction="pairwise"))
register_solver("bcafw", BCFW(direction="away"))
register_solver("corrective", BCFW(direction="corrective"))
register_solver("simplicial", Simplicial())
register_solver("cutting-plane", CuttingPlane(slacks="n"))
register_solver("cutting-plane-one", CuttingPlane(slacks="one"))
register_solver("subgradient", Subgradient())
# Of conditional random fields.
register_solver("sdca", SDCA())
register_solver("lbfgs", LBFGS())
# Without inference, for graphs.
register_solver("soft-bcfw", SoftBCFW())
register_solver("augmented-lagrangian", AugmentedLagrangian())
register_solver("soft-sdca", SoftSDCA())
register_solver("idal", IDAL())
OWN = frozenset(_registered)
