"""Training without inference: cheap updates of one node or edge at a time.

    soft_bcfw             Meshi, Srebro, Hazan (2015)
    augmented_lagrangian  the same with multipliers: hard constraints
    idal                  SoftSDCA and IDAL, Hu and Obozinski (2018)

A solver's file reads like its paper's listing, whose steps have their names in ``steps``. Problems
whose factors can be seen one by one (graphs) are all they need.
"""

from taut.graph_training.augmented_lagrangian import AugmentedLagrangian
from taut.graph_training.factor_solver import FactorSolver
from taut.graph_training.idal import IDAL, SoftSDCA
from taut.graph_training.soft_bcfw import SoftBCFW

__all__ = [
    "IDAL",
    "AugmentedLagrangian",
    "FactorSolver",
    "SoftBCFW",
    "SoftSDCA",
]
