"""A dual that grows with what is there: of every block, the numbers that are not zero.

A block's image has a number for each label of each node and for each pair of labels: with 500
labels millions of them, nearly all zero. Here a block is a list of *keys*, the places of its image
that some labelling has used, and their values. All blocks share one vector,

    [ n, used, capacity, largest | start, size, room, kept  of every block | pool ]

whose head is whole numbers (the bits of floating-point numbers). A block has ``room`` values from
``start`` on, and as many keys of 32 bits behind them. The first ``kept`` are the truth's, which
stay, so that a block can always be moved toward the truth without growing.

A block that grows out of its room moves to the end of the pool. Compiled code cannot make the pool
larger: ``has_room`` says in time that Python must (``with_room``).
"""

from typing import NamedTuple

import numpy as np

from taut._compile import compiled

N, USED, CAPACITY, LARGEST, HEAD = 0, 1, 2, 3, 4  # places of the head, and its length
START, SIZE, ROOM, KEPT, PER_BLOCK = 0, 1, 2, 3, 4  # of a block's entry, and its length
MOST_KEYS = 2**30  # of a block: two of them, read as a floating-point number, are finite


class Blocks(NamedTuple):
    """All blocks without the pool's gaps; values and keys stand one block after the other."""

    sizes: np.ndarray
    kept: np.ndarray
    keys: np.ndarray
    values: np.ndarray

    @property
    def n(blocks) -> int:
        return len(blocks.sizes)

    def followed_by(blocks, others: "Blocks", first: int) -> "Blocks":
        """These, then the ``others`` from number ``first`` on."""
        entry = int(others.sizes[:first].sum())
        starts = {"sizes": first, "kept": first, "keys": entry, "values": entry}
        return Blocks(
            **{
                name: np.concatenate([mine, getattr(others, name)[starts[name] :]])
                for name, mine in blocks._asdict().items()
            }
        )


def floats_of(entries: np.ndarray) -> np.ndarray:
    """How many numbers of the pool take so many values with their keys."""
    return entries + (entries + 1) // 2


def packed(blocks: Blocks, spare: int = 0) -> np.ndarray:
    """One vector of these blocks, and ``spare`` numbers for them to grow."""
    n, sizes = blocks.n, blocks.sizes.astype(np.int64)
    taken = floats_of(sizes)
    first = HEAD + PER_BLOCK * n
    starts = first + np.cumsum(taken) - taken
    used = first + int(taken.sum())
    mu = np.zeros(used + spare)
    whole = mu.view(np.int64)
    whole[:HEAD] = n, used, used + spare, sizes.max(initial=0)
    entries = whole[HEAD:first].reshape(n, PER_BLOCK)
    entries[:] = np.stack([starts, sizes, sizes, blocks.kept], axis=1)
    at = _ranges(starts, sizes)
    mu[at] = blocks.values
    mu.view(np.int32)[_ranges(2 * (starts + sizes), sizes)] = blocks.keys
    return mu


def unpacked(mu: np.ndarray) -> Blocks:
    """The blocks of a vector; ValueError if it is none."""
    n, whole = count(mu), mu.view(np.int64)
    starts, sizes, room, kept = whole[HEAD : HEAD + PER_BLOCK * n].reshape(n, PER_BLOCK).T
    fits = (sizes >= kept) & (kept >= 1) & (sizes <= room) & (room <= mu.size)
    fits &= (starts >= HEAD + PER_BLOCK * n) & (starts <= mu.size)
    # Numbers this small do not overflow.
    if not fits.all() or np.any(starts + floats_of(room) > mu.size):
        raise ValueError("a block of the dual is where no block can be")
    if sizes.sum() > mu.size:  # sums of so few numbers this small do not overflow, either
        raise ValueError("blocks of the dual lie over each other")
    keys = mu.view(np.int32)[_ranges(2 * (starts + room), sizes)]
    return Blocks(sizes.copy(), kept.copy(), keys, mu[_ranges(starts, sizes)])


def count(mu: np.ndarray) -> int:
    """How many blocks a vector has, whatever follows them."""
    n = int(mu.view(np.int64)[N]) if mu.ndim == 1 and mu.size >= HEAD else 0
    if not 0 < n <= (mu.size - HEAD) // PER_BLOCK:
        raise ValueError("the dual is no vector of blocks")
    return n


def check_blocks(blocks: Blocks, largest: np.ndarray) -> None:
    """Every key is below its block's number in ``largest``, and none is there twice."""
    if not np.all(np.isfinite(blocks.values)):
        raise ValueError("the dual must be finite numbers")
    block = np.repeat(np.arange(blocks.n), blocks.sizes)
    if np.any((blocks.keys < 0) | (blocks.keys >= largest[block])):
        raise ValueError("a number of the dual belongs to no label")
    both = block * (int(largest.max(initial=0)) + 1) + blocks.keys
    if np.unique(both).size < both.size:
        raise ValueError("a number of the dual is there twice")


def check_truths(blocks: Blocks, truths: Blocks) -> None:
    """Every block begins with the truth's keys, in their order."""
    n = blocks.n
    if not np.array_equal(blocks.kept, truths.kept[:n]):
        raise ValueError("the dual does not begin with the truth")
    ours = _ranges(np.cumsum(blocks.sizes) - blocks.sizes, blocks.kept)
    if not np.array_equal(blocks.keys[ours], truths.keys[: int(truths.kept[:n].sum())]):
        raise ValueError("the dual does not begin with the truth")


