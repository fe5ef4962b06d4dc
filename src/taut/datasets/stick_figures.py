"""Stick figures: bodies of 14 joints, drawn as lines, and what a poor detector sees of them.

The joints are made up by a random kinematic model, or they are those of the Leeds Sports Poses
(Johnson & Everingham, 2010). In both cases images and heat maps are ours: the detector of a part
answers at its joint, nearly as strongly at the joint of the other side of the body, and now and
then anywhere. One part alone is often misplaced; the springs between parts put most of them right.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from taut.datasets._files import find_file

JOINTS = (
    "right ankle",
    "right knee",
    "right hip",
    "left hip",
    "left knee",
    "left ankle",
    "right wrist",
    "right elbow",
    "right shoulder",
    "left shoulder",
    "left elbow",
    "left wrist",
    "neck",
    "head",
)
# The joint on which each hangs; the neck is the root.
PARENTS = (1, 2, 8, 9, 3, 4, 7, 8, 12, 12, 9, 10, -1, 12)
# The same joint on the other side of the body.
MIRRORED = (5, 4, 3, 2, 1, 0, 11, 10, 9, 8, 7, 6, 12, 13)

# Where each joint of an upright body is, seen from its parent (x to the right, y down; the body's
# right is the image's left), and by how much (radians) its bone turns against the parent's.
_RESTING = np.array(
    [(0, 0.23), (0, 0.25), (0.04, 0.28), (-0.04, 0.28), (0, 0.25), (0, 0.23), (0, 0.15),
     (-0.03, 0.17), (-0.11, 0.03), (0.11, 0.03), (0.03, 0.17), (0, 0.15), (0, 0), (0, -0.14)]
)  # fmt: skip
_TURNS = np.array([0.5, 0.4, 0.1, 0.1, 0.4, 0.5, 0.9, 0.8, 0.1, 0.1, 0.8, 0.9, 0.3, 0.2])

# Share of the grid that a figure fills, and widths of lines and blobs as shares of its side.
_FILLED, _LINE, _BLOB = 0.85, 0.015, 0.03


class StickFigures(NamedTuple):
    """Figures on a grid of size x size positions."""

    #: Scores of the detectors, (14, size, size) for each figure, in single precision.
    heat_maps: list[NDArray[np.float32]]
    #: True positions (x, y) of the joints, of shape (n, 14, 2).
    joints: NDArray[np.int64]
    #: Drawings in [0, 1], of shape (n, size, size).
    images: NDArray[np.float32]


def make_stick_figures(
    n: int = 100,
    *,
    size: int = 64,
    noise: float = 0.15,
    clutter: int = 3,
    random_state: int | None = 0,
) -> StickFigures:
    """Make figures from a random kinematic model; needs no files.

    Parameters
    ----------
    n : int
        Number of figures.
    size : int
        Height and width of the grid.
    noise : float
        Standard deviation of the noise at every position of a heat map; an answer at a joint is
        between 0.7 and 1.3 high, a false one between 0.5 and 1.1.
    clutter : int
        Number of false answers, at random places, in every heat map.
    random_state : int or None
        Seed of poses and detectors; None draws fresh ones each time.

    Returns
    -------
    StickFigures
        ``heat_maps``, ``joints`` and ``images``.

    Examples
    --------
    >>> from taut.datasets import make_stick_figures
    >>> figures = make_stick_figures(3, size=32)
    >>> figures.heat_maps[0].shape, figures.joints.shape, figures.images.shape
    ((14, 32, 32), (3, 14, 2), (3, 32, 32))
    """
    if n < 1:
        raise ValueError(f"n={n}; at least one figure")
    _check_options(size, noise, clutter)
    rng = np.random.default_rng(random_state)
    return _figures(np.stack([_random_pose(rng) for _ in range(n)]), size, noise, clutter, rng)


def load_stick_figures(
    data_home: str | os.PathLike[str] | None = None,
    *,
    subset: Literal["train", "test", "all"] = "train",
    size: int = 64,
    noise: float = 0.15,
    clutter: int = 3,
    random_state: int | None = 0,
) -> StickFigures:
    """Draw the joints of the Leeds Sports Poses: 1,000 figures for training, 1,000 for testing.

    Each pose is moved to the middle of the grid and scaled to fill most of it. There are no
    photographs: images and heat maps are made as by :func:`make_stick_figures`.

    Parameters
    ----------
    data_home : path, optional
        The folder that contains ``lsp/joints.mat``; by default the environment variable
        ``TAUT_DATA``.
    subset : {"train", "test", "all"}
        The first half of the figures, the second half, or both.
    size, noise, clutter, random_state
        As in :func:`make_stick_figures`.

    Returns
    -------
    StickFigures
        ``heat_maps``, ``joints`` and ``images``.

    Examples
    --------
    >>> figures = load_stick_figures(subset="test")  # doctest: +SKIP
    >>> figures.joints.shape  # doctest: +SKIP
    (1000, 14, 2)
    """
    _check_options(size, noise, clutter)
    poses = _read_poses(find_file(data_home, "lsp/joints.mat"))
    half = len(poses) // 2
    parts = {"train": poses[:half], "test": poses[half:], "all": poses}
    if subset not in parts:
        raise ValueError(f"subset={subset!r}; expected 'train', 'test' or 'all'")
    # The subset is part of the seed, so that the two halves do not share their noise.
    key = (list(parts).index(subset),)
    rng = np.random.default_rng(np.random.SeedSequence(random_state, spawn_key=key))
    return _figures(parts[subset], size, noise, clutter, rng)


def _check_options(size: int, noise: float, clutter: int) -> None:
    if size < 8:
        raise ValueError(f"size={size}; a figure needs a grid of at least 8 positions a side")
    if not noise >= 0:
        raise ValueError(f"noise={noise}; it must not be negative")
    if clutter < 0:
        raise ValueError(f"clutter={clutter}; it must not be negative")


def _read_poses(path: Path) -> NDArray[np.float64]:
    """Joints (n, 14, 2) in pixels of photographs that are not there."""
    from scipy.io import loadmat  # here, because it takes a while to import

    try:
        joints = np.asarray(loadmat(path)["joints"], np.float64)
    except Exception as error:  # a damaged file fails in many ways; the remedy is the same
        raise ValueError(f"{path}: cannot read the joints ({error}); replace the file") from error
    if joints.ndim != 3 or joints.shape[:2] != (3, len(JOINTS)) or joints.shape[2] < 2:
        raise ValueError(
            f"{path}: joints have the shape {joints.shape}; expected (3, {len(JOINTS)}, n) with "
            "rows x, y and visibility; replace the file"
        )
    poses = np.ascontiguousarray(joints[:2].transpose(2, 1, 0))
    sound = (np.abs(poses) < 1e6).all(axis=(1, 2)) & (poses != poses[:, :1]).any(axis=(1, 2))
    if not sound.all():
        figure = int(np.flatnonzero(~sound)[0])
        raise ValueError(f"{path}: the joints of figure {figure} are no pose; replace the file")
    return poses


def _random_pose(rng: np.random.Generator) -> NDArray[np.float64]:
    """Joints (14, 2) of a body: every bone turned at random against the one it hangs on."""
    turn = _TURNS * rng.normal(size=len(JOINTS))
    position, angle = np.zeros((len(JOINTS), 2)), np.zeros(len(JOINTS))
    placed = [PARENTS.index(-1)]
    for joint in placed:  # grows while it is walked
        parent = PARENTS[joint]
        if parent >= 0:
            angle[joint] = angle[parent] + turn[joint]
            cos, sin = np.cos(angle[joint]), np.sin(angle[joint])
            bone = np.array([[cos, -sin], [sin, cos]]) @ _RESTING[joint]
            position[joint] = position[parent] + bone * rng.uniform(0.85, 1.1)
        else:
            angle[joint] = turn[joint]
        placed.extend(other for other, above in enumerate(PARENTS) if above == joint)
    return position


def _figures(
    poses: NDArray[np.float64],
    size: int,
    noise: float,
    clutter: int,
    rng: np.random.Generator,
) -> StickFigures:
    """Put poses on the grid, draw them and run the detectors."""
    low, high = poses.min(axis=1, keepdims=True), poses.max(axis=1, keepdims=True)
    scale = _FILLED * (size - 1) / (high - low).max(axis=2, keepdims=True)
    exact = (poses - 0.5 * (low + high)) * scale + 0.5 * (size - 1)
    joints = np.rint(exact).astype(np.int64)
    return StickFigures(
        heat_maps=[_detections(figure, size, noise, clutter, rng) for figure in joints],
        joints=joints,
        images=np.stack([_drawing(figure, size) for figure in exact]),
    )


def _detections(
    joints: NDArray[Any], size: int, noise: float, clutter: int, rng: np.random.Generator
) -> NDArray[np.float32]:
    """Heat maps (14, size, size): a sum of blobs, and noise."""
    n_parts = len(joints)
    jitter = rng.normal(scale=0.3 * _BLOB * size, size=(n_parts, 2))
    own, mirrored = joints + jitter, joints[list(MIRRORED)]
    elsewhere = rng.uniform(0, size - 1, size=(n_parts, clutter, 2))
    centre = np.concatenate([own[:, None], mirrored[:, None], elsewhere], axis=1)
    strength = rng.uniform(0.5, 1.1, size=centre.shape[:2])
    strength[:, 0] += 0.2
    strength[np.array(MIRRORED) == np.arange(n_parts), 1] = 0.0  # neck and head have no other side
    grid = np.arange(size)
    # (parts, blobs, 2, size): profiles of the blobs along x and y
    profile = np.exp(-0.5 * ((grid - centre[..., None]) / (_BLOB * size)) ** 2)
    maps = np.einsum("pb,pby,pbx->pyx", strength, profile[:, :, 1], profile[:, :, 0])
    return (maps + noise * rng.normal(size=maps.shape)).astype(np.float32)


def _drawing(joints: NDArray[np.float64], size: int) -> NDArray[np.float32]:
    """An image (size, size) of the bones, as lines with soft edges, and a disc for the head."""
    image = np.zeros((size, size), np.float32)
    y, x = np.mgrid[:size, :size]
    width = max(_LINE * size, 0.6)
    for joint, parent in enumerate(PARENTS):
        if parent >= 0:
            start, bone = joints[parent], joints[joint] - joints[parent]
            along = (x - start[0]) * bone[0] + (y - start[1]) * bone[1]
            share = np.clip(along / max(bone @ bone, 1e-12), 0.0, 1.0)
            away = np.hypot(x - start[0] - share * bone[0], y - start[1] - share * bone[1])
            np.maximum(image, np.clip(width + 0.5 - away, 0.0, 1.0), out=image)
    neck, head = joints[JOINTS.index("neck")], joints[JOINTS.index("head")]
    centre, radius = 0.5 * (neck + head), 0.4 * np.hypot(*(head - neck))
    away = np.hypot(x - centre[0], y - centre[1])
    np.maximum(image, np.clip(radius + 0.5 - away, 0.0, 1.0), out=image)
    return image
