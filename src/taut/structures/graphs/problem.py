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

Solvers see few fields; the arrays themselves (``arrays``) reach compiled code by reference, and the
arithmetic (``compute``) is compiled once, whatever the solver.
"""

from typing import NamedTuple, Self

import numpy as np

from taut._compile import freeze
from taut.accumulator import Accumulator, add_scaled, dense_accumulator, new_accumulator
from taut.inference.methods import Method
from taut.memory import check_memory
from taut.problem import label_value
from taut.structures.graphs.arrays import GraphArrays
from taut.structures.graphs.compute import (
    add_labelling,
    add_shift,
    find_label_loss,
    find_label_score,
    find_margin,
    find_mean_score,
    find_truth_score,
    make_all_ready,
    make_shifts,
    prepare_losses,
    prepare_scores,
    project_change,
    write_truth,
)
from taut.structures.graphs.fields import DescribedGraphs
from taut.structures.graphs.frozen import graph_of, work_of
from taut.structures.graphs.kernels import fill_truth
from taut.structures.graphs.oracle import best_labelling, make_method_ready
from taut.structures.graphs.rescaled import GraphSearch, new_graph_search, rescaled_labelling
from taut.structures.graphs.sums import (
    GraphSums,
    find_expectation,
    find_image_loss,
    find_image_score,
    new_graph_sums,
    write_true_image,
)
from taut.structures.graphs.work import WorkArrays, new_work_arrays


class WorkFields(NamedTuple):
    frozen: np.ndarray
    change: np.ndarray  # the change d of a dual block, laid out like it
    visit: np.ndarray  # (1,)


class Work(WorkFields):
    """Scratch memory of one thread; ``arrays`` holds what ``frozen`` points to."""

    arrays: WorkArrays

    def __reduce__(self) -> tuple:
        return type(None), ()  # addresses mean nothing elsewhere, and scratch is made anew


class GraphProblem(DescribedGraphs):
    def __reduce__(problem) -> tuple:
        return type(problem).of, (problem.arrays, problem.importance)

    def _replace(problem, **fields):
        raise TypeError("the arrays of a graph problem are frozen; build another one")

    # --- what a solver calls; see taut.problem for the contracts -------------------------------

    def scores(problem, w, i, work):
        prepare_scores(problem.frozen, w, np.int64(i), work.frozen)

    def add_loss(problem, i, work):
        prepare_losses(problem.frozen, np.int64(i), work.frozen)

    def argmax(problem, w, i, work, y):
        best = best_labelling(problem.method, problem.frozen, np.int64(i), work.frozen, y)
        return best - find_truth_score(problem.frozen, np.int64(i), work.frozen)

    def rescaled_argmax(problem, w, i, work, search, y):
        rescaled_labelling(problem.frozen, np.int64(i), work.frozen, search, y)

    def expected(problem, w, i, work, sums, sharpness, image):
        log_z = find_expectation(problem.frozen, np.int64(i), work.frozen, sums, sharpness, image)
        return log_z / sharpness - find_truth_score(problem.frozen, np.int64(i), work.frozen)

    def attained(problem, w, i, work, y, bound):
        if problem.relaxed:
            return label_value(problem, w, i, work, y)
        return bound

    def label_value(problem, w, i, work, y):
        value = find_label_score(problem.frozen, w, np.int64(i), work.frozen, y)
        return value - find_truth_score(problem.frozen, np.int64(i), work.frozen)

    def block_value(problem, w, i, work, mu):
        value = find_mean_score(problem.frozen, w, np.int64(i), work.frozen, mu)
        return value - find_truth_score(problem.frozen, np.int64(i), work.frozen)

    def image_value(problem, w, i, work, image):
        value = find_image_score(problem.frozen, w, np.int64(i), work.frozen, image)
        return value - find_truth_score(problem.frozen, np.int64(i), work.frozen)

    def label_loss(problem, i, y):
        return find_label_loss(problem.frozen, np.int64(i), y)

    def image_loss(problem, i, image):
        return find_image_loss(problem.frozen, np.int64(i), image)

    def image_size(problem, i):
        nodes = problem.pointer[i + 1] - problem.pointer[i]
        return nodes * problem.width + problem.n_edge_weights

    def true_image(problem, i, image):
        write_true_image(problem.frozen, np.int64(i), image)

    def begin_change(problem, i, mu, keep, work):
        at = problem.pointer[i] * problem.width + i * problem.n_edge_weights
        nodes = problem.pointer[i + 1] - problem.pointer[i]
        size = nodes * problem.width + problem.n_edge_weights
        block, change = mu[at : at + size], work.change
        if keep == 0.0:
            for j in range(size):
                change[j] = 0.0
        else:
            for j in range(size):
                change[j] = keep * block[j]

    def add_corner(problem, i, y, amount, work):
        add_labelling(problem.frozen, np.int64(i), y, amount, work.change)

    def project(problem, i, work, amount, delta):
        project_change(problem.frozen, np.int64(i), work.frozen, amount, delta)

    def advance(problem, i, mu, step, work):
        at = problem.pointer[i] * problem.width + i * problem.n_edge_weights
        nodes = problem.pointer[i + 1] - problem.pointer[i]
        size = nodes * problem.width + problem.n_edge_weights
        add_scaled(work.change[:size], step, mu[at : at + size])

    def begin_margins(problem, i, work):
        work.visit[0] += 1

    def margin(problem, w, i, y, work):
        return find_margin(problem.frozen, w, np.int64(i), work.frozen, y)

    def shift(problem, i, y, amount, scale, mu, delta, work):
        add_shift(problem.frozen, np.int64(i), work.frozen, y, amount)

    def finish_shifts(problem, i, scale, mu, delta, work):
        make_shifts(problem.frozen, np.int64(i), work.frozen, scale, mu, delta)

    def length(problem, i):
        nodes = problem.pointer[i + 1] - problem.pointer[i]
        if problem.relaxed:
            return 2 * (nodes * problem.width + problem.n_edge_weights)
        return nodes

    def true_label(problem, i, y):
        write_truth(problem.frozen, np.int64(i), y)

    def forget(problem, i, y):
        pass

    def weight(problem, i):
        return problem.importance[i]

    # --- what a run allocates ------------------------------------------------------------------

    @classmethod
    def of(cls, arrays: GraphArrays, importance: np.ndarray) -> Self:
        edges = arrays.edges
        problem = cls(
            frozen=freeze(arrays, graph_of),
            pointer=arrays.pointer,
            importance=importance,
            width=arrays.nodes.width,
            n_edge_weights=edges.n_weights,
            method=arrays.search.method,
            relaxed=arrays.search.relaxed,
            n=len(arrays.pointer) - 1,
            dim=edges.weights_at + edges.n_weights,
        )
        problem.arrays = arrays
        return problem

    def clamped(problem, known: np.ndarray) -> Self:
        """The same examples; sums are limited to labellings that agree with the known labels."""
        known = np.array(known, np.bool_)
        if known.shape != (problem.pointer[-1],):
            raise ValueError(
                f"known has shape {known.shape}; there are {problem.pointer[-1]} nodes"
            )
        return type(problem).of(problem.arrays._replace(known=known), problem.importance)

    @property
    def is_compiled(problem) -> bool:
        return problem.method != Method.LP

    def new_dual(problem) -> np.ndarray:
        """Marginals of all examples, at the truth; message passing starts afresh."""
        blocks = int(problem.pointer[-1]) * problem.width + problem.n * problem.n_edge_weights
        check_memory(
            blocks,
            f"there are {problem.n} examples and {problem.n_edge_weights} weights of edges; "
            "training",
            "these weights in each example",
            'simpler pairwise scores such as "potts", fewer edge types or fewer examples need less',
        )
        make_all_ready()  # kernels write truths before there is any work
        arrays = problem.arrays
        arrays.search.messages[:] = 0.0
        mu = np.zeros(blocks)
        fill_truth(arrays.edges, arrays.pointer, arrays.loss.truth, mu)
        return mu

    def new_work(problem) -> Work:
        arrays = new_work_arrays(problem.arrays, problem.most_nodes, problem.most_edges)
        make_all_ready()
        make_method_ready(problem.method)
        work = Work(freeze(arrays, work_of), arrays.local.change, arrays.local.visit)
        work.arrays = arrays
        return work

    def new_sums(problem) -> GraphSums:
        return new_graph_sums(problem)

    def new_rescaled_search(problem) -> GraphSearch:
        return new_graph_search(problem)

    def new_delta(problem) -> Accumulator:
        nodes = problem.arrays.nodes
        if not nodes.rows.is_sparse:
            return dense_accumulator(np.zeros(problem.dim))
        per_node = (nodes.rows.lengths()[nodes.row] + 1) * nodes.basis.size[nodes.type]
        touched = int(np.add.reduceat(per_node, problem.pointer[:-1]).max(initial=0))
        return new_accumulator(problem.dim, touched + problem.n_edge_weights)

    def impossible(problem, i: int, w: np.ndarray) -> ValueError:
        """The error to raise for an example that the method cannot label."""
        work, edges = problem.new_work(), problem.arrays.edges
        problem.scores(w, i, work)
        problem.argmax(w, i, work, np.zeros(problem.longest, np.int32))
        oracle = work.arrays.oracle
        e = int(max(oracle.cut.edge[0], oracle.expansion.edge[0]))  # -1 in the one not used
        if e < 0:
            return ValueError(f"the scores of graph {i} are not numbers; look at weights and data")
        u, v = edges.ends[edges.start[i] + e]
        return ValueError(
            f"inference={Method(problem.method).text!r} needs attractive edges, but under these "
            f"weights edge {e} of graph {i}, between nodes {u} and {v}, scores more for some "
            "disagreement than for agreeing; use another inference, or train with attractive=True"
        )
