"""Simplicial decomposition and cutting planes: solvers with a master problem."""

from taut.solvers.decomposition.cutting_plane import CuttingPlane
from taut.solvers.decomposition.decomposition import Decomposition
from taut.solvers.decomposition.simplicial import Simplicial

__all__ = ["CuttingPlane", "Decomposition", "Simplicial"]