def with_room(
    mu: np.ndarray, more: np.ndarray, largest: int, for_all: bool, behind: int = 0
) -> np.ndarray:
    """The same blocks, and room for any one to take ``largest`` keys; and for every one to take so
    many ``more``, one after the other, or half of them unless it is ``for_all``. The vector has so
    many numbers more ``behind`` them."""
    sizes = entries_of(mu)[:, SIZE]
    one = floats_of(_roomy(sizes.max(initial=0) + np.array(largest)))
    spare = int(_to_grow(sizes, more).sum())
    spare = (spare if for_all else spare // 2) + int(one) + 2
    used = HEAD + PER_BLOCK * len(sizes) + int(floats_of(sizes).sum())
    # Memory that is never written to is never taken; so blocks are moved one by one.
    roomy = np.zeros(used + spare + behind)
    whole = roomy.view(np.int64)
    whole[:HEAD] = len(sizes), used, used + spare, sizes.max(initial=0)
    _move_blocks(mu, roomy)
    return roomy


def entries_of(mu: np.ndarray) -> np.ndarray:
    """Start, size, room and kept of every block."""
    whole = mu.view(np.int64)
    return whole[HEAD : HEAD + PER_BLOCK * int(whole[N])].reshape(-1, PER_BLOCK)


@compiled
def _move_blocks(mu, roomy):
    """Put all blocks side by side, without the pool's gaps."""
    whole, into = mu.view(np.int64), roomy.view(np.int64)
    keys, new_keys = mu.view(np.int32), roomy.view(np.int32)
    moved = HEAD + PER_BLOCK * whole[N]
    for i in range(whole[N]):
        at = HEAD + PER_BLOCK * i
        start, size, room = whole[at + START], whole[at + SIZE], whole[at + ROOM]
        for j in range(size):
            roomy[moved + j] = mu[start + j]
            new_keys[2 * (moved + size) + j] = keys[2 * (start + room) + j]
        into[at + START] = moved
        into[at + SIZE] = into[at + ROOM] = size
        into[at + KEPT] = whole[at + KEPT]
        moved += size + (size + 1) // 2


def has_room_for_all(mu: np.ndarray, more: np.ndarray) -> bool:
    """Whether every block can take so many ``more`` keys, one after the other."""
    whole = mu.view(np.int64)
    needed = _to_grow(entries_of(mu)[:, SIZE], more).sum()
    return bool(whole[USED] + needed <= whole[CAPACITY])


def _to_grow(sizes: np.ndarray, more: np.ndarray) -> np.ndarray:
    """How many numbers of the pool ``reserve`` takes for each block."""
    return floats_of(_roomy(sizes + more)) + 1


def _roomy(sizes: np.ndarray) -> np.ndarray:
    return sizes + sizes // 2 + 1


def _ranges(starts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """start, start + 1, ... of every block, one after the other."""
    ends = np.cumsum(sizes)
    return np.arange(int(sizes.sum())) + np.repeat(starts - (ends - sizes), sizes)


@compiled
def has_room(mu, more):
    """Whether any one block can take so many more keys."""
    whole = mu.view(np.int64)
    entries = whole[LARGEST] + more
    entries += entries // 2 + 1
    return whole[USED] + entries + entries // 2 + 2 <= whole[CAPACITY]


@compiled
def reserve(mu, i, more):
    """Let block i have room for so many more keys: if need be, at the end of the pool."""
    whole = mu.view(np.int64)
    at = HEAD + PER_BLOCK * i
    start, size, room = whole[at + START], whole[at + SIZE], whole[at + ROOM]
    if size + more <= room:
        return
    larger = size + more
    larger += larger // 2 + 1
    moved = whole[USED]
    whole[USED] = moved + larger + (larger + 1) // 2
    keys = mu.view(np.int32)
    for j in range(size):
        mu[moved + j] = mu[start + j]
        keys[2 * (moved + larger) + j] = keys[2 * (start + room) + j]
    whole[at + START] = moved
    whole[at + ROOM] = larger


@compiled
def append(mu, i, key, value):
    """One more key of block i, for which there is room."""
    whole = mu.view(np.int64)
    at = HEAD + PER_BLOCK * i
    start, size, room = whole[at + START], whole[at + SIZE], whole[at + ROOM]
    mu[start + size] = value
    mu.view(np.int32)[2 * (start + room) + size] = key
    whole[at + SIZE] = size + 1
    whole[LARGEST] = max(whole[LARGEST], size + 1)


@compiled
def values_at(mu, i):
    """Where the values of block i begin."""
    return mu.view(np.int64)[HEAD + PER_BLOCK * i + START]


@compiled
def keys_at(mu, i):
    """Where its keys begin, in numbers of 32 bits."""
    whole = mu.view(np.int64)
    at = HEAD + PER_BLOCK * i
    return 2 * (whole[at + START] + whole[at + ROOM])


@compiled
def size_of(mu, i):
    return mu.view(np.int64)[HEAD + PER_BLOCK * i + SIZE]


@compiled
def drop_zeros(mu, i):
    """Forget what block i no longer uses, but not the truth."""
    whole, keys = mu.view(np.int64), mu.view(np.int32)
    value, key = values_at(mu, i), keys_at(mu, i)
    at = HEAD + PER_BLOCK * i
    size = whole[at + KEPT]
    for j in range(size, whole[at + SIZE]):
        if mu[value + j] != 0.0:
            mu[value + size] = mu[value + j]
            keys[key + size] = keys[key + j]
            size += 1
    whole[at + SIZE] = size
