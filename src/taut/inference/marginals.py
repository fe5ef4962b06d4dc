"""Marginals of one graph: exact where that is possible, else the relaxed model's own.

Forests have the marginals of p(y) ∝ exp(score(y) / temperature), by
:mod:`~taut.inference.sum_product`. Graphs with cycles have those of the relaxed model with Gini
entropy, by :mod:`~taut.inference.gini`: they sum to one and agree with each other, but need not
belong to any distribution of labellings, and unlikely states get exactly zero.
"""

from typing import NamedTuple

import numpy as np

from taut.inference.gini import gini_marginals, new_gini_work
from taut.inference.maxsum import forest_order
from taut.inference.sum_product import new_sum_product_work, sum_product


class Marginals(NamedTuple):
    """Marginals; zeros for states that do not exist.

    ``gap`` bounds how far the relaxed objective is from its maximum, and gap / temperature the
    squared distance of the marginals from the right ones. It is zero for forests.
    """

    node: np.ndarray  # (n, K)
    edge: np.ndarray  # (m, K, K)
    gap: float


def graph_marginals(
    theta: np.ndarray,
    states: np.ndarray,
    ends: np.ndarray,
    pair: np.ndarray,
    *,
    temperature: float = 1.0,
    accuracy: float = 1e-6,
    rounds: int = 10_000,
) -> Marginals:
    """Of a forest by :func:`forest_marginals`, of other graphs by :func:`relaxed_marginals`.

    >>> theta, states = np.log([[1.0, 3.0], [1.0, 1.0]]), np.array([2, 2])
    >>> ends, pair = np.array([[0, 1]]), np.zeros((1, 2, 2))
    >>> graph_marginals(theta, states, ends, pair).node.round(6).tolist()
    [[0.25, 0.75], [0.5, 0.5]]
    """
    _check_positive(temperature)
    order = forest_order(len(theta), ends)
    if order is None:
        return relaxed_marginals(
            theta, states, ends, pair, temperature=temperature, accuracy=accuracy, rounds=rounds
        )
    return _of_forest(theta, states, ends, pair, order, temperature)[0]


def forest_marginals(
    theta: np.ndarray,
    states: np.ndarray,
    ends: np.ndarray,
    pair: np.ndarray,
    *,
    temperature: float = 1.0,
) -> tuple[Marginals, float]:
    """Exact marginals of p(y) = exp(score(y) / temperature) / Z on a forest, and log Z.

    >>> theta, states = np.log([[1.0, 3.0]]), np.array([2])
    >>> ends, pair = np.zeros((0, 2), int), np.zeros((0, 2, 2))
    >>> marginals, log_z = forest_marginals(theta, states, ends, pair)
    >>> marginals.node.round(6).tolist(), round(float(np.exp(log_z)), 6)
    ([[0.25, 0.75]], 4.0)
    """
    _check_positive(temperature)
    order = forest_order(len(theta), ends)
    if order is None:
        raise ValueError(
            f"the {len(ends)} edges between {len(theta)} nodes close a cycle, and exact marginals "
            "are for forests; use relaxed_marginals"
        )
    return _of_forest(theta, states, ends, pair, order, temperature)


def relaxed_marginals(
    theta: np.ndarray,
    states: np.ndarray,
    ends: np.ndarray,
    pair: np.ndarray,
    *,
    temperature: float = 1.0,
    accuracy: float = 1e-6,
    rounds: int = 10_000,
) -> Marginals:
    """The point of the local polytope that maximises score + temperature · Gini entropy.

    Stops at a gap of ``accuracy``, or after ``rounds`` steps; ``Marginals.gap`` tells. Three nodes
    that would all like to be different:

    >>> theta, states = np.zeros((3, 2)), np.full(3, 2)
    >>> ends, pair = np.array([[0, 1], [1, 2], [2, 0]]), np.tile(1.0 - np.eye(2), (3, 1, 1))
    >>> found = relaxed_marginals(theta, states, ends, pair)
    >>> found.node[0].round(6).tolist(), found.edge[0].round(6).tolist()
    ([0.5, 0.5], [[0.0, 0.5], [0.5, 0.0]])
    """
    _check_positive(temperature)
    theta, states, ends, pair = _arrays(theta, states, ends, pair)
    n, m, n_states = len(theta), len(ends), theta.shape[1]
    node, edge = np.zeros((n, n_states)), np.zeros((m, n_states, n_states))
    work = new_gini_work(n, m, n_states)
    gap = gini_marginals(
        theta, states, ends, pair, n, m, float(temperature), float(accuracy), rounds, work,
        node, edge,
    )  # fmt: skip
    return Marginals(node, edge, gap)


def _of_forest(theta, states, ends, pair, order, temperature):
    theta, states, ends, pair = _arrays(theta, states, ends, pair)
    n, m, n_states = len(theta), len(ends), theta.shape[1]
    node, edge = np.zeros((n, n_states)), np.zeros((m, n_states, n_states))
    log_z = sum_product(
        theta / temperature, states, ends, pair / temperature, n, m, order,
        new_sum_product_work(n, n_states), node, edge,
    )  # fmt: skip
    return Marginals(node, edge, 0.0), log_z


def _arrays(theta, states, ends, pair):
    """As the kernels are compiled for."""
    kinds = zip((theta, states, ends, pair), (float, np.int32, np.int32, float), strict=True)
    return tuple(np.ascontiguousarray(array, kind) for array, kind in kinds)


def _check_positive(temperature):
    if not 0.0 < temperature < np.inf:
        raise ValueError(
            f"temperature={temperature}; expected a positive number: at zero there are no "
            "marginals, only best labellings"
        )
