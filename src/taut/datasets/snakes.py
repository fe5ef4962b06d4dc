"""Snakes: where along a snake is each cell? (Nowozin et al., Decision Tree Fields, 2011).

A cell of a snake only tells by its colour where the snake goes next. Its position, 1 to 10, follows
from its neighbours' positions alone, so that a model without edges is lost.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taut.datasets._arrays import check_integers, check_shape, read_arrays, split, unreadable
from taut.datasets._files import find_file
from taut.datasets._types import GraphTuple
from taut.structures.grid import grid_edges

N_COLOURS = 5
N_LABELS = 11


def load_snakes(
    data_home: str | os.PathLike[str] | None = None,
) -> tuple[list[GraphTuple], list[NDArray[np.int64]], list[GraphTuple], list[NDArray[np.int64]]]:
    """Load the snakes: 200 training and 100 test images of 4 x 4 to 10 x 11 cells.

    The nodes are the cells, row by row. The features of a cell are the colours of its 3 x 3
    neighbourhood: for each of the nine cells, row by row, five numbers of which the one of its
    colour is 1. They are all 0 outside the image. An edge joins a cell with the one to its right or
    below it. Its two features say which: (1, 0) or (0, 1), so that a full table of transitions
    per feature can tell left from right and above from below.

    Parameters
    ----------
    data_home : path, optional
        The folder that contains ``snakes/snakes.npz``; by default the environment variable
        ``TAUT_DATA``.

    Returns
    -------
    graphs_train, labels_train, graphs_test, labels_test : lists
        For each image its graph (node features of shape (n, 45), edges of shape (m, 2), edge
        features of shape (m, 2)) and its labels of shape (n,): 0 is background, 1 to 10 the
        position along the snake.

    Examples
    --------
    >>> graphs, labels, graphs_test, labels_test = load_snakes()  # doctest: +SKIP
    >>> len(graphs), len(graphs_test), graphs[0][0].shape  # doctest: +SKIP
    (200, 100, (42, 45))
    """
    path = find_file(data_home, "snakes/snakes.npz")
    names = [f"{array}_{part}" for part in ("train", "test") for array in ("shapes", "X", "Y")]
    arrays = dict(zip(names, read_arrays(path, *names), strict=True))
    colours = _colours(path, arrays)
    train = _graphs(path, arrays, colours, "train")
    return *train, *_graphs(path, arrays, colours, "test")


def _colours(path: Path, arrays: dict[str, NDArray[Any]]) -> NDArray[Any]:
    """The colours that occur, in a fixed order."""
    for name in ("X_train", "X_test"):
        check_integers(path, name, arrays[name], 0, 255)
        check_shape(path, name, arrays[name], (arrays[name].size // 3, 3))
    colours = np.unique(np.concatenate([arrays["X_train"], arrays["X_test"]]), axis=0)
    if len(colours) != N_COLOURS:
        raise unreadable(path, f"{len(colours)} colours, expected {N_COLOURS}")
    return colours


def _graphs(
    path: Path, arrays: dict[str, NDArray[Any]], colours: NDArray[Any], part: str
) -> tuple[list[GraphTuple], list[NDArray[np.int64]]]:
    shapes, X, Y = (arrays[f"{name}_{part}"] for name in ("shapes", "X", "Y"))
    check_integers(path, f"shapes_{part}", shapes, 1, 10_000)
    check_shape(path, f"shapes_{part}", shapes, (max(1, shapes.size // 2), 2))
    n_cells = shapes.astype(np.int64).prod(axis=1)
    check_shape(path, f"X_{part}", X, (n_cells.sum(), 3))
    check_shape(path, f"Y_{part}", Y, (n_cells.sum(),))
    check_integers(path, f"Y_{part}", Y, 0, N_LABELS - 1)
    one_hot = (X[:, None] == colours).all(axis=2).astype(np.float64)
    graphs = []
    for (height, width), cells in zip(shapes.tolist(), split(one_hot, n_cells), strict=True):
        edges, direction = grid_edges(height, width)
        features = _neighbourhoods(cells.reshape(height, width, N_COLOURS))
        graphs.append((features, edges, np.eye(2)[direction]))
    return graphs, split(Y.astype(np.int64), n_cells)


def _neighbourhoods(image: NDArray[np.float64]) -> NDArray[np.float64]:
    """The 3 x 3 cells around each cell, nothing but zeros outside."""
    height, width, _ = image.shape
    padded = np.pad(image, ((1, 1), (1, 1), (0, 0)))
    shifted = [padded[i : i + height, j : j + width] for i in range(3) for j in range(3)]
    return np.concatenate(shifted, axis=2).reshape(height * width, -1)
