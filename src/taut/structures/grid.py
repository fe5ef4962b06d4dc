"""The edges of a grid: what image models on pixels or cells need."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def grid_edges(height: int, width: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The 4-connected grid, whose nodes are numbered row by row.

    Parameters
    ----------
    height, width : int
        The size of the grid.

    Returns
    -------
    edges : array of shape (n_edges, 2)
        First all horizontal edges (left node, right node), then all vertical ones (upper node,
        lower node). The first node is the smaller number.
    direction : array of shape (n_edges,)
        0 for a horizontal edge, 1 for a vertical one.

    Examples
    --------
    >>> from taut.structures.grid import grid_edges
    >>> edges, direction = grid_edges(2, 2)
    >>> edges.tolist()
    [[0, 1], [2, 3], [0, 2], [1, 3]]
    >>> direction.tolist()
    [0, 0, 1, 1]
    """
    if height < 1 or width < 1:
        raise ValueError(f"height and width must be at least 1, not {height} and {width}")
    node = np.arange(height * width, dtype=np.int32).reshape(height, width)
    horizontal = np.stack([node[:, :-1].ravel(), node[:, 1:].ravel()], axis=1)
    vertical = np.stack([node[:-1].ravel(), node[1:].ravel()], axis=1)
    direction = np.repeat([0, 1], [len(horizontal), len(vertical)])
    return np.concatenate([horizontal, vertical]), direction
