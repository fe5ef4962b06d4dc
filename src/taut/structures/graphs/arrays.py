"""The arrays of a graph problem. Compiled code knows the fields by their order."""

from typing import NamedTuple

import numpy as np

from taut._compile import Cube, Flags, Integers, LabelMatrix, Labels, Vector, by_reference
from taut.structures.graphs.basis import Basis
from taut.structures.rows import Rows


@by_reference
class Nodes(NamedTuple):
    """Nodes of all examples, and where the weights of each node type are."""

    rows: Rows  # features
    row: Integers  # (n_nodes,) which of the rows; all labels of a label set share one
    type: Labels  # (n_nodes,)
    states: Labels  # (n_nodes,) number of states, that of the type
    basis: Basis
    at: Integers  # (types,) first weight
    feature_stride: Integers  # (types,) from one feature's weights to the next one's
    basis_stride: Integers  # (types,)
    bias_at: Integers  # (types,) first bias, -1 if none
    width: int  # K, the largest number of states


@by_reference
class Edges(NamedTuple):
    """Edges of all examples, and where the weights of each edge type are."""

    rows: Rows  # features; without features: the constant 1
    start: Integers  # (n,) edges of example i; examples may share theirs
    stop: Integers  # (n,)
    ends: LabelMatrix  # (n_edges, 2) numbers of nodes within the example
    type: Labels  # (n_edges,)
    basis: Basis
    at: Integers  # (types,) first weight, counted from weights_at
    weights_at: int  # first of the edges' weights; only those of tables follow
    n_weights: int
    lower: Vector  # (n_weights,) 0 or -inf
    width: int


@by_reference
class Loss(NamedTuple):
    truth: Labels  # (n_nodes,) true states
    cost: Cube  # (node types, K, K) cost[type, true, other], zero diagonal
    node_weight: Vector  # (n_nodes,) how much a mistake counts
    scale: Vector  # (n,)


@by_reference
class Counts(NamedTuple):
    """Factors that allow only some numbers of their members to be in state 1 (of two states)."""

    pointer: Integers  # (factors + 1,) members of a factor
    member: Labels  # nodes, counted within the example
    low: Labels  # (factors,) fewest members in state 1
    high: Labels  # most
    start: Integers  # (n + 1,) factors of example i

    def of_first(counts, n: int) -> tuple[np.ndarray, ...]:
        """What describes those of the first n examples."""
        f = counts.start[n]
        pointer = counts.pointer[: f + 1]
        member = counts.member[: pointer[-1]]
        return counts.start[: n + 1], pointer, member, counts.low[:f], counts.high[:f]


@by_reference
class Tables(NamedTuple):
    """Factors over three or more nodes; see ``table_factors``."""

    rows: Rows  # features; without features: the constant 1
    pointer: Integers  # (tables + 1,) members of a table
    member: Labels  # nodes, counted within the example
    type: Labels  # (tables,)
    start: Integers  # (n + 1,) tables of example i
    cells: Labels  # (types,) number of joint states
    at: Integers  # (types,) first weight
    n_weights: int

    def of_first(tables, n: int) -> tuple[np.ndarray, ...]:
        """What describes those of the first n examples."""
        f = tables.start[n]
        pointer = tables.pointer[: f + 1]
        rows = tables.rows.of_first(f) if tables.rows.n_features else ()
        return tables.start[: n + 1], pointer, tables.member[: pointer[-1]], tables.type[:f], *rows


@by_reference
class Search(NamedTuple):
    """How the best labelling is found."""

    method: int
    relaxed: bool  # labellings are points of the local polytope, not states of nodes
    order: Labels  # (n_edges,) of max-sum
    messages: Cube  # (_, 2, K) of message passing: where the next call on an example begins
    message_start: Integers  # (n + 1,)
    rounds: int  # of message passing, at most
    accuracy: float  # of message passing, as a fraction of the worst loss of an example


@by_reference
class GraphArrays(NamedTuple):
    nodes: Nodes
    edges: Edges
    loss: Loss
    counts: Counts
    tables: Tables
    search: Search
    pointer: Integers  # (n + 1,) nodes of example i
    known: Flags  # (n_nodes,) whose true states sums are limited to; empty: no node's
