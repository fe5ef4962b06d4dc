"""Which block comes next: cyclic, permuted, uniform, or with probability given by its gap.

Gap sampling (Osokin et al. 2016, algorithm 2) draws block i with probability proportional to the
gap stored at its last visit. The gaps are leaves of a binary tree of partial sums: a draw and an
update cost O(log n), and a parent is always recomputed from its children, so nothing drifts.

A seed that nobody chose is marked: a checkpoint does not insist on it.
"""

from enum import IntEnum
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from taut._compile import Bits, Integers, Vector, by_reference, compiled


class Order(IntEnum):
    CYCLIC = 0
    PERMUTED = 1
    UNIFORM = 2
    GAP = 3


@by_reference
class Sampler(NamedTuple):
    kind: Integers  # (1,) an Order
    permutation: Integers  # (n,)
    position: Integers  # (1,) next place in the permutation
    tree: Vector  # (2 * leaves,) sums of stored gaps; tree[leaves + i] belongs to block i
    random: Bits  # (1,) state of the generator


def new_sampler(order: Order, n: int, seed: int) -> Sampler:
    leaves = 1
    while leaves < n:
        leaves *= 2
    return Sampler(
        np.array([order], np.int64),
        np.arange(n),
        np.zeros(1, np.int64),
        np.zeros(2 * leaves),
        np.array([seed], np.uint64),
    )


def put_sampler(sampler: Sampler, saved: dict[str, np.ndarray]) -> None:
    """Go on from a checkpoint's arrays; ValueError if they are no sampler's. Sums are made anew."""
    permutation, position = saved["sampler.permutation"], saved["sampler.position"]
    n, leaves = len(sampler.permutation), sampler.tree.size // 2
    if not np.array_equal(np.sort(permutation), np.arange(n)):
        raise ValueError("the block order is not a permutation")
    if not 0 <= position[0] < n:
        raise ValueError("the place in the block order does not exist")
    sampler.permutation[:], sampler.position[:] = permutation, position
    sampler.random[:] = saved["sampler.random"]
    set_all_gaps(sampler.tree, saved["sampler.tree"][leaves : leaves + n])


class DrawnSeed(int):
    """Drawn where ``random_state`` is None or a generator: it differs from fit to fit.

    A checkpoint must be there for the next fit all the same.
    """


def drawn_seed(random: np.random.RandomState) -> int:
    """What a run draws from the generator that a ``random_state`` is."""
    return int(random.randint(2**31 - 1))


def seed_of(drawn: int, random_state: Any) -> int:
    """A seed that was drawn from ``random_state``; only an integer draws the same again."""
    return int(drawn) if isinstance(random_state, Integral) else DrawnSeed(drawn)


def known_seed(seed: int) -> int | None:
    """What a checkpoint says of the seed; None if nobody chose it.

    >>> known_seed(seed_of(7, random_state=0)), known_seed(seed_of(7, random_state=None))
    (7, None)
    """
    return None if isinstance(seed, DrawnSeed) else int(seed)


@compiled
def uniform(random):
    """A number in [0, 1): splitmix64, the same bits compiled and interpreted."""
    random[0] += np.uint64(0x9E3779B97F4A7C15)
    z = random[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return (z >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@compiled
def set_gap(tree, i, gap):
    node = tree.size // 2 + i
    tree[node] = gap if gap > 0.0 else 0.0
    node //= 2
    while node >= 1:
        tree[node] = tree[2 * node] + tree[2 * node + 1]
        node //= 2


@compiled
def set_all_gaps(tree, gaps):
    leaves = tree.size // 2
    for i in range(gaps.size):
        tree[leaves + i] = max(gaps[i], 0.0)
    for node in range(leaves - 1, 0, -1):
        tree[node] = tree[2 * node] + tree[2 * node + 1]


@compiled
def stored_gap(tree, i):
    return tree[tree.size // 2 + i]


@compiled
def _draw_by_gap(tree, random):
    leaves = tree.size // 2
    target = uniform(random) * tree[1]
    node = 1
    while node < leaves:
        node *= 2
        # An empty right half is never entered, whatever rounding did to the target.
        if target >= tree[node] and tree[node + 1] > 0.0:
            target -= tree[node]
            node += 1
    return node - leaves


@compiled
def _shuffle(permutation, random):
    for last in range(permutation.size - 1, 0, -1):
        other = int(uniform(random) * (last + 1))
        permutation[last], permutation[other] = permutation[other], permutation[last]


@compiled
def draw(kind, permutation, position, tree, random):
    """The next block."""
    n = permutation.size
    order = kind[0]
    if order == 3 and tree[1] > 0.0:
        return _draw_by_gap(tree, random)
    if order >= 2:
        return int(uniform(random) * n)
    if position[0] == 0 and order == 1:
        _shuffle(permutation, random)
    block = permutation[position[0]]
    position[0] = (position[0] + 1) % n
    return block
