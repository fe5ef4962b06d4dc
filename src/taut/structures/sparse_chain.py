"""Chains with many labels, or with step attributes: steps and dual hold only what is there.

The model is that of :mod:`taut.structures.pairwise` with constant steps, but only some pairs of
labels have a weight (see :mod:`taut.structures.sparse_steps`); every other step scores zero. With
the attributes a of the step that leads to node t, and their values x_ta,

    score(y) = [nodes as there] + sum_t (w_step[s] + sum_a x_ta w_a[s]),   s the pair (y_t-1, y_t)

Without attributes the image of a labelling is node indicators and how often each pair is used;
with them, which pair is used at each step. Either has far more numbers than are ever used, so the
dual keeps those that are (:mod:`taut.structures.sparse_dual`). A number of the image is called by
its *key*: t K + label for nodes, then the pairs.

A visit works on the image as a whole, in scratch memory, with a list of the keys it has touched:
first those that the block has, in their order, then new ones, which ``advance`` appends.
"""

import numpy as np

from taut.arrays.accumulator import (
    DENSE,
    Accumulator,
    dense_accumulator,
    dot,
    keeps_rows,
    new_accumulator,
    row_accumulator,
)
from taut.inference.sparse_forward_backward import SparseSums, new_sparse_sums
from taut.inference.sparse_viterbi import sparse_viterbi
from taut.inference.viterbi import viterbi
from taut.memory import check_memory
from taut.problem.capability import SVM, Capability
from taut.problem.problem_type import problem_type
from taut.structures import sparse_dual
from taut.structures.features import node_score
from taut.structures.pairwise import Pairwise
from taut.structures.pairwise_kernels import (
    biases,
    close_scores,
    label_scores,
    push_label,
    push_labels,
)
from taut.structures.pairwise_rescaled import PairwiseSearch
from taut.structures.sparse_chain_kernels import (
    clear_change,
    key_of_step,
    pair_score,
    pair_scores,
    pairs_of_image,
    push_pair,
    push_pairs,
    score_of,
    touch,
    write_dense_steps,
)
from taut.structures.sparse_chain_memory import SparseWork, new_sparse_work, truths_of
from taut.structures.sparse_chain_sums import (
    log_z_alone,
    narrow,
    write_likely,
    write_sparse_expectation,
)
from taut.structures.sparse_dual import append, drop_zeros, keys_at, reserve, size_of, values_at


