"""Everything that compiled code will trust about a graph is checked here.

Errors name the graph, the edge or the column.
"""

import numpy as np

from taut.structures.graphs.model import GraphModel
from taut.structures.graphs.rows import Rows


def check_rows(
    model: GraphModel, nodes: Rows, edges: Rows, node_row: np.ndarray, n_edges: int
) -> None:
    if nodes.n_features != model.n_features:
        raise ValueError(
            f"the nodes have {nodes.n_features} features, the model has {model.n_features}"
        )
    if node_row.size and not 0 <= node_row.min() <= node_row.max() < nodes.n_rows:
        raise ValueError(
            f"there are {nodes.n_rows} rows of node features for {node_row.size} nodes"
        )
    if edges.n_features != model.n_edge_features:
        raise ValueError(
            f"the edges have {edges.n_features} features, the model has {model.n_edge_features}"
        )
    if edges.n_features and edges.n_rows != n_edges:
        raise ValueError(f"there are {edges.n_rows} rows of edge features for {n_edges} edges")


def check_edges(
    model: GraphModel,
    lengths: np.ndarray,
    ends: np.ndarray,
    start: np.ndarray,
    stop: np.ndarray,
    node_type: np.ndarray,
    edge_type: np.ndarray,
    pointer: np.ndarray,
) -> None:
    if len(pointer) < 2 or np.min(lengths) < 1:
        raise ValueError("every graph needs at least one node, and there must be a graph")
    if len(stop) and stop.max() != len(ends):
        raise ValueError(f"n_edges add up to {stop.max()}, there are {len(ends)} edges")
    if not len(ends) or not len(start):
        return
    # Edges of several graphs at once: the smallest of those that share them counts.
    shared = len(start) > 1 and stop[0] == stop[-1]
    graph = np.zeros(len(ends), int) if shared else np.repeat(np.arange(len(start)), stop - start)
    size = np.full(len(ends), np.min(lengths)) if shared else np.asarray(lengths)[graph]
    wrong = np.flatnonzero(((ends < 0) | (ends >= size[:, None])).any(axis=1))
    if wrong.size:
        e = wrong[0]
        raise ValueError(
            f"edge {e - start[graph[e]]} of graph {graph[e]} joins nodes {ends[e, 0]} and "
            f"{ends[e, 1]}, but its nodes are 0 to {size[e] - 1}"
        )
    loops = np.flatnonzero(ends[:, 0] == ends[:, 1])
    if loops.size:
        e = loops[0]
        raise ValueError(
            f"edge {e - start[graph[e]]} of graph {graph[e]} joins node {ends[e, 0]} with itself"
        )
    if not 0 <= edge_type.min() <= edge_type.max() < len(model.joins):
        raise ValueError(
            f"edge types run from {edge_type.min()} to {edge_type.max()}, the model has "
            f"{len(model.joins)}"
        )
    types = node_type[pointer[graph][:, None] + ends]
    wrong = np.flatnonzero((types != np.array(model.joins)[edge_type]).any(axis=1))
    if wrong.size:
        e = wrong[0]
        raise ValueError(
            f"edge {e - start[graph[e]]} of graph {graph[e]} is of type {edge_type[e]}, which "
            f"joins node types {model.joins[edge_type[e]]}, but its ends are of types "
            f"{tuple(types[e].tolist())}"
        )


def check_truth(truth: np.ndarray, states: np.ndarray, pointer: np.ndarray) -> None:
    if len(truth) != len(states):
        raise ValueError(f"there are {len(truth)} labels for {len(states)} nodes")
    wrong = np.flatnonzero((truth < 0) | (truth >= states))
    if wrong.size:
        node = wrong[0]
        graph = int(np.searchsorted(pointer, node, "right")) - 1
        raise ValueError(
            f"node {node - pointer[graph]} of graph {graph} has state {truth[node]}, but its "
            f"states are 0 to {states[node] - 1}"
        )


def check_sign(edges: Rows, start: np.ndarray, stop: np.ndarray) -> None:
    """Non-negative weights are attractive only times non-negative features."""
    values = edges.data if edges.indptr.size > 1 else edges.dense.reshape(-1)
    wrong = np.flatnonzero(values < 0)
    if not wrong.size:
        return
    if edges.indptr.size > 1:
        e = int(np.searchsorted(edges.indptr, wrong[0], "right")) - 1
        column = int(edges.indices[wrong[0]])
    else:
        e, column = (int(part) for part in divmod(wrong[0], edges.n_features))
    graph = int(np.searchsorted(stop, e, "right"))
    raise ValueError(
        f"attractive=True needs edge features that are not negative: edge {e - start[graph]} of "
        f"graph {graph} has {values[wrong[0]]} in column {column}"
    )
