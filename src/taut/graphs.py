"""Graphs as people have them, checked and stacked into the arrays of a problem."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from taut.arrays.sound_sparse import sound_csr
from taut.graph_tables import StackedTables, checked_tables

EXPECTED = "(node_features, edges) or (node_features, edges, edge_features), or a taut.Graph"
EXPECTED_EDGES = "integers of shape (number of edges, 2) are expected"
MOST_TYPE = 2**31 - 1


class Graph(NamedTuple):
    """One graph; plain tuples of its first two or three fields do as well.

    Fields: ``nodes`` (n, d) features, an array or sparse matrix; ``edges`` (m, 2) integers, which
    number nodes from 0; ``edge_features`` (m, f); ``node_types`` (n,), ``edge_types`` (m,) and
    ``node_weights`` (n,); all but the first two may be None. Where scores depend on the direction
    of an edge (``pairwise="full"``), its first node is the first state's. Types number kinds of
    nodes and edges that have weights of their own. ``node_weights`` say how much a mistake counts.

    ``tables`` lists the nodes of each *table*, three or more whose labels are scored together, in
    an order that is the same for all tables of a type; ``table_features`` (tables, f) and
    ``table_types`` (tables,) are like those of edges. See :class:`taut.GraphSVM`.
    """

    nodes: Any  # (n, d) array or sparse matrix
    edges: Any  # (m, 2) integers
    edge_features: Any = None  # (m, f) array or sparse matrix
    node_types: Any = None  # (n,) integers
    edge_types: Any = None  # (m,) integers
    node_weights: Any = None  # (n,)
    tables: Any = None  # a list of lists of nodes
    table_features: Any = None  # (tables, f)
    table_types: Any = None  # (tables,) integers


class StackedGraphs(NamedTuple):
    """All graphs, one after the other; edges number nodes within their graph."""

    rows: Any
    lengths: np.ndarray
    ends: np.ndarray
    n_edges: np.ndarray
    edge_rows: Any  # None without edge features
    node_type: np.ndarray | None
    edge_type: np.ndarray | None
    node_weight: np.ndarray | None
    tables: StackedTables | None = None  # None if no graph has any

    @property
    def n_table_features(self) -> int:
        return 0 if self.tables is None else self.tables.n_features

    @property
    def n_edge_features(self) -> int:
        return 0 if self.edge_rows is None else self.edge_rows.shape[1]


def stack_graphs(graphs: Any, name: str = "graphs") -> StackedGraphs:
    """Check and join graphs.

    >>> stacked = stack_graphs([(np.eye(2), [[0, 1]]), (np.ones((1, 2)), [])])
    >>> stacked.lengths, stacked.n_edges
    (array([2, 1]), array([1, 0]))
    """
    if isinstance(graphs, Graph) or not isinstance(graphs, Sequence | np.ndarray):
        raise TypeError(f"{name} is a {type(graphs).__name__}; a list of graphs is expected")
    if len(graphs) == 0:
        raise ValueError(f"{name} is empty")
    if isinstance(graphs, tuple) and np.ndim(graphs[0]) == 2:
        raise TypeError(f"{name} looks like one graph; a list of graphs is expected: [graph]")
    parts = [_as_graph(graph, f"{name}[{i}]") for i, graph in enumerate(graphs)]
    nodes = [matrix(g.nodes, f"{name}[{i}]", "node") for i, g in enumerate(parts)]
    lengths = np.array([x.shape[0] for x in nodes], np.int64)
    empty = np.flatnonzero(lengths == 0)
    if empty.size:
        raise ValueError(f"{name}[{empty[0]}] has no nodes; leave it out")
    ends = [_edges(g.edges, lengths[i], f"{name}[{i}]") for i, g in enumerate(parts)]
    n_edges = np.array([len(e) for e in ends], np.int64)
    edge_type = _per_item(parts, "edge_types", n_edges, "edges", np.int32, name)
    _check_no_parallels(np.concatenate(ends), n_edges, edge_type, name)
    return StackedGraphs(
        _joined(nodes, name, "node"),
        lengths,
        np.concatenate(ends),
        n_edges,
        _features(parts, "edge", n_edges, name),
        _per_item(parts, "node_types", lengths, "nodes", np.int32, name),
        edge_type,
        _per_item(parts, "node_weights", lengths, "nodes", np.float64, name),
        _tables(parts, lengths, name),
    )


def _tables(parts: list[Graph], lengths: np.ndarray, name: str) -> StackedTables | None:
    for i, graph in enumerate(parts):
        if graph.tables is None and not (graph.table_features is graph.table_types is None):
            raise ValueError(
                f"{name}[{i}] has features or types of tables, but no tables; [] says that it has "
                "none"
            )
    if all(graph.tables is None for graph in parts):
        return None
    nodes = [checked_tables(g.tables, lengths[i], f"{name}[{i}]") for i, g in enumerate(parts)]
    found = StackedTables(nodes, None, None)
    rows = _features(parts, "table", found.per_graph, name)
    if all(graph.table_types is None for graph in parts):
        return found._replace(rows=rows)
    # A graph without tables may leave their types out.
    none = np.zeros(0, np.int32)
    parts = [
        graph if of_graph else graph._replace(table_types=none)
        for graph, of_graph in zip(parts, nodes, strict=True)
    ]
    types = _per_item(parts, "table_types", found.per_graph, "tables", np.int32, name)
    return found._replace(rows=rows, type=types)


def _check_no_parallels(
    ends: np.ndarray, n_edges: np.ndarray, edge_type: np.ndarray | None, name: str
) -> None:
    """Two edges of one type between the same nodes are one too many: the relaxation would treat
    them as if they had nothing to do with each other. Of different types they are two relations."""
    graph = np.repeat(np.arange(len(n_edges)), n_edges)
    kind = np.zeros(len(ends), np.int32) if edge_type is None else edge_type
    keys = np.column_stack([graph, ends.min(axis=1), ends.max(axis=1), kind])
    order = np.lexsort(keys.T[::-1])
    same = np.flatnonzero((np.diff(keys[order], axis=0) == 0).all(axis=1))
    if same.size:
        i, u, v, _ = keys[order[same[0]]]
        raise ValueError(
            f"{name}[{i}] has two edges between nodes {u} and {v}; give each pair once, whichever "
            "way round (np.unique(np.sort(edges, axis=1), axis=0)), or different edge_types"
        )


def _as_graph(graph: Any, place: str) -> Graph:
    if isinstance(graph, Graph):
        return graph
    if isinstance(graph, tuple | list) and len(graph) in (2, 3):
        return Graph(*graph)
    described = f"{type(graph).__name__}"
    if isinstance(graph, tuple | list):
        described += f" of {len(graph)} values"
    raise TypeError(f"{place} is a {described}; {EXPECTED} is expected")


def matrix(x: Any, place: str, kind: str) -> Any:
    """A matrix of finite numbers with a row per node or edge, dense or CSR."""
    if not sparse.issparse(x):
        try:
            x = np.asarray(x)
            if np.iscomplexobj(x) or x.dtype.kind not in "biuf":
                raise TypeError
            x = x.astype(np.float64, copy=False)
        except (TypeError, ValueError):
            raise TypeError(f"{kind} features of {place} are not a matrix of numbers") from None
    if x.ndim != 2:
        raise ValueError(
            f"{kind} features of {place} have shape {x.shape}; one row per {kind} is expected"
            + ("; x[:, None] makes a column of them" if x.ndim == 1 else "")
        )
    if sparse.issparse(x):
        x = sound_csr(x, f"the matrix of {kind} features of {place}")
        x = x.astype(np.float64, copy=False)
    values = x.data if sparse.issparse(x) else x
    if np.all(np.isfinite(values)):
        return x
    row, column = np.argwhere(~np.isfinite(x.toarray() if sparse.issparse(x) else x))[0]
    raise ValueError(
        f"{kind} features of {place} have a value that is NaN or infinite at {kind} {row}, "
        f"column {column}; replace it or leave the graph out"
    )


def _joined(parts: list[Any], name: str, kind: str) -> Any:
    for i, x in enumerate(parts):
        if x.shape[1] != parts[0].shape[1]:
            raise ValueError(
                f"{name}[{i}] has {x.shape[1]} features per {kind} but {name}[0] has "
                f"{parts[0].shape[1]}"
            )
        if sparse.issparse(x) != sparse.issparse(parts[0]):
            raise TypeError(f"{name}[{i}] and {name}[0] mix dense and sparse {kind} features")
    return (
        sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.concatenate(parts)
    )


def _edges(edges: Any, n_nodes: int, place: str) -> np.ndarray:
    if sparse.issparse(edges):
        raise TypeError(
            f"the edges of {place} are a sparse matrix; pairs of nodes (number of edges, 2) are "
            "expected: np.argwhere(matrix) of one triangle"
        )
    try:
        ends = np.asarray(edges)
    except ValueError:
        raise ValueError(f"the edges of {place} are ragged; {EXPECTED_EDGES}") from None
    if ends.size == 0:
        return np.zeros((0, 2), np.int32)
    if ends.ndim != 2 or ends.shape[1] != 2 or ends.dtype.kind not in "iu":
        raise ValueError(
            f"the edges of {place} are an array of shape {ends.shape} and type {ends.dtype}; "
            + EXPECTED_EDGES
            + ("; transpose them" if ends.ndim == 2 and ends.shape[0] == 2 else "")
        )
    wrong = np.flatnonzero(((ends < 0) | (ends >= n_nodes)).any(axis=1))
    if wrong.size:
        u, v = ends[wrong[0]]
        raise ValueError(
            f"edge {wrong[0]} of {place} joins nodes {u} and {v}, but its {n_nodes} nodes are "
            f"numbered 0 to {n_nodes - 1}"
            + ("; subtract 1 if yours begin with 1" if ends.min() == 1 else "")
        )
    loops = np.flatnonzero(ends[:, 0] == ends[:, 1])
    if loops.size:
        raise ValueError(f"edge {loops[0]} of {place} joins node {ends[loops[0], 0]} with itself")
    return ends.astype(np.int32)


def _features(parts: list[Graph], kind: str, counts: np.ndarray, name: str) -> Any:
    """Of all edges, or of all tables."""
    values = [getattr(graph, f"{kind}_features") for graph in parts]
    given = [i for i, value in enumerate(values) if value is not None]
    if not given:
        return None
    matrices = []
    # A graph without edges may leave its features out.
    absent = [i for i, value in enumerate(values) if value is None and counts[i]]
    if absent:
        raise ValueError(
            f"{name}[{absent[0]}] has no {kind} features but {name}[{given[0]}] has; give them for "
            "all graphs or for none"
        )
    first = matrix(values[given[0]], f"{name}[{given[0]}]", kind)
    for i, value in enumerate(values):
        if counts[i] == 0:
            empty = sparse.csr_array if sparse.issparse(first) else np.zeros
            x = empty((0, first.shape[1]))
        else:
            x = matrix(value, f"{name}[{i}]", kind)
        if x.shape[0] != counts[i]:
            raise ValueError(
                f"{name}[{i}] has {counts[i]} {kind}s but {x.shape[0]} rows of {kind} features"
            )
        if x.shape[1] != first.shape[1]:
            raise ValueError(
                f"{name}[{i}] has {x.shape[1]} features per {kind} but {name}[{given[0]}] has "
                f"{first.shape[1]}"
            )
        matrices.append(x)
    return _joined(matrices, name, kind)


def _per_item(
    parts: list[Graph], field: str, counts: np.ndarray, what: str, kind: type, name: str
) -> np.ndarray | None:
    """One number per node or edge; None if no graph has them."""
    given = [getattr(graph, field) is not None for graph in parts]
    if not any(given):
        return None
    values: list[np.ndarray] = []
    for i, graph in enumerate(parts):
        if not given[i]:
            raise ValueError(
                f"{name}[{i}] has no {field} but {name}[{given.index(True)}] has; give them for "
                "all graphs or for none"
            )
        try:
            numbers = np.asarray(getattr(graph, field))
        except ValueError:
            raise ValueError(
                f"{field} of {name}[{i}] are ragged; one number per {what[:-1]} is expected"
            ) from None
        if numbers.shape != (counts[i],):
            raise ValueError(
                f"{field} of {name}[{i}] has shape {numbers.shape}, it has {counts[i]} {what}"
            )
        wrong = _no_types(numbers) if kind is np.int32 else _no_weights(numbers)
        if wrong.any():
            at = int(wrong.argmax())
            value = numbers.tolist()[at]
            raise ValueError(
                f"{what[:-1]} {at} of {name}[{i}] "
                + (
                    f"is of type {value!r}; types are integers from 0 to {MOST_TYPE}"
                    if kind is np.int32
                    else f"has weight {value!r}; it must be finite and not negative"
                )
            )
        values.append(numbers.astype(kind))
    return np.concatenate(values)


def _no_types(numbers: np.ndarray) -> np.ndarray:
    """Which are no integers of 32 bits from 0 on; others would wrap around, and be one."""
    if numbers.dtype.kind in "iu":
        return (numbers < 0) | (numbers > MOST_TYPE)
    return np.array(
        [
            isinstance(value, bool)
            or not isinstance(value, int | np.integer)
            or not 0 <= value <= MOST_TYPE
            for value in numbers.tolist()
        ],
        bool,
    )


def _no_weights(numbers: np.ndarray) -> np.ndarray:
    if numbers.dtype.kind not in "iuf":
        return np.ones(len(numbers), bool)
    return ~(np.isfinite(numbers) & (numbers >= 0))


def place_of(number: int, counts: np.ndarray, what: str) -> str:
    """The name of a node or edge among those of all graphs, which have so many.

    >>> place_of(3, np.array([2, 2]), "node")
    'node 1 of graphs[1]'
    """
    stop = np.cumsum(counts)
    graph = int(np.searchsorted(stop, number, "right"))
    return f"{what} {number - (stop[graph] - counts[graph])} of graphs[{graph}]"


def without_nodes(stacked: StackedGraphs, keep: np.ndarray) -> tuple[StackedGraphs, np.ndarray]:
    """The same graphs without the nodes not kept and their edges; and which graphs are left."""
    if keep.all():
        return stacked, np.ones(len(stacked.lengths), bool)
    graph_of = np.repeat(np.arange(len(stacked.lengths)), stacked.lengths)
    lengths = np.bincount(graph_of[keep], minlength=len(stacked.lengths))
    before = np.cumsum(lengths) - lengths
    first = np.cumsum(stacked.lengths) - stacked.lengths
    edge_graph = np.repeat(np.arange(len(stacked.lengths)), stacked.n_edges)
    whole = stacked.ends + first[edge_graph][:, None]
    kept_edge = keep[whole].all(axis=1)
    number = np.cumsum(keep) - 1
    ends = number[whole[kept_edge]] - before[edge_graph[kept_edge]][:, None]
    left = lengths > 0

    def part(values: Any, kept: np.ndarray) -> Any:
        return None if values is None else values[kept]

    return (
        StackedGraphs(
            stacked.rows[keep],
            lengths[left],
            ends.astype(np.int32),
            np.bincount(edge_graph[kept_edge], minlength=len(lengths))[left],
            part(stacked.edge_rows, kept_edge),
            part(stacked.node_type, keep),
            part(stacked.edge_type, kept_edge),
            part(stacked.node_weight, keep),
            None if stacked.tables is None else stacked.tables.without(keep, stacked.lengths),
        ),
        left,
    )
