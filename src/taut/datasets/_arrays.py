"""Arrays read from ``.npz`` files, without ever unpickling."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


def read_arrays(path: Path, *names: str) -> list[NDArray[Any]]:
    """The named arrays of a file, or a ValueError that names the file."""
    try:
        # Opened here because np.load leaves a file that is not a whole zip archive open.
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            return [arrays[name] for name in names]
    except Exception as error:  # a damaged zip file fails in many ways; the remedy is the same
        raise unreadable(path, f"cannot read the arrays ({error})") from error


def unreadable(path: Path, problem: str) -> ValueError:
    """The error for a file whose arrays are not what they should be."""
    return ValueError(f"{path}: {problem}; replace the file")


def check_integers(path: Path, name: str, array: NDArray[Any], low: int, high: int) -> None:
    """Refuse anything but integers from ``low`` to ``high``."""
    if not np.issubdtype(array.dtype, np.integer):
        raise unreadable(path, f"{name} is of type {array.dtype}, expected integers")
    if array.size and not low <= array.min() <= array.max() <= high:
        raise unreadable(
            path, f"{name} has values {array.min()} to {array.max()}, expected {low} to {high}"
        )


def check_shape(path: Path, name: str, array: NDArray[Any], shape: tuple[int, ...]) -> None:
    """Refuse any other shape."""
    expected = tuple(int(length) for length in shape)
    if array.shape != expected:
        raise unreadable(path, f"{name} has the shape {array.shape}, expected {expected}")


def split(array: NDArray[Any], lengths: NDArray[np.int64]) -> list[NDArray[Any]]:
    """Consecutive pieces of the given lengths, as views."""
    return np.split(array, np.cumsum(lengths)[:-1])
