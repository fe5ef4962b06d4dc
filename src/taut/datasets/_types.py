"""What the loaders of label sets and of graphs return."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

# Node features (n, d), edges (m, 2) and edge features (m, c).
GraphTuple: TypeAlias = tuple[NDArray[np.float64], NDArray[np.int32], NDArray[np.float64]]


class LabelSets(NamedTuple):
    """Rows with any number of labels each."""

    #: Features, of shape (n, d): an array, or a ``csr_array`` if the file is sparse.
    X: NDArray[np.float64] | csr_array
    #: 1 where the row has the label, else 0; of shape (n, n_labels).
    Y: NDArray[np.int64]
    #: One name per column of Y.
    label_names: list[str]
    #: One name per column of X, or None where the file has no names.
    feature_names: list[str] | None


class Superpixels(NamedTuple):
    """Images as graphs of superpixels: small regions of similar colour, joined where they touch.

    Every list has one element per image. ``maps[i]`` turns what is known of superpixels into a
    picture: ``labels[i][maps[i]]`` is an image of labels.
    """

    #: Node features (n, d), edges (m, 2) with the smaller superpixel first, edge features (m, c).
    graphs: list[GraphTuple]
    #: The class of each superpixel, -1 where it is unknown: the class of most of its pixels.
    labels: list[NDArray[np.int64]]
    #: How many pixels each superpixel has.
    sizes: list[NDArray[np.int64]]
    #: The superpixel of each pixel, of shape (height, width).
    maps: list[NDArray[np.int32]]
    #: The class of each pixel, of shape (height, width), -1 where it is unknown.
    pixel_labels: list[NDArray[np.int8]]
    #: The name of each image.
    image_ids: list[str]
    #: The name of each class.
    classes: list[str]
