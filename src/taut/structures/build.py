"""Builds a pairwise problem: checks its arrays, fills in defaults, lays out the weights."""

import numpy as np

from taut.structures.features import Features
from taut.structures.pairwise import Pairwise


def _check_nodes(
    features: Features,
    pointer: np.ndarray,
    truth: np.ndarray,
    n_states: int,
    step_features: np.ndarray | None,
) -> None:
    """Compiled code trusts these arrays."""
    nodes = features.n_nodes()
    if len(truth) != nodes or pointer[-1] != nodes:
        raise ValueError(
            f"there are {nodes} rows of features, {len(truth)} labels, and lengths that add up to "
            f"{pointer[-1]}; all three must agree"
        )
    if len(pointer) < 2 or np.diff(pointer).min() < 1:
        raise ValueError("every example needs at least one node, and there must be an example")
    if truth.min() < 0 or truth.max() >= n_states:
        raise ValueError(f"labels must be numbers from 0 to {n_states - 1}")
    if step_features is not None and step_features.size and len(step_features) != nodes:
        raise ValueError(f"there are {len(step_features)} rows of step features for {nodes} nodes")


def pairwise_problem(
    features: Features,
    pointer: np.ndarray,
    truth: np.ndarray,
    n_states: int,
    *,
    cost: np.ndarray | None,
    loss_scale: np.ndarray | None,
    importance: np.ndarray | None,
    bias: bool,
    boundary: bool,
    step_features: np.ndarray | None,
) -> Pairwise:
    """Lay out the weights and fill in the defaults; ``step_features=None`` means no steps."""
    n = len(pointer) - 1
    _check_nodes(features, pointer, truth, n_states, step_features)
    n_step = 0
    if step_features is None:
        step_features = np.zeros((0, 0))
    else:
        n_step = step_features.shape[1] if step_features.size else 1
    for name, values, size in (
        ("cost", cost, (n_states, n_states)),
        ("loss_scale", loss_scale, (n,)),
        ("importance", importance, (n,)),
    ):
        if values is not None and (np.shape(values) != size or not np.min(values) >= 0):
            raise ValueError(f"{name} must have shape {size} and no negative entries")
    sizes = [bias * n_states, boundary * n_states, boundary * n_states, n_step * n_states**2]
    ends = np.cumsum([features.dim(n_states), *sizes])
    bias_at, begin_at, end_at, step_at = (
        int(end) if size else -1 for end, size in zip(ends[:-1], sizes, strict=True)
    )
    return Pairwise(
        features,
        pointer,
        truth,
        1.0 - np.eye(n_states) if cost is None else cost,
        np.ones(n) if loss_scale is None else np.ascontiguousarray(loss_scale, np.float64),
        np.ones(n) if importance is None else np.ascontiguousarray(importance, np.float64),
        np.ascontiguousarray(step_features, np.float64),
        n_states,
        n_step,
        bias_at,
        begin_at,
        end_at,
        step_at,
        n,
        int(ends[-1]),
    )
