"""The arrays of a state: named for a checkpoint, and checked when they come back."""

from typing import Any

import numpy as np

# Counters beyond this are not exact as floats, and no run comes near.
MOST_COUNTED = 2**53


def flattened(state: Any, left_out: frozenset[str], prefix: str = "") -> dict[str, np.ndarray]:
    """The arrays of a state by name, without those that are scratch or follow from the rest."""
    arrays: dict[str, np.ndarray] = {}
    for name, value in zip(state._fields, state, strict=True):
        if prefix == "" and name in left_out:
            continue
        if isinstance(value, tuple):
            arrays |= flattened(value, left_out, f"{name}.")
        else:
            arrays[prefix + name] = value
    return arrays


def check_arrays(
    current: dict[str, np.ndarray], arrays: dict[str, np.ndarray], growing: tuple[str, ...]
) -> None:
    """Saved arrays are like the current ones, but for the length of those that grow."""
    for name, array in current.items():
        saved = arrays.get(name)
        if saved is None or saved.dtype != array.dtype or saved.ndim != array.ndim:
            raise ValueError(f"array {name}")
        if not name.startswith(growing) and saved.shape != array.shape:
            raise ValueError(f"array {name} has shape {saved.shape}, not {array.shape}")
        if saved.dtype.kind == "f" and not np.all(np.isfinite(saved)):
            raise ValueError(f"array {name} has values that are not finite")
        counts = name in ("count", "visits")
        if counts and np.any((saved < 0) | (saved > MOST_COUNTED)):
            raise ValueError(f"array {name} has a number that no run counts to")


def check_follows(stored: np.ndarray, computed: np.ndarray, what: str) -> None:
    """Stored numbers are those that follow from the rest, but for rounding, which is kept."""
    rounding = 1e-9 * (1.0 + np.abs(stored).max(initial=0.0))
    close = np.allclose(stored, computed, rtol=1e-6, atol=rounding)
    if not (close and np.all(np.isfinite(computed))):
        raise ValueError(f"{what} do not belong together")
