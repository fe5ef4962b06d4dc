"""Everything that compiled code will trust about a graph is checked here.

Errors name the graph, the edge or the column.
"""

from typing import Any

import numpy as np

from taut.memory import check_memory
from taut.structures.graphs.arrays import Edges, Nodes
from taut.structures.graphs.graph_model import GraphModel

MOST = 2**31 - 1  # compiled code has 32 bits for most numbers, and larger ones would wrap around


def check_sizes(**expected: tuple[Any, int]) -> None:
    """What is given has one number per graph, node or edge, and each is in range."""
    for name, (given, size) in expected.items():
        if given is None:
            continue
        values, integers = np.asarray(given), name not in ("node_weight", "importance")
        if integers and values.dtype.kind not in "iu":
            raise ValueError(f"{name} has numbers of type {values.dtype}, not integers")
        if values.shape != (size,):
            raise ValueError(f"{name} has shape {values.shape}; expected ({size},)")
        in_range = (values >= 0) & (values <= MOST if integers else values < np.inf)
        if not in_range.all():
            i = int(in_range.argmin())
            wanted = f"whole numbers from 0 to {MOST} are expected"
            raise ValueError(
                f"{name}[{i}] is {values[i]}; "
                + (wanted if integers else "it must be finite and not negative")
            )


def check_cost(cost: np.ndarray, states: tuple[int, ...]) -> None:
    shape, width = np.shape(cost), max(states)
    if shape[-2:] != (width, width) or shape[:-2] not in ((), (len(states),)):
        raise ValueError(
            f"cost has shape {shape}; expected ({width}, {width}), for each of {len(states)} node "
            "types if they differ"
        )
    in_range = 0 <= np.min(cost) <= np.max(cost) < np.inf
    if not in_range or np.any(np.diagonal(cost, axis1=-2, axis2=-1)):
        raise ValueError("cost must be finite and not negative, and 0 for the right answer")


def check_types(types: np.ndarray, model: GraphModel, pointer: np.ndarray) -> None:
    wrong = np.flatnonzero(types >= len(model.states))
    if wrong.size:
        raise ValueError(
            f"{_place(wrong[0], pointer)} is of type {types[wrong[0]]}, the model has types 0 to "
            f"{len(model.states) - 1}"
        )


def _place(node: int, pointer: np.ndarray) -> str:
    graph = int(np.searchsorted(pointer, node, "right")) - 1
    return f"node {node - pointer[graph]} of graph {graph}"


def check_rows(model: GraphModel, nodes: Nodes, edges: Edges, each_its_own: bool) -> None:
    """``each_its_own``: a row of features per node, none is shared."""
    if nodes.rows.n_features != model.n_features:
        raise ValueError(
            f"the nodes have {nodes.rows.n_features} features, the model has {model.n_features}"
        )
    for what, rows in (("node", nodes.rows), ("edge", edges.rows)):
        if not np.all(np.isfinite(rows.data)) or not np.all(np.isfinite(rows.dense)):
            raise ValueError(f"{what} features have a value that is NaN or infinite")
    n_nodes, n_rows = nodes.row.size, nodes.rows.n_rows
    if each_its_own and n_rows != n_nodes:
        raise ValueError(f"there are {n_rows} rows of node features for {n_nodes} nodes")
    if nodes.row.max(initial=-1) >= n_rows:
        i = int((nodes.row >= n_rows).argmax())
        raise ValueError(
            f"node_row[{i}] is {nodes.row[i]}, but there are {n_rows} rows of node features"
        )
    if edges.rows.n_features != model.n_edge_features:
        raise ValueError(
            f"the edges have {edges.rows.n_features} features, the model has "
            f"{model.n_edge_features}"
        )
    if edges.rows.n_features and edges.rows.n_rows != len(edges.ends):
        raise ValueError(
            f"there are {edges.rows.n_rows} rows of edge features for {len(edges.ends)} edges"
        )


