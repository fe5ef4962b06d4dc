"""Superpixels of an image and histograms of what they show.

As in appendix I.3 of Osokin et al. (2016), scaled down: histograms of colours, texture and places,
each of the superpixel alone and of the superpixel with its neighbours. Where they have SIFT words,
here are directions of the gradient, which need no training.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array

from taut.datasets._images import Image, missing_extra
from taut.datasets._superpixels import contrast_features, touching
from taut.datasets._types import GraphTuple

Bins = NDArray[np.int64]  # of each pixel

COLOURS_PER_CHANNEL = 4
DIRECTIONS = 8
# Of grey levels per pixel: flat, weak, clear, strong.
GRADIENT_STEPS = (4.0, 16.0, 48.0)
PLACES_PER_SIDE = 4
# Bins of the three histograms.
N_COLOURS = COLOURS_PER_CHANNEL**3
N_TEXTURES = 1 + DIRECTIONS * len(GRADIENT_STEPS)
N_PLACES = PLACES_PER_SIDE**2
N_BINS = N_COLOURS + N_TEXTURES + N_PLACES
ETAS = (2.0**-4, 2.0**-2, 1.0, 2.0**2, 2.0**4)


def find_superpixels(image: Image, n_superpixels: int) -> NDArray[np.int32]:
    """About ``n_superpixels`` regions by SLIC (Achanta et al., 2012), numbered from 0."""
    try:
        from skimage.segmentation import slic
    except ImportError as error:
        raise missing_extra("scikit-image") from error
    # Compact regions of a smoothed image: with less, textured ones fall apart and small ones are
    # merged into others across the outline of the horse.
    regions = slic(
        image, n_segments=n_superpixels, compactness=30.0, sigma=1.0, start_label=0, channel_axis=-1
    )
    _, numbered = np.unique(regions, return_inverse=True)
    return numbered.reshape(regions.shape).astype(np.int32)


def count_bins(image: Image, superpixels: NDArray[np.int32]) -> NDArray[np.int64]:
    """How many pixels of each superpixel fall into each bin: colours, textures, places."""
    n = int(superpixels.max()) + 1
    counts = []
    for bins, n_bins in (
        (_colours(image), N_COLOURS),
        (_textures(image), N_TEXTURES),
        (_places(*superpixels.shape), N_PLACES),
    ):
        cells = superpixels.astype(np.int64) * n_bins + bins
        counts.append(np.bincount(cells.ravel(), minlength=n * n_bins).reshape(n, n_bins))
    return np.hstack(counts)


def superpixel_graph(superpixels: NDArray[np.int32], counts: NDArray[np.int64]) -> GraphTuple:
    """Square roots of the histograms at the nodes, their similarities at the edges.

    Between square roots the inner product is the Bhattacharyya coefficient, 1 for equal histograms:
    a linear model of them compares histograms better than one of the histograms.
    """
    edges = touching(superpixels)
    neighbourhoods = counts + _sums_over_neighbours(edges, counts)
    ends = np.cumsum([N_COLOURS, N_TEXTURES, N_PLACES] * 2)
    columns = [slice(start, end) for start, end in zip([0, *ends], ends, strict=False)]
    histograms = np.hstack([counts, neighbourhoods]).astype(np.float64)
    for kind in columns:
        histograms[:, kind] /= histograms[:, kind].sum(axis=1, keepdims=True)
    edge_features = contrast_features(histograms, edges, columns, ETAS)
    return np.sqrt(histograms), edges, edge_features


def _sums_over_neighbours(edges: NDArray[np.int32], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    u, v = edges.T
    n = len(counts)
    joined = coo_array((np.ones(len(u), dtype=np.int64), (u, v)), shape=(n, n)).tocsr()
    return joined @ counts + joined.T @ counts


def _colours(image: Image) -> Bins:
    red, green, blue = (image.astype(np.int64) * COLOURS_PER_CHANNEL // 256).transpose(2, 0, 1)
    return (red * COLOURS_PER_CHANNEL + green) * COLOURS_PER_CHANNEL + blue


def _textures(image: Image) -> Bins:
    """Bin 0 where the image is flat; elsewhere strength and direction of the gradient.

    Opposite directions count as one: a dark horse on bright ground and the reverse.
    """
    down, right = np.gradient(image.mean(axis=2))
    strength = np.searchsorted(GRADIENT_STEPS, np.hypot(down, right))
    turn = np.arctan2(down, right) / np.pi % 1.0
    direction = (turn * DIRECTIONS).astype(np.int64) % DIRECTIONS
    return np.where(strength == 0, 0, 1 + (strength - 1) * DIRECTIONS + direction)


def _places(height: int, width: int) -> Bins:
    row = np.arange(height) * PLACES_PER_SIDE // height
    column = np.arange(width) * PLACES_PER_SIDE // width
    return row[:, None] * PLACES_PER_SIDE + column
