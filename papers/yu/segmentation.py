"""Segmentation by minimum cuts, section 4.1: edge features and edge weights are not negative.

Horses (superpixels, 242 weights) or, without files, noisy two-state grids (7 weights). Slack
rescaling has an exact oracle where graphs have no cycles, so it gets forests: of each image the
edges whose ends look most alike.
"""

from functools import cache
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import minimum_spanning_tree

from taut.datasets import load_horses, make_gaussian_potts
from taut.graphs import stack_graphs
from taut.structures import slack_rescaled
from taut.structures.graphs import GraphModel, graph_problem

FILES = ("weizmann_horse/rgb.tar", "weizmann_horse/figure_ground.tar")


@cache
def horses(data_home: str | None) -> tuple[list[Any], list[Any]]:
    data = load_horses(data_home, subset="train")
    return data.graphs, data.labels


@cache
def grids(n: int, size: int) -> tuple[list[Any], list[Any]]:
    return make_gaussian_potts(n, size=size, n_states=2, coupling=0.7)


def cut_problem(graphs: list[Any], labels: list[Any]) -> Any:
    """The problem of two labels; every edge weight is kept from becoming negative."""
    stacked = stack_graphs(graphs)
    model = GraphModel(
        (2,), ((0, 0),), stacked.rows.shape[1], stacked.n_edge_features,
        pairwise="potts", unary="binary", attractive=True,
    )  # fmt: skip
    return graph_problem(
        model, stacked.rows, stacked.lengths, np.concatenate(labels), stacked.ends,
        stacked.n_edges, edge_rows=stacked.edge_rows, normalize=False, inference="auto",
    )  # fmt: skip


def rescaled_forests(graphs: list[Any], labels: list[Any]) -> Any:
    return slack_rescaled(cut_problem([forest(graph) for graph in graphs], labels))


def forest(graph: Any) -> Any:
    """The graph with the edges of a spanning forest of largest similarity."""
    nodes, edges, *rest = graph
    similarity = rest[0] if rest else np.ones((len(edges), 1))
    cost = 1.0 + similarity.max() - similarity.mean(axis=1)
    shape = len(nodes), len(nodes)
    tree = minimum_spanning_tree(coo_array((cost, tuple(edges.T)), shape=shape).tocsr()).tocoo()
    kept = set(zip(*(at.tolist() for at in tree.coords), strict=True))
    inside = np.array([(a, b) in kept for a, b in edges.tolist()])
    return nodes, edges[inside], *(part[inside] for part in rest)
