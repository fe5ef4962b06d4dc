"""How many rows each sequence has."""

from typing import Any

import numpy as np


def checked_lengths(lengths: Any, n_rows: int, what: str = "rows") -> np.ndarray:
    """Lengths that cut so many rows into sequences; compiled code will follow them unchecked.

    >>> checked_lengths([2, 1], 3)
    array([2, 1])
    """
    lengths = np.asarray(lengths)
    if lengths.ndim != 1 or (lengths.size and lengths.dtype.kind not in "iu"):
        raise ValueError(
            f"lengths are an array of shape {lengths.shape} and type {lengths.dtype}; one whole "
            "number per sequence is expected"
        )
    # One by one first: the sum of lengths far too large may wrap around and look right.
    for wrong, expected in (
        (lengths < 0, "; a length is not negative"),
        (lengths > n_rows, f" but there are {n_rows} {what}"),
    ):
        if wrong.any():
            i = int(np.flatnonzero(wrong)[0])
            raise ValueError(f"lengths[{i}] is {lengths[i]}{expected}")
    lengths = lengths.astype(np.int64, copy=False)
    if lengths.sum() != n_rows:
        raise ValueError(f"the lengths add up to {lengths.sum()} but there are {n_rows} {what}")
    return lengths
