"""Pairs of labels whose steps have scores, where most steps score zero."""

from typing import NamedTuple

import numpy as np

from taut._compile import Integers, Labels, by_reference, compiled


@by_reference
class Pairs(NamedTuple):
    """Numbered by source, then by target; made by ``new_pairs``."""

    begin: Integers  # (K + 1,) pairs of source k: begin[k] to begin[k+1]; empty if all steps count
    target: Labels  # (pairs,) where they lead, rising for each source
    n_into: Integers  # (K,) how many lead to each label

    @property
    def sources(pairs) -> np.ndarray:
        """Of every pair."""
        return np.repeat(np.arange(len(pairs.n_into)), np.diff(pairs.begin))

    @property
    def codes(pairs) -> np.ndarray:
        """source * K + target, rising."""
        return pairs.sources * len(pairs.n_into) + pairs.target

    def numbers(pairs, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        """The numbers of pairs; -1 for steps that are none.

        >>> new_pairs(np.array([1, 2, 3]), 2).numbers(np.array([0, 1]), np.array([0, 1]))
        array([-1,  2])
        """
        codes, wanted = pairs.codes, np.asarray(source, np.int64) * len(pairs.n_into) + target
        if not len(codes):
            return np.full(len(wanted), -1)
        at = np.minimum(np.searchsorted(codes, wanted), len(codes) - 1)
        return np.where(codes[at] == wanted, at, -1)


def no_pairs() -> Pairs:
    """All steps have scores, in matrices."""
    return Pairs(np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int64))


def new_pairs(codes: np.ndarray, n_states: int) -> Pairs:
    """From rising numbers source * n_states + target.

    >>> pairs = new_pairs(np.array([1, 2, 3]), 2)
    >>> pairs.sources, pairs.target, pairs.n_into
    (array([0, 1, 1]), array([1, 0, 1], dtype=int32), array([1, 2]))
    """
    source, target = np.divmod(np.asarray(codes, np.int64), n_states)
    begin = np.concatenate([[0], np.cumsum(np.bincount(source, minlength=n_states))])
    n_into = np.bincount(target, minlength=n_states).astype(np.int64)
    return Pairs(begin.astype(np.int64), target.astype(np.int32), n_into)


@compiled
def found(numbers, start, stop, wanted):
    """Where ``wanted`` stands among rising numbers, -1 if it does not."""
    low, high = start, stop
    while low < high:
        middle = (low + high) // 2
        if numbers[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low if low < stop and numbers[low] == wanted else -1


@compiled
def pair_of(pairs, source, target):
    """The number of a pair, -1 if the step is none."""
    return found(pairs.target, pairs.begin[source], pairs.begin[source + 1], target)
