"""The compiled problem type of all graphs: label sets, trees, grids, superpixels.

Example i has nodes with features x_t and edges with features z_e (none: the constant 1). Nodes and
edges have *types*; a type has its own weights, number of states and state basis (see ``basis``):

    theta_t(k)   = sum_b U[b, k] (<w_node[type, b], x_t> + bias[type, b])
    theta_e(k,l) = sum_b B[b, k, l] <w_edge[type, b], z_e>
    score(y) = sum_t theta_t(y_t) + sum_e theta_e(y_u, y_v)
    loss(y)  = loss_scale[i] * sum_t node_weight[t] cost[type, truth_t, y_t]

A point of the marginal polytope is kept as what the objective can see of it (its *image*): node
marginals (nodes, K), then for every weight of the edges the sum it multiplies. The dual block of an
example is that many numbers. Weights are laid out as ``[nodes | biases | edges]``.

With exact inference a labelling is a state per node. With a *relaxed* method it is a point of the
local polytope, and what solvers carry about as integers are the bits of its image; nothing else
changes for them. Chains and single nodes have a type of their own, ``pairwise``, for speed; a test
trains both on the same chains.

The methods that a solver calls are compiled where it is (see :mod:`taut._compile`); the helpers
they share are in ``kernels``, the arrays in ``arrays``, inference in ``oracle``.
"""

from typing import NamedTuple

import numpy as np

from taut._compile import both_modes
from taut.accumulator import Accumulator, dense_accumulator, new_accumulator
from taut.inference.methods import Method
from taut.problem import label_value
from taut.structures.features import add_scaled
from taut.structures.graphs.arrays import GraphArrays
from taut.structures.graphs.kernels import (
    add_edges,
    add_label_image,
    add_losses,
    fill_truth,
    image_score,
    label_score,
    loss_of_image,
    loss_of_states,
    margin_of_image,
    margin_of_states,
    push_nodes,
    push_sums,
    score_edges,
    score_nodes,
    shift_image,
    shift_states,
)
from taut.structures.graphs.oracle import OracleWork, best_labelling, new_oracle_work


class Local(NamedTuple):
    """Scratch memory of one thread, apart from inference."""

    theta: np.ndarray  # (most nodes, K) node scores
    pair: np.ndarray  # (most edges, K, K) edge scores
    coefficient: np.ndarray  # of a basis
    change: np.ndarray  # the change d of a dual block, laid out like it
    sums: np.ndarray  # edge part of a change
    truth_sums: np.ndarray  # edge part of the truth's image
    truth_of: np.ndarray  # (1,) of which example it is
    states: np.ndarray  # (K,) a change of a node's states
    known_node: np.ndarray  # visit in which theta[t] was computed by ``margin``
    known_edge: np.ndarray
    visit: np.ndarray  # (1,)


class Work(NamedTuple):
    local: Local
    oracle: OracleWork


@both_modes
def sizes(problem, i):
    """First node, number of nodes, first edge, number of edges."""
    first, start = problem.pointer[i], problem.edges.start[i]
    return first, problem.pointer[i + 1] - first, start, problem.edges.stop[i] - start


@both_modes
def block_range(problem, i):
    """Where the dual block of example i begins and ends."""
    width, n_weights = problem.nodes.width, problem.edges.n_weights
    return (
        problem.pointer[i] * width + i * n_weights,
        problem.pointer[i + 1] * width + (i + 1) * n_weights,
    )


@both_modes
def truth_score(problem, i, work):
    first, n, start, m = sizes(problem, i)
    ends, truth = problem.edges.ends[start:], problem.loss.truth[first:]
    return label_score(ends, n, m, work.local.theta, work.local.pair, truth)


@both_modes
def find_truth_sums(problem, i, work):
    """The edge part of the truth's image, computed again only if the example has changed."""
    if work.local.truth_of[0] != i:
        first, _, start, m = sizes(problem, i)
        work.local.truth_of[0] = i
        work.local.truth_sums[:] = 0.0
        add_edges(problem.edges, start, m, problem.loss.truth[first:], 1.0, work.local.truth_sums)


