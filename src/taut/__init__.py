"""Structured prediction with a certificate.

    >>> from taut import ChainSVM
    >>> from taut.datasets import make_digit_words
    >>> X, y = make_digit_words(30, random_state=0)
    >>> clf = ChainSVM(C=0.1, random_state=0).fit(X, y)
    >>> bool(clf.solution_.relative_gap <= 0.03)
    True

Names are imported when first used, so that ``import taut`` stays fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from taut.arrays.sequences import Sequences as Sequences
    from taut.check import check_problem as check_problem
    from taut.choice.registry import register_solver as register_solver
    from taut.estimators import ChainCRF as ChainCRF
    from taut.estimators import ChainCRFCV as ChainCRFCV
    from taut.estimators import ChainSVM as ChainSVM
    from taut.estimators import ChainSVMCV as ChainSVMCV
    from taut.estimators import GraphCRF as GraphCRF
    from taut.estimators import GraphSVM as GraphSVM
    from taut.estimators import GraphSVMCV as GraphSVMCV
    from taut.estimators import MulticlassSVM as MulticlassSVM
    from taut.estimators import MulticlassSVMCV as MulticlassSVMCV
    from taut.estimators import MultilabelSVM as MultilabelSVM
    from taut.estimators import MultilabelSVMCV as MultilabelSVMCV
    from taut.estimators import PoseSVM as PoseSVM
    from taut.estimators import StructuredSVM as StructuredSVM
    from taut.estimators import StructuredSVMCV as StructuredSVMCV
    from taut.estimators import TreeCRF as TreeCRF
    from taut.estimators import load as load
    from taut.graph_training import IDAL as IDAL
    from taut.graph_training import AugmentedLagrangian as AugmentedLagrangian
    from taut.graph_training import SoftBCFW as SoftBCFW
    from taut.graph_training import SoftSDCA as SoftSDCA
    from taut.graphs import Graph as Graph
    from taut.path import PathStatus as PathStatus
    from taut.path import RegularizationPath as RegularizationPath
    from taut.path import regularization_grid as regularization_grid
    from taut.path import regularization_path as regularization_path
    from taut.problem.python_problem import PythonProblem as PythonProblem
    from taut.solvers import BCFW as BCFW
    from taut.solvers import LBFGS as LBFGS
    from taut.solvers import SDCA as SDCA
    from taut.solvers import CuttingPlane as CuttingPlane
    from taut.solvers import FrankWolfe as FrankWolfe
    from taut.solvers import Simplicial as Simplicial
    from taut.solvers import Solution as Solution
    from taut.solvers import Status as Status
    from taut.solvers import Subgradient as Subgradient
    from taut.solvers import solve as solve
    from taut.structures import smoothed as smoothed
    from taut.tagger import Tagger as Tagger
    from taut.text import Columns as Columns

_HOME = {
    "AugmentedLagrangian": "taut.graph_training",
    "BCFW": "taut.solvers",
    "Columns": "taut.text",
    "ChainCRF": "taut.estimators",
    "ChainCRFCV": "taut.estimators",
    "ChainSVM": "taut.estimators",
    "ChainSVMCV": "taut.estimators",
    "CuttingPlane": "taut.solvers",
    "FrankWolfe": "taut.solvers",
    "Graph": "taut.graphs",
    "GraphCRF": "taut.estimators",
    "GraphSVM": "taut.estimators",
    "GraphSVMCV": "taut.estimators",
    "IDAL": "taut.graph_training",
    "LBFGS": "taut.solvers",
    "MulticlassSVM": "taut.estimators",
    "MulticlassSVMCV": "taut.estimators",
    "MultilabelSVM": "taut.estimators",
    "MultilabelSVMCV": "taut.estimators",
    "PathStatus": "taut.path",
    "PoseSVM": "taut.estimators",
    "PythonProblem": "taut.problem.python_problem",
    "RegularizationPath": "taut.path",
    "SDCA": "taut.solvers",
    "Sequences": "taut.arrays.sequences",
    "Simplicial": "taut.solvers",
    "SoftBCFW": "taut.graph_training",
    "SoftSDCA": "taut.graph_training",
    "Solution": "taut.solvers",
    "Status": "taut.solvers",
    "StructuredSVM": "taut.estimators",
    "StructuredSVMCV": "taut.estimators",
    "Subgradient": "taut.solvers",
    "Tagger": "taut.tagger",
    "TreeCRF": "taut.estimators",
    "check_problem": "taut.check",
    "load": "taut.estimators",
    "register_solver": "taut.choice.registry",
    "regularization_grid": "taut.path",
    "regularization_path": "taut.path",
    "smoothed": "taut.structures",
    "solve": "taut.solvers",
}
__all__ = [*_HOME, "__version__"]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'taut' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
