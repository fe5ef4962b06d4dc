"""Puts examples under a graph model: checks the arrays, fills in defaults."""

from typing import Any

import numpy as np

from taut.inference.methods import RELAXED, Method
from taut.structures.graphs.arrays import Edges, GraphArrays, Loss, Nodes, Search
from taut.structures.graphs.by_lp import GraphByLP
from taut.structures.graphs.checks import check_edges, check_rows, check_sign, check_truth
from taut.structures.graphs.method import Topology, chosen_method
from taut.structures.graphs.model import GraphModel
from taut.structures.graphs.problem import GraphProblem
from taut.structures.graphs.rows import as_rows


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
    importance: np.ndarray | None = None,
    inference: str = "auto",
    rounds: int = 200,
    accuracy: float = 1e-4,
) -> GraphProblem:
    """Examples under a model, from stacked arrays: all nodes, all edges, one graph after the other.

    ``ends`` numbers nodes within their graph; ``shared_edges`` says that every graph has all of
    them. ``cost`` is (K, K) or (node types, K, K). Without ``truth`` the problem is for prediction:
    relaxed solutions are rounded.

    >>> model = GraphModel((2,), ((0, 0),), n_features=1, n_edge_features=0, pairwise="potts")
    >>> problem = graph_problem(
    ...     model, np.ones((3, 1)), np.array([3]), np.array([0, 1, 1]),
    ...     np.array([[0, 1], [1, 2]]), np.array([2]),
    ... )
    >>> problem.dim, Method(problem.method).text
    (5, 'max-sum')
    """
    nodes, n = as_rows(rows), len(lengths)
    pointer = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    n_nodes = int(pointer[-1])
    ends = _owned(ends, np.int32).reshape(-1, 2)
    stop = np.cumsum(n_edges).astype(np.int64)
    start = stop - n_edges
    if shared_edges:
        start, stop = np.zeros(n, np.int64), np.full(n, len(ends))
    edges = as_rows(np.zeros((0, 0)) if edge_rows is None else edge_rows)
    zeros = np.zeros(max(n_nodes, len(ends)), np.int32)
    node_type = zeros[:n_nodes] if node_type is None else _owned(node_type, np.int32)
    edge_type = zeros[: len(ends)] if edge_type is None else _owned(edge_type, np.int32)
    row = np.arange(n_nodes) if node_row is None else _owned(node_row, np.int64)
    states = np.array(model.states, np.int32)[node_type]
    check_rows(model, nodes, edges, row, len(ends))
    check_edges(model, lengths, ends, start, stop, node_type, edge_type, pointer)
    if truth is not None:
        check_truth(np.asarray(truth), states, pointer)
    topology = Topology(pointer, states, ends, start, stop, shared_edges)
    trains = truth is not None
    method = chosen_method(inference, model, topology, trains=trains)
    if model.attractive:
        model.check_attractive()
        check_sign(edges, start, stop)
    if trains and method is Method.EXPANSION:
        raise ValueError(
            "alpha-expansion has no bound on what it misses, so training with it would certify "
            'nothing; train with inference="message-passing" and predict with "expansion"'
        )
    relaxed = trains and method in RELAXED
    messages = np.cumsum(np.concatenate([[0], stop - start]))
    if method is not Method.MESSAGE_PASSING:
        messages[:] = 0
    kind = GraphByLP if method is Method.LP else GraphProblem
    of_nodes, of_edges = model.layout()
    weight = _ones(node_weight, n_nodes)
    total = np.add.reduceat(weight, pointer[:-1]) if normalize else np.ones(n)
    arrays = GraphArrays(
        nodes=Nodes(
            rows=nodes,
            row=row,
            type=node_type,
            states=states,
            **of_nodes,
        ),
        edges=Edges(rows=edges, start=start, stop=stop, ends=ends, type=edge_type, **of_edges),
        loss=Loss(
            truth=np.zeros(n_nodes, np.int32) if truth is None else np.array(truth, np.int32),
            cost=_costs(model, cost),
            node_weight=weight,
            scale=1.0 / np.where(total > 0, total, 1.0),
        ),
        search=Search(
            method=int(method),
            relaxed=relaxed,
            order=topology.order() if method is Method.MAX_SUM else np.zeros(0, np.int32),
            messages=np.zeros((int(messages[-1]), 2, model.width)),
            message_start=messages.astype(np.int64),
            rounds=rounds,
            accuracy=accuracy,
        ),
        pointer=pointer,
    )
    return kind.of(arrays, _ones(importance, n))


def _owned(values: Any, kind: type) -> np.ndarray:
    """A copy if it is not contiguous or read-only: compiled code knows one kind of array."""
    return np.require(values, kind, ["C", "W"])


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
