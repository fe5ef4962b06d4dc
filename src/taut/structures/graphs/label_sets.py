"""Label sets: one node of two states per label, joined by edges that all examples share.

Every label has weights of its own for the example's features, and every pair of labels that an edge
joins has weights for the four ways they can go together (Meshi et al. 2015, section 6).
"""

from typing import Any

import numpy as np

from taut.inference.maxsum import forest_order
from taut.memory import check_memory
from taut.structures.graphs.graph_build import graph_problem
from taut.structures.graphs.graph_model import GraphModel
from taut.structures.graphs.graph_problem import GraphProblem
from taut.structures.rows import as_rows


def label_model(
    n_labels: int,
    ends: np.ndarray,
    n_features: int,
    *,
    pairwise: Any = "full",
    bias: bool = True,
    attractive: bool = False,
    by_feature: bool = False,
) -> GraphModel:
    """Label k is node type k, edge e is edge type e."""
    return GraphModel(
        states=(2,) * n_labels,
        joins=tuple((int(u), int(v)) for u, v in ends),
        n_features=n_features,
        n_edge_features=0,
        unary="binary",
        pairwise=pairwise,
        bias=bias,
        attractive=attractive,
        by_feature=by_feature,
    )


def multilabel_problem(
    model: GraphModel, rows: Any, Y: np.ndarray | None, **options: Any
) -> GraphProblem:
    """Rows of features with the indicators (n, L) of their labels, or to be labelled.

    ``options`` are those of :func:`taut.structures.graphs.graph_build.graph_problem`.

    >>> model = label_model(3, label_edges("full", np.eye(3, dtype=int)), n_features=2)
    >>> multilabel_problem(model, np.ones((4, 2)), np.ones((4, 3))).dim  # 3 * (2 + 1) + 3 * 4
    21
    """
    rows = as_rows(rows)
    n, n_labels = rows.n_rows, len(model.states)
    if Y is not None:
        _check_indicators(np.asarray(Y), (n, n_labels))
    ends = np.array(model.joins, np.int32).reshape(-1, 2)
    return graph_problem(
        model,
        rows,
        np.full(n, n_labels),
        None if Y is None else np.asarray(Y, np.int32).reshape(-1),
        ends,
        np.full(n, len(ends)),
        node_type=np.tile(np.arange(n_labels), n),
        edge_type=np.arange(len(ends)),
        node_row=np.repeat(np.arange(n), n_labels),
        shared_edges=True,
        **options,
    )


def _check_indicators(Y: np.ndarray, shape: tuple[int, int]) -> None:
    """Before they are cast to integers, where anything might become a 0 or 1."""
    if Y.shape != shape:
        raise ValueError(f"Y has shape {Y.shape}; expected {shape}, a row per example")
    wrong = np.argwhere((Y != 0) & (Y != 1))
    if wrong.size:
        i, label = wrong[0]
        raise ValueError(f"Y[{i}, {label}] is {Y[i, label]}; 0 or 1 is expected")


def label_edges(edges: Any, Y: np.ndarray) -> np.ndarray:
    """Which labels to join: all pairs ("full"), the best tree, none, or an array (m, 2).

    The tree is Chow and Liu's: the spanning tree of largest mutual information between labels.

    >>> label_edges("tree", np.array([[0, 0, 1], [1, 1, 1], [1, 1, 0], [0, 0, 1]])).tolist()
    [[0, 1], [0, 2]]
    """
    n_labels = Y.shape[1]
    if isinstance(edges, str):
        if edges == "full":
            check_memory(
                3 * n_labels**2,
                f"joining all {n_labels} labels with each other",
                "pairs of labels",
                'use edges="tree" or "none"',
            )
            return np.argwhere(np.triu(np.ones((n_labels, n_labels)), 1)).astype(np.int32)
        if edges == "none":
            return np.zeros((0, 2), np.int32)
        if edges == "tree":
            return _spanning_tree(mutual_information(Y))
        raise ValueError(f'edges={edges!r}; expected "full", "tree", "none" or an array (m, 2)')
    ends = np.asarray(edges)
    if ends.size == 0:
        return np.zeros((0, 2), np.int32)
    if ends.ndim != 2 or ends.shape[1] != 2 or ends.dtype.kind not in "iu":
        raise ValueError(
            f"edges has shape {ends.shape} and type {ends.dtype}; pairs of label numbers, (m, 2), "
            "are expected"
        )
    wrong = np.flatnonzero(((ends < 0) | (ends >= n_labels)).any(1) | (ends[:, 0] == ends[:, 1]))
    if wrong.size:
        raise ValueError(
            f"edge {wrong[0]} joins labels {ends[wrong[0]].tolist()}; two different labels from 0 "
            f"to {n_labels - 1} are expected"
        )
    _, count = np.unique(np.sort(ends, axis=1), axis=0, return_counts=True)
    if count.max() > 1:
        twice = np.unique(np.sort(ends, axis=1), axis=0)[count > 1][0].tolist()
        raise ValueError(f"labels {twice} are joined by more than one edge; list a pair once")
    return ends.astype(np.int32)


def mutual_information(Y: np.ndarray) -> np.ndarray:
    """Between every two labels, in nats."""
    Y = np.asarray(Y, np.float64)
    n = len(Y)
    total = np.zeros((Y.shape[1], Y.shape[1]))
    for a in (Y, 1.0 - Y):
        for b in (Y, 1.0 - Y):
            joint, apart = a.T @ b / n, np.outer(a.mean(0), b.mean(0))
            seen = joint > 0
            total[seen] += joint[seen] * np.log(joint[seen] / apart[seen])
    return total


def _spanning_tree(strength: np.ndarray) -> np.ndarray:
    """Kruskal's, the strongest pairs first; ties go to the lower labels."""
    u, v = np.triu_indices(len(strength), 1)
    chosen: list[tuple[int, int]] = []
    root = np.arange(len(strength))
    for e in np.argsort(-strength[u, v], kind="stable"):
        a, b = int(u[e]), int(v[e])
        if root[a] != root[b]:
            root[root == root[b]] = root[a]
            chosen.append((a, b))
    ends = np.array(chosen, np.int32).reshape(-1, 2)
    assert forest_order(len(strength), ends) is not None
    return ends
