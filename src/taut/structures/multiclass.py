"""Multiclass classification: one node per example, no steps (Crammer & Singer)."""

from typing import Any

import numpy as np

from taut.structures.features import node_features
from taut.structures.pairwise import Pairwise
from taut.structures.pairwise_build import label_numbers, pairwise_problem


def multiclass_problem(
    rows: Any,
    truth: np.ndarray,
    n_states: int,
    *,
    cost: np.ndarray | None = None,
    bias: bool = True,
    importance: np.ndarray | None = None,
) -> Pairwise:
    """A multiclass problem with one row per example: an array or a CSR matrix.

    >>> multiclass_problem(np.eye(3), np.array([0, 1, 1]), n_states=2).dim
    8
    """
    features: Any = rows if isinstance(rows, tuple) else node_features(rows)
    return pairwise_problem(
        features,
        np.arange(len(truth) + 1, dtype=np.int64),
        label_numbers(truth, n_states),
        n_states,
        cost=cost,
        loss_scale=None,
        importance=importance,
        bias=bias,
        boundary=False,
        step_features=None,
    )
