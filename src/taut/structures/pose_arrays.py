"""The arrays of a pose problem; see :mod:`taut.structures.pose` for the model.

Compiled code knows the fields by their order (see :mod:`taut._compile`).
"""

import hashlib
from typing import NamedTuple, Self

import numpy as np

from taut._compile import Integers, Labels, Matrix, Singles, Vector, by_reference

# Weights of a spring: of dx, dx^2, dy and dy^2.
SPRING = 4


@by_reference
class PoseArrays(NamedTuple):
    maps: Singles  # heat maps (P, F, H, W) of all examples, one after the other
    map_at: Integers  # (n + 1,) where those of example i begin
    height: Integers  # (n,) of the grid
    width: Integers  # (n,)
    truth: Labels  # (n P,) true labels
    reach: Vector  # (n,) distance s at which the loss of a part becomes 1
    importance: Vector  # (n,) sample weights
    pointer: Integers  # (n + 1,) 0, P, 2 P, ...
    parent: Integers  # (P,) the part each hangs on, -1 for the root
    order: Integers  # (P,) all parts, parents first
    types: Integers  # (P,) number of types of each part
    type_at: Integers  # (P + 1,) number of a part's first type, counted over all parts
    anchor: Matrix  # (n_types, 2) where a part of this type rests relative to its parent: x, y
    spring_at: Integers  # (P,) weights of the springs (T, 4), -1 for the root
    bias_at: Integers  # (P,) weights of the pairs (own type, parent's type), -1 for the root
    unit: float  # displacements are measured in this many positions
    n_channels: int
    n_parts: int
    n_states: int  # most labels of any part
    n: int
    dim: int

    @property
    def longest(problem) -> int:
        return problem.n_parts

    def required_bounds(problem) -> tuple[np.ndarray, np.ndarray]:
        """Springs pull, they do not push: weights of dx^2 and dy^2 are not negative."""
        lower = np.full(problem.dim, -np.inf)
        for part in range(problem.n_parts):
            if problem.parent[part] >= 0:
                first = problem.spring_at[part]
                springs = lower[first : first + SPRING * problem.types[part]]
                springs[1::2] = 0.0
        return lower, np.full(problem.dim, np.inf)

    # --- other examples --------------------------------------------------------------------------

    def for_prediction(
        problem, maps: np.ndarray, map_at: np.ndarray, height: np.ndarray, width: np.ndarray
    ) -> Self:
        """Other examples under the same weights; no joints known."""
        n = len(height)
        n_states = int(problem.types.max() * (height * width).max(initial=0))
        return problem._replace(
            maps=maps,
            map_at=map_at,
            height=height,
            width=width,
            truth=np.zeros(n * problem.n_parts, np.int32),
            reach=np.ones(n),
            importance=np.ones(n),
            pointer=problem.n_parts * np.arange(n + 1),
            n_states=n_states,
            n=n,
        )

    def layout(problem) -> Self:
        """No examples at all: what is left is the tree and how weights are laid out."""
        nothing = np.zeros(0, np.int64)
        return problem.for_prediction(
            np.zeros(0, np.float32), np.zeros(1, np.int64), nothing, nothing
        )

    # --- what a run asks -------------------------------------------------------------------------

    def fingerprint(problem, n: int | None = None) -> str:
        """A hash of data, joints, losses and tree of the first n examples (or all)."""
        n = problem.n if n is None else n
        digest = hashlib.blake2b(digest_size=16)
        for value in (
            problem.maps[: problem.map_at[n]],
            problem.height[:n],
            problem.width[:n],
            problem.truth[: problem.pointer[n]],
            problem.reach[:n],
            problem.importance[:n],
            problem.parent,
            problem.types,
            problem.anchor,
            np.array([problem.unit, problem.n_channels, problem.dim]),
        ):
            digest.update(np.ascontiguousarray(value).data.cast("B") if np.size(value) else b"-")
        return digest.hexdigest()

    def choices(problem, i: int) -> np.ndarray:
        return problem.types * problem.height[i] * problem.width[i]

    def worst_losses(problem) -> np.ndarray:
        """max_y loss_i(y): every part in the corner of the grid farthest from its place."""
        label = problem.truth.reshape(problem.n, problem.n_parts).astype(np.int64)
        height, width = problem.height[:, None], problem.width[:, None]
        row, column = label // width % height, label % width
        down = np.maximum(row, height - 1 - row)
        across = np.maximum(column, width - 1 - column)
        losses = (down * down + across * across) / problem.reach[:, None] ** 2
        return np.minimum(losses, 1.0).mean(axis=1)
