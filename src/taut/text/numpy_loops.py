"""The loops over tokens by NumPy alone, for programs that tag and never load a compiler.

The numbers are those of ``compiled_loops``; a few sentences take no longer, a corpus does.
"""

import numpy as np


def join(
    total: np.ndarray,
    size: int,
    codes: np.ndarray,
    offset: int,
    before: np.ndarray,
    after: np.ndarray,
) -> None:
    at = np.arange(total.size) + offset
    inside = (total >= 0) & (before >= -offset) & (after >= offset)
    _append(total, size, np.where(inside, codes[np.where(inside, at, 0)], -1) if at.size else codes)


def join_anywhere(
    total: np.ndarray,
    size: int,
    codes: np.ndarray,
    outside: np.ndarray,
    offset: int,
    origin: int,
    before: np.ndarray,
    after: np.ndarray,
) -> None:
    if not total.size:
        return
    n_places = outside.size // 2
    at = np.full(total.size, offset, np.int64)
    if origin > 0:
        at -= before
    elif origin < 0:
        at += after
    early, late = before + at < 0, at > after
    digits = codes[np.where(early | late, 0, np.arange(total.size) + at)]
    digits = np.where(early, outside[np.clip(-before - at, 1, n_places) - 1], digits)
    digits = np.where(late, outside[n_places + np.clip(at - after, 1, n_places) - 1], digits)
    _append(total, size, digits)


def _append(total: np.ndarray, size: int, digits: np.ndarray) -> None:
    is_there = (total >= 0) & (digits >= 0)
    total[:] = np.where(is_there, total * size + digits, -1)


def number_codes(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    codes = np.asarray(codes, np.int64)
    keys, first, inverse, counts = np.unique(
        codes, return_index=True, return_inverse=True, return_counts=True
    )
    n_negative = int(np.searchsorted(keys, 0))
    first[:n_negative] = -1  # they come first below, and have no rank
    order = np.argsort(first, kind="stable")
    rank = np.empty(len(keys), np.int32)
    rank[order] = np.arange(len(keys)) - n_negative
    rank[:n_negative] = -1
    kept = order[n_negative:]
    return keys[kept], counts[kept], rank[inverse]


def finder(keys: np.ndarray) -> np.ndarray:
    """The order of the keys."""
    return np.argsort(keys, kind="stable")


def find(codes: np.ndarray, keys: np.ndarray, order: np.ndarray) -> np.ndarray:
    if not keys.size:
        return np.full(codes.size, -1, np.int32)
    rank = order[np.minimum(np.searchsorted(keys, codes, sorter=order), keys.size - 1)]
    return np.where((keys[rank] == codes) & (codes >= 0), rank, -1).astype(np.int32)


def assemble(ids: np.ndarray, first: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    present = ids.T >= 0
    indptr = np.concatenate([[0], np.cumsum(present.sum(axis=1))])
    return indptr, (ids.T + first.astype(np.int32))[present]
