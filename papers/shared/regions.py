"""Stanford's images as regions on two levels: what stands in for MSRC-21.

MSRC-21 and the features of Yao et al. (2012) were not to be had. There, an image has 65 fine and 31
coarse superpixels on average, and a superpixel has one score for every class, of a classifier
trained before. Here the 490 superpixels of each Stanford image are merged to 65 regions and these
to 31 (Ward's method, neighbours only, on 30 principal components). The scores of a region are
log-probabilities of a logistic regression on its mean features: of training images that of a
regression on the other two thirds of them, so that they are no better than those of test images.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.cluster import AgglomerativeClustering
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression

from taut.datasets import load_stanford
from taut.datasets._types import Superpixels

N_FINE, N_COARSE, N_CLASSES, N_PARTS = 65, 31, 8, 3
LEAST_PROBABILITY = 1e-3


class Level(NamedTuple):
    """The regions of an image."""

    features: NDArray[np.float64]  # class scores, (n, 8)
    edges: NDArray[np.int32]  # which ones touch
    pixels: NDArray[np.float64]  # (n, 8): how many pixels of each class a region has

    @property
    def labels(self) -> NDArray[np.int64]:
        """The class of most of a region's pixels; -1 if none of them has one."""
        return np.where(self.pixels.sum(axis=1) > 0, self.pixels.argmax(axis=1), -1)


class Image(NamedTuple):
    fine: Level
    coarse: Level
    parent: NDArray[np.int64]  # of each fine region, the coarse one


@cache
def two_levels(data_home: str | None) -> dict[str, list[Image]]:
    """Training and test images."""
    data = {part: load_stanford(data_home, subset=part) for part in ("train", "test")}  # type: ignore[call-overload]
    stacked = np.concatenate([graph[0] for graph in data["train"].graphs])
    principal = PCA(30, random_state=0).fit(stacked)
    images = {part: [_merged(found, k, principal) for k in range(len(found.graphs))]
              for part, found in data.items()}  # fmt: skip
    train, n = images["train"], len(images["train"])
    scored = {"train": list(train), "test": []}
    for part in range(N_PARTS):
        classifier = _classifier([train[i] for i in range(n) if i % N_PARTS != part])
        for i in range(part, n, N_PARTS):
            scored["train"][i] = _scored(train[i], classifier)
    classifier = _classifier(train)
    scored["test"] = [_scored(image, classifier) for image in images["test"]]
    return scored


def _merged(data: Superpixels, k: int, principal: PCA) -> Image:
    features, edges, _ = data.graphs[k]
    n = len(features)
    truth, at = data.pixel_labels[k].ravel().astype(np.int64), data.maps[k].ravel()
    known = truth >= 0
    pixels = np.zeros((n, N_CLASSES))
    np.add.at(pixels, (at[known], truth[known]), 1.0)
    smallest = Level(features, edges, pixels)
    region, fine = _merge(smallest, data.sizes[k].astype(float), N_FINE, principal)
    sizes = np.bincount(region, data.sizes[k], len(fine.features))
    parent, coarse = _merge(fine, sizes, N_COARSE, principal)
    return Image(fine, coarse, parent)


def _merge(
    level: Level, sizes: NDArray[np.float64], n_regions: int, principal: PCA
) -> tuple[NDArray[np.int64], Level]:
    n = len(level.features)
    if n <= n_regions:
        return np.arange(n), level
    u, v = level.edges.T
    touching = sparse.coo_array((np.ones(len(u)), (u, v)), (n, n)).tocsr()
    touching = touching + touching.T
    n_parts, _ = sparse.csgraph.connected_components(touching)
    assert n_parts == 1  # regions tile an image
    ward = AgglomerativeClustering(n_regions, connectivity=touching, linkage="ward")
    region = ward.fit(principal.transform(level.features)).labels_.astype(np.int64)
    joined = sparse.coo_array((np.ones(n), (region, np.arange(n))), (n_regions, n)).tocsr()
    means = (joined @ (level.features * sizes[:, None])) / (joined @ sizes)[:, None]
    pairs = np.sort(region[level.edges], axis=1)
    pairs = np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0).astype(np.int32)
    return region, Level(means, pairs, joined @ level.pixels)


def _classifier(images: list[Image]) -> LogisticRegression:
    levels = [level for image in images for level in (image.fine, image.coarse)]
    X, y = (np.concatenate([getattr(level, name) for level in levels])
            for name in ("features", "labels"))  # fmt: skip
    return LogisticRegression(C=1e-3, max_iter=200).fit(X[y >= 0], y[y >= 0])


def _scored(image: Image, classifier: LogisticRegression) -> Image:
    def scored(level: Level) -> Level:
        found = np.full((len(level.features), N_CLASSES), LEAST_PROBABILITY)
        found[:, classifier.classes_] = classifier.predict_proba(level.features)
        return level._replace(features=np.log(np.maximum(found, LEAST_PROBABILITY)))

    return image._replace(fine=scored(image.fine), coarse=scored(image.coarse))
