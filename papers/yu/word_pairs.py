"""What a corpus of sentence pairs says about pairs of words: Dice coefficients and IBM model 1."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Vector = NDArray[np.float64]

ITERATIONS = 5  # of EM
NOTHING = ""  # the word that a word without a partner comes from


class Side(NamedTuple):
    """One language of the corpus."""

    number: dict[str, int]  # of each word; 0 is ``NOTHING``
    words: Integers  # of all sentences, one after the other
    lengths: Integers  # of the sentences


class WordPairs:
    """Tables of all pairs of words that occur together in a sentence pair."""

    def __init__(self, english: Sequence[Sequence[str]], french: Sequence[Sequence[str]]):
        self.sides = numbered(english), numbered(french)
        self.counts = [np.bincount(side.words, minlength=len(side.number)) for side in self.sides]
        self._dice = dice_table(*self.sides)
        forward, backward = model_1(*self.sides), model_1(*self.sides[::-1])
        self._translations = forward, backward

    def dice(self, english: Sequence[str], french: Sequence[str]) -> Vector:
        """(J, K): 2 c(e, f) / (c(e) + c(f)), c the number of sentences a word occurs in."""
        return self._dice.look_up(self._numbers(0, english), self._numbers(1, french))

    def posteriors(self, english: Sequence[str], french: Sequence[str]) -> tuple[Vector, Vector]:
        """(J, K): how likely each French word comes from each English one, and the reverse."""
        e, f = self._numbers(0, english), self._numbers(1, french)
        forward, backward = self._translations
        return share(forward, e, f), share(backward, f, e).T

    def frequency(self, side: int, words: Sequence[str]) -> Vector:
        return self.counts[side][self._numbers(side, words)].astype(float)

    def _numbers(self, side: int, words: Sequence[str]) -> Integers:
        number = self.sides[side].number
        return np.array([number.get(word, -1) for word in words])


class Table(NamedTuple):
    codes: Integers  # first * n_second + second, sorted
    values: Vector
    n_second: int

    def look_up(self, first: Integers, second: Integers) -> Vector:
        wanted = first[:, None] * self.n_second + second
        at = np.minimum(np.searchsorted(self.codes, wanted), len(self.codes) - 1)
        known = (first[:, None] >= 0) & (second >= 0) & (self.codes[at] == wanted)
        return np.where(known, self.values[at], 0.0)


def numbered(sentences: Sequence[Sequence[str]]) -> Side:
    number = {NOTHING: 0}
    words = [number.setdefault(word, len(number)) for words in sentences for word in words]
    return Side(number, np.array(words), np.array([len(words) for words in sentences]))


def together(first: Side, second: Side) -> tuple[Integers, Integers]:
    """Positions of all pairs of words of one sentence pair, the second's in order."""
    start = np.cumsum(first.lengths) - first.lengths
    sentence = np.repeat(np.arange(len(second.lengths)), second.lengths)
    count = first.lengths[sentence]
    b = np.repeat(np.arange(len(second.words)), count)
    begins = np.cumsum(count) - count
    a = np.arange(count.sum()) - np.repeat(begins - start[sentence], count)
    return a, b


def dice_table(first: Side, second: Side) -> Table:
    once = [each_word_once(side) for side in (first, second)]
    a, b = together(*once)
    n_second = len(second.number)
    codes, count = np.unique(once[0].words[a] * n_second + once[1].words[b], return_counts=True)
    mine, theirs = (np.bincount(side.words, minlength=len(side.number)) for side in once)
    return Table(
        codes, 2.0 * count / (mine[codes // n_second] + theirs[codes % n_second]), n_second
    )


def each_word_once(side: Side) -> Side:
    sentence = np.repeat(np.arange(len(side.lengths)), side.lengths)
    codes = np.unique(sentence * len(side.number) + side.words)
    lengths = np.bincount(codes // len(side.number), minlength=len(side.lengths))
    return Side(side.number, codes % len(side.number), lengths)


def model_1(source: Side, target: Side) -> Table:
    """t(target word | source word) by EM (Brown et al. 1993); ``NOTHING`` is in every sentence."""
    ends = np.cumsum(source.lengths)
    source = Side(source.number, np.insert(source.words, ends, 0), source.lengths + 1)
    a, b = together(source, target)
    n_target = len(target.number)
    codes, pair = np.unique(source.words[a] * n_target + target.words[b], return_inverse=True)
    word = codes // n_target
    t = np.full(len(codes), 1.0 / n_target)
    for _ in range(ITERATIONS):
        p = t[pair]
        p /= np.bincount(b, weights=p)[b]
        count = np.bincount(pair, weights=p)
        t = count / np.bincount(word, weights=count)[word]
    return Table(codes, t, n_target)


def share(table: Table, source: Integers, target: Integers) -> Vector:
    """The posterior probability of each source word, for every target word; columns of t."""
    t = table.look_up(np.append(source, 0), target)
    return t[:-1] / np.maximum(t.sum(axis=0), 1e-12)
