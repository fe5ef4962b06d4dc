"""Losses as whole numbers: multiples of one unit, which slack rescaling searches level by level."""

from fractions import Fraction
from math import lcm

import numpy as np

# The smallest cost is at most so many units, which allows for costs of four digits, and the largest
# one so many times the smallest.
MOST_PARTS = 10_000
LARGEST = 2**40
ROUNDING = 1e-12
MOST_BYTES = 2 * 2**30


def whole_levels(costs: np.ndarray) -> np.ndarray | None:
    """``costs`` in multiples of the largest number that divides all of them; None if none does.

    >>> whole_levels(np.array([0.0, 0.3, 0.5])).tolist()
    [0, 3, 5]
    >>> whole_levels(np.array([1.0, np.sqrt(2.0)])) is None
    True
    """
    values = np.unique(costs[costs != 0.0])
    if not values.size:
        return np.zeros(costs.shape, np.int64)
    if not np.isfinite(values).all() or values[0] < values[-1] / LARGEST:
        return None
    parts = 1  # of the smallest one
    for value in values:
        parts = lcm(parts, Fraction(value / values[0]).limit_denominator(MOST_PARTS).denominator)
        if parts > MOST_PARTS:
            return None
    levels = np.rint(costs / values[0] * parts)
    if not np.allclose(levels * (values[0] / parts), costs, rtol=ROUNDING, atol=0.0):
        return None
    return levels.astype(np.int64)


def no_levels(what: str, remedy: str = "") -> ValueError:
    """The error to raise where :func:`whole_levels` finds none."""
    return ValueError(
        f"slack rescaling searches one loss after the other, so {what} must be whole multiples of "
        f"one number, and they are not: round them, or use Hamming loss{remedy}, or "
        'formulation="margin"'
    )


def check_memory(n_rows: float, n_states: int, where: str) -> None:
    """Tables of so many rows are not too large to be kept."""
    size = 8.0 * n_rows * n_states
    if size > MOST_BYTES:
        raise ValueError(
            f"slack rescaling keeps the best score of every loss, which takes {size / 2**30:.1f} "
            f"GiB {where}; at most {MOST_BYTES / 2**30:.0f} GiB are allowed. Make losses multiples "
            'of a larger unit (Hamming loss has the fewest), or use formulation="margin"'
        )
