"""From superpixels to graphs: which ones touch, and how much their histograms differ.

The difference of two histograms p and q is the χ² distance

    d(p, q) = 1/2 sum_k (p_k − q_k)² / (p_k + q_k),        0 where both are empty,

between 0 and 1 if each sums to 1. Edges have the features exp(−η d) for several η, near 1 where the
superpixels look alike, and a constant (Osokin et al., 2016, appendix I.3). None is negative: with
non-negative weights, a Potts model of them is submodular.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def touching(superpixels: NDArray[np.int32]) -> NDArray[np.int32]:
    """The pairs of superpixels that share a side of a pixel, each once, smaller number first.

    >>> touching(np.array([[0, 0, 1], [2, 1, 1]], dtype=np.int32)).tolist()
    [[0, 1], [0, 2], [1, 2]]
    """
    beside = (superpixels[:, :-1], superpixels[:, 1:])
    below = (superpixels[:-1], superpixels[1:])
    u, v = (
        np.concatenate([a.ravel(), b.ravel()]).astype(np.int64)
        for a, b in zip(beside, below, strict=True)
    )
    differ = u != v
    n = int(superpixels.max()) + 1
    codes = np.unique(np.minimum(u, v)[differ] * n + np.maximum(u, v)[differ])
    return np.stack(np.divmod(codes, n), axis=1).astype(np.int32)


def chi_squared(p: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
    """The distance of each row of p to the same row of q.

    >>> chi_squared(np.array([[1.0, 0.0], [0.5, 0.5]]), np.array([[0.0, 1.0], [0.5, 0.5]]))
    array([1., 0.])
    """
    # In place: the arrays are large, and making new ones costs more than the arithmetic.
    total = p + q
    np.maximum(total, np.finfo(np.float64).tiny, out=total)
    terms = p - q
    terms *= terms
    terms /= total
    return 0.5 * terms.sum(axis=1)


def contrast_features(
    features: NDArray[np.float64],
    edges: NDArray[np.int32],
    histograms: Sequence[slice],
    etas: Sequence[float],
) -> NDArray[np.float64]:
    """Edge features: a constant 1, then exp(−η d) for each histogram and each η.

    ``histograms`` are the columns of ``features`` that hold one histogram each.
    """
    u, v = edges.T
    distances = [chi_squared(features[u, columns], features[v, columns]) for columns in histograms]
    d = np.stack(distances, axis=1)
    contrast = np.exp(-d[:, :, None] * np.asarray(etas))
    return np.hstack(
        [np.ones((len(edges), 1)), contrast.reshape(len(edges), d.shape[1] * len(etas))]
    )
