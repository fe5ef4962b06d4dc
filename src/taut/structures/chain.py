"""Chains: sequences of nodes with transitions (Osokin et al. 2016, appendix I.1).

``chain_problem`` is what one trains on. ``chain_layout`` has no examples: it says where a trained
model's weights are, and ``for_prediction`` puts sequences to be labelled under them.
"""

from typing import Any

import numpy as np
from scipy import sparse

from taut.arrays.lengths import checked_lengths
from taut.constraints import Tables
from taut.structures.features import node_features
from taut.structures.features_build import observed_features
from taut.structures.pairwise import Pairwise
from taut.structures.pairwise_build import empty_problem, label_numbers, pairwise_problem
from taut.structures.sparse_steps import Steps, seen_steps


def chain_problem(
    rows: Any,
    lengths: np.ndarray,
    truth: np.ndarray,
    n_states: int,
    *,
    cost: np.ndarray | None = None,
    normalize: bool = True,
    bias: bool = True,
    boundary: bool = True,
    observed: bool = False,
    step_features: np.ndarray | None = None,
    importance: np.ndarray | None = None,
    allowed: Tables | None = None,
    forced: np.ndarray | None = None,
    known: np.ndarray | None = None,
    only_seen_steps: bool = False,
    step_attributes: Any = None,
) -> Pairwise:
    """A chain problem from stacked nodes: ``rows`` holds all sequences, one after the other.

    ``rows`` is an array, a CSR matrix, or node features made from one.

    ``cost`` defaults to Hamming loss, divided by the length of the sequence if ``normalize``.
    ``bias`` gives every label a bias, ``boundary`` one more at the first and at the last position.

    ``allowed`` limits labellings: boolean tables of the labels that may come first, that may come
    last, and of the steps (from, to) that may be made. ``forced`` holds labels that nodes must
    have, -1 where they are free. Both also limit prediction, ``forced`` only where it is given
    again. True labels that violate them raise
    :class:`taut.constraints.InvalidTruth`. ``known`` says which true labels count as
    observed together with the node's attributes (all).

    ``only_seen_steps`` gives weights only to pairs of labels that follow each other in ``truth``;
    other steps score zero. ``step_attributes`` is a CSR matrix with a row for every node, the
    attributes of the step that leads to it; they have weights for the pairs they are seen with.

    >>> problem = chain_problem(np.eye(4), [3, 1], np.array([0, 1, 0, 1]), n_states=2)
    >>> problem.n, problem.dim  # 4 features and a bias per label, first, last, transitions
    (2, 18)
    """
    features: Any = rows if isinstance(rows, tuple) else node_features(rows)
    truth, lengths = label_numbers(truth, n_states), checked_lengths(lengths, features.rows.n_rows)
    if observed:
        features = observed_features(features, truth, n_states, known)
    pointer = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    steps = None
    if only_seen_steps or step_attributes is not None:
        if step_features is not None:
            raise ValueError("step features need a weight for every step of labels; leave them out")
        steps = seen_steps(truth, pointer, n_states, step_attributes, known, only_seen_steps)
    return pairwise_problem(
        features,
        pointer,
        truth,
        n_states,
        cost=cost,
        loss_scale=1.0 / np.maximum(lengths, 1) if normalize else None,
        importance=importance,
        bias=bias,
        boundary=boundary,
        step_features=np.zeros((0, 0)) if step_features is None else step_features,
        allowed=allowed,
        forced=forced,
        steps=steps,
    )


def chain_layout(
    n_features: int,
    n_states: int,
    *,
    dense: bool = False,
    observed: tuple[np.ndarray, np.ndarray] | None = None,
    bias: bool = True,
    boundary: bool = True,
    n_step_features: int = 0,
    steps: Steps | None = None,
) -> Pairwise:
    """A chain problem without examples, under the weights of which others can be labelled.

    Features are ``dense``, or ``observed`` with the arrays (weight_pointer, weight_state) that
    :func:`taut.structures.features_build.observed_layout` makes, or sparse. ``n_step_features=0``
    means constant steps; ``steps`` are the pairs of labels that have weights, if not all have.

    >>> layout = chain_layout(4, 2, dense=True)
    >>> layout.n, layout.dim
    (0, 18)
    >>> problem = layout.for_prediction(node_features(np.eye(4)), np.array([3, 1]), None)
    >>> problem.n
    2
    """
    none: Any = np.zeros((0, n_features)) if dense else sparse.csr_array((0, n_features))
    features = node_features(none)
    if observed is not None:
        features = features.with_pairs(*observed)
    return empty_problem(
        features,
        n_states,
        bias=bias,
        boundary=boundary,
        n_step_features=n_step_features,
        steps=steps,
    )
