"""The arrays of a graph problem, and what Python asks of them; ``problem`` has what solvers call.

Compiled code knows the fields by their order (see :mod:`taut._compile`).
"""

import hashlib
from typing import NamedTuple

import numpy as np

from taut.inference.methods import RELAXED, Method
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
    search: Search
    pointer: np.ndarray  # (n + 1,) nodes of example i
    importance: np.ndarray  # (n,) sample weights
    n: int
    dim: int

    # --- sizes ---------------------------------------------------------------------------------

    @property
    def n_states(problem) -> int | None:
        """Labellings are numbers below this; None where they are the bits of marginals."""
        return None if problem.search.relaxed else problem.nodes.width

    @property
    def most_nodes(problem) -> int:
        return int(np.diff(problem.pointer).max(initial=0))

    @property
    def most_edges(problem) -> int:
        return int((problem.edges.stop - problem.edges.start).max(initial=0))

    @property
    def longest(problem) -> int:
        if problem.search.relaxed:
            return 2 * (problem.most_nodes * problem.nodes.width + problem.edges.n_weights)
        return problem.most_nodes

    # --- what a run asks -----------------------------------------------------------------------

    @property
    def certifies(problem) -> str:
        """Which problem primal and dual values are those of."""
        return "LP relaxation" if problem.search.relaxed else ""

    def required_bounds(problem) -> tuple[np.ndarray, np.ndarray] | None:
        """Bounds without which inference would not be right; None if there are none."""
        if not np.isfinite(problem.edges.lower).any():
            return None
        lower = np.full(problem.dim, -np.inf)
        lower[problem.edges.weights_at :] = problem.edges.lower
        return lower, np.full(problem.dim, np.inf)

    def fingerprint(problem, n: int | None = None) -> str:
        """A hash of data, labels, losses and model of the first n examples (or all)."""
        n = problem.n if n is None else n
        parts, loss = problem.nodes, problem.loss
        nodes = int(problem.pointer[n])
        edges = int(problem.edges.stop[:n].max(initial=0))
        node_rows = int(parts.row[:nodes].max(initial=-1)) + 1
        digest = hashlib.blake2b(digest_size=16)
        for value in (
            *parts.rows.arrays(node_rows),
            *problem.edges.rows.arrays(edges if problem.edges.rows.n_features else 0),
            problem.pointer[: n + 1],
            problem.edges.start[:n],
            problem.edges.stop[:n],
            problem.edges.ends[:edges],
            problem.edges.type[:edges],
            parts.row[:nodes],
            parts.type[:nodes],
            loss.truth[:nodes],
            loss.node_weight[:nodes],
            loss.scale[:n],
            loss.cost,
            problem.importance[:n],
            *parts.basis,
            *problem.edges.basis,
            parts.bias_at,
            np.array([parts.width, problem.dim, problem.search.relaxed]),
        ):
            digest.update(np.ascontiguousarray(value).data.cast("B") if np.size(value) else b"-")
        return digest.hexdigest()

    def copy_dual(problem, source: np.ndarray, target: np.ndarray) -> None:
        """Copy the dual of this problem, or of its first examples, into ``target``."""
        if source.dtype != np.float64 or not np.all(np.isfinite(source)):
            raise ValueError("marginals must be finite numbers")
        target[: source.size] = source

    def dual_array(problem, mu: np.ndarray) -> np.ndarray:
        return mu

    def hold(problem, i: int, y: np.ndarray) -> None:
        """One more holder of labelling ``y``; it is data, there is nothing to count."""

    def held_at_zero(problem) -> np.ndarray:
        return np.zeros(0, np.int64)

    def worst_losses(problem) -> np.ndarray:
        """max_y loss_i(y): the value of the oracle at w = 0, without calling it."""
        loss = problem.loss
        per_node = loss.cost.max(axis=2)[problem.nodes.type, loss.truth] * loss.node_weight
        return loss.scale * np.add.reduceat(per_node, problem.pointer[:-1])

    def impossible(problem, i: int) -> ValueError:
        """The error to raise for an example that the method cannot label."""
        return ValueError(
            f"{Method(problem.search.method).text} cannot label graph {i}: under these weights an "
            "edge's scores are not attractive (agreeing must score at least as much as "
            "disagreeing); "
            f"use inference={RELAXED[-1].text!r}, or train with attractive=True"
        )
