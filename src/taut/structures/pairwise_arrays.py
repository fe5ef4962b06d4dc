"""The arrays of a pairwise problem, and the problems that can be made from one by exchanging them.

Compiled code knows the fields by their order (see :mod:`taut._compile`).
"""

import hashlib
from typing import Any, NamedTuple, Self

import numpy as np

from taut._compile import Integers, Labels, Matrix, Vector, by_reference
from taut.arrays.lengths import checked_lengths
from taut.constraints import (
    ImpossibleConstraint,
    Tables,
    check_truth,
    closed_table,
    forced_labels,
    impossible,
)
from taut.structures.features import Features
from taut.structures.features_build import check_like, joined
from taut.structures.sparse_steps import Steps


@by_reference
class PairwiseArrays(NamedTuple):
    features: Features
    pointer: Integers  # (n + 1,) nodes of example i
    truth: Labels  # (n_nodes,) true labels
    cost: Matrix  # (K, K) cost[true, other], zero diagonal
    loss_scale: Vector  # (n,)
    importance: Vector  # (n,) sample weights
    steps: Steps  # of a SparseChain: the pairs of labels whose steps have weights
    step_features: Matrix  # (n_nodes, F), row t describes the step from t; (0, 0) if constant
    closed: Matrix  # (K + 2, K) -inf where a step, a beginning or an end is forbidden; or empty
    forced: Labels  # (n_nodes,) the label a node must have, -1 if any; or empty
    n_states: int
    n_step: int  # number of (K, K) step matrices; 0 without steps
    bias_at: int
    begin_at: int
    end_at: int
    step_at: int
    n: int
    dim: int

    @property
    def longest(problem) -> int:
        return int(np.diff(problem.pointer).max(initial=0))

    @property
    def largest_image(problem) -> int:
        """How many numbers the largest dual block has."""
        return (problem.longest + problem.n_step * problem.n_states) * problem.n_states

    @property
    def mean_norm(problem) -> float:
        """|features|^2 of a labelling, as if no features were shared by its nodes; the mean."""
        features = problem.features
        values = features.rows.values
        # Not by BLAS, whose sum depends on the number of its threads.
        squares = float(np.einsum("i,i->", values, values))
        return (squares + 2 * len(problem.truth)) / problem.n

    # --- other examples, other constraints -----------------------------------------------------

    def for_prediction(
        problem,
        features: Features,
        lengths: np.ndarray,
        step_features: np.ndarray | None,
        forced: np.ndarray | None = None,
        step_attributes: Any = None,
    ) -> Self:
        """Other examples under the same weights and tables of allowed labels; no labels known.

        ``forced`` holds labels that must come out, -1 where any may.
        """
        problem.check_steps(step_features)
        check_like(features, problem.features)
        n_nodes = features.rows.n_rows
        lengths = checked_lengths(lengths, n_nodes)
        if step_features is not None and len(step_features) != n_nodes:
            raise ValueError(
                f"there are {len(step_features)} rows of step features for {n_nodes} nodes"
            )
        steps = problem.step_features[:0] if step_features is None else step_features
        return problem._replace(
            steps=problem.steps.of_nodes(step_attributes, n_nodes),
            features=features,
            pointer=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
            truth=np.zeros(n_nodes, np.int32),
            step_features=np.require(steps, np.float64, ["C", "A"]),
            forced=forced_labels(forced, n_nodes, problem.n_states),
            n=len(lengths),
        )

    def constrained(
        problem, allowed: Tables | None = None, forced: np.ndarray | None = None
    ) -> Self:
        """The same examples, their labellings limited to these tables and forced labels.

        For prediction: true labels are not looked at. For training, constraints are given where
        the problem is built.
        """
        if allowed is not None and problem.n_step == 0:
            raise ValueError("tables of allowed labels need a chain; this problem has no steps")
        return problem._replace(
            closed=closed_table(allowed, problem.n_states),
            forced=forced_labels(forced, len(problem.truth), problem.n_states),
        )

    def constrained_to(problem, labels: np.ndarray) -> Self:
        """The same examples and tables, limited to these labels, -1 where any may be."""
        return problem._replace(forced=np.require(labels, np.int32, ["C", "A"]))

    def clamped(problem, known: np.ndarray) -> Self:
        """The same examples, limited to labellings that agree with the true labels known."""
        others = problem.forced if problem.forced.size else -1
        return problem.constrained_to(np.where(known, problem.truth, others))

    def impossible(problem, i: int, w: np.ndarray) -> ImpossibleConstraint:
        """The error to raise for an example of which no labelling is possible."""
        return impossible(problem, i)

    def layout(problem) -> Self:
        """No examples at all: what is left is how weights are laid out and labellings limited."""
        return problem._replace(
            features=without_nodes(problem.features),
            pointer=np.zeros(1, np.int64),
            truth=np.zeros(0, np.int32),
            loss_scale=np.zeros(0),
            importance=np.zeros(0),
            steps=problem.steps.of_no_nodes(),
            step_features=np.zeros((0, problem.step_features.shape[1])),
            forced=np.zeros(0, np.int32),
            n=0,
        )

    def check_steps(problem, step_features: np.ndarray | None) -> None:
        """Other examples must have as many step features as these."""
        fitted = problem.step_features.shape[1]
        given = 0 if step_features is None else step_features.shape[1]
        if fitted != given:
            raise ValueError(f"there are {given} step features, the model was fitted with {fitted}")

    def extended(problem, more: Self) -> Self:
        """This problem followed by the examples of another; weights, costs and tables of allowed
        labels stay this one's."""
        problem.check_steps(more.step_features)

        def both(name: str) -> np.ndarray:
            return np.concatenate([getattr(problem, name), getattr(more, name)])

        def forced(part: Self) -> np.ndarray:
            return part.forced if part.forced.size else np.full(len(part.truth), -1)

        n_nodes = len(problem.truth) + len(more.truth)
        whole = problem._replace(
            features=joined(problem.features, more.features),
            pointer=np.concatenate([problem.pointer, problem.pointer[-1] + more.pointer[1:]]),
            truth=both("truth"),
            loss_scale=both("loss_scale"),
            importance=both("importance"),
            steps=problem.steps.followed_by(more.steps),
            step_features=both("step_features"),
            forced=forced_labels(
                np.concatenate([forced(problem), forced(more)]), n_nodes, problem.n_states
            ),
            n=problem.n + more.n,
        )
        check_truth(whole)
        return whole

    # --- what a run asks -----------------------------------------------------------------------

    def fingerprint(problem, n: int | None = None) -> str:
        """A hash of data, labels, losses and constraints of the first n examples (or all)."""
        n = problem.n if n is None else n
        nodes = int(problem.pointer[n])
        forced = problem.forced[:nodes]
        digest = hashlib.blake2b(digest_size=16)
        for value in (
            *problem.features.of_first(nodes),
            problem.pointer[: n + 1],
            problem.truth[:nodes],
            problem.cost,
            problem.loss_scale[:n],
            problem.importance[:n],
            problem.step_features[:nodes],
            *problem.steps.arrays(nodes),
            problem.closed,
            # Examples added later may be the first with forced labels.
            forced if (forced >= 0).any() else forced[:0],
            np.array([problem.n_states, problem.n_step, problem.dim]),
        ):
            digest.update(np.ascontiguousarray(value).data.cast("B") if np.size(value) else b"-")
        return digest.hexdigest()

    def choices(problem, i: int) -> np.ndarray | None:
        if problem.closed.size or problem.forced.size:
            return None
        return np.full(problem.pointer[i + 1] - problem.pointer[i], problem.n_states)

    def largest_entropy(problem, i: int, image: np.ndarray) -> float:
        """That of its nodes, if they were independent."""
        nodes = int(problem.pointer[i + 1] - problem.pointer[i]) * problem.n_states
        p = np.clip(image[:nodes], 1e-300, 1.0)
        return float(-(p * np.log(p)).sum())

    def held_at_zero(problem) -> np.ndarray:
        """Weights that exist only to fill a row (see ``Features``)."""
        return problem.features.held_at_zero()

    def worst_losses(problem) -> np.ndarray | None:
        """max_y loss_i(y): the value of the oracle at w = 0, without calling it.

        None under constraints: which losses are possible, only the oracle knows.
        """
        if problem.closed.size or problem.forced.size:
            return None
        per_node = problem.cost.max(axis=1)[problem.truth]
        return problem.loss_scale * np.add.reduceat(per_node, problem.pointer[:-1])

    def log_counts(problem) -> np.ndarray | None:
        """Logarithms of the numbers of labellings; None under constraints."""
        if problem.closed.size or problem.forced.size:
            return None
        return np.diff(problem.pointer) * np.log(problem.n_states)


def without_nodes(features: Any) -> Features:
    """Features of no nodes, under the same layout of weights."""
    return features._replace(rows=features.rows.empty_like())
