"""Remembered labellings of every block: the active set S_i and the oracle cache C_i.

Pairwise and away steps need the weights alpha_i(y) of the labellings mu_i is made of; an oracle
cache needs labellings worth trying again. Both are one linked list per block of *slots* in a
common pool: a slot with alpha > 0 is active, one with alpha = 0 is only cached. The pool is
allocated by Python; a pass that finds it full returns early, and continues in a larger one.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from taut._compile import (
    Integers,
    Labels,
    Problem,
    Vector,
    both_modes,
    by_reference,
    compiled,
    in_mode,
)
from taut.problem import forget, label_loss, label_value, length, true_label


@by_reference
class Corners(NamedTuple):
    head: Integers  # (n,) first slot of block i, -1 if none
    size: Integers  # (n,) slots of block i
    following: Integers  # next slot of the same block, -1 at the end
    alpha: Vector  # weight of the labelling in mu_i
    before: Vector  # alpha before the last sweep, for momentum
    loss: Vector  # loss of the labelling
    used_at: Integers  # step of the last use, for eviction
    label_at: Integers  # where its labelling starts in ``labels``
    labels: Labels
    rank: Integers  # place of the slot among those of its block, in order of creation
    gram_at: Integers  # where its row of inner products starts in ``gram``
    gram: Vector  # <psi, psi'> with the slots of lower or equal rank; empty if not kept
    used: Integers  # (4,) slots, labels and inner products in use; largest block


@by_reference
class Scratch(NamedTuple):
    """One block's labellings by rank."""

    slot: Integers
    row: Integers  # where the Gram matrix's row starts
    value: Vector  # h
    alpha: Vector
    change: Vector  # of alpha


def new_scratch(size: int) -> Scratch:
    return Scratch(
        np.zeros(size, np.int64),
        np.zeros(size, np.int64),
        np.zeros(size),
        np.zeros(size),
        np.zeros(size),
    )


def no_corners() -> Corners:
    nothing = np.zeros(0, np.int64)
    return Corners(**_pool(0, 0, 0), head=nothing, size=nothing, used=np.zeros(4, np.int64))


def _pool(slots: int, labels: int, products: int) -> dict[str, np.ndarray]:
    return dict(
        following=np.full(slots, -1),
        alpha=np.zeros(slots),
        before=np.zeros(slots),
        loss=np.zeros(slots),
        used_at=np.zeros(slots, np.int64),
        label_at=np.zeros(slots, np.int64),
        labels=np.zeros(labels, np.int32),
        rank=np.zeros(slots, np.int64),
        gram_at=np.zeros(slots, np.int64),
        gram=np.zeros(products),
    )


def new_corners(problem: Any, lengths: np.ndarray, keeps_gram: bool) -> Corners:
    """One slot per block, holding the truth with weight 1, and room for some more."""
    corners = no_corners()._replace(gram=np.zeros(int(keeps_gram)))
    return with_new_blocks(problem, corners, lengths, 0)


def with_new_blocks(problem: Any, corners: Corners, lengths: np.ndarray, first: int) -> Corners:
    """Append blocks ``first``, ``first + 1``, ... to a pool that holds those before."""
    fresh = lengths[first:]
    slots, labels, products, largest = corners.used
    in_gram = 3 * len(fresh) + 1 if corners.gram.size else 0
    room = _pool(2 * len(fresh) + 1, 2 * int(fresh.sum()) + int(lengths.max()), in_gram)
    in_use = {"labels": labels, "gram": products}
    pool = {
        name: np.concatenate([getattr(corners, name)[: in_use.get(name, slots)], empty])
        for name, empty in room.items()
    }
    new = slice(slots, slots + len(fresh))
    pool["alpha"][new] = pool["before"][new] = 1.0
    pool["label_at"][new] = labels + np.cumsum(fresh) - fresh
    pool["gram_at"][new] = products + np.arange(len(fresh))  # the truth's psi is zero
    corners = Corners(
        **pool,
        head=np.concatenate([corners.head, slots + np.arange(len(fresh))]),
        size=np.concatenate([corners.size, np.ones(len(fresh), np.int64)]),
        used=np.array(
            [slots + len(fresh), labels + fresh.sum(), products + len(fresh), max(largest, 1)]
        ),
    )
    for i in range(first, len(lengths)):
        true_label(problem, i, corners.labels[corners.label_at[corners.head[i]] :])
    return corners


