"""Grids of hidden states seen through noise: the Gaussian-mixture Potts model, without any file.

The labels of a grid are drawn from the Potts model

    p(y) ∝ exp(coupling · number of edges whose two cells have the same state),

and each cell shows its state's number plus Gaussian noise (Hu and Obozinski, 2018, section 7.1).
Neighbours tend to agree, so a model with edges recovers states that the noise hides.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from taut.structures.grid import grid_edges

# A chain that starts anywhere has forgotten it long before this, unless the coupling is near or
# above ln(1 + sqrt(n_states)), where one state begins to fill the grid.
N_SWEEPS = 200


def make_gaussian_potts(
    n: int = 50,
    *,
    size: int = 10,
    n_states: int = 5,
    coupling: float = 1.0,
    noise: float = 1.0,
    random_state: int | None = 0,
) -> tuple[
    list[tuple[NDArray[np.float64], NDArray[np.int32]]],
    list[NDArray[np.int64]],
]:
    """Make grids whose cells have hidden states, and noisy observations of them.

    A cell in state k is observed as x = k + noise · z with z standard normal. Its features are
    x and x², of which the logarithm of p(x | k) is a linear function: the best linear model is the
    true one. Train and test data are made by two values of ``random_state``.

    Parameters
    ----------
    n : int
        Number of grids.
    size : int
        Cells on each side of a grid.
    n_states : int
        Number of states of a cell.
    coupling : float
        How strongly neighbours agree: 0 not at all; from ln(1 + sqrt(n_states)) on (1.17 for five
        states), one state fills most of the grid. Negative values make neighbours differ.
    noise : float
        Standard deviation of an observation; the means of the states are 1 apart.
    random_state : int or None
        Seed; None draws fresh grids each time.

    Returns
    -------
    graphs : list of (node_features, edges)
        Features of shape (size², 2), cells row by row, and the edges of the grid: each cell is
        joined with the one to its right and the one below it. All graphs share one array of edges.
    labels : list of arrays of shape (size²,)
        The state of each cell, 0 to n_states - 1.

    Examples
    --------
    >>> from taut.datasets import make_gaussian_potts
    >>> graphs, labels = make_gaussian_potts(3, size=4)
    >>> node_features, edges = graphs[0]
    >>> node_features.shape, edges.shape
    ((16, 2), (24, 2))
    >>> labels[0].reshape(4, 4)
    array([[1, 2, 2, 3],
           [1, 1, 3, 0],
           [1, 0, 0, 0],
           [3, 4, 4, 4]])
    """
    for name, value in (("n", n), ("size", size), ("n_states", n_states)):
        if value < 1:
            raise ValueError(f"{name} must be at least 1, not {value}")
    if not np.isfinite(coupling):
        raise ValueError(f"coupling must be finite, not {coupling}")
    if not (np.isfinite(noise) and noise >= 0):
        raise ValueError(f"noise must be finite and not negative, not {noise}")
    rng = np.random.default_rng(random_state)
    states = _sample(n, size, n_states, coupling, rng).reshape(n, size * size)
    x = states + noise * rng.standard_normal(states.shape)
    features = np.stack([x, x * x], axis=2)
    edges, _ = grid_edges(size, size)
    return [(features[i], edges) for i in range(n)], list(states)


def _sample(
    n: int, size: int, n_states: int, coupling: float, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Labels of n grids, by Gibbs sampling on all grids at once.

    Cells of one colour of a checkerboard are independent given the others, so that half of the
    grid is drawn in one step.
    """
    y = rng.integers(n_states, size=(n, size, size))
    row, column = np.indices((size, size))
    colours = [(row + column) % 2 == colour for colour in (0, 1)]
    states = np.arange(n_states)
    for _ in range(N_SWEEPS):
        for colour in colours:
            # How many neighbours are in each state; -1 outside the grid equals no state.
            padded = np.pad(y, ((0, 0), (1, 1), (1, 1)), constant_values=-1)
            beside = (padded[:, 1:-1, :-2], padded[:, 1:-1, 2:])
            above = (padded[:, :-2, 1:-1], padded[:, 2:, 1:-1])
            equal = sum((cells[:, colour, None] == states) * 1 for cells in (*beside, *above))
            # The largest of scores with Gumbel noise is a draw from their softmax.
            scores = coupling * equal + rng.gumbel(size=equal.shape)
            y[:, colour] = scores.argmax(axis=2)
    return y
