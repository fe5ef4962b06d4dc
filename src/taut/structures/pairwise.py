"""The compiled problem type: labelled nodes with scores on nodes and on steps between neighbours.

Example i has nodes ``pointer[i] .. pointer[i+1]`` in a row, each with one of K labels. With x_t the
features of node t and e_t those of the step from t to t+1 (none: the constant 1),

    score(y) = sum_t <W_node[:, y_t], x_t> + bias[y_t] + [t first] begin[y_t] + [t last] end[y_t]
             + sum_t sum_f e_tf W_step[f, y_t, y_t+1]
    loss(y)  = loss_scale[i] * sum_t cost[truth_t, y_t]

A chain has steps, a multiclass problem is one node without. Weights are laid out as
``[node | bias | begin | end | step]``; an absent group has offset -1.

A point of the marginal polytope is kept as what the objective can see of it (its *image*): node
marginals (T, K), then the feature-weighted sum of step marginals (F, K, K). The dual block of an
example is that many numbers, never a dense weight vector.

Constraints say which labellings are possible (see :mod:`taut.constraints`). The oracle
searches among these only; the truth of every training example must be one of them, and then so is
everything the dual is made of.

The methods that a solver calls are compiled where it is (see :mod:`taut._compile`); the helpers
they share are in ``pairwise_kernels``, the arrays themselves in ``pairwise_arrays``.
"""

from typing import Any, NamedTuple

import numpy as np

from taut._compile import Cube, IntegerMatrix, Integers, Matrix, Vector, by_reference
from taut.arrays.accumulator import (
    Accumulator,
    add_scaled,
    dense_accumulator,
    dot,
    new_accumulator,
    row_accumulator,
)
from taut.inference.forward_backward import ChainSums
from taut.inference.viterbi import independent_argmax, viterbi
from taut.memory import check_memory, pairs_and_labels
from taut.problem import image_value
from taut.problem.capability import SVM, Capability
from taut.problem.problem_type import problem_type
from taut.structures.features import node_score
from taut.structures.pairwise_arrays import PairwiseArrays
from taut.structures.pairwise_kernels import (
    add_image,
    biases,
    block_start,
    close_scores,
    label_scores,
    push_label,
    push_labels,
    push_row,
    shift_step,
    step_score,
    step_scores,
    total_score,
)
from taut.structures.pairwise_rescaled import (
    PairwiseSearch,
    new_pairwise_search,
    rescaled_labelling,
)
from taut.structures.pairwise_sums import new_pairwise_sums, write_expectation

NO_STEP = np.zeros(0)


@by_reference
class Work(NamedTuple):
    """Scratch memory of one thread."""

    theta: Matrix  # (longest, K) node scores
    pair: Cube  # (steps or 1, K, K) step scores
    best: Matrix  # (longest, K) Viterbi's values
    reach: Matrix  # (longest, K) the same before the node's own score
    closed_theta: Matrix  # like theta, minus infinity where a label is forbidden
    closed_pair: Cube  # like pair, minus infinity where a step is; both empty if none is
    change: Vector  # the change d of a dual block, laid out like it
    known: IntegerMatrix  # (longest, K) visit in which theta[t, k] was computed by ``margin``
    visit: Integers  # (1,)


