"""Builds a pairwise problem: checks its arrays, fills in defaults, lays out the weights."""

import numpy as np
from numpy.typing import ArrayLike

from taut.constraints import Tables, check_truth
from taut.memory import check_memory
from taut.structures.features import Features
from taut.structures.pairwise import Pairwise
from taut.structures.sparse_chain import SparseChain
from taut.structures.sparse_steps import Steps, no_steps


def _check_nodes(
    features: Features,
    pointer: np.ndarray,
    truth: np.ndarray,
    step_features: np.ndarray | None,
) -> None:
    """Compiled code trusts these arrays."""
    nodes = features.rows.n_rows
    if len(truth) != nodes or pointer[-1] != nodes:
        raise ValueError(
            f"there are {nodes} rows of features, {len(truth)} labels, and lengths that add up to "
            f"{pointer[-1]}; all three must agree"
        )
    if len(pointer) < 2 or np.diff(pointer).min() < 1:
        raise ValueError("every example needs at least one node, and there must be an example")
    if step_features is not None and step_features.size and len(step_features) != nodes:
        raise ValueError(f"there are {len(step_features)} rows of step features for {nodes} nodes")


def label_numbers(truth: ArrayLike, n_states: int) -> np.ndarray:
    """True labels in 32 bits; what is no label is refused, before it wraps around and is one.

    >>> label_numbers([0, 2, 1], n_states=3)
    array([0, 2, 1], dtype=int32)
    """
    numbers = np.asarray(truth)
    if numbers.ndim != 1 or (numbers.size and numbers.dtype.kind not in "iu"):
        raise ValueError(
            f"labels are {numbers.dtype} values of shape {numbers.shape}; whole numbers from 0 to "
            f"{n_states - 1} are expected, one per node"
        )
    wrong = np.flatnonzero((numbers < 0) | (numbers >= n_states))
    if wrong.size:
        raise ValueError(
            f"label {wrong[0]} is {numbers[wrong[0]]}; labels must be numbers from 0 to "
            f"{n_states - 1}"
        )
    return np.ascontiguousarray(numbers, np.int32)


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
    allowed: Tables | None = None,
    forced: np.ndarray | None = None,
    steps: Steps | None = None,
) -> Pairwise:
    """Lay out the weights and fill in the defaults; ``step_features=None`` means no steps.

    ``steps`` are the only ones that have weights, if not all have.
    """
    n = len(pointer) - 1
    _check_nodes(features, pointer, truth, step_features)
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
    kind, n_step_weights = _kind_of(steps, n_step * n_states**2)
    places = _places(features.dim(n_states), n_states, bias, boundary, n_step_weights)
    check_memory(
        2 * places["dim"],
        f"there are {n_states} labels and {places['dim']:,} weights; training",
        "weights",
        'leave out features or merge labels, or for sparse sequences use features="observed"',
    )
    problem = kind(
        features=features,
        pointer=pointer,
        truth=truth,
        cost=1.0 - np.eye(n_states) if cost is None else _floats(cost),
        loss_scale=np.ones(n) if loss_scale is None else _floats(loss_scale),
        importance=np.ones(n) if importance is None else _floats(importance),
        steps=no_steps() if steps is None else steps,
        step_features=_floats(step_features),
        closed=np.zeros((0, n_states)),
        forced=np.zeros(0, np.int32),
        n_states=n_states,
        n_step=n_step,
        n=n,
        **places,
    ).constrained(allowed, forced)
    check_truth(problem)
    return problem


def empty_problem(
    features: Features,
    n_states: int,
    *,
    bias: bool,
    boundary: bool,
    n_step_features: int,
    steps: Steps | None = None,
) -> Pairwise:
    """A chain problem without examples; ``features`` are of no nodes."""
    n_step = max(n_step_features, 1)
    kind, n_step_weights = _kind_of(steps, n_step * n_states**2)
    return kind(
        features=features,
        pointer=np.zeros(1, np.int64),
        truth=np.zeros(0, np.int32),
        cost=1.0 - np.eye(n_states),
        loss_scale=np.zeros(0),
        importance=np.zeros(0),
        steps=no_steps() if steps is None else steps,
        step_features=np.zeros((0, n_step_features)),
        closed=np.zeros((0, n_states)),
        forced=np.zeros(0, np.int32),
        n_states=n_states,
        n_step=n_step,
        n=0,
        **_places(features.dim(n_states), n_states, bias, boundary, n_step_weights),
    )


def _kind_of(steps: Steps | None, n_all: int) -> tuple[type[Pairwise], int]:
    """The class of problem with these steps, and how many weights they have."""
    return (Pairwise, n_all) if steps is None else (SparseChain, steps.n_weights)


def _places(
    n_node_weights: int, n_states: int, bias: bool, boundary: bool, n_step_weights: int
) -> dict[str, int]:
    """Where each group of weights starts, and the number of all weights.

    Groups of a weight for each label are at -1 if they are not there; steps come last.
    """
    places, at = {}, n_node_weights
    for name, is_there in {"bias_at": bias, "begin_at": boundary, "end_at": boundary}.items():
        places[name] = at if is_there else -1
        at += n_states * is_there
    return {**places, "step_at": at, "dim": at + n_step_weights}


def _floats(values: np.ndarray) -> np.ndarray:
    return np.require(values, np.float64, ["C", "A"])
