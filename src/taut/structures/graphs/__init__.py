"""Graphs: label sets, trees, grids, superpixels; all are one problem type with other arrays."""

from taut.structures.graphs.build import graph_problem
from taut.structures.graphs.model import GraphModel
from taut.structures.graphs.multilabel import label_edges, label_model, multilabel_problem
from taut.structures.graphs.problem import GraphProblem

__all__ = [
    "GraphModel",
    "GraphProblem",
    "graph_problem",
    "label_edges",
    "label_model",
    "multilabel_problem",
]