@problem_type
class Pairwise(PairwiseArrays):
    __slots__ = ()
    capabilities = SVM | Capability.SUM_ORACLE | Capability.RESCALED_ORACLE | Capability.CLAMPING

    # --- what a solver calls; see taut.problem.any_problem for them -------------------------------

    def scores(problem, w, i, work):
        first = problem.pointer[i]
        length = problem.pointer[i + 1] - first
        label_scores(problem, w, first, length, work.theta)
        if problem.n_step > 0:
            step_scores(problem, w, first, length, work.pair)

    def add_loss(problem, i, work):
        first = problem.pointer[i]
        scale = problem.loss_scale[i]
        for t in range(problem.pointer[i + 1] - first):
            true = problem.truth[first + t]
            add_scaled(problem.cost[true], scale, work.theta[t])

    def argmax(problem, w, i, work, y):
        first = problem.pointer[i]
        length = problem.pointer[i + 1] - first
        theta, pair = work.theta, work.pair
        if problem.closed.size > 0 or problem.forced.size > 0:
            close_scores(problem, first, length, work)
            theta = work.closed_theta
            if problem.closed.size > 0:
                pair = work.closed_pair
        if problem.n_step > 0:
            value = viterbi(theta, pair, length, work.best, work.reach, y)
        else:
            value = independent_argmax(theta, length, y)
        return value - total_score(problem, work, problem.truth[first:], length)

    def rescaled_argmax(problem, w, i, work, search, y):
        rescaled_labelling(problem, i, work, search, y)

    def expected(problem, w, i, work, sums, sharpness, image):
        first = problem.pointer[i]
        length = problem.pointer[i + 1] - first
        log_z = write_expectation(problem, i, work, sums, sharpness, image)
        return log_z / sharpness - total_score(problem, work, problem.truth[first:], length)

    def label_value(problem, w, i, work, y):
        first = problem.pointer[i]
        length = problem.pointer[i + 1] - first
        return total_score(problem, work, y, length) - total_score(
            problem, work, problem.truth[first:], length
        )

    def block_value(problem, w, i, work, mu):
        return image_value(problem, w, i, work, mu[block_start(problem, i) :])

    def image_value(problem, w, i, work, image):
        first = problem.pointer[i]
        length = problem.pointer[i + 1] - first
        at = 0
        total = 0.0
        for t in range(length):
            total += dot(image[at : at + problem.n_states], work.theta[t])
            at += problem.n_states
        if problem.n_step > 0:
            steps = problem.n_step * problem.n_states * problem.n_states
            total += dot(image[at : at + steps], w[problem.step_at : problem.step_at + steps])
        return total - total_score(problem, work, problem.truth[first:], length)

    def label_loss(problem, i, y):
        first = problem.pointer[i]
        total = 0.0
        for t in range(problem.pointer[i + 1] - first):
            total += problem.cost[problem.truth[first + t], y[t]]
        return problem.loss_scale[i] * total

    def image_loss(problem, i, image):
        first, n_states = problem.pointer[i], problem.n_states
        total = 0.0
        for t in range(problem.pointer[i + 1] - first):
            cost = problem.cost[problem.truth[first + t]]
            total += dot(image[t * n_states : (t + 1) * n_states], cost)
        return problem.loss_scale[i] * total

    def image_size(problem, i):
        return block_start(problem, i + 1) - block_start(problem, i)

    def true_image(problem, i, image):
        first = problem.pointer[i]
        length = problem.pointer[i + 1] - first
        image[: block_start(problem, i + 1) - block_start(problem, i)] = 0.0
        add_image(problem, first, length, problem.truth[first:], 1.0, image)

    def add_marginals(problem, i, image, amount, work):
        add_scaled(image, amount, work.change)

    def begin_change(problem, i, mu, keep, work):
        block = mu[block_start(problem, i) : block_start(problem, i + 1)]
        change = work.change
        if keep == 0.0:
            for j in range(block.size):
                change[j] = 0.0
        else:
            for j in range(block.size):
                change[j] = keep * block[j]

    def add_corner(problem, i, y, amount, work):
        first = problem.pointer[i]
        add_image(problem, first, problem.pointer[i + 1] - first, y, amount, work.change)

    def project(problem, i, work, amount, delta):
        first = problem.pointer[i]
        length = problem.pointer[i + 1] - first
        n_states = problem.n_states
        for t in range(length):
            row = work.change[t * n_states : (t + 1) * n_states]
            push_labels(problem, delta, first, length, t, row, amount)
        if problem.n_step > 0:
            at = length * n_states
            steps = work.change[at : at + problem.n_step * n_states * n_states]
            push_row(delta, problem.step_at, steps, amount)

    def advance(problem, i, mu, step, work):
        block = mu[block_start(problem, i) : block_start(problem, i + 1)]
        add_scaled(work.change[: block.size], step, block)

    def begin_margins(problem, i, work):
        work.visit[0] += 1

    def margin(problem, w, i, y, work):
        # The innermost function of cheap passes: fields are read once, and only arrays are handed
        # on, because handing on a named tuple copies all of it.
        features, n_states = problem.features, problem.n_states
        theta, known, visit = work.theta, work.known, work.visit[0]
        first = problem.pointer[i]
        length = problem.pointer[i + 1] - first
        truth = problem.truth[first : first + length]
        has_steps = problem.n_step > 0
        constant_steps = problem.step_features.size == 0
        steps = w[problem.step_at :]
        total = 0.0
        differed = False
        for t in range(length):
            true, other = truth[t], y[t]
            differs = true != other
            if differs:
                if known[t, true] != visit:
                    theta[t, true] = node_score(features, w, first + t, true, n_states)
                    theta[t, true] += biases(problem, w, t, length, true)
                    known[t, true] = visit
                if known[t, other] != visit:
                    theta[t, other] = node_score(features, w, first + t, other, n_states)
                    theta[t, other] += biases(problem, w, t, length, other)
                    known[t, other] = visit
                total += theta[t, true] - theta[t, other]
            if has_steps and t > 0 and (differs or differed):
                if constant_steps:
                    total += steps[truth[t - 1] * n_states + true]
                    total -= steps[y[t - 1] * n_states + other]
                else:
                    e = problem.step_features[first + t - 1]
                    total += step_score(steps, e, truth[t - 1] * n_states + true, n_states)
                    total -= step_score(steps, e, y[t - 1] * n_states + other, n_states)
            differed = differs
        return total

    def shift(problem, i, y, amount, scale, mu, delta, work):
        first = problem.pointer[i]
        length = problem.pointer[i + 1] - first
        n_states = problem.n_states
        at = block_start(problem, i)
        for t in range(length):
            true, other = problem.truth[first + t], y[t]
            if true != other:
                mu[at + t * n_states + true] -= amount
                mu[at + t * n_states + other] += amount
                push_label(problem, delta, first, length, t, true, scale * amount)
                push_label(problem, delta, first, length, t, other, -scale * amount)
            if t > 0 and problem.n_step > 0:
                before, other_before = problem.truth[first + t - 1], y[t - 1]
                if true != other or before != other_before:
                    block = mu[at + length * n_states :]
                    e = (
                        problem.step_features[first + t - 1]
                        if problem.step_features.size
                        else NO_STEP
                    )
                    shift_step(problem, before * n_states + true, e, -amount, scale, block, delta)
                    shift_step(
                        problem, other_before * n_states + other, e, amount, scale, block, delta
                    )

    def length(problem, i):
        return problem.pointer[i + 1] - problem.pointer[i]

    def true_label(problem, i, y):
        first = problem.pointer[i]
        for t in range(problem.pointer[i + 1] - first):
            y[t] = problem.truth[first + t]

    def weight(problem, i):
        return problem.importance[i]

    # --- what a run allocates ------------------------------------------------------------------

    @property
    def n_numbers(problem) -> int:
        """How many feature values scoring all examples reads."""
        return problem.features.rows.values.size + problem.step_features.size

    def dual_size(problem, n: int) -> int:
        """How many numbers the marginals of the first n examples are."""
        return int(block_start(problem, n))

    def new_dual(problem) -> np.ndarray:
        """Marginals of all examples, at the truth."""
        n_states, n_step = problem.n_states, problem.n_step
        check_memory(
            pairs_and_labels(problem.n, len(problem.truth), n_states, n_step),
            f"there are {n_states} labels; training",
            f"{'pairs of labels' if n_step else 'labels'} in each example",
            "are these the labels? Merge rare ones, or train on fewer examples",
        )
        mu = np.zeros(problem.dual_size(problem.n))
        truth, lengths = problem.truth.astype(np.int64), np.diff(problem.pointer)
        matrix = n_states * n_states
        example = np.repeat(np.arange(problem.n), lengths)
        mu[np.arange(len(truth)) * n_states + example * n_step * matrix + truth] = 1.0
        if n_step > 0:
            first = np.flatnonzero(np.diff(example) == 0)  # nodes that a step leads on from
            at = problem.pointer[example[first] + 1] * n_states + example[first] * n_step * matrix
            at += truth[first] * n_states + truth[first + 1]
            for f in range(n_step):
                constant = problem.step_features.size == 0
                np.add.at(mu, at, 1.0 if constant else problem.step_features[first, f])
                at += matrix
        return mu

    def step_tables(problem, i: int, work: Any) -> np.ndarray:
        """The scores of all steps of an example that ``scores`` prepared: a table (K, K) for each,
        or one that all share."""
        n_tables = min(len(work.pair), problem.pointer[i + 1] - problem.pointer[i] - 1)
        return work.pair[: max(n_tables, 1)]

    def allowed_scores(problem, i: int, work: Any) -> tuple[np.ndarray, np.ndarray]:
        """Copies of the scores of nodes and of steps, minus infinity where constraints forbid."""
        nodes, n_states = slice(problem.pointer[i], problem.pointer[i + 1]), problem.n_states
        theta = work.theta[: nodes.stop - nodes.start].copy()
        pair = problem.step_tables(i, work).copy()
        if problem.forced.size:
            forced = problem.forced[nodes, None]
            theta[(forced >= 0) & (forced != np.arange(n_states))] = -np.inf
        if problem.closed.size:
            pair += problem.closed[:n_states]
            theta[0] += problem.closed[n_states]
            theta[-1] += problem.closed[n_states + 1]
        return theta, pair

    def new_work(problem) -> Work:
        longest, n_states = problem.longest, problem.n_states
        n_tables = max(longest - 1, 1) if problem.step_features.size else 1
        check_memory(
            n_tables * n_states**2,
            f"there are {n_states} labels; inference",
            f"pairs of labels at each of {n_tables} steps",
            "are these the labels? Merge rare ones, or cut long sequences",
        )
        has_closed_steps = problem.closed.size > 0
        is_constrained = has_closed_steps or problem.forced.size > 0
        return Work(
            theta=np.zeros((longest, n_states)),
            pair=np.zeros((n_tables, n_states, n_states)),
            best=np.zeros((longest, n_states)),
            reach=np.zeros((longest, n_states)),
            closed_theta=np.zeros((longest * is_constrained, n_states)),
            closed_pair=np.zeros((n_tables * has_closed_steps, n_states, n_states)),
            change=np.zeros(longest * n_states + problem.n_step * n_states**2),
            known=np.zeros((longest, n_states), np.int64),
            visit=np.zeros(1, np.int64),
        )

    def new_sums(problem) -> ChainSums:
        return new_pairwise_sums(problem)

    def new_rescaled_search(problem) -> PairwiseSearch:
        return new_pairwise_search(problem)

    def new_delta(problem) -> Accumulator:
        if problem.features.rows.is_dense:
            return dense_accumulator(np.zeros(problem.dim))
        n_states = problem.n_states
        touched = problem.features.most_touched(problem.pointer, n_states)
        touched += 3 * n_states + problem.n_step * n_states**2
        return new_accumulator(problem.dim, touched)

    def new_row_delta(problem) -> Accumulator:
        """For changes of all labels at every position, as marginals make them."""
        features, delta = problem.features, problem.new_delta()
        if features.rows.is_dense:
            return delta
        most_rows = int(np.diff(features.rows.indptr[problem.pointer]).max()) + 4
        return row_accumulator(problem.dim, delta.value.size, most_rows)