class GraphProblem(GraphArrays):
    __slots__ = ()

    # --- what a solver calls; see taut.problem for the contracts -------------------------------

    def scores(problem, w, i, work):
        first, n, start, m = sizes(problem, i)
        score_nodes(problem.nodes, w, first, n, work.local.coefficient, work.local.theta)
        score_edges(problem.edges, w, start, m, work.local.coefficient, work.local.pair)

    def add_loss(problem, i, work):
        first, n, _, _ = sizes(problem, i)
        loss = problem.loss
        add_losses(loss, problem.nodes.type, first, n, loss.scale[i], work.local.theta)

    def argmax(problem, w, i, work, y):
        best = best_labelling(
            problem.nodes, problem.edges, problem.loss, problem.search, problem.pointer, i,
            work.local.theta, work.local.pair, work.oracle, y,
        )  # fmt: skip
        return best - truth_score(problem, i, work)

    def attained(problem, w, i, work, y, bound):
        if problem.search.relaxed:
            return label_value(problem, w, i, work, y)
        return bound

    def label_value(problem, w, i, work, y):
        _, n, start, m = sizes(problem, i)
        if problem.search.relaxed:
            at, end = block_range(problem, i)
            image = y[: 2 * (end - at)].view(np.float64)
            value = image_score(image, n, work.local.theta, w[problem.edges.weights_at :])
        else:
            value = label_score(
                problem.edges.ends[start:], n, m, work.local.theta, work.local.pair, y
            )
        return value - truth_score(problem, i, work)

    def block_value(problem, w, i, work, mu):
        at, end = block_range(problem, i)
        n = problem.pointer[i + 1] - problem.pointer[i]
        value = image_score(mu[at:end], n, work.local.theta, w[problem.edges.weights_at :])
        return value - truth_score(problem, i, work)

    def label_loss(problem, i, y):
        first, n, _, _ = sizes(problem, i)
        loss, types = problem.loss, problem.nodes.type
        if problem.search.relaxed:
            at, end = block_range(problem, i)
            image = y[: 2 * (end - at)].view(np.float64)
            return loss.scale[i] * loss_of_image(loss, types, first, n, image)
        return loss.scale[i] * loss_of_states(loss, types, first, n, y)

    def begin_change(problem, i, mu, keep, work):
        at, end = block_range(problem, i)
        block, change = mu[at:end], work.local.change
        if keep == 0.0:
            for j in range(block.size):
                change[j] = 0.0
        else:
            for j in range(block.size):
                change[j] = keep * block[j]

    def add_corner(problem, i, y, amount, work):
        _, n, start, m = sizes(problem, i)
        if problem.search.relaxed:
            at, end = block_range(problem, i)
            image = y[: 2 * (end - at)].view(np.float64)
            add_scaled(image, amount, work.local.change)
        else:
            add_label_image(problem.edges, start, n, m, y, amount, work.local.change)

    def project(problem, i, work, amount, delta):
        first, n, _, _ = sizes(problem, i)
        nodes, edges = problem.nodes, problem.edges
        push_nodes(nodes, first, n, work.local.change, amount, work.local.coefficient, delta)
        at = n * nodes.width
        push_sums(work.local.change[at : at + edges.n_weights], edges.weights_at, amount, delta)

    def advance(problem, i, mu, step, work):
        at, end = block_range(problem, i)
        add_scaled(work.local.change[: end - at], step, mu[at:end])

    def begin_margins(problem, i, work):
        work.local.visit[0] += 1

    def margin(problem, w, i, y, work):
        first, n, start, m = sizes(problem, i)
        nodes, edges, truth = problem.nodes, problem.edges, problem.loss.truth[first:]
        if problem.search.relaxed:
            find_truth_sums(problem, i, work)
            at, end = block_range(problem, i)
            image = y[: 2 * (end - at)].view(np.float64)
            edge_weights = w[edges.weights_at :]
            return margin_of_image(nodes, first, n, truth, edge_weights, w, work.local, image)
        return margin_of_states(nodes, edges, first, start, n, m, truth, w, work.local, y)

    def shift(problem, i, y, amount, scale, mu, delta, work):
        first, n, start, m = sizes(problem, i)
        nodes, edges, truth = problem.nodes, problem.edges, problem.loss.truth[first:]
        at, end = block_range(problem, i)
        block = mu[at:end]
        if problem.search.relaxed:
            find_truth_sums(problem, i, work)
            image = y[: 2 * (end - at)].view(np.float64)
            shift_image(
                nodes,
                edges.weights_at,
                first,
                n,
                truth,
                amount,
                scale,
                work.local,
                image,
                block,
                delta,
            )
        else:
            shift_states(
                nodes,
                edges,
                first,
                start,
                n,
                m,
                truth,
                amount,
                scale,
                work.local,
                y,
                block,
                delta,
            )

    def length(problem, i):
        if problem.search.relaxed:
            at, end = block_range(problem, i)
            return 2 * (end - at)
        return problem.pointer[i + 1] - problem.pointer[i]

    def true_label(problem, i, y):
        first, n, start, m = sizes(problem, i)
        truth = problem.loss.truth[first:]
        if problem.search.relaxed:
            at, end = block_range(problem, i)
            image = y[: 2 * (end - at)].view(np.float64)
            image[:] = 0.0
            add_label_image(problem.edges, start, n, m, truth, 1.0, image)
        else:
            for t in range(n):
                y[t] = truth[t]

    def forget(problem, i, y):
        pass

    def weight(problem, i):
        return problem.importance[i]

    # --- what a run allocates ------------------------------------------------------------------

    @property
    def is_compiled(problem) -> bool:
        return problem.search.method != Method.LP

    def new_dual(problem) -> np.ndarray:
        """Marginals of all examples, at the truth; message passing starts afresh."""
        problem.search.messages[:] = 0.0
        mu = np.zeros(int(block_range(problem, problem.n - 1)[1]))
        fill_truth(problem.edges, problem.pointer, problem.loss.truth, mu)
        return mu

    def new_work(problem) -> Work:
        nodes, edges, width = problem.most_nodes, problem.most_edges, problem.nodes.width
        n_weights = problem.edges.n_weights
        basis = np.concatenate([problem.nodes.basis.size, problem.edges.basis.size])
        local = Local(
            theta=np.zeros((nodes, width)),
            pair=np.zeros((edges, width, width)),
            coefficient=np.zeros(basis.max()),
            change=np.zeros(nodes * width + n_weights),
            sums=np.zeros(n_weights),
            truth_sums=np.zeros(n_weights),
            truth_of=np.full(1, -1),
            states=np.zeros(width),
            known_node=np.zeros(nodes, np.int64),
            known_edge=np.zeros(edges, np.int64),
            visit=np.zeros(1, np.int64),
        )
        return Work(local, new_oracle_work(problem.search.method, nodes, edges, width))

    def new_delta(problem) -> Accumulator:
        nodes = problem.nodes
        if not nodes.rows.is_sparse:
            return dense_accumulator(np.zeros(problem.dim))
        per_node = (nodes.rows.lengths()[nodes.row] + 1) * nodes.basis.size[nodes.type]
        touched = int(np.add.reduceat(per_node, problem.pointer[:-1]).max(initial=0))
        return new_accumulator(problem.dim, touched + problem.edges.n_weights)
