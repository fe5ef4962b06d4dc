"""Graphs: label sets, trees, grids, superpixels; all are one problem type with other arrays."""

from taut.structures.graphs.graph_build import graph_problem
from taut.structures.graphs.graph_model import GraphModel
from taut.structures.graphs.graph_problem import GraphProblem
from taut.structures.graphs.label_sets import label_edges, label_model, multilabel_problem

__all__ = [
    "GraphModel",
    "GraphProblem",
    "graph_problem",
    "label_edges",
    "label_model",
    "multilabel_problem",
]