def check_edges(
    model: GraphModel,
    pointer: np.ndarray,
    node_type: np.ndarray,
    edges: Edges,
    ends: np.ndarray,
    shared: bool,
) -> None:
    """``ends`` are those of the edges as they were given, in any integer type."""
    lengths = np.diff(pointer)
    if len(lengths) == 0 or lengths.min() < 1:
        raise ValueError("every graph needs at least one node, and there must be a graph")
    if edges.stop.max() != len(ends):
        raise ValueError(f"n_edges add up to {edges.stop.max()}, there are {len(ends)} edges")
    if not len(ends):
        return
    if shared:
        _check_same_types(pointer, node_type, int(edges.ends.max()) + 1)
    # Of edges that several graphs share, the smallest graph decides.
    if shared:
        graph, size = np.zeros(len(ends), np.int64), np.full(len(ends), lengths.min())
    else:
        graph = np.repeat(np.arange(len(lengths)), edges.stop - edges.start)
        size = lengths[graph]
    number = np.arange(len(ends)) - edges.start[graph]
    wrong = np.flatnonzero(((ends < 0) | (ends >= size[:, None])).any(axis=1))
    if wrong.size:
        e = wrong[0]
        raise ValueError(
            f"edge {number[e]} of graph {graph[e]} joins nodes {ends[e, 0]} and {ends[e, 1]}, but "
            f"its nodes are 0 to {size[e] - 1}"
        )
    loops = np.flatnonzero(ends[:, 0] == ends[:, 1])
    if loops.size:
        e = loops[0]
        raise ValueError(
            f"edge {number[e]} of graph {graph[e]} joins node {ends[e, 0]} with itself"
        )
    wrong = np.flatnonzero(edges.type >= len(model.joins))
    if wrong.size:
        e = wrong[0]
        raise ValueError(
            f"edge {number[e]} of graph {graph[e]} is of type {edges.type[e]}, the model has types "
            f"0 to {len(model.joins) - 1}"
        )
    types = node_type[pointer[graph][:, None] + edges.ends]
    wrong = np.flatnonzero((types != np.array(model.joins)[edges.type]).any(axis=1))
    if wrong.size:
        e = wrong[0]
        raise ValueError(
            f"edge {number[e]} of graph {graph[e]} is of type {edges.type[e]}, which joins node "
            f"types {model.joins[edges.type[e]]}, but its ends are of types "
            f"{tuple(types[e].tolist())}"
        )


def _check_same_types(pointer: np.ndarray, node_type: np.ndarray, n_nodes: int) -> None:
    """Of the first nodes of all graphs, which the same edges join."""
    n_nodes = min(n_nodes, int(np.diff(pointer).min()))
    used = np.arange(n_nodes)
    same = (node_type[pointer[:-1, None] + used] == node_type[used]).all(axis=1)
    if not same.all():
        raise ValueError(
            "shared edges need the same node types in all graphs: those of graph "
            f"{np.flatnonzero(~same)[0]} differ from those of graph 0"
        )


def check_truth(truth: np.ndarray, states: np.ndarray, pointer: np.ndarray) -> None:
    if truth.dtype.kind not in "iu":
        raise ValueError(f"truth has numbers of type {truth.dtype}, not integers")
    if truth.ndim != 1:
        raise ValueError(f"truth has shape {truth.shape}; expected {states.shape}")
    if len(truth) != len(states):
        raise ValueError(f"there are {len(truth)} labels for {len(states)} nodes")
    wrong = np.flatnonzero((truth < 0) | (truth >= states))
    if wrong.size:
        node = wrong[0]
        raise ValueError(
            f"{_place(node, pointer)} has state {truth[node]}, but its states are 0 to "
            f"{states[node] - 1}"
        )


def check_attractive(edges: Edges) -> None:
    """Non-negative weights are attractive only times non-negative features."""
    rows = edges.rows
    values = rows.values
    wrong = np.flatnonzero(values < 0)
    if not wrong.size:
        return
    if not rows.is_dense:
        e = int(np.searchsorted(rows.indptr, wrong[0], "right")) - 1
        column = int(rows.indices[wrong[0]])
    else:
        e, column = (int(part) for part in divmod(wrong[0], rows.n_features))
    graph = int(np.searchsorted(edges.stop, e, "right"))
    raise ValueError(
        "attractive=True needs edge features that are not negative: edge "
        f"{e - edges.start[graph]} of graph {graph} has {values[wrong[0]]} in column {column}"
    )


def check_tables(n_tables: int, n_edges: int, width: int) -> None:
    """So many tables of scores or marginals for each edge of the largest graph fit in memory."""
    check_memory(
        n_tables * n_edges * width**2,
        f"there are {width} labels; inference",
        f"pairs of labels at each edge of a graph that has {n_edges}",
        "are these the labels? Merge rare ones, or use smaller graphs",
    )
