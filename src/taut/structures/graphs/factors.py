"""The factors of all graphs, one after the other: what training without inference works on.

A *block* is a node, an edge, a count factor or a table. They are numbered in this order; examples
that share edges have blocks of their own. Marginals are packed: a node has as many numbers as
states, an edge of nodes with k and l states a row-major table of k * l, a count factor one number
per member, the probability of state 1, a table one per joint state, after those of the edges.
Messages are packed likewise: an edge has k + l of them, a count factor two per member, a table one
per member and state.
"""

from typing import NamedTuple

import numpy as np

from taut._compile import Integers, LabelMatrix, Labels, Vector, by_reference
from taut.memory import check_memory
from taut.structures.graphs.arrays import GraphArrays
from taut.structures.graphs.table_factors import TableBlocks, table_blocks
from taut.structures.rows import squared_norms


@by_reference
class Factors(NamedTuple):
    owner: Labels  # (blocks,) the example of a block
    node_at: Integers  # (n_nodes + 1,) where the marginals of a node begin
    edge_at: Integers  # (n_edges + 1,)
    count_at: Integers  # (n_counts + 1,)
    message_at: Integers  # (factors + 1,) where the messages of an edge, count or table begin
    number: Labels  # (n_edges,) which edge of the arrays it is; examples may share theirs
    ends: LabelMatrix  # (n_edges, 2) its nodes, counted over all examples
    edge_start: Integers  # (n + 1,) edges of example i
    member: Labels  # of count factors: nodes, counted over all examples
    low: Labels  # (n_counts,)
    high: Labels
    count_start: Integers  # (n + 1,) count factors of example i
    sender_start: Integers  # (n_nodes + 1,) the factors of node t ...
    sender_at: Integers  # ... send it messages that begin here
    row_norm: Vector  # (rows,) squared norm of a node's features, with the bias
    edge_norm: Vector  # (edges,) squared norm of an edge's features
    node_spread: Vector  # (node types,) largest |U d|^2 / |d|^2 for d that sum to zero
    edge_spread: Vector  # (edge types,)
    tables: TableBlocks

    @property
    def sizes(factors) -> tuple[int, int, int]:
        """Numbers of nodes, edges and count factors."""
        return len(factors.node_at) - 1, len(factors.edge_at) - 1, len(factors.count_at) - 1


def factors_of(graph: GraphArrays) -> Factors:
    """Lay out the blocks of all examples."""
    nodes, edges, counts = graph.nodes, graph.edges, graph.counts
    n, first = len(graph.pointer) - 1, graph.pointer[:-1]
    states = nodes.states.astype(np.int64)
    per_example = edges.stop - edges.start
    edge_start = _after(per_example)
    edge_owner = np.repeat(np.arange(n), per_example)
    number = np.arange(edge_start[-1]) - edge_start[edge_owner] + edges.start[edge_owner]
    ends = edges.ends[number] + first[edge_owner, None]
    k, other = states[ends[:, 0]], states[ends[:, 1]]
    check_memory(
        int(k @ other) + 2 * int(k.sum() + other.sum()) + int(states.sum()),
        f"there are up to {nodes.width} labels and {len(ends)} edges; training without inference",
        "pairs of labels at each edge",
        "are these the labels? Merge rare ones, or train on fewer examples",
    )
    count_owner = np.repeat(np.arange(n), np.diff(counts.start))
    size = np.diff(counts.pointer)
    member = counts.member + first[np.repeat(count_owner, size)]
    message_at = _after(np.concatenate([k + other, 2 * size]))
    tables = table_blocks(graph, int(k @ other), int(message_at[-1]))
    table_owner = np.repeat(np.arange(n), np.diff(tables.start))
    # Who sends messages to whom, and from where, in the order of the factors.
    begin = message_at[: len(ends)]
    receiver = np.concatenate([ends.reshape(-1), member, tables.member])
    within = np.arange(len(member)) - np.repeat(counts.pointer[:-1], size)
    of_counts = np.repeat(message_at[len(ends) : -1], size) + 2 * within
    of_tables = message_at[-1] + _after(tables.size)[:-1]
    of_edges = np.stack([begin, begin + k], 1).reshape(-1)
    sent_from = np.concatenate([of_edges, of_counts, of_tables])
    by_receiver = np.argsort(receiver, kind="stable")
    has_bias = bool(len(nodes.bias_at) and nodes.bias_at[0] >= 0)
    edge_norm = squared_norms(edges.rows) if edges.rows.n_features else np.ones(len(edges.ends))
    node_owner = np.repeat(np.arange(n), np.diff(graph.pointer))
    return Factors(
        owner=np.concatenate([node_owner, edge_owner, count_owner, table_owner]).astype(np.int32),
        node_at=_after(states),
        edge_at=_after(k * other),
        count_at=counts.pointer.astype(np.int64),
        message_at=np.concatenate([message_at, tables.message_at[1:]]),
        number=number.astype(np.int32),
        ends=ends.astype(np.int32),
        edge_start=edge_start,
        member=member.astype(np.int32),
        low=counts.low,
        high=counts.high,
        count_start=counts.start,
        sender_start=_after(np.bincount(receiver, minlength=len(states))),
        sender_at=sent_from[by_receiver],
        row_norm=squared_norms(nodes.rows) + has_bias,
        edge_norm=edge_norm,
        node_spread=_spreads(nodes.basis, 1, nodes.width, nodes.states, nodes.type),
        edge_spread=_edge_spreads(graph),
        tables=tables,
    )


def _after(sizes: np.ndarray) -> np.ndarray:
    """Where each of consecutive pieces begins, and the end."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _spreads(basis, rank, width, states, types) -> np.ndarray:
    spreads = np.zeros(len(basis.size))
    for kind in range(len(basis.size)):
        of_kind = states[types == kind]
        if len(of_kind):
            table = _table(basis, kind, width**rank)[:, : int(of_kind[0])]
            spreads[kind] = _spread(table)
    return spreads


def _edge_spreads(graph: GraphArrays) -> np.ndarray:
    edges, width = graph.edges, graph.nodes.width
    spreads = np.zeros(len(edges.basis.size))
    found, where = np.unique(edges.type, return_index=True)
    for kind, e in zip(found, where, strict=True):
        example = int(np.searchsorted(edges.stop, e, "right"))
        k, other = graph.nodes.states[graph.pointer[example] + edges.ends[e]]
        table = _table(edges.basis, kind, width * width).reshape(-1, width, width)
        spreads[kind] = _spread(table[:, :k, :other].reshape(len(table), -1))
    return spreads


def _table(basis, kind: int, cells: int) -> np.ndarray:
    """The table of one type, (n_basis, cells)."""
    table = np.zeros((basis.size[kind], cells))
    for cell in range(cells):
        here = slice(basis.pointer[kind * cells + cell], basis.pointer[kind * cells + cell + 1])
        table[basis.number[here], cell] = basis.value[here]
    return table


def _spread(table: np.ndarray) -> float:
    """The largest eigenvalue of T U'U T, with T the projection onto vectors that sum to zero."""
    centred = table - table.mean(axis=1, keepdims=True)
    return float(np.linalg.norm(centred, 2) ** 2)
