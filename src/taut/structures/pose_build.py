"""Builds a pose problem: checks heat maps, joints and tree, and lays out the weights."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from taut.structures.pose import Pose
from taut.structures.pose_arrays import SPRING

# One array per example, which may be the rows of a larger one.
Arrays: TypeAlias = Sequence[ArrayLike] | np.ndarray


def pose_problem(
    heat_maps: Arrays,
    joints: Arrays,
    parents: ArrayLike,
    *,
    reach: ArrayLike = 1.0,
    anchors: Sequence[ArrayLike] | None = None,
    types: ArrayLike | None = None,
    unit: float = 1.0,
    importance: np.ndarray | None = None,
) -> Pose:
    """A pose problem; see :mod:`taut.structures.pose` for the model.

    ``heat_maps[i]`` is (P, H, W) or (P, F, H, W) and kept in single precision, ``joints[i]`` is
    (P, 2): x (column) and y (row) of each part on its grid, rounded. ``parents[p]`` is the part on
    which p hangs, -1 for the root. ``reach`` is the distance at which a part counts as wholly
    wrong, one number or one per example.

    ``anchors[p]`` is (T_p, 2): where a part of each type rests relative to its parent, as (x, y);
    the default is one type at (0, 0). ``types`` is (n, P), the true types, by default 0.

    >>> problem = pose_problem([np.zeros((2, 4, 5))], [[(0, 0), (3, 2)]], parents=[-1, 0])
    >>> problem.n, problem.dim  # a weight per part, a spring, a constant
    (1, 7)
    """
    parent, order = checked_tree(parents)
    maps, map_at, height, width = stacked_maps(heat_maps, len(parent))
    n, n_parts = len(height), len(parent)
    anchor, n_types = _checked_anchors(anchors, n_parts)
    type_at = np.concatenate([[0], np.cumsum(n_types)])
    n_channels = int(map_at[1] // (n_parts * height[0] * width[0]))
    springs = np.where(parent >= 0, SPRING * n_types, 0)
    pairs = np.where(parent >= 0, n_types * n_types[parent], 0)
    n_node = int(type_at[-1]) * n_channels
    spring_at = n_node + np.cumsum(springs) - springs
    bias_at = n_node + springs.sum() + np.cumsum(pairs) - pairs
    label = _labels(joints, types, height, width, n_types)
    if not (np.isfinite(unit) and unit > 0):
        raise ValueError(f"unit={unit!r}; displacements need a positive unit")
    return Pose(
        maps=maps,
        map_at=map_at,
        height=height,
        width=width,
        truth=label.reshape(-1),
        reach=_checked_reach(reach, n),
        importance=np.ones(n) if importance is None else np.array(importance, np.float64),
        pointer=n_parts * np.arange(n + 1),
        parent=parent,
        order=order,
        types=n_types,
        type_at=type_at,
        anchor=anchor,
        spring_at=np.where(parent >= 0, spring_at, -1),
        bias_at=np.where(parent >= 0, bias_at, -1),
        unit=float(unit),
        n_channels=n_channels,
        n_parts=n_parts,
        n_states=int(n_types.max() * (height * width).max()),
        n=n,
        dim=int(n_node + springs.sum() + pairs.sum()),
    )


def checked_tree(parents: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Parents as an array, and an order of the parts in which parents come first.

    >>> checked_tree([1, -1, 1])[1]
    array([1, 0, 2])
    """
    parent = np.asarray(parents)
    if parent.ndim != 1 or parent.size == 0 or parent.dtype.kind not in "iu":
        raise ValueError(
            f"parents={parents!r}; expected for each part the number of the part it hangs on, "
            "-1 for the root"
        )
    parent = parent.astype(np.int64)
    outside = np.flatnonzero((parent < -1) | (parent >= len(parent)))
    if outside.size:
        part = outside[0]
        raise ValueError(
            f"part {part} hangs on part {parent[part]}, which does not exist; there are parts 0 to "
            f"{len(parent) - 1}, and the root has parent -1"
        )
    roots = np.flatnonzero(parent < 0)
    if len(roots) != 1:
        raise ValueError(
            f"{len(roots)} parts have no parent ({roots.tolist()}); a tree has one root, with "
            "parent -1"
        )
    order = [int(roots[0])]
    for part in order:  # grows while it is walked
        order.extend(np.flatnonzero(parent == part).tolist())
    if len(order) < len(parent):
        lost = min(set(range(len(parent))) - set(order))
        raise ValueError(
            f"parents={parent.tolist()} is not a tree: going up from part {lost} never ends at "
            f"the root {order[0]}"
        )
    return parent, np.array(order)


