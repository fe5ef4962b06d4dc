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

The methods in the first half of the class are compiled where a solver is (see
:mod:`taut._compile`); the helpers they share are in ``pairwise_kernels``.
"""

import hashlib
from typing import NamedTuple

import numpy as np

from taut.accumulator import Accumulator, dense_accumulator, new_accumulator, push
from taut.inference.viterbi import independent_argmax, viterbi
from taut.structures.features import (
    DenseFeatures,
    Features,
    add_scaled,
    dot,
    joined,
    node_score,
    node_scores,
)
from taut.structures.pairwise_kernels import (
    add_image,
    add_row,
    biases,
    block_start,
    fill_truth,
    push_label,
    shift_step,
    step_score,
    step_scores,
    total_score,
)

NO_STEP = np.zeros(0)


class Work(NamedTuple):
    """Scratch memory of one thread."""

    theta: np.ndarray  # (longest, K) node scores
    pair: np.ndarray  # (steps or 1, K, K) step scores
    best: np.ndarray  # (longest, K) Viterbi's values
    reach: np.ndarray  # (longest, K) the same before the node's own score
    change: np.ndarray  # the change d of a dual block, laid out like it
    known: np.ndarray  # (longest, K) visit in which theta[t, k] was computed by ``margin``
    visit: np.ndarray  # (1,)


class Pairwise(NamedTuple):
    features: Features
    pointer: np.ndarray  # (n + 1,) nodes of example i
    truth: np.ndarray  # (n_nodes,) true labels
    cost: np.ndarray  # (K, K) cost[true, other], zero diagonal
    loss_scale: np.ndarray  # (n,)
    importance: np.ndarray  # (n,) sample weights
    step_features: np.ndarray  # (n_nodes, F), row t describes the step from t; (0, 0) if constant
    n_states: int
    n_step: int  # number of (K, K) step matrices; 0 without steps
    bias_at: int
    begin_at: int
    end_at: int
    step_at: int
    n: int
    dim: int

    # --- what a solver calls; see taut.problem for the contracts -------------------------------

    def scores(problem, w, i, work):
        first = problem.pointer[i]
        length = problem.pointer[i + 1] - first
        theta = work.theta
        node_scores(problem.features, w, first, length, theta)
        if problem.bias_at >= 0:
            for t in range(length):
                add_row(w, problem.bias_at, theta[t])
        if problem.begin_at >= 0:
            add_row(w, problem.begin_at, theta[0])
        if problem.end_at >= 0:
            add_row(w, problem.end_at, theta[length - 1])
        if problem.n_step > 0:
            step_scores(problem, w, first, length, work.pair)

    def add_loss(problem, i, work):
        first = problem.pointer[i]
        scale = problem.loss_scale[i]
        for t in range(problem.pointer[i + 1] - first):
            true = problem.truth[first + t]
            add_scaled(problem.cost[true], scale, work.theta[t])

    def argmax(problem, w, i, work, y):
        length = problem.pointer[i + 1] - problem.pointer[i]
        if problem.n_step > 0:
            value = viterbi(work.theta, work.pair, length, work.best, work.reach, y)
        else:
            value = independent_argmax(work.theta, length, y)
        return value - total_score(problem, work, problem.truth[problem.pointer[i] :], length)

    def label_value(problem, w, i, work, y):
        first = problem.pointer[i]
        length = problem.pointer[i + 1] - first
        return total_score(problem, work, y, length) - total_score(
            problem, work, problem.truth[first:], length
        )

    def block_value(problem, w, i, work, mu):
        first = problem.pointer[i]
        length = problem.pointer[i + 1] - first
        at = block_start(problem, i)
        total = 0.0
        for t in range(length):
            total += dot(mu[at : at + problem.n_states], work.theta[t])
            at += problem.n_states
        if problem.n_step > 0:
            steps = problem.n_step * problem.n_states * problem.n_states
            total += dot(mu[at : at + steps], w[problem.step_at : problem.step_at + steps])
        return total - total_score(problem, work, problem.truth[first:], length)

    def label_loss(problem, i, y):
        first = problem.pointer[i]
        total = 0.0
        for t in range(problem.pointer[i + 1] - first):
            total += problem.cost[problem.truth[first + t], y[t]]
        return problem.loss_scale[i] * total

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
            for k in range(n_states):
                if row[k] != 0.0:
                    push_label(problem, delta, first, length, t, k, amount * row[k])
        if problem.n_step > 0:
            at = length * n_states
            steps = work.change[at : at + problem.n_step * n_states * n_states]
            for j in range(steps.size):
                if steps[j] != 0.0:
                    push(delta, problem.step_at + j, amount * steps[j])

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

    def shift(problem, i, y, amount, scale, mu, delta):
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

    def forget(problem, i, y):
        pass

    def weight(problem, i):
        return problem.importance[i]

    # --- what the Python side calls ------------------------------------------------------------

    @property
    def is_compiled(problem) -> bool:
        return True

    @property
    def longest(problem) -> int:
        return int(np.diff(problem.pointer).max())

    def new_dual(problem) -> np.ndarray:
        """Marginals of all examples, at the truth."""
        mu = np.zeros(int(block_start(problem, problem.n)))
        fill_truth(problem, mu)
        return mu

    def for_prediction(
        problem, features: Features, lengths: np.ndarray, step_features: np.ndarray | None
    ) -> "Pairwise":
        """Other examples under the same weights; their labels are unknown."""
        return problem._replace(
            features=features,
            pointer=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            truth=np.zeros(int(np.sum(lengths)), np.int32),
            step_features=problem.step_features[:0] if step_features is None else step_features,
            n=len(lengths),
        )

    def check_steps(problem, step_features: np.ndarray | None) -> None:
        """Other examples must have as many step features as these."""
        fitted = problem.n_step if problem.step_features.size else 0
        given = 0 if step_features is None or not step_features.size else step_features.shape[1]
        if fitted != given:
            raise ValueError(f"there are {given} step features, the model was fitted with {fitted}")

    def extended(problem, more: "Pairwise") -> "Pairwise":
        """This problem followed by the examples of another; weights and costs stay this one's."""
        problem.check_steps(more.step_features)

        def both(name: str) -> np.ndarray:
            return np.concatenate([getattr(problem, name), getattr(more, name)])

        return problem._replace(
            features=joined(problem.features, more.features),
            pointer=np.concatenate([problem.pointer, problem.pointer[-1] + more.pointer[1:]]),
            truth=both("truth"),
            loss_scale=both("loss_scale"),
            importance=both("importance"),
            step_features=both("step_features"),
            n=problem.n + more.n,
        )

    def copy_dual(problem, source: np.ndarray, target: np.ndarray) -> None:
        """Copy the dual of this problem, or of its first examples, into ``target``."""
        if source.dtype != np.float64 or not np.all(np.isfinite(source)):
            raise ValueError("marginals must be finite numbers")
        target[: source.size] = source

    def dual_array(problem, mu: np.ndarray) -> np.ndarray:
        return mu

    def fingerprint(problem, n: int | None = None) -> str:
        """A hash of data, labels and losses of the first n examples (all by default)."""
        n = problem.n if n is None else n
        nodes = int(problem.pointer[n])
        digest = hashlib.blake2b(digest_size=16)
        for value in (
            *problem.features.of_first(nodes),
            problem.pointer[: n + 1],
            problem.truth[:nodes],
            problem.cost,
            problem.loss_scale[:n],
            problem.importance[:n],
            problem.step_features[:nodes],
            np.array([problem.n_states, problem.n_step, problem.dim]),
        ):
            digest.update(np.ascontiguousarray(value).data.cast("B") if np.size(value) else b"-")
        return digest.hexdigest()

    def hold(problem, i: int, y: np.ndarray) -> None:
        """One more holder of labelling ``y``; it is data, there is nothing to count."""

    def new_work(problem) -> Work:
        longest, n_states = problem.longest, problem.n_states
        n_tables = max(longest - 1, 1) if problem.step_features.size else 1
        return Work(
            np.zeros((longest, n_states)),
            np.zeros((n_tables, n_states, n_states)),
            np.zeros((longest, n_states)),
            np.zeros((longest, n_states)),
            np.zeros(longest * n_states + problem.n_step * n_states**2),
            np.zeros((longest, n_states), np.int64),
            np.zeros(1, np.int64),
        )

    def new_delta(problem) -> Accumulator:
        if isinstance(problem.features, DenseFeatures):
            return dense_accumulator(np.zeros(problem.dim))
        n_states = problem.n_states
        touched = problem.features.most_touched(problem.pointer, n_states)
        touched += 3 * n_states + problem.n_step * n_states**2
        return new_accumulator(problem.dim, touched)

    def held_at_zero(problem) -> np.ndarray:
        """Weights that exist only to fill a row (see ``ObservedFeatures``)."""
        return problem.features.held_at_zero()

    def worst_losses(problem) -> np.ndarray:
        """max_y loss_i(y): the value of the oracle at w = 0, without calling it."""
        per_node = problem.cost.max(axis=1)[problem.truth]
        return problem.loss_scale * np.add.reduceat(per_node, problem.pointer[:-1])
