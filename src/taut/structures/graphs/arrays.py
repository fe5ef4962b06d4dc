"""The arrays of a graph problem. Compiled code knows the fields by their order."""

from typing import NamedTuple

import numpy as np

from taut.structures.graphs.basis import Basis
from taut.structures.graphs.rows import Rows


class Nodes(NamedTuple):
    """Nodes of all examples, and where the weights of each node type are."""

    rows: Rows  # features
    row: np.ndarray  # (n_nodes,) which of the rows; all labels of a label set share one
    type: np.ndarray  # (n_nodes,)
    states: np.ndarray  # (n_nodes,) number of states, that of the type
    basis: Basis
    at: np.ndarray  # (types,) first weight
    feature_stride: np.ndarray  # (types,) from one feature's weights to the next one's
    basis_stride: np.ndarray  # (types,)
    bias_at: np.ndarray  # (types,) first bias, -1 if none
    width: int  # K, the largest number of states


class Edges(NamedTuple):
    """Edges of all examples, and where the weights of each edge type are."""

    rows: Rows  # features; without features: the constant 1
    start: np.ndarray  # (n,) edges of example i; examples may share theirs
    stop: np.ndarray  # (n,)
    ends: np.ndarray  # (n_edges, 2) numbers of nodes within the example
    type: np.ndarray  # (n_edges,)
    basis: Basis
    at: np.ndarray  # (types,) first weight, counted from weights_at
    weights_at: int  # first of the edges' weights, which are the last of all
    n_weights: int
    lower: np.ndarray  # (n_weights,) 0 or -inf
    width: int


class Loss(NamedTuple):
    truth: np.ndarray  # (n_nodes,) true states
    cost: np.ndarray  # (node types, K, K) cost[type, true, other], zero diagonal
    node_weight: np.ndarray  # (n_nodes,) how much a mistake counts
    scale: np.ndarray  # (n,)


class Counts(NamedTuple):
    """Factors that allow only some numbers of their members to be in state 1 (of two states)."""

    pointer: np.ndarray  # (factors + 1,) members of a factor
    member: np.ndarray  # nodes, counted within the example
    low: np.ndarray  # (factors,) fewest members in state 1
    high: np.ndarray  # most
    start: np.ndarray  # (n + 1,) factors of example i

    def of_first(counts, n: int) -> tuple[np.ndarray, ...]:
        """What describes those of the first n examples."""
        f = counts.start[n]
        pointer = counts.pointer[: f + 1]
        member = counts.member[: pointer[-1]]
        return counts.start[: n + 1], pointer, member, counts.low[:f], counts.high[:f]


class Search(NamedTuple):
    """How the best labelling is found."""

    method: int
    relaxed: bool  # labellings are points of the local polytope, not states of nodes
    order: np.ndarray  # (n_edges,) of max-sum
    messages: np.ndarray  # (_, 2, K) of message passing: where the next call on an example begins
    message_start: np.ndarray  # (n + 1,)
    rounds: int  # of message passing, at most
    accuracy: float  # of message passing, as a fraction of the worst loss of an example


class GraphArrays(NamedTuple):
    nodes: Nodes
    edges: Edges
    loss: Loss
    counts: Counts
    search: Search
    pointer: np.ndarray  # (n + 1,) nodes of example i
    known: np.ndarray  # (n_nodes,) whose true states sums are limited to; empty: no node's
