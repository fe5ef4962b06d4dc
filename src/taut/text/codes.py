"""Numbers for integer codes: a hash table in arrays, filled and searched by compiled loops."""

import secrets
from typing import NamedTuple

import numpy as np

from taut._compile import compiled

# Another multiplier in every process, so that no file can be written to make its codes collide;
# results do not depend on it.
_MULTIPLIER = np.uint64(secrets.randbits(64) | 1)


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
    """Distinct codes in order of first appearance, their counts, and the rank of each code.

    Negative codes mean "nothing" and have rank -1.

    >>> number_codes(np.array([7, 5, -1, 7]))
    (array([7, 5]), array([2, 1]), array([ 0,  1, -1,  0], dtype=int32))
    """
    codes = np.ascontiguousarray(codes, np.int64)
    slots = _new_slots(codes.size)
    keys, counts = np.empty(codes.size, np.int64), np.zeros(codes.size, np.int64)
    ids = np.empty(codes.size, np.int32)
    size = _number(codes, slots, keys, counts, ids)
    return keys[:size].copy(), counts[:size].copy(), ids


class CodeTable:
    """Finds the rank of a code among distinct ``keys``; made when first searched.

    >>> CodeTable(np.array([7, 5])).find(np.array([5, 6, -1]))
    array([ 1, -1, -1], dtype=int32)
    """

    def __init__(self, keys: np.ndarray):
        self.keys = np.array(keys, np.int64)
        self._slots: _Slots | None = None

    def find(self, codes: np.ndarray) -> np.ndarray:
        if self._slots is None:
            # Seen by other threads only when it is full: compiled loops run beside each other.
            slots = _new_slots(self.keys.size)
            _insert(self.keys, slots)
            self._slots = slots
        ids = np.empty(codes.size, np.int32)
        _find(np.ascontiguousarray(codes, np.int64), self.keys, self._slots, ids)
        return ids

    def __len__(self) -> int:
        return self.keys.size
