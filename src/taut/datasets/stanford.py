"""Stanford background: outdoor scenes in eight classes (Gould, Fulton and Koller, 2009).

Here are 99 of the 715 images, as superpixels with the histograms of textons, colours and places
that came with them.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from taut.datasets._arrays import check_integers, check_shape, read_arrays, split, unreadable
from taut.datasets._files import find_file
from taut.datasets._images import Image, decode, read_members
from taut.datasets._superpixels import contrast_features
from taut.datasets._types import Superpixels

CLASSES = ["sky", "tree", "road", "grass", "water", "building", "mountain", "foreground"]
N_FEATURES = 519
# Where the histograms are among the features: two kinds of textons, then red, green and blue.
TEXTONS = [slice(0, 100), slice(200, 300)]
COLOURS = [slice(406, 414), slice(414, 422), slice(422, 430)]
ETAS = (0.5, 2.0, 8.0)
_ARRAYS = (
    "image_id", "n_superpixels", "n_adj", "height_width", "features", "labels",
    "adj_pairs_1based", "superpixel_map_1based", "pixel_labels",
)  # fmt: skip


def load_stanford(
    data_home: str | os.PathLike[str] | None = None,
    *,
    subset: Literal["train", "test", "all"] = "all",
    scale: bool = True,
) -> Superpixels:
    """Load the Stanford background images as graphs of superpixels.

    The 519 node features are those of the file: histograms of 100 textons of two kinds, each inside
    the superpixel (columns 0-99, 200-299) and around it (100-199, 300-399), mean (400-402) and
    standard deviation (403-405) of the colours from 0 to 255, histograms of red, green and blue of
    8 bins each, inside (406-429) and around (430-453), the height of the top edge (454) and the
    place in the image on an 8 x 8 grid (455-518).

    The 16 edge features are a constant 1 and exp(−η d) for η = 0.5, 2 and 8, where d is the χ²
    distance of two touching superpixels in each of the five histograms inside them. None is
    negative.

    Every third image is for testing, 33 in all. Images of one origin have neighbouring numbers,
    so that both parts have some of each origin.

    Parameters
    ----------
    data_home : path, optional
        The folder that contains ``stanford_background/superpixels_99.npz``; by default the
        environment variable ``TAUT_DATA``.
    subset : {"all", "train", "test"}
        Which images; "all" has them in the order of their numbers.
    scale : bool
        Divide each node feature by its standard deviation over the training images. The file's
        features differ in size by a factor of 10,000.

    Returns
    -------
    Superpixels
        The named tuple graphs, labels, sizes, maps, pixel_labels, image_ids, classes. Labels are 0
        to 7, and -1 for the superpixels whose class is unknown.

    Examples
    --------
    >>> data = load_stanford(subset="train")  # doctest: +SKIP
    >>> len(data.graphs), data.graphs[0][0].shape, data.classes[0]  # doctest: +SKIP
    (66, (492, 519), 'sky')
    """
    if subset not in ("train", "test", "all"):
        raise ValueError(f"subset must be 'train', 'test' or 'all', not {subset!r}")
    path = find_file(data_home, "stanford_background/superpixels_99.npz")
    arrays = dict(zip(_ARRAYS, read_arrays(path, *_ARRAYS), strict=True))
    _check(path, arrays)
    n_images = len(arrays["image_id"])
    is_test = np.arange(n_images) % 3 == 2
    of_subset = {"train": ~is_test, "test": is_test, "all": np.ones(n_images, dtype=bool)}
    pieces = _split(arrays)
    scales = _standard_deviations(pieces["features"], ~is_test) if scale else np.ones(N_FEATURES)
    return _superpixels(pieces, np.flatnonzero(of_subset[subset]), scales)


def stanford_image(image_id: str, data_home: str | os.PathLike[str] | None = None) -> Image:
    """Read one of the photographs, to draw labels on. It needs the extra ``taut[images]``.

    Parameters
    ----------
    image_id : str
        One of the ``image_ids`` that :func:`load_stanford` returns.
    data_home : path, optional
        The folder that contains ``stanford_background/images_99.tar``; by default the environment
        variable ``TAUT_DATA``.

    Returns
    -------
    array of shape (height, width, 3)
        Red, green and blue from 0 to 255.

    Examples
    --------
    >>> stanford_image("0000047").shape  # doctest: +SKIP
    (240, 320, 3)
    """
    path = find_file(data_home, "stanford_background/images_99.tar")
    member = f"images/{image_id}.jpg"
    return decode(read_members(path, [member])[member], f"{path}, {member}")


def _check(path: Path, arrays: dict[str, NDArray[Any]]) -> None:
    """Refuse arrays that do not fit together: what follows trusts every number."""
    n_images = max(1, len(np.atleast_1d(arrays["image_id"])))
    check_shape(path, "image_id", arrays["image_id"], (n_images,))
    check_shape(path, "height_width", arrays["height_width"], (n_images, 2))
    for name in ("n_superpixels", "n_adj", "height_width"):
        check_integers(path, name, arrays[name], 0 if name == "n_adj" else 1, 10_000_000)
    n_superpixels, n_pairs, n_pixels = _counts(arrays)
    check_shape(path, "n_superpixels", n_superpixels, (n_images,))
    check_shape(path, "n_adj", n_pairs, (n_images,))
    total = n_superpixels.sum()
    check_shape(path, "features", arrays["features"], (total, N_FEATURES))
    check_shape(path, "labels", arrays["labels"], (total,))
    check_shape(path, "adj_pairs_1based", arrays["adj_pairs_1based"], (n_pairs.sum(), 2))
    for name in ("superpixel_map_1based", "pixel_labels"):
        check_shape(path, name, arrays[name], (n_pixels.sum(),))
    for name in ("labels", "pixel_labels"):
        check_integers(path, name, arrays[name], 0, len(CLASSES))
    for name, counts in (("adj_pairs_1based", n_pairs), ("superpixel_map_1based", n_pixels)):
        check_integers(path, name, arrays[name], 1, n_superpixels.max())
        for i, numbers in enumerate(split(arrays[name], counts)):
            check_integers(path, f"{name} of image {i}", numbers, 1, n_superpixels[i])
    if not np.isfinite(arrays["features"]).all():
        raise unreadable(path, "features that are not finite")


def _counts(arrays: dict[str, NDArray[Any]]) -> tuple[NDArray[np.int64], ...]:
    """Of each image: superpixels, ordered pairs that touch, pixels."""
    n_superpixels, n_pairs = (arrays[name].astype(np.int64) for name in ("n_superpixels", "n_adj"))
    return n_superpixels, n_pairs, arrays["height_width"].astype(np.int64).prod(axis=1)


def _split(arrays: dict[str, NDArray[Any]]) -> dict[str, list[Any]]:
    """Each array as one piece per image."""
    n_superpixels, n_pairs, n_pixels = _counts(arrays)
    return {
        "image_id": arrays["image_id"].tolist(),
        "shape": arrays["height_width"].tolist(),
        "features": split(arrays["features"], n_superpixels),
        "labels": split(arrays["labels"], n_superpixels),
        "pairs": split(arrays["adj_pairs_1based"], n_pairs),
        "map": split(arrays["superpixel_map_1based"], n_pixels),
        "pixel_labels": split(arrays["pixel_labels"], n_pixels),
    }


def _standard_deviations(
    features: list[NDArray[np.float32]], is_train: NDArray[np.bool_]
) -> NDArray[np.float64]:
    # Image by image, because all at once in double precision would be several times the file.
    n, total, squares = 0, np.zeros(N_FEATURES), np.zeros(N_FEATURES)
    for i in np.flatnonzero(is_train):
        x = features[i].astype(np.float64)
        n += len(x)
        total += x.sum(axis=0)
        squares += np.einsum("tj,tj->j", x, x)
    variance = squares / n - (total / n) ** 2
    return np.sqrt(np.where(variance > 0.0, variance, 1.0))


def _superpixels(
    pieces: dict[str, list[Any]], chosen: NDArray[np.intp], scales: NDArray[np.float64]
) -> Superpixels:
    data = Superpixels([], [], [], [], [], [], CLASSES.copy())
    for i in chosen.tolist():
        features = pieces["features"][i].astype(np.float64)
        pairs = pieces["pairs"][i].astype(np.int32) - 1
        edges = pairs[pairs[:, 0] < pairs[:, 1]]  # the file has each pair both ways
        edge_features = contrast_features(features, edges, TEXTONS + COLOURS, ETAS)
        features /= scales
        superpixels = pieces["map"][i].astype(np.int32) - 1
        data.graphs.append((features, edges, edge_features))
        data.labels.append(pieces["labels"][i].astype(np.int64) - 1)
        data.sizes.append(np.bincount(superpixels, minlength=len(features)))
        data.maps.append(superpixels.reshape(pieces["shape"][i]))
        data.pixel_labels.append(
            (pieces["pixel_labels"][i].astype(np.int8) - 1).reshape(pieces["shape"][i])
        )
        data.image_ids.append(pieces["image_id"][i])
    return data