@problem_type
class SparseChain(Pairwise):
    __slots__ = ()
    dual_grows = True
    capabilities = SVM | Capability.SUM_ORACLE | Capability.CLAMPING

    # --- what a solver calls; see taut.problem.any_problem for them -------------------------------

    def scores(problem, w, i, work):
        first = problem.pointer[i]
        length = problem.pointer[i + 1] - first
        label_scores(problem, w, first, length, work.theta)
        pair_scores(problem, w, first, length, work.step)

    def argmax(problem, w, i, work, y):
        first = problem.pointer[i]
        length = problem.pointer[i + 1] - first
        theta, step = work.theta, work.step
        if problem.closed.size > 0:
            write_dense_steps(problem, length, work.step, work.pair)
        if problem.closed.size > 0 or problem.forced.size > 0:
            close_scores(problem, first, length, work)
            theta = work.closed_theta
        if problem.closed.size > 0:
            value = viterbi(theta, work.closed_pair, length, work.best, work.reach, y)
        else:
            pairs = problem.steps.pairs
            value = sparse_viterbi(
                theta, step, pairs, length, work.best, work.reach, work.search, y
            )
        return value - score_of(problem, work, problem.truth[first:], length)

    def expected(problem, w, i, work, sums, sharpness, image):
        first = problem.pointer[i]
        length = problem.pointer[i + 1] - first
        log_z = write_sparse_expectation(problem, i, work, sums, sharpness, image)
        return log_z / sharpness - score_of(problem, work, problem.truth[first:], length)

    def narrowed(problem, i, work, sums, sharpness, loss, image):
        return narrow(problem, i, work, sums, sharpness, loss, image)

    def log_sum(problem, i, work, sums, sharpness):
        first = problem.pointer[i]
        length = problem.pointer[i + 1] - first
        log_z = log_z_alone(problem, i, work, sums, sharpness)
        return log_z / sharpness - score_of(problem, work, problem.truth[first:], length)

    def likely(problem, i, work, sums, sharpness, loss, most, image):
        first = problem.pointer[i]
        length = problem.pointer[i + 1] - first
        log_z = write_likely(problem, i, work, sums, sharpness, loss, most, image)
        return log_z / sharpness - score_of(problem, work, problem.truth[first:], length)

    def label_value(problem, w, i, work, y):
        first = problem.pointer[i]
        length = problem.pointer[i + 1] - first
        truth = score_of(problem, work, problem.truth[first:], length)
        return score_of(problem, work, y, length) - truth

    def block_value(problem, w, i, work, mu):
        first = problem.pointer[i]
        length = problem.pointer[i + 1] - first
        size = size_of(mu, i)
        values = mu[values_at(mu, i) :][:size]
        keys = mu.view(np.int32)[keys_at(mu, i) :][:size]
        nodes = length * problem.n_states
        theta, step = work.theta.reshape(-1), work.step.reshape(-1)
        total = 0.0
        for j in range(size):
            key = keys[j]
            total += values[j] * (theta[key] if key < nodes else step[key - nodes])
        return total - score_of(problem, work, problem.truth[first:], length)

    def image_value(problem, w, i, work, image):
        first = problem.pointer[i]
        length = problem.pointer[i + 1] - first
        nodes, pairs = length * problem.n_states, pairs_of_image(problem, length)
        total = dot(image[:nodes], work.theta.reshape(-1)[:nodes])
        total += dot(image[nodes : nodes + pairs], work.step.reshape(-1)[:pairs])
        return total - score_of(problem, work, problem.truth[first:], length)

    def image_size(problem, i):
        length = problem.pointer[i + 1] - problem.pointer[i]
        return length * problem.n_states + pairs_of_image(problem, length)

    def true_image(problem, i, image):
        first = problem.pointer[i]
        length = problem.pointer[i + 1] - first
        nodes = length * problem.n_states
        image[: nodes + pairs_of_image(problem, length)] = 0.0
        for t in range(length):
            image[t * problem.n_states + problem.truth[first + t]] += 1.0
            if t > 0:
                key = key_of_step(problem, nodes, problem.truth[first:], t)
                if key >= 0:
                    image[key] += 1.0

    def add_marginals(problem, i, image, amount, work):
        for key in range(image.size):
            if image[key] != 0.0:
                touch(work, key, amount * image[key])

    def begin_change(problem, i, mu, keep, work):
        change, place, touched = work.change, work.place, work.touched
        clear_change(work)
        size = size_of(mu, i)
        values = mu[values_at(mu, i) :][:size]
        keys = mu.view(np.int32)[keys_at(mu, i) :][:size]
        for j in range(size):
            key = keys[j]
            change[key] = keep * values[j]
            touched[j] = key
            place[key] = j + 1
        work.count[0] = size

    def add_corner(problem, i, y, amount, work):
        first = problem.pointer[i]
        length = problem.pointer[i + 1] - first
        for t in range(length):
            touch(work, t * problem.n_states + y[t], amount)
        for t in range(1, length):
            key = key_of_step(problem, length * problem.n_states, y, t)
            if key >= 0:
                touch(work, key, amount)

    def project(problem, i, work, amount, delta):
        first = problem.pointer[i]
        length = problem.pointer[i + 1] - first
        n_states, nodes = problem.n_states, length * problem.n_states
        change, touched, count = work.change, work.touched, work.count[0]
        by_rows = keeps_rows(delta) and (delta.count[0] != DENSE or count > 8 * length)
        if by_rows:
            for t in range(length):
                row = change[t * n_states : (t + 1) * n_states]
                push_labels(problem, delta, first, length, t, row, amount)
            push_pairs(problem, first, length, change[nodes:], amount, delta)
            return
        for j in range(count):
            key = touched[j]
            value = amount * change[key]
            if value != 0.0:
                if key < nodes:
                    t = key // n_states
                    push_label(problem, delta, first, length, t, key - t * n_states, value)
                else:
                    push_pair(problem, first, key - nodes, value, delta)

    def advance(problem, i, mu, step, work):
        change, touched, count = work.change, work.touched, work.count[0]
        size = size_of(mu, i)
        values = mu[values_at(mu, i) :][:size]
        for j in range(size):
            values[j] += step * change[touched[j]]
        if count > size:
            reserve(mu, i, count - size)
            for j in range(size, count):
                key = touched[j]
                if change[key] != 0.0:
                    append(mu, i, key, step * change[key])
        if step == 1.0:
            drop_zeros(mu, i)

    def dual_has_room(problem, mu, work):
        return sparse_dual.has_room(mu, work.change.size)

    def remember(problem, i, y, mu, work):
        first = problem.pointer[i]
        length = problem.pointer[i + 1] - first
        clear_change(work)
        size = size_of(mu, i)
        keys = mu.view(np.int32)[keys_at(mu, i) :][:size]
        for j in range(size):
            work.touched[j] = keys[j]
            work.place[keys[j]] = j + 1
        work.count[0] = size
        for t in range(length):
            touch(work, t * problem.n_states + y[t], 0.0)
        for t in range(1, length):
            key = key_of_step(problem, length * problem.n_states, y, t)
            if key >= 0:
                touch(work, key, 0.0)
        more = work.count[0] - size
        if more > 0:
            reserve(mu, i, more)
            for j in range(size, size + more):
                append(mu, i, work.touched[j], 0.0)
        clear_change(work)

    def begin_margins(problem, i, work):
        work.visit[0] += 1
        # Shifts may follow, which are added up where a change is: none begins with another's.
        clear_change(work)

    def margin(problem, w, i, y, work):
        features, n_states = problem.features, problem.n_states
        theta, known, visit = work.theta, work.known, work.visit[0]
        first = problem.pointer[i]
        length = problem.pointer[i + 1] - first
        truth = problem.truth[first : first + length]
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
            if t > 0 and (differs or differed):
                total += pair_score(problem, w, first + t, truth[t - 1], true)
                total -= pair_score(problem, w, first + t, y[t - 1], other)
            differed = differs
        return total

    def shift(problem, i, y, amount, scale, mu, delta, work):
        first = problem.pointer[i]
        length = problem.pointer[i + 1] - first
        nodes, truth = length * problem.n_states, problem.truth[first:]
        for t in range(length):
            true, other = truth[t], y[t]
            if true != other:
                touch(work, t * problem.n_states + true, -amount)
                touch(work, t * problem.n_states + other, amount)
                push_label(problem, delta, first, length, t, true, scale * amount)
                push_label(problem, delta, first, length, t, other, -scale * amount)
            if t > 0 and (true != other or truth[t - 1] != y[t - 1]):
                before, after = (
                    key_of_step(problem, nodes, truth, t),
                    key_of_step(problem, nodes, y, t),
                )
                if before >= 0:
                    touch(work, before, -amount)
                    push_pair(problem, first, before - nodes, scale * amount, delta)
                if after >= 0:
                    touch(work, after, amount)
                    push_pair(problem, first, after - nodes, -scale * amount, delta)

    def finish_shifts(problem, i, scale, mu, delta, work):
        if work.count[0] == 0:
            return
        size = size_of(mu, i)
        values = mu[values_at(mu, i) :][:size]
        keys = mu.view(np.int32)[keys_at(mu, i) :][:size]
        for j in range(size):
            if work.place[keys[j]] > 0:
                values[j] += work.change[keys[j]]
        clear_change(work)

    # --- what a run allocates ------------------------------------------------------------------

    @property
    def n_numbers(problem) -> int:
        return problem.features.rows.values.size + problem.steps.rows.values.size

    @property
    def largest_image(problem) -> int:
        return int(problem.image_sizes.max(initial=0))

    @property
    def image_sizes(problem) -> np.ndarray:
        lengths = np.diff(problem.pointer)
        n_tables = lengths - 1 if problem.steps.n_attributes else (lengths > 0).astype(int)
        return lengths * problem.n_states + n_tables * problem.steps.n_pairs

    def dual_size(problem, n: int) -> int:
        """How many numbers the image of the first n examples has."""
        return int(problem.image_sizes[:n].sum())

    def new_dual(problem) -> np.ndarray:
        """At the truth."""
        if problem.largest_image > sparse_dual.MOST_KEYS:
            raise ValueError(
                f"a sequence of {problem.longest} positions with {problem.n_states} labels has "
                f"{problem.largest_image:,} steps and labels, more than {sparse_dual.MOST_KEYS:,}; "
                "merge rare labels, or cut long sequences"
            )
        return sparse_dual.packed(truths_of(problem))

    def with_room(problem, mu: np.ndarray, for_all: bool, behind: int = 0) -> np.ndarray:
        if not for_all and sparse_dual.has_room(mu, problem.largest_image):
            return mu
        more = 2 * np.diff(problem.pointer)
        if for_all and sparse_dual.has_room_for_all(mu, more):
            return mu
        return sparse_dual.with_room(mu, more, problem.largest_image, for_all, behind)

    def copy_dual(problem, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        blocks = sparse_dual.unpacked(source)
        if blocks.n > problem.n:
            raise ValueError(f"the dual has {blocks.n} blocks for {problem.n} examples")
        sparse_dual.check_blocks(blocks, problem.image_sizes[: blocks.n])
        truths = truths_of(problem)
        sparse_dual.check_truths(blocks, truths)
        return sparse_dual.packed(blocks.followed_by(truths, blocks.n))

    def dual_array(problem, mu: np.ndarray) -> np.ndarray:
        return sparse_dual.packed(sparse_dual.unpacked(mu))

    def examples_in(problem, dual: np.ndarray) -> int:
        return sparse_dual.count(dual)

    def image_in(problem, dual: np.ndarray, i: int) -> np.ndarray:
        image = np.zeros(int(problem.image_size(i)))
        size, value, key = (int(at(dual, i)) for at in (size_of, values_at, keys_at))
        image[dual.view(np.int32)[key : key + size]] = dual[value : value + size]
        return image

    def step_tables(problem, i: int, work: SparseWork) -> np.ndarray:
        n_tables = min(len(work.step), problem.pointer[i + 1] - problem.pointer[i] - 1)
        n_states, step = problem.n_states, work.step[: max(n_tables, 1)]
        tables = np.zeros((len(step), n_states**2))
        tables[:, problem.steps.pairs.codes] = step
        return tables.reshape(-1, n_states, n_states)

    def new_work(problem) -> SparseWork:  # type: ignore[override]  # its own kind
        return new_sparse_work(problem)

    def new_rescaled_search(problem) -> PairwiseSearch:
        raise ValueError(
            "slack rescaling needs a score for every step of labels; train with all transitions, "
            "or with margin rescaling"
        )

    def new_delta(problem) -> Accumulator:
        if problem.features.rows.is_dense:
            return dense_accumulator(np.zeros(problem.dim))
        touched = problem.features.most_touched(problem.pointer, problem.n_states)
        touched += 3 * problem.n_states + problem.steps.most_touched(problem.pointer)[0]
        return new_accumulator(problem.dim, touched)

    def new_row_delta(problem) -> Accumulator:
        features, delta = problem.features, problem.new_delta()
        if features.rows.is_dense:
            return delta
        most_rows = int(np.diff(features.rows.indptr[problem.pointer]).max()) + 3
        most_rows += problem.steps.most_touched(problem.pointer)[1]
        return row_accumulator(problem.dim, delta.value.size, most_rows)

    def new_sums(problem) -> SparseSums:  # type: ignore[override]
        longest, steps = problem.longest, problem.steps
        n_tables = max(longest - 1, 1) if steps.n_attributes else 1
        check_memory(
            2 * n_tables * problem.n_states**2,
            f"there are {problem.n_states} labels; inference",
            f"pairs of labels at each of {n_tables} steps",
            "are these the labels? Merge rare ones, or cut long sequences",
        )
        return new_sparse_sums(longest, n_tables, problem.n_states, steps.n_pairs)
