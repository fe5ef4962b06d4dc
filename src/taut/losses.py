"""Losses: a cost for every (true, other) pair of labels and a scale for every example.

Hamming loss counts wrong labels; divided by the length it is the fraction of wrong labels. Class
weights make mistakes on rare classes more expensive; a cost matrix says everything explicitly. All
of them are ``loss_i(y) = scale_i * sum_t cost[truth_t, y_t]``, so structures know only these two
arrays.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from taut.memory import check_memory


def cost_matrix(
    truth: np.ndarray,
    classes: Sequence[Hashable],
    class_weight: Mapping | str | None = None,
    cost: ArrayLike | None = None,
) -> np.ndarray:
    """The (K, K) cost of answering ``other`` where ``true`` is right.

    >>> cost_matrix(np.array([0, 0, 0, 1]), ["a", "b"], class_weight="balanced").round(2)
    array([[0.  , 0.67],
           [2.  , 0.  ]])
    """
    n_states = len(classes)
    if cost is not None:
        if class_weight is not None:
            raise ValueError(
                "both a cost matrix and class_weight were given; multiply the rows of the cost "
                "matrix by the class weights and give only the matrix"
            )
        return _checked_cost(np.asarray(cost, np.float64), n_states)
    check_memory(
        2 * n_states**2,
        f"there are {n_states} labels; what mistakes cost",
        "pairs of labels",
        "are these the labels? Merge rare ones",
    )
    weight = np.ones(n_states)
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise ValueError(f'class_weight={class_weight!r}; expected "balanced", a dict or None')
        counts = np.bincount(truth, minlength=n_states)
        weight = len(truth) / (np.count_nonzero(counts) * np.maximum(counts, 1))
    elif class_weight is not None:
        unknown = [label for label in class_weight if label not in classes]
        if unknown:
            raise ValueError(
                f"class_weight names {unknown[0]!r}, which is not one of the labels {list(classes)}"
            )
        weight = np.array([float(class_weight.get(label, 1.0)) for label in classes])
        if not np.all(np.isfinite(weight) & (weight >= 0)):
            raise ValueError(f"class weights must be finite and not negative, got {class_weight}")
    return weight[:, None] * (1.0 - np.eye(n_states))


def _checked_cost(cost: np.ndarray, n_states: int) -> np.ndarray:
    if cost.shape != (n_states, n_states):
        raise ValueError(
            f"the cost matrix has shape {cost.shape}; with {n_states} labels it must be "
            f"({n_states}, {n_states}), rows for the true label"
        )
    if not np.all(np.isfinite(cost)) or cost.min() < 0:
        raise ValueError("the cost matrix must be finite and not negative")
    if np.any(np.diag(cost) != 0):
        label = int(np.flatnonzero(np.diag(cost))[0])
        raise ValueError(
            f"the cost of label number {label} for itself is {cost[label, label]}; "
            "the right answer must cost 0"
        )
    return np.ascontiguousarray(cost)


def checked_weights(sample_weight: Any, n: int) -> np.ndarray | None:
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight, np.float64)
    if weights.shape != (n,):
        raise ValueError(f"sample_weight has shape {weights.shape}; expected ({n},)")
    if not np.all(np.isfinite(weights)) or weights.min() < 0:
        i = int(np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))[0])
        raise ValueError(f"sample_weight[{i}] is {weights[i]}; it must be finite and not negative")
    if not weights.any():
        raise ValueError("all sample weights are zero")
    return weights
