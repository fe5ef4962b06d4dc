"""Table factors: scores of the joint states of three or more nodes, up to 64 of them.

A factor has a *kind*, which says the types of its nodes in order, and features z (none: the
constant 1). A kind has a weight for every joint state and feature,

    theta_f(y_1, ..., y_m) = <w_table[kind, (y_1, ..., y_m)], z_f>

so all factors of a kind share them. They are the last weights of a model.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from taut._compile import Integers, Labels, Vector, by_reference, compiled
from taut.structures.graphs.arrays import GraphArrays, Tables
from taut.structures.graphs.blocks import clip_row
from taut.structures.graphs.graph_model import GraphModel
from taut.structures.rows import Rows, add_row_to, as_rows, combine_row, squared_norms

TableFactor = tuple[Sequence[int], int]  # nodes within the graph, kind


@by_reference
class TableBlocks(NamedTuple):
    """Table factors as blocks of training without inference; nodes are those of all examples.

    Their marginals follow on those of the edges.
    """

    at: Integers  # (tables + 1,) where the marginals of a table begin
    message_at: Integers  # (tables + 1,) where its messages begin, a number per member and state
    pointer: Integers  # (tables + 1,) its members
    member: Labels
    size: Labels  # how many states each member has
    start: Integers  # (n + 1,) tables of example i
    true_at: Integers  # (tables,) which of the marginals is that of the true joint state
    norm: Vector  # (tables,) squared norm of a table's features


# --- building -------------------------------------------------------------------------------------


def packed_tables(
    factors: Sequence[Sequence[TableFactor]] | None,
    rows: Any,
    model: GraphModel,
    pointer: np.ndarray,
    types: np.ndarray,
) -> Tables:
    """The factors of every graph, checked."""
    n = len(pointer) - 1
    if factors is None:
        factors = [()] * n
    if len(factors) != n:
        raise ValueError(f"tables lists the factors of {len(factors)} graphs, there are {n}")
    sizes, members, kinds = [0], [np.zeros(0, np.int32)], []
    for i, of_graph in enumerate(factors):
        of_nodes = types[pointer[i] : pointer[i + 1]]
        for number, factor in enumerate(of_graph):
            nodes, kind = _checked(factor, f"graph {i}: tables[{number}]", model, of_nodes)
            sizes.append(len(nodes))
            members.append(nodes)
            kinds.append(kind)
    return Tables(
        rows=_checked_rows(rows, len(kinds), model.n_table_features),
        pointer=np.cumsum(sizes).astype(np.int64),
        member=np.concatenate(members),
        type=np.array(kinds, np.int32),
        start=np.cumsum([0, *map(len, factors)]).astype(np.int64),
        **model.table_layout(),
    )


def _checked(
    factor: Any, place: str, model: GraphModel, types: np.ndarray
) -> tuple[np.ndarray, int]:
    if not (isinstance(factor, tuple | list) and len(factor) == 2):
        raise ValueError(f"{place} is {factor!r}; a tuple (nodes, kind) is expected")
    nodes, kind = np.asarray(factor[0]), factor[1]
    if nodes.ndim != 1 or nodes.dtype.kind not in "iu":
        raise ValueError(f"{place} has nodes {factor[0]!r}; a list of integers is expected")
    if isinstance(kind, bool) or not isinstance(kind, int | np.integer):
        raise ValueError(f"{place} is of kind {kind!r}; the number of a kind is expected")
    if not 0 <= kind < len(model.tables):
        raise ValueError(
            f"{place} is of kind {kind}, the model has {len(model.tables)} kinds of tables, "
            "numbered from 0: GraphModel(tables=...) lists the node types of each"
        )
    outside = nodes[(nodes < 0) | (nodes >= len(types))]
    if outside.size:
        raise ValueError(
            f"{place} is over node {outside[0]}, but the nodes are 0 to {len(types) - 1}"
        )
    if len(np.unique(nodes)) < len(nodes):
        raise ValueError(f"{place} lists a node twice: {nodes.tolist()}; list it once")
    wanted, found = tuple(model.tables[kind]), tuple(types[nodes].tolist())
    if found != wanted:
        raise ValueError(
            f"{place} is over nodes of types {found}, but kind {kind} joins types {wanted}, in "
            "that order"
        )
    return nodes.astype(np.int32), int(kind)


def _checked_rows(rows: Any, n_tables: int, n_features: int) -> Rows:
    if rows is None:
        rows = np.zeros((n_tables, 0 if n_tables else n_features))
    rows = as_rows(rows)
    if rows.n_features != n_features:
        raise ValueError(
            f"the tables have {rows.n_features} features, the model has n_table_features="
            f"{n_features}"
        )
    if n_features and rows.n_rows != n_tables:
        raise ValueError(f"there are {rows.n_rows} rows of table features for {n_tables} tables")
    if not np.all(np.isfinite(rows.values)):
        raise ValueError("table features have a value that is NaN or infinite")
    return rows


def table_blocks(graph: GraphArrays, first_marginal: int, first_message: int) -> TableBlocks:
    """Lay out the blocks of all tables."""
    tables = graph.tables
    owner = np.repeat(np.arange(len(tables.start) - 1), np.diff(tables.start))
    per_table = np.diff(tables.pointer)
    member = tables.member + graph.pointer[np.repeat(owner, per_table)]
    size = graph.nodes.states[member]
    messages = np.concatenate([[0], np.cumsum(size)])[tables.pointer]
    at = first_marginal + np.concatenate([[0], np.cumsum(tables.cells[tables.type])])
    truth, true_at = graph.loss.truth[member], at[:-1].copy()
    for f in range(len(true_at)):
        here = slice(tables.pointer[f], tables.pointer[f + 1])
        true_at[f] += np.ravel_multi_index(truth[here], size[here])
    return TableBlocks(
        at=at.astype(np.int64),
        message_at=first_message + messages.astype(np.int64),
        pointer=tables.pointer,
        member=member.astype(np.int32),
        size=size,
        start=tables.start,
        true_at=true_at.astype(np.int64),
        norm=squared_norms(tables.rows) if tables.rows.n_features else np.ones(len(owner)),
    )


def tables_of(graph: GraphArrays, w: np.ndarray, i: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """The table factors of one graph under these weights: nodes, and a score per joint state."""
    tables, states = graph.tables, graph.nodes.states[graph.pointer[i] : graph.pointer[i + 1]]
    found = []
    for f in range(tables.start[i], tables.start[i + 1]):
        nodes = tables.member[tables.pointer[f] : tables.pointer[f + 1]]
        scores = np.zeros(int(np.prod(states[nodes])))
        score_table(tables, w, f, scores)
        found.append((nodes, scores.reshape(states[nodes])))
    return found


def score_of(tables: list[tuple[np.ndarray, np.ndarray]], y: np.ndarray) -> float:
    """The score of a labelling in all of these tables."""
    return float(sum(scores[tuple(y[nodes])] for nodes, scores in tables))


# --- kernels --------------------------------------------------------------------------------------


@compiled
def score_table(tables, w, f, out):
    """out[s] = <w_table[kind, s], z_f>."""
    at = tables.at[tables.type[f]]
    if tables.rows.n_features == 0:
        for s in range(out.size):
            out[s] = w[at + s]
    else:
        combine_row(tables.rows, f, w, at, out.size, 1, out)


@compiled
def push_table(tables, f, d, amount, v):
    """v += amount * features of a change d of the marginals."""
    at = tables.at[tables.type[f]]
    for s in range(d.size):
        if d[s] != 0.0:
            if tables.rows.n_features == 0:
                v[at + s] += amount * d[s]
            else:
                add_row_to(tables.rows, f, amount * d[s], at + s, d.size, v)


@compiled
def clip_table(tables, f, d, v, lower, upper, w):
    """w = clip(v) where ``push_table`` may have changed v."""
    at = tables.at[tables.type[f]]
    for s in range(d.size):
        if tables.rows.n_features == 0:
            w[at + s] = min(max(v[at + s], lower[at + s]), upper[at + s])
        else:
            clip_row(tables.rows, f, at + s, d.size, v, lower, upper, w)