def grown(corners: Corners) -> Corners:
    """The same corners in a pool of twice the size."""
    pool = {
        name: np.concatenate([array, np.zeros_like(array)])
        for name, array in corners._asdict().items()
        if name not in ("head", "size", "used")
    }
    return corners._replace(**pool)


def walk(corners: Corners) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Slots with their blocks, one step along all lists at once."""
    slot, block = corners.head, np.arange(len(corners.head))
    while slot.size:
        yield slot, block
        slot = corners.following[slot]
        block, slot = block[slot != -1], slot[slot != -1]


def shrink(corners: Corners, rho: float, n_blocks: int) -> None:
    """alpha_i *= rho of the first ``n_blocks`` blocks; the truth takes the rest."""
    for slot, block in walk(corners):
        slot = slot[block < n_blocks]
        corners.alpha[slot] *= rho
        corners.alpha[slot[corners.rank[slot] == 0]] += 1.0 - rho
        corners.before[slot] = corners.alpha[slot]


def held(problem: Any, corners: Corners, mu: Any) -> Corners:
    """Those of an earlier run, with its dual, as ``problem`` knows them.

    A Python model's labels are forgotten when nobody holds them: they have one holder more.
    """
    corners = corners._replace(labels=corners.labels.copy())
    for slots, blocks in walk(corners):
        for slot, i in zip(slots, blocks, strict=True):
            problem.hold(i, corners.labels[corners.label_at[slot] :], mu)
    return corners


def saved_corners(
    prefix: str,
    what: str,
    arrays: dict[str, np.ndarray],
    lengths: np.ndarray,
    n_states: int | None,
) -> Corners:
    """Those of a checkpoint; ValueError if they are none."""
    # Copies: a run that goes on changes them.
    saved = Corners(**{name: arrays[prefix + name].copy() for name in Corners._fields})
    if saved.used.shape != (4,) or not are_sound(saved, lengths, n_states):
        raise ValueError(f"the {what} are inconsistent")
    return saved


def are_sound(corners: Corners, lengths: np.ndarray, n_states: int | None) -> bool:
    """Whether arrays that came from a file form lists that compiled code may walk.

    ``n_states`` is None where labels are no numbers of states: nothing is looked up by them.
    """
    slots, labels, products, largest = (int(value) for value in corners.used)
    pool = corners.alpha.size
    per_slot = ("following", "before", "loss", "used_at", "label_at", "rank", "gram_at")
    if any(getattr(corners, name).size != pool for name in per_slot):
        return False
    n, has_gram = len(lengths), corners.gram.size > 0
    if corners.head.size != n or corners.size.size != n or not 0 <= slots <= pool:
        return False
    if not 0 <= labels <= corners.labels.size or products < 0:
        return False
    if has_gram and products > corners.gram.size:
        return False
    # Sums may be beyond the largest integer, where they begin again from the smallest: below,
    # what was not compared with anything yet is not added to anything.
    if corners.size.min() < 1 or corners.size.max() > slots or corners.size.sum() > slots:
        return False
    if n_states is not None and np.any((corners.labels < 0) | (corners.labels >= n_states)):
        return False
    visits, ranked, counted = np.zeros(slots, int), np.zeros(slots, int), np.zeros(n, int)
    first = np.cumsum(corners.size) - corners.size
    for slot, block in walk(corners):
        if slot.min() < 0 or slot.max() >= slots:
            return False
        np.add.at(visits, slot, 1)
        if visits.max() > 1:
            return False
        counted[block] += 1
        start, rank, row = corners.label_at[slot], corners.rank[slot], corners.gram_at[slot]
        inside = (start >= 0) & (start <= labels - lengths[block]) & (rank >= 0)
        inside &= rank < corners.size[block]
        if has_gram:
            inside &= (row >= 0) & (row < products - rank)
        if not inside.all():
            return False
        np.add.at(ranked, first[block] + rank, 1)
    are_counted = np.array_equal(counted, corners.size) and ranked.max() == 1
    return bool(are_counted) and largest == counted.max()


def losses_of(problem: Any, corners: Corners) -> np.ndarray:
    """Of the labelling of every slot, computed anew."""
    losses = corners.loss.copy()
    in_mode(_write_losses, problem)(problem, corners, losses)
    return losses


@compiled
def _write_losses(problem: Problem, corners, losses):
    for i in range(corners.head.size):
        slot = corners.head[i]
        while slot >= 0:
            y = corners.labels[corners.label_at[slot] :]
            losses[slot] = label_loss(problem, i, y)
            slot = corners.following[slot]


def are_weights(corners: Corners, alpha: np.ndarray) -> bool:
    """Whether alpha is a distribution in every block."""
    sums = np.zeros(len(corners.head))
    for slot, block in walk(corners):
        if alpha[slot].min() < 0:
            return False
        sums[block] += alpha[slot]
    return bool(np.allclose(sums, 1.0, rtol=0, atol=1e-9))


@compiled
def has_room(corners, longest, largest):
    """Whether any one block can take one more labelling, and none exceeds ``largest`` by it."""
    return (
        corners.used[3] < largest
        and corners.used[0] < corners.alpha.size
        and corners.used[1] + longest <= corners.labels.size
        and (corners.gram.size == 0 or corners.used[2] + corners.used[3] < corners.gram.size)
    )


@compiled
def _equal(a, b, count):
    for t in range(count):
        if a[t] != b[t]:
            return False
    return True


@both_modes
def insert(problem, corners, i, y, loss, limit, now):
    """(slot of labelling y in block i, whether it was made now).

    Beyond ``limit`` slots the least recently used cached one is overwritten. Never the truth, nor
    one that is active or was before the last sweep: momentum needs both ends of each movement.
    """
    count = length(problem, i)
    spare = -1
    slot = corners.head[i]
    while slot >= 0:
        if _equal(corners.labels[corners.label_at[slot] :], y, count):
            corners.used_at[slot] = now
            forget(problem, i, y)
            return slot, False
        unused = corners.alpha[slot] == 0.0 and corners.before[slot] == 0.0
        older = spare < 0 or corners.used_at[slot] < corners.used_at[spare]
        if unused and older and corners.rank[slot] > 0:
            spare = slot
        slot = corners.following[slot]
    if spare >= 0 and corners.size[i] >= limit:
        slot = spare
        forget(problem, i, corners.labels[corners.label_at[slot] :])
    else:
        slot = corners.used[0]
        corners.label_at[slot] = corners.used[1]
        corners.rank[slot] = corners.size[i]
        corners.gram_at[slot] = corners.used[2]
        corners.following[slot] = corners.head[i]
        corners.head[i] = slot
        corners.size[i] += 1
        corners.used[0] += 1
        corners.used[1] += count
        corners.used[2] += corners.size[i]
        corners.used[3] = max(corners.used[3], corners.size[i])
    kept = corners.labels[corners.label_at[slot] :]
    for t in range(count):
        kept[t] = y[t]
    corners.alpha[slot] = corners.before[slot] = 0.0
    corners.loss[slot] = loss
    corners.used_at[slot] = now
    return slot, True


@both_modes
def best_and_worst(problem, corners, w, i, work):
    """(best remembered slot, its value, worst active slot, its value) under prepared scores."""
    best, away = -1, -1
    best_value, away_value = -np.inf, np.inf
    slot = corners.head[i]
    while slot >= 0:
        value = label_value(problem, w, i, work, corners.labels[corners.label_at[slot] :])
        if value > best_value:
            best, best_value = slot, value
        if corners.alpha[slot] > 0.0 and value < away_value:
            away, away_value = slot, value
        slot = corners.following[slot]
    return best, best_value, away, away_value


@compiled
def rescale(head, following, alpha, i, factor):
    """alpha_i *= factor."""
    slot = head[i]
    while slot >= 0:
        alpha[slot] *= factor
        slot = following[slot]
