"""Solvers: optimisation that knows no structure, no label and no estimator."""

from taut.solvers.bcfw import BCFW
from taut.solvers.decomposition import CuttingPlane, Simplicial
from taut.solvers.frank_wolfe import FrankWolfe
from taut.solvers.lbfgs import LBFGS
from taut.solvers.sampling import Order
from taut.solvers.sdca import SDCA
from taut.solvers.solution import Solution, Status
from taut.solvers.solve import solve
from taut.solvers.solver import Solver
from taut.solvers.subgradient import Subgradient

__all__ = [
    "BCFW",
    "LBFGS",
    "SDCA",
    "CuttingPlane",
    "Direction",
    "FrankWolfe",
    "Order",
    "Simplicial",
    "Solution",
    "Solver",
    "Status",
    "Subgradient",
    "solve",
]
