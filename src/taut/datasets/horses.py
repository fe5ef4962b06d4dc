"""Weizmann horses: find the horse in each photograph (Borenstein and Ullman, 2002).

The photographs become graphs of superpixels (:mod:`taut.datasets.horse_features`). To find the
superpixels takes most of the time, so what is found in an image is kept in the user's cache folder,
under a name made of the image's bytes and of all that the result depends on.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from taut._compile import places
from taut.datasets._arrays import read_arrays
from taut.datasets._files import find_file
from taut.datasets._images import Image, decode, missing_extra, read_members
from taut.datasets._types import Superpixels
from taut.datasets.horse_features import N_BINS, count_bins, find_superpixels, superpixel_graph
from taut.files.atomic import atomic_write

CLASSES = ["background", "horse"]
N_IMAGES = 328
N_TRAIN = 164
# The colour photograph of this one is not the one that the mask was drawn on.
MISMATCHED = 318
# Increase it whenever the same image would give other arrays.
_CACHE_VERSION = 1


def load_horses(
    data_home: str | os.PathLike[str] | None = None,
    *,
    subset: Literal["train", "test", "all"] = "all",
    n_images: int | None = None,
    n_superpixels: int = 150,
    longest_side: int = 240,
) -> Superpixels:
    """Load the Weizmann horses as graphs of superpixels. It needs the extra ``taut[images]``.

    Images 1 to 164 are for training and 165 to 328 for testing: two halves, because neighbouring
    images may come from one source. Image 318 is left out: its colours and its mask do not match.
    The first call takes about half a minute; later ones find the superpixels in the cache folder
    (``TAUT_CACHE_DIR``, or the user's own).

    The 210 node features are square roots of histograms of 64 colours, 25 textures (directions of
    the gradient) and 16 places on a 4 x 4 grid, first of the superpixel and then of the superpixel
    with its neighbours. The 31 edge features are a constant 1 and exp(−η d) for η = 1/16, 1/4, 1,
    4 and 16, where d is the χ² distance of two touching superpixels in each of the six histograms.
    None is negative.

    Parameters
    ----------
    data_home : path, optional
        The folder that contains ``weizmann_horse/rgb.tar`` and ``figure_ground.tar`` beside it; by
        default the environment variable ``TAUT_DATA``.
    subset : {"all", "train", "test"}
        Which images.
    n_images : int, optional
        How many of them, from the first on; by default all.
    n_superpixels : int
        How many superpixels to divide an image into, roughly.
    longest_side : int
        Images are made smaller, never larger, so that neither side has more pixels than this.

    Returns
    -------
    Superpixels
        The named tuple graphs, labels, sizes, maps, pixel_labels, image_ids, classes. Labels are 0
        for background and 1 where more than half of the pixels belong to the horse.

    Examples
    --------
    >>> data = load_horses(subset="train")  # doctest: +SKIP
    >>> len(data.graphs), data.graphs[0][0].shape, data.image_ids[0]  # doctest: +SKIP
    (164, (150, 210), 'horse001')
    """
    for name, value in (("n_superpixels", n_superpixels), ("longest_side", longest_side)):
        if value < 2:
            raise ValueError(f"{name} must be at least 2, not {value}")
    image_ids = _image_ids(subset, n_images)
    data = Superpixels([], [], [], [], [], image_ids, CLASSES.copy())
    for photograph in _photographs(data_home, image_ids):
        superpixels, mask, counts = _cached(photograph, n_superpixels, longest_side)
        sizes = np.bincount(superpixels.ravel())
        data.graphs.append(superpixel_graph(superpixels, counts))
        data.labels.append((2 * np.bincount(superpixels[mask], minlength=len(sizes)) > sizes) * 1)
        data.sizes.append(sizes)
        data.maps.append(superpixels)
        data.pixel_labels.append(mask.astype(np.int8))
    return data


def horse_image(
    image_id: str,
    data_home: str | os.PathLike[str] | None = None,
    *,
    longest_side: int = 240,
) -> Image:
    """Read one of the photographs, of the size of its superpixel map, to draw labels on.

    Parameters
    ----------
    image_id : str
        One of the ``image_ids`` that :func:`load_horses` returns.
    data_home : path, optional
        The folder that contains ``weizmann_horse/rgb.tar`` and ``figure_ground.tar`` beside it; by
        default the environment variable ``TAUT_DATA``.
    longest_side : int
        The value that :func:`load_horses` was called with.

    Returns
    -------
    array of shape (height, width, 3)
        Red, green and blue from 0 to 255.

    Examples
    --------
    >>> horse_image("horse001").shape  # doctest: +SKIP
    (177, 240, 3)
    """
    (photograph,) = _photographs(data_home, [image_id])
    return photograph.read(longest_side)[0]


class _Photograph(NamedTuple):
    """The files of one image, and what to call them in an error."""

    image_id: str
    rgb: bytes
    mask: bytes
    rgb_source: str
    mask_source: str

    def read(self, longest_side: int) -> tuple[Image, NDArray[np.bool_]]:
        """Colours and mask, of one size: the photographs are larger than the masks."""
        height, width = decode(self.mask, self.mask_source, mode="L").shape
        shrink = min(1.0, longest_side / max(height, width))
        size = max(1, round(height * shrink)), max(1, round(width * shrink))
        mask = decode(self.mask, self.mask_source, mode="L", size=size) >= 128
        return decode(self.rgb, self.rgb_source, size=size), mask


def _photographs(
    data_home: str | os.PathLike[str] | None, image_ids: list[str]
) -> Iterator[_Photograph]:
    contents, sources = [], []
    for folder in ("rgb", "figure_ground"):
        path = find_file(data_home, f"weizmann_horse/{folder}.tar")
        names = [f"{folder}/{image_id}.jpg" for image_id in image_ids]
        members = read_members(path, names)
        contents.append([members[name] for name in names])
        sources.append([f"{path}, {name}" for name in names])
    yield from map(_Photograph, image_ids, *contents, *sources)


def _image_ids(subset: str, n_images: int | None) -> list[str]:
    numbers = [k for k in range(1, N_IMAGES + 1) if k != MISMATCHED]
    if subset not in ("train", "test", "all"):
        raise ValueError(f"subset must be 'train', 'test' or 'all', not {subset!r}")
    chosen = [k for k in numbers if subset == "all" or (k <= N_TRAIN) == (subset == "train")]
    if n_images is not None and not 1 <= n_images <= len(chosen):
        raise ValueError(f"n_images must be from 1 to {len(chosen)}, not {n_images}")
    return [f"horse{k:03d}" for k in chosen[:n_images]]


def _cached(
    photograph: _Photograph, n_superpixels: int, longest_side: int
) -> tuple[NDArray[np.int32], NDArray[np.bool_], NDArray[np.int64]]:
    """Superpixels, mask and counts, from the cache if they are in it."""
    settings = f"{_CACHE_VERSION} {_versions()} {n_superpixels} {longest_side}"
    key = hashlib.sha256(settings.encode())
    for content in (photograph.rgb, photograph.mask):
        key.update(hashlib.sha256(content).digest())
    name = f"{photograph.image_id}-{key.hexdigest()[:16]}.npz"
    folder = places.folders()[-1] if places.folders() else Path(os.devnull)  # never a folder
    path = folder / "horses" / name
    with suppress(OSError, ValueError):  # not there, or damaged: then it is made anew
        return _checked(*read_arrays(path, "superpixels", "mask", "counts"))
    image, mask = photograph.read(longest_side)
    superpixels = find_superpixels(image, n_superpixels)
    counts = count_bins(image, superpixels)
    with suppress(OSError):  # a cache that cannot be written only costs time
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as file:
            np.savez_compressed(file, superpixels=superpixels, mask=mask, counts=counts)
    return superpixels, mask, counts


def _versions() -> str:
    """Of what decides how an image is divided."""
    try:
        return " ".join(importlib.metadata.version(name) for name in ("scikit-image", "pillow"))
    except importlib.metadata.PackageNotFoundError as error:
        raise missing_extra(str(error.name)) from error


def _checked(
    superpixels: NDArray[Any], mask: NDArray[Any], counts: NDArray[Any]
) -> tuple[NDArray[np.int32], NDArray[np.bool_], NDArray[np.int64]]:
    whole = (
        (superpixels.dtype, mask.dtype, counts.dtype) == (np.int32, np.bool_, np.int64)
        and superpixels.ndim == 2
        and mask.shape == superpixels.shape
        and counts.shape == (superpixels.max() + 1, N_BINS)
        and superpixels.min() == 0
        and bool((np.bincount(superpixels.ravel()) > 0).all())
    )
    if not whole:
        raise ValueError("not what was written")
    return superpixels, mask, counts
