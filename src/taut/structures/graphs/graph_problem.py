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

The arithmetic is in ``compute``; inference is asked for through ``oracle``, so that only the method
that a problem uses is compiled.
"""

from typing import Self

import numpy as np

from taut.arrays.accumulator import Accumulator, add_scaled, dense_accumulator, new_accumulator
from taut.inference.methods import Method
from taut.memory import check_memory
from taut.problem import label_value
from taut.problem.problem_type import problem_type
from taut.structures.graphs.arrays import GraphArrays
from taut.structures.graphs.compute import (
    add_labelling,
    add_shift,
    find_label_loss,
    find_label_score,
    find_margin,
    find_mean_score,
    find_truth_score,
    make_shifts,
    prepare_losses,
    prepare_scores,
    project_change,
    write_truth,
)
from taut.structures.graphs.fields import DescribedGraphs
from taut.structures.graphs.graph_sums import (
    GraphSums,
    find_expectation,
    find_image_loss,
    find_image_score,
    new_graph_sums,
    write_true_image,
)
from taut.structures.graphs.kernels import fill_truth
from taut.structures.graphs.oracle import best_labelling, oracle_of
from taut.structures.graphs.rescaled import GraphSearch, new_graph_search, rescaled_labelling
from taut.structures.graphs.work import WorkArrays, new_work_arrays


@problem_type
class GraphProblem(DescribedGraphs):
    __slots__ = ()

    # --- what a solver calls; see taut.problem.any_problem for them -------------------------------

    def scores(problem, w, i, work):
        prepare_scores(problem.arrays, w, i, work)

    def add_loss(problem, i, work):
        prepare_losses(problem.arrays, i, work)

    def argmax(problem, w, i, work, y):
        best = best_labelling(problem.oracle, problem.arrays, i, work, y)
        return best - find_truth_score(problem.arrays, i, work)

    def rescaled_argmax(problem, w, i, work, search, y):
        rescaled_labelling(problem.arrays, i, work, search, y)

    def expected(problem, w, i, work, sums, sharpness, image):
        log_z = find_expectation(problem.arrays, i, work, sums, sharpness, image)
        return log_z / sharpness - find_truth_score(problem.arrays, i, work)

    def attained(problem, w, i, work, y, bound):
        if problem.relaxed:
            return label_value(problem, w, i, work, y)
        return bound

    def label_value(problem, w, i, work, y):
        value = find_label_score(problem.arrays, w, i, work, y)
        return value - find_truth_score(problem.arrays, i, work)

    def block_value(problem, w, i, work, mu):
        value = find_mean_score(problem.arrays, w, i, work, mu)
        return value - find_truth_score(problem.arrays, i, work)

    def image_value(problem, w, i, work, image):
        value = find_image_score(problem.arrays, w, i, work, image)
        return value - find_truth_score(problem.arrays, i, work)

    def label_loss(problem, i, y):
        return find_label_loss(problem.arrays, i, y)

    def image_loss(problem, i, image):
        return find_image_loss(problem.arrays, i, image)

    def image_size(problem, i):
        nodes = problem.pointer[i + 1] - problem.pointer[i]
        return nodes * problem.width + problem.n_edge_weights

    def true_image(problem, i, image):
        write_true_image(problem.arrays, i, image)

    def add_marginals(problem, i, image, amount, work):
        add_scaled(image, amount, work.local.change)

    def begin_change(problem, i, mu, keep, work):
        at = problem.pointer[i] * problem.width + i * problem.n_edge_weights
        nodes = problem.pointer[i + 1] - problem.pointer[i]
        size = nodes * problem.width + problem.n_edge_weights
        block, change = mu[at : at + size], work.local.change
        if keep == 0.0:
            for j in range(size):
                change[j] = 0.0
        else:
            for j in range(size):
                change[j] = keep * block[j]

    def add_corner(problem, i, y, amount, work):
        add_labelling(problem.arrays, i, y, amount, work.local.change)

    def project(problem, i, work, amount, delta):
        project_change(problem.arrays, i, work, amount, delta)

    def advance(problem, i, mu, step, work):
        at = problem.pointer[i] * problem.width + i * problem.n_edge_weights
        nodes = problem.pointer[i + 1] - problem.pointer[i]
        size = nodes * problem.width + problem.n_edge_weights
        add_scaled(work.local.change[:size], step, mu[at : at + size])

    def begin_margins(problem, i, work):
        work.local.visit[0] += 1

    def margin(problem, w, i, y, work):
        return find_margin(problem.arrays, w, i, work, y)

    def shift(problem, i, y, amount, scale, mu, delta, work):
        add_shift(problem.arrays, i, work, y, amount)

    def finish_shifts(problem, i, scale, mu, delta, work):
        make_shifts(problem.arrays, i, work, scale, mu, delta)

    def length(problem, i):
        nodes = problem.pointer[i + 1] - problem.pointer[i]
        if problem.relaxed:
            return 2 * (nodes * problem.width + problem.n_edge_weights)
        return nodes

    def true_label(problem, i, y):
        write_truth(problem.arrays, i, y)

    def weight(problem, i):
        return problem.importance[i]

    # --- what a run allocates ------------------------------------------------------------------

    @classmethod
    def of(cls, arrays: GraphArrays, importance: np.ndarray) -> Self:
        edges = arrays.edges
        return cls(
            arrays=arrays,
            oracle=oracle_of(arrays.search.method),
            pointer=arrays.pointer,
            importance=importance,
            width=arrays.nodes.width,
            n_edge_weights=edges.n_weights,
            method=arrays.search.method,
            relaxed=arrays.search.relaxed,
            n=len(arrays.pointer) - 1,
            dim=edges.weights_at + edges.n_weights + arrays.tables.n_weights,
        )

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

    def dual_size(problem, n: int) -> int:
        """How many numbers the marginals of the first n examples are."""
        return int(problem.pointer[n] * problem.width + n * problem.n_edge_weights)

    def new_dual(problem) -> np.ndarray:
        """Marginals of all examples, at the truth; message passing starts afresh."""
        numbers = problem.dual_size(problem.n)
        check_memory(
            numbers,
            f"there are {problem.n} examples and {problem.n_edge_weights} weights of edges; "
            "training",
            "these weights in each example",
            'simpler pairwise scores such as "potts", fewer edge types or fewer examples need less',
        )
        arrays = problem.arrays
        arrays.search.messages[:] = 0.0
        mu = np.zeros(numbers)
        fill_truth(arrays.edges, arrays.pointer, arrays.loss.truth, mu)
        return mu

    def new_work(problem) -> WorkArrays:
        return new_work_arrays(problem.arrays, problem.most_nodes, problem.most_edges)

    def new_sums(problem) -> GraphSums:
        return new_graph_sums(problem)

    def new_rescaled_search(problem) -> GraphSearch:
        return new_graph_search(problem)

    def new_delta(problem) -> Accumulator:
        nodes = problem.arrays.nodes
        if nodes.rows.is_dense:
            return dense_accumulator(np.zeros(problem.dim))
        per_node = (nodes.rows.lengths()[nodes.row] + 1) * nodes.basis.size[nodes.type]
        touched = int(np.add.reduceat(per_node, problem.pointer[:-1]).max(initial=0))
        return new_accumulator(problem.dim, touched + problem.n_edge_weights)

    def impossible(problem, i: int, w: np.ndarray) -> ValueError:
        """The error to raise for an example that the method cannot label."""
        work, edges = problem.new_work(), problem.arrays.edges
        problem.scores(w, i, work)
        problem.argmax(w, i, work, np.zeros(problem.longest, np.int32))
        oracle = work.oracle
        e = int(max(oracle.cut.edge[0], oracle.expansion.edge[0]))  # -1 in the one not used
        if e < 0:
            return ValueError(f"the scores of graph {i} are not numbers; look at weights and data")
        u, v = edges.ends[edges.start[i] + e]
        return ValueError(
            f"inference={Method(problem.method).text!r} needs attractive edges, but under these "
            f"weights edge {e} of graph {i}, between nodes {u} and {v}, scores more for some "
            "disagreement than for agreeing; use another inference, or train with attractive=True"
        )
