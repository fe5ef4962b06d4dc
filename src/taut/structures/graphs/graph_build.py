"""Puts examples under a graph model: checks the arrays, fills in defaults."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from taut.inference.methods import ATTRACTIVE_ONLY, RELAXED, Method
from taut.structures.graphs.arrays import Edges, GraphArrays, Loss, Nodes, Search
from taut.structures.graphs.by_lp import GraphByLP
from taut.structures.graphs.count_factors import CountFactor, packed_counts
from taut.structures.graphs.graph_checks import (
    check_attractive,
    check_cost,
    check_edges,
    check_rows,
    check_sizes,
    check_truth,
    check_types,
)
from taut.structures.graphs.graph_model import GraphModel
from taut.structures.graphs.graph_problem import GraphProblem
from taut.structures.graphs.method import Topology, chosen_method
from taut.structures.graphs.table_factors import TableFactor, packed_tables
from taut.structures.rows import as_rows


def graph_problem(
    model: GraphModel,
    rows: Any,
    lengths: np.ndarray,
    truth: np.ndarray | None,
    ends: np.ndarray,
    n_edges: np.ndarray,
    *,
    edge_rows: Any = None,
    node_type: np.ndarray | None = None,
    edge_type: np.ndarray | None = None,
    node_row: np.ndarray | None = None,
    shared_edges: bool = False,
    cost: np.ndarray | None = None,
    node_weight: np.ndarray | None = None,
    normalize: bool = True,
    counts: Sequence[Sequence[CountFactor]] | None = None,
    tables: Sequence[Sequence[TableFactor]] | None = None,
    table_rows: Any = None,
    importance: np.ndarray | None = None,
    inference: str = "auto",
    rounds: int = 1000,
    accuracy: float = 1e-4,
) -> GraphProblem:
    """Examples under a model, from stacked arrays: all nodes, all edges, one graph after the other.

    ``ends`` numbers nodes within their graph; ``shared_edges`` says that every graph has all of
    them. ``cost`` is (K, K) or (node types, K, K). Message passing stops when its gap is the
    fraction ``accuracy`` of the worst loss: so much it can add to the relative gap. Without
    ``truth`` the problem is for prediction: relaxed solutions are rounded. ``counts`` lists the
    count factors (nodes, low, high) of every graph, ``tables`` the table factors (nodes, kind),
    with a row of ``table_rows`` each, one after the other.

    >>> model = GraphModel((2,), ((0, 0),), n_features=1, n_edge_features=0, pairwise="potts")
    >>> problem = graph_problem(
    ...     model, np.ones((3, 1)), np.array([3]), np.array([0, 1, 1]),
    ...     np.array([[0, 1], [1, 2]]), np.array([2]),
    ... )
    >>> problem.dim, Method(problem.method).text
    (5, 'max-sum')
    """
    n = len(lengths)
    check_sizes(lengths=(lengths, n), n_edges=(n_edges, n))
    lengths, n_edges = np.asarray(lengths, np.int64), np.asarray(n_edges, np.int64)
    pointer = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    n_nodes = int(pointer[-1])
    given_ends = np.asarray(ends).reshape(-1, 2)
    if given_ends.size and given_ends.dtype.kind not in "iu":
        raise ValueError(f"the edges are numbers of type {given_ends.dtype}; integers are expected")
    # Numbers too large are still so after this, and refused by their graph below.
    ends = _owned(np.clip(given_ends, -1, 2**31 - 1), np.int32)
    check_sizes(
        node_type=(node_type, n_nodes),
        edge_type=(edge_type, len(ends)),
        node_row=(node_row, n_nodes),
        node_weight=(node_weight, n_nodes),
        importance=(importance, n),
    )
    of_nodes, of_edges = model.layout()
    types = _numbers(node_type, n_nodes)
    check_types(types, model, pointer)
    nodes = Nodes(
        rows=as_rows(rows),
        row=np.arange(n_nodes) if node_row is None else _owned(node_row, np.int64),
        type=types,
        states=np.array(model.states, np.int32)[types],
        **of_nodes,
    )
    stop = np.cumsum(n_edges).astype(np.int64)
    edges = Edges(
        rows=as_rows(np.zeros((0, 0)) if edge_rows is None else edge_rows),
        start=np.zeros(n, np.int64) if shared_edges else stop - np.asarray(n_edges, np.int64),
        stop=np.full(n, len(ends)) if shared_edges else stop,
        ends=ends,
        type=_numbers(edge_type, len(ends)),
        **of_edges,
    )
    check_rows(model, nodes, edges, each_its_own=node_row is None)
    check_edges(model, pointer, nodes.type, edges, given_ends, shared_edges)
    if truth is not None:
        check_truth(np.asarray(truth), nodes.states, pointer)
    if cost is not None:
        check_cost(cost, model.states)
    factors = packed_counts(counts, pointer, nodes.states, truth)
    joint = packed_tables(tables, table_rows, model, pointer, types)
    weight = _ones(node_weight, n_nodes)
    total = np.add.reduceat(weight, pointer[:-1]) if normalize else np.ones(n)
    loss = Loss(
        truth=np.zeros(n_nodes, np.int32) if truth is None else np.array(truth, np.int32),
        cost=_costs(model, cost),
        node_weight=weight,
        scale=1.0 / np.where(total > 0, total, 1.0),
    )
    topology = Topology(pointer, nodes.states, edges.ends, edges.start, edges.stop, shared_edges)
    if factors.low.size or joint.type.size:
        what = "counts" if factors.low.size else "tables"
        inference = _method_of_integers(inference, what)
    search = _search(inference, model, topology, truth is not None, rounds, accuracy)
    if model.attractive and (truth is not None or search.method in ATTRACTIVE_ONLY):
        model.check_attractive()
        check_attractive(edges)
    arrays = GraphArrays(nodes, edges, loss, factors, joint, search, pointer, np.zeros(0, np.bool_))
    kind = GraphByLP if search.method == Method.LP else GraphProblem
    return kind.of(arrays, _ones(importance, n))


def _search(
    inference: str,
    model: GraphModel,
    topology: Topology,
    trains: bool,
    rounds: int,
    accuracy: float,
) -> Search:
    method = chosen_method(inference, model, topology, trains=trains)
    if trains and method is Method.EXPANSION:
        raise ValueError(
            "alpha-expansion has no bound on what it misses, so training with it would certify "
            'nothing; train with inference="message-passing" and predict with "expansion"'
        )
    start = np.cumsum(np.concatenate([[0], topology.stop - topology.start])).astype(np.int64)
    if method is not Method.MESSAGE_PASSING:
        start[:] = 0
    return Search(
        method=int(method),
        relaxed=trains and method in RELAXED,
        order=topology.order() if method is Method.MAX_SUM else np.zeros(0, np.int32),
        messages=np.zeros((int(start[-1]), 2, model.width)),
        message_start=start,
        rounds=int(rounds),
        accuracy=float(accuracy),
    )


def _method_of_integers(inference: str, what: str) -> str:
    if inference not in ("auto", "lp"):
        raise ValueError(
            f'inference={inference!r} knows nothing of {what}; use "auto" (training without '
            'inference, prediction by an integer program) or "lp"'
        )
    return "lp"


def _owned(values: Any, kind: type) -> np.ndarray:
    """A copy if it is not contiguous: compiled code knows one kind of array."""
    return np.require(values, kind, ["C", "A"])


def _numbers(values: np.ndarray | None, size: int) -> np.ndarray:
    return np.zeros(size, np.int32) if values is None else _owned(values, np.int32)


def _ones(values: np.ndarray | None, size: int) -> np.ndarray:
    return np.ones(size) if values is None else np.array(values, np.float64)


def _costs(model: GraphModel, cost: np.ndarray | None) -> np.ndarray:
    """Cost of every node type, zero for states that it does not have."""
    width = model.width
    whole = np.zeros((len(model.states), width, width))
    for kind, states in enumerate(model.states):
        given = 1.0 - np.eye(states)
        if cost is not None:
            given = np.asarray(cost, np.float64)
            given = (given[kind] if given.ndim == 3 else given)[:states, :states]
        whole[kind, :states, :states] = given
    return whole
