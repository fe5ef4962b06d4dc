"""Chains: sequences of nodes with transitions (Osokin et al. 2016, appendix I.1)."""

from typing import Any

import numpy as np

from taut.structures.build import pairwise_problem
from taut.structures.features import node_features, observed_features
from taut.structures.pairwise import Pairwise


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
) -> Pairwise:
    """A chain problem from stacked nodes: ``rows`` holds all sequences, one after the other.

    ``rows`` is an array, a CSR matrix, or node features made from one.

    ``cost`` defaults to Hamming loss, divided by the length of the sequence if ``normalize``.
    ``bias`` gives every label a bias, ``boundary`` one more at the first and at the last position.

    >>> problem = chain_problem(np.eye(4), [3, 1], np.array([0, 1, 0, 1]), n_states=2)
    >>> problem.n, problem.dim  # 4 features and a bias per label, first, last, transitions
    (2, 18)
    """
    features: Any = rows if isinstance(rows, tuple) else node_features(rows)
    truth = np.ascontiguousarray(truth, np.int32)
    if observed:
        features = observed_features(features, truth, n_states)
    pointer = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
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
    )
