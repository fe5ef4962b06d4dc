"""What solvers see of a graph problem, and what they ask that needs no scratch memory."""

import hashlib
from typing import NamedTuple

import numpy as np

from taut._compile import Integers, Problem, Vector, by_reference
from taut.inference.methods import Method
from taut.problem.capability import Capability
from taut.structures.graphs.arrays import GraphArrays
from taut.structures.rows import squared_norms

# Whatever inference is used; sums and the oracle of slack rescaling are exact on forests only.
ON_RELAXATIONS = (
    Capability.MAX_ORACLE
    | Capability.FACTORS
    | Capability.SUM_ORACLE
    | Capability.RESCALED_ORACLE
    | Capability.CLAMPING
)
WITH_TABLES = Capability.FACTORS | Capability.DECODING


@by_reference
class GraphFields(NamedTuple):
    arrays: GraphArrays
    oracle: Problem  # finds the best labelling: see ``oracle``
    pointer: Integers  # (n + 1,) nodes of example i
    importance: Vector  # (n,) sample weights
    width: int  # the largest number of states
    n_edge_weights: int
    method: int  # of inference
    relaxed: bool  # labellings are points of the local polytope, not states of nodes
    n: int
    dim: int


class DescribedGraphs(GraphFields):
    __slots__ = ()

    @property
    def n_states(problem) -> int | None:
        """Labellings are numbers below this; None where they are the bits of marginals."""
        return None if problem.relaxed else problem.width

    @property
    def most_nodes(problem) -> int:
        return int(np.diff(problem.pointer).max(initial=0))

    @property
    def largest_image(problem) -> int:
        """How many numbers the largest dual block has."""
        return problem.most_nodes * problem.width + problem.n_edge_weights

    @property
    def most_edges(problem) -> int:
        edges = problem.arrays.edges
        return int((edges.stop - edges.start).max(initial=0))

    @property
    def longest(problem) -> int:
        if problem.relaxed:
            return 2 * (problem.most_nodes * problem.width + problem.n_edge_weights)
        return problem.most_nodes

    @property
    def n_numbers(problem) -> int:
        """How many feature values scoring all examples reads; an edge without any counts as one."""
        nodes, edges = problem.arrays.nodes, problem.arrays.edges
        of_edges = (edges.stop - edges.start).sum() * max(edges.rows.n_features, 1)
        tables = problem.arrays.tables
        of_tables = len(tables.type) * max(tables.rows.n_features, 1)
        return int(nodes.rows.lengths()[nodes.row].sum() + of_edges + of_tables)

    @property
    def capabilities(problem) -> Capability:
        if problem.has_tables:  # which only training without inference and integer programs know
            return Capability.FACTORS if problem.relaxed else WITH_TABLES
        return ON_RELAXATIONS if problem.relaxed else ON_RELAXATIONS | Capability.DECODING

    def choices(problem, i: int) -> np.ndarray | None:
        if problem.relaxed or problem.has_counts or problem.arrays.known.size:
            return None
        return problem.arrays.nodes.states[problem.pointer[i] : problem.pointer[i + 1]]

    def largest_entropy(problem, i: int, image: np.ndarray) -> float:
        """That of its nodes, if they were independent."""
        nodes = int(problem.pointer[i + 1] - problem.pointer[i]) * problem.width
        p = np.clip(image[:nodes], 1e-300, 1.0)
        return float(-(p * np.log(p)).sum())

    @property
    def mean_norm(problem) -> float:
        """|features|^2 of a labelling, as if no features were shared by its factors; the mean."""
        nodes, edges = problem.arrays.nodes, problem.arrays.edges
        ones = len(nodes.row) + len(edges.ends)  # biases, and edges without features
        of_edges = squared_norms(edges.rows).sum() if edges.rows.n_features else 0.0
        return float(squared_norms(nodes.rows)[nodes.row].sum() + of_edges + ones) / problem.n

    @property
    def has_counts(problem) -> bool:
        return problem.arrays.counts.low.size > 0

    @property
    def has_tables(problem) -> bool:
        """Whether the model has weights of tables; graphs need not have any."""
        return problem.arrays.tables.n_weights > 0

    @property
    def inference(problem) -> str:
        return Method(problem.method).text

    @property
    def certifies(problem) -> str:
        """Which problem primal and dual values are those of."""
        return "LP relaxation" if problem.relaxed else ""

    def required_bounds(problem) -> tuple[np.ndarray, np.ndarray] | None:
        """Bounds without which inference would not be right; None if there are none."""
        edges = problem.arrays.edges
        if not np.isfinite(edges.lower).any():
            return None
        lower = np.full(problem.dim, -np.inf)
        lower[edges.weights_at : edges.weights_at + edges.n_weights] = edges.lower
        return lower, np.full(problem.dim, np.inf)

    def fingerprint(problem, n: int | None = None) -> str:
        """A hash of data, labels, losses and model of the first n examples (or all)."""
        n = problem.n if n is None else n
        nodes, edges, loss = problem.arrays.nodes, problem.arrays.edges, problem.arrays.loss
        n_nodes = int(problem.pointer[n])
        n_edges = int(edges.stop[:n].max(initial=0))
        n_rows = int(nodes.row[:n_nodes].max(initial=-1)) + 1
        digest = hashlib.blake2b(digest_size=16)
        for value in (
            *nodes.rows.of_first(n_rows),
            *edges.rows.of_first(n_edges if edges.rows.n_features else 0),
            problem.pointer[: n + 1],
            edges.start[:n],
            edges.stop[:n],
            edges.ends[:n_edges],
            edges.type[:n_edges],
            nodes.row[:n_nodes],
            nodes.type[:n_nodes],
            loss.truth[:n_nodes],
            loss.node_weight[:n_nodes],
            loss.scale[:n],
            loss.cost,
            problem.importance[:n],
            *nodes.basis,
            *edges.basis,
            nodes.bias_at,
            *problem.arrays.counts.of_first(n),
            problem.arrays.known[:n_nodes],
            np.array([problem.width, problem.dim]),
            *(problem.arrays.tables.of_first(n) if problem.has_tables else ()),
        ):
            digest.update(np.ascontiguousarray(value).data.cast("B") if np.size(value) else b"-")
        return digest.hexdigest()

    @property
    def memory(problem) -> np.ndarray:
        """What the oracle remembers from call to call: part of the state of a run."""
        return problem.arrays.search.messages

    def slack(problem) -> float:
        """How much more than another time the oracle may prove: its accuracy, on average."""
        worst = problem.worst_losses()
        if worst is None or problem.method != Method.MESSAGE_PASSING:
            return 0.0
        return float(problem.arrays.search.accuracy * (problem.importance @ worst) / problem.n)

    def worst_losses(problem) -> np.ndarray | None:
        """max_y loss_i(y), without calling the oracle; None where counts forbid some labellings."""
        if problem.has_counts:
            return None
        nodes, loss = problem.arrays.nodes, problem.arrays.loss
        per_node = loss.cost.max(axis=2)[nodes.type, loss.truth] * loss.node_weight
        return loss.scale * np.add.reduceat(per_node, problem.pointer[:-1])

    def log_counts(problem) -> np.ndarray | None:
        """Logarithms of the numbers of labellings; None where sums are limited to some."""
        if problem.arrays.known.size:
            return None
        return np.add.reduceat(np.log(problem.arrays.nodes.states), problem.pointer[:-1])
