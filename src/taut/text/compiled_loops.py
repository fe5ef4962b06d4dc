"""The loops over tokens, compiled. ``numpy_loops`` has the same functions without a compiler."""

import secrets
from typing import NamedTuple

import numpy as np

from taut._compile import compiled

# Another multiplier in every process, so that no file can be written to make its codes collide;
# results do not depend on it.
_MULTIPLIER = np.uint64(secrets.randbits(64) | 1)


# --- codes made of numbers as digits --------------------------------------------------------------


@compiled
def join(total, size, codes, offset, before, after):
    """Append a digit: that of the token ``offset`` away, -1 if there is none."""
    for t in range(total.size):
        if total[t] < 0 or before[t] + offset < 0 or offset > after[t]:
            total[t] = -1
        else:
            digit = codes[t + offset]
            total[t] = total[t] * size + digit if digit >= 0 else -1


@compiled
def join_anywhere(total, size, codes, outside, offset, origin, before, after):
    """As ``join``, but from the first or last token, too, and there are digits outside."""
    n_places = outside.size // 2
    for t in range(total.size):
        if total[t] < 0:
            continue
        at = offset
        if origin > 0:
            at -= before[t]
        elif origin < 0:
            at += after[t]
        if before[t] + at < 0:
            digit = outside[min(-before[t] - at, n_places) - 1]
        elif at > after[t]:
            digit = outside[n_places + min(at - after[t], n_places) - 1]
        else:
            digit = codes[t + at]
        total[t] = total[t] * size + digit if digit >= 0 else -1


# --- numbers for codes: a hash table in arrays ----------------------------------------------------


class _Slots(NamedTuple):
    rank: np.ndarray  # (2^bits,) which key sits here, -1 if none
    bits: int
    multiplier: np.uint64


@compiled(inline=True)
def _first_slot(code, slots):
    """The highest bits of a product with an odd number."""
    return np.int64((np.uint64(code) * slots.multiplier) >> np.uint64(64 - slots.bits))


@compiled
def _number(codes, slots, keys, counts, ids):
    """ids[t] = rank of codes[t] by first appearance, -1 for negative codes. Returns their count."""
    mask = slots.rank.size - 1
    size = 0
    for t in range(codes.size):
        code = codes[t]
        if code < 0:
            ids[t] = -1
            continue
        at = _first_slot(code, slots)
        while slots.rank[at] >= 0 and keys[slots.rank[at]] != code:
            at = (at + 1) & mask
        if slots.rank[at] < 0:
            slots.rank[at] = size
            keys[size] = code
            size += 1
        ids[t] = slots.rank[at]
        counts[slots.rank[at]] += 1
    return size


@compiled
def _insert(keys, slots):
    mask = slots.rank.size - 1
    for k in range(keys.size):
        at = _first_slot(keys[k], slots)
        while slots.rank[at] >= 0:
            at = (at + 1) & mask
        slots.rank[at] = k


@compiled
def _find(codes, keys, slots, ids):
    mask = slots.rank.size - 1
    for t in range(codes.size):
        code = codes[t]
        ids[t] = -1
        if code < 0:
            continue
        at = _first_slot(code, slots)
        while slots.rank[at] >= 0:
            if keys[slots.rank[at]] == code:
                ids[t] = slots.rank[at]
                break
            at = (at + 1) & mask


def _new_slots(size: int) -> _Slots:
    """At most half full, so that a search is short."""
    bits = max(int(2 * size - 1).bit_length(), 4)
    return _Slots(np.full(1 << bits, -1, np.int32), bits, _MULTIPLIER)


def number_codes(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    codes = np.ascontiguousarray(codes, np.int64)
    slots = _new_slots(codes.size)
    keys, counts = np.empty(codes.size, np.int64), np.zeros(codes.size, np.int64)
    ids = np.empty(codes.size, np.int32)
    size = _number(codes, slots, keys, counts, ids)
    return keys[:size].copy(), counts[:size].copy(), ids


def finder(keys: np.ndarray) -> _Slots:
    # Seen by other threads only when it is full: compiled loops run beside each other.
    slots = _new_slots(keys.size)
    _insert(keys, slots)
    return slots


def find(codes: np.ndarray, keys: np.ndarray, slots: _Slots) -> np.ndarray:
    ids = np.empty(codes.size, np.int32)
    _find(np.ascontiguousarray(codes, np.int64), keys, slots, ids)
    return ids


# --- the attributes of all tokens -----------------------------------------------------------------


@compiled
def _count(ids, indptr):
    """indptr[t + 1] = number of attributes of the tokens up to t."""
    for t in range(ids.shape[1]):
        present = 0
        for f in range(ids.shape[0]):
            present += ids[f, t] >= 0
        indptr[t + 1] = indptr[t] + present


@compiled
def _fill(ids, first, indices):
    """The attributes of all tokens; those of a token rise, because features come in order."""
    at = 0
    for t in range(ids.shape[1]):
        for f in range(ids.shape[0]):
            if ids[f, t] >= 0:
                indices[at] = first[f] + ids[f, t]
                at += 1


def assemble(ids: np.ndarray, first: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    indptr = np.zeros(ids.shape[1] + 1, np.int64)
    _count(ids, indptr)
    indices = np.empty(indptr[-1], np.int32)
    _fill(ids, first.astype(np.int32), indices)
    return indptr, indices