def stacked_maps(
    heat_maps: Arrays, n_parts: int, n_channels: int | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """All heat maps in one row, where each example's begin, heights and widths."""
    if len(heat_maps) == 0:
        raise ValueError("there are no heat maps; at least one example is needed")
    flat: list[np.ndarray] = []
    shapes = []
    for i, given in enumerate(heat_maps):
        maps = _checked_maps(given, i, n_parts)
        n_channels = maps.shape[1] if n_channels is None else n_channels
        if maps.shape[1] != n_channels:
            raise ValueError(
                f"the heat maps of example {i} have {maps.shape[1]} channels, others {n_channels}"
            )
        flat.append(maps.reshape(-1))
        shapes.append(maps.shape[2:])
    height, width = np.array(shapes, np.int64).T.copy()
    map_at = np.concatenate([[0], np.cumsum([part.size for part in flat])])
    return np.concatenate(flat), map_at, height, width


def _checked_maps(given: ArrayLike, i: int, n_parts: int) -> np.ndarray:
    """The heat maps of an example, (P, F, H, W) in single precision."""
    maps = np.asarray(given)
    if maps.ndim not in (3, 4) or maps.size == 0 or maps.dtype.kind not in "fiub":
        raise ValueError(
            f"the heat maps of example {i} are an array of {maps.dtype} with shape {maps.shape}; "
            "expected numbers, (parts, height, width) or (parts, channels, height, width)"
        )
    if len(maps) != n_parts:
        raise ValueError(f"example {i} has heat maps of {len(maps)} parts, the tree has {n_parts}")
    with np.errstate(over="ignore"):  # reported below
        maps = maps.astype(np.float32)
    if maps.ndim == 3:
        maps = maps[:, None]
    if not np.isfinite(maps).all():
        part, channel, row, column = np.argwhere(~np.isfinite(maps))[0]
        raise ValueError(
            f"example {i}, part {part}: the heat map (channel {channel}) is "
            f"{maps[part, channel, row, column]} at row {row}, column {column}; scores must be "
            "finite in single precision"
        )
    return maps


def _labels(
    joints: Arrays,
    types: ArrayLike | None,
    height: np.ndarray,
    width: np.ndarray,
    n_types: np.ndarray,
) -> np.ndarray:
    """True labels (n, P) from true positions and types."""
    n, n_parts = len(height), len(n_types)
    if len(joints) != n:
        raise ValueError(f"there are heat maps of {n} examples but joints of {len(joints)}")
    positions = np.stack([checked_joints(joints[i], i, n_parts) for i in range(n)])
    inside = (positions >= 0).all(axis=2)
    inside &= (positions[:, :, 0] < width[:, None]) & (positions[:, :, 1] < height[:, None])
    if not inside.all():
        i, part = np.argwhere(~inside)[0]
        x, y = positions[i, part]
        raise ValueError(
            f"example {i}, part {part}: the joint is at x={x}, y={y}, outside the grid of "
            f"{width[i]} columns and {height[i]} rows"
        )
    kinds = np.zeros((n, n_parts), np.int64) if types is None else np.asarray(types, np.int64)
    if kinds.shape != (n, n_parts) or kinds.min() < 0 or (kinds >= n_types).any():
        raise ValueError(
            f"types must have the shape {(n, n_parts)} and count from 0 to the number of a part's "
            "anchors"
        )
    labels = (kinds * height[:, None] + positions[:, :, 1]) * width[:, None] + positions[:, :, 0]
    if labels.max() > np.iinfo(np.int32).max:
        raise ValueError("grids of so many positions and types do not fit into 32-bit labels")
    return labels.astype(np.int32)


def checked_joints(given: ArrayLike, i: int, n_parts: int) -> np.ndarray:
    """Positions (P, 2) of an example's joints, rounded to the grid."""
    positions = np.asarray(given)
    if positions.shape != (n_parts, 2) or positions.dtype.kind not in "fiu":
        raise ValueError(
            f"the joints of example {i} are an array of {positions.dtype} with shape "
            f"{positions.shape}; expected numbers, ({n_parts}, 2): x and y of every part"
        )
    finite = np.isfinite(positions).all(axis=1)
    if not finite.all():
        part = int(np.flatnonzero(~finite)[0])
        raise ValueError(f"example {i}, part {part}: the joint is at {positions[part]}, no place")
    return np.rint(np.clip(positions, -1e9, 1e9)).astype(np.int64)


def _checked_anchors(
    anchors: Sequence[ArrayLike] | None, n_parts: int
) -> tuple[np.ndarray, np.ndarray]:
    """All anchors in one array, and the number of types of each part."""
    rows: list[Any] = [np.zeros((1, 2))] * n_parts if anchors is None else list(anchors)
    rows = [np.asarray(row, np.float64) for row in rows]
    if len(rows) != n_parts:
        raise ValueError(f"there are anchors of {len(rows)} parts, the tree has {n_parts}")
    for part, row in enumerate(rows):
        if row.ndim != 2 or row.shape[1] != 2 or len(row) == 0 or not np.isfinite(row).all():
            raise ValueError(
                f"the anchors of part {part} must be finite numbers, (types, 2); "
                f"got shape {row.shape}"
            )
    return np.ascontiguousarray(np.concatenate(rows)), np.array([len(row) for row in rows])


def _checked_reach(reach: ArrayLike, n: int) -> np.ndarray:
    try:
        values = np.array(np.broadcast_to(np.asarray(reach, np.float64), n))
    except ValueError:
        raise ValueError(f"reach has shape {np.shape(reach)}; one number or {n} expected") from None
    wrong = np.flatnonzero(~(np.isfinite(values) & (values > 0)))
    if wrong.size:
        raise ValueError(f"reach[{wrong[0]}] is {values[wrong[0]]}; it must be positive")
    return values
