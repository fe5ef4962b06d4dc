"""Word alignment as bipartite matching: data, features, the model in plain Python, error rates.

A label is a matrix (English words, French words) whose ones are links, no two in a row or column.
In the truth, 2 says that a link is possible: it is not asked for and costs nothing. Truth are the
sure links, as far as they are a matching.
"""

import unicodedata
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from papers.yu.word_pairs import Vector, WordPairs
from taut.datasets._files import find_file, malformed, numbered_lines

Links = NDArray[np.int8]

FOLDER = "word_alignment"
FILES = [
    *(f"{FOLDER}/hansards_{part}.{side}.gz" for part in ("train", "test", "trial")
      for side in ("en", "fr")),
    *(f"{FOLDER}/hansards_{part}.wa.gz" for part in ("test", "trial")),
]  # fmt: skip
EVERY = 3  # of the corpus, one sentence pair in so many
MISSED, WRONG = 3.0, 1.0  # costs of a link, as in Taskar, Lacoste-Julien & Klein (2005)
DICE, BOTH = 1, 7  # which features these are
DISTANCES = np.array([0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5])


class Sentence(NamedTuple):
    features: Vector  # (J, K, d)
    sure: NDArray[np.bool_]  # (J, K)
    possible: NDArray[np.bool_]  # the sure ones too

    @property
    def truth(self) -> Links:
        y = (2 * self.possible).astype(np.int8)
        y[best_matching(self.sure * (1.0 + self.features[:, :, DICE]))] = 1
        return y


class Matching:
    """The model: a link's score is <w, its features>."""

    def joint_feature(self, x: Vector, y: Links) -> Vector:
        return x[y == 1].sum(axis=0)

    def loss(self, y: Links, y_hat: Links) -> float:
        found = y_hat == 1
        return WRONG * np.sum(found & (y == 0)) + MISSED * np.sum(~found & (y == 1))

    def oracle(self, w: Vector, x: Vector, y: Links) -> Links:
        found = links(x @ w + WRONG * (y == 0) - MISSED * (y == 1))
        return y if np.array_equal(found == 1, y == 1) else found

    def predict(self, w: Vector, x: Vector) -> Links:
        return links(x @ w)


def links(score: Vector) -> Links:
    y = np.zeros(score.shape, np.int8)
    y[best_matching(score)] = 1
    return y


def best_matching(score: Vector) -> tuple[Any, Any]:
    """Of the links with positive scores: maximum weight."""
    rows, columns = linear_sum_assignment(np.maximum(score, 0.0), maximize=True)
    use = score[rows, columns] > 0.0
    return rows[use], columns[use]


def error_rate(found: Sequence[Links], sentences: Sequence[Sentence]) -> float:
    """AER (Och & Ney 2003)."""
    right = answered = wanted = 0
    for y, sentence in zip(found, sentences, strict=True):
        right += np.sum((y == 1) & sentence.sure) + np.sum((y == 1) & sentence.possible)
        answered, wanted = answered + np.sum(y == 1), wanted + np.sum(sentence.sure)
    return float(1.0 - right / (answered + wanted))


def learned_error(w: Vector, sentences: Sequence[Sentence]) -> float:
    return error_rate([Matching().predict(w, one.features) for one in sentences], sentences)


def baseline_errors(*parts: Sequence[Sentence]) -> dict[str, float]:
    """Without learning, on the first part; thresholds are those with the lowest error on the
    second."""
    held_out, trial = parts
    scores = {"Dice": lambda x: x[:, :, DICE], "model 1, both ways": lambda x: x[:, :, BOTH]}
    found = {}
    for name, score in scores.items():

        def matched(sentences: Sequence[Sentence], least: float, score: Any = score) -> float:
            return error_rate([links(score(one.features) - least) for one in sentences], sentences)

        least = min(np.linspace(0.0, 0.5, 26), key=lambda least: matched(trial, least))
        found[f"matching by {name}"] = matched(held_out, least)
    return found


# --- the Hansards -----------------------------------------------------------------------------


@cache
def hansards(data_home: str | None) -> tuple[list[Sentence], list[Sentence]]:
    """(the 447 test pairs, the 37 trial pairs), with features from one third of the corpus."""
    corpus = [_lines(data_home, f"hansards_train.{side}.gz")[::EVERY] for side in ("en", "fr")]
    pairs = WordPairs(*corpus)
    return _gold(data_home, "test", pairs), _gold(data_home, "trial", pairs)


def _lines(data_home: str | None, name: str) -> list[list[str]]:
    path = find_file(data_home, f"{FOLDER}/{name}")
    return [line.decode("utf-8", "replace").split() for _, line in numbered_lines(path)]


def _gold(data_home: str | None, part: str, pairs: WordPairs) -> list[Sentence]:
    texts = [_lines(data_home, f"hansards_{part}.{side}.gz") for side in ("en", "fr")]
    sizes = [(len(e), len(f)) for e, f in zip(*texts, strict=True)]
    sure = [np.zeros(size, bool) for size in sizes]
    possible = [np.zeros(size, bool) for size in sizes]
    path = find_file(data_home, f"{FOLDER}/hansards_{part}.wa.gz")
    for number, line in numbered_lines(path):
        try:
            i, j, k = (int(word) - 1 for word in line.split()[:3])
            if min(i, j, k) < 0:
                raise IndexError
            possible[i][j, k] = True
            sure[i][j, k] |= line.split()[3] == b"S"
        except (ValueError, IndexError):
            raise malformed(path, number, "expected: sentence, two positions, S or P") from None
    return [
        Sentence(features(plain(e), plain(f), pairs), *known)
        for e, f, *known in zip(*texts, sure, possible, strict=True)
    ]


def plain(words: Sequence[str]) -> list[str]:
    """As the corpus has them: lower case, without accents."""
    return [
        unicodedata.normalize("NFD", word.lower()).encode("ascii", "ignore").decode() or word
        for word in words
    ]


def features(english: Sequence[str], french: Sequence[str], pairs: WordPairs) -> Vector:
    """(J, K, d): association, neighbours, position and spelling of each pair of words."""
    dice = pairs.dice(english, french)
    forward, backward = pairs.posteriors(english, french)
    both = np.sqrt(forward * backward)
    j, k = (np.arange(len(words)) / len(words) for words in (english, french))
    far = np.abs(j[:, None] - k)
    rare = [
        np.log1p(pairs.frequency(side, words)) / 10 for side, words in enumerate((english, french))
    ]
    same = np.array([[e == f for f in french] for e in english], float)
    begins = np.array([[len(e) > 3 and e[:4] == f[:4] for f in french] for e in english], float)
    signs = [np.array([not word.isalnum() for word in words]) for words in (english, french)]
    return np.stack([
        np.ones(dice.shape), dice, np.sqrt(dice), *map(neighbour, 2 * [dice], (1, -1)),
        forward, backward, both, *map(neighbour, 2 * [both], (1, -1)),
        dice >= dice.max(axis=0), dice >= dice.max(axis=1, keepdims=True),
        both >= both.max(axis=0), both >= both.max(axis=1, keepdims=True),
        far, far**2, np.sqrt(far), *(far[None] < DISTANCES[:, None, None]),
        same, begins, np.abs(rare[0][:, None] - rare[1]), signs[0][:, None] != signs[1],
        both * (1 - far), dice * same,
    ], axis=2)  # fmt: skip


def neighbour(table: Vector, step: int) -> Vector:
    """What the table says of the next words on both sides (or of the words before)."""
    moved = np.zeros_like(table)
    if step == 1:
        moved[:-1, :-1] = table[1:, 1:]
    else:
        moved[1:, 1:] = table[:-1, :-1]
    return moved


# --- where there are no files --------------------------------------------------------------------


def made_up_sentences(n: int, seed: int, size: int = 8) -> list[Sentence]:
    """Sentences whose right links have features that are larger on the average."""
    random, sentences = np.random.default_rng(seed), []
    for _ in range(n):
        shape = tuple(random.integers(3, size, 2))
        possible = links(random.random(shape)) == 1
        sure = possible & (random.random(shape) < 0.8)
        seen = random.normal(size=(*shape, 8)) + np.linspace(0.2, 1.5, 8) * possible[:, :, None]
        sentences.append(
            Sentence(np.concatenate([np.ones((*shape, 1)), seen], axis=2), sure, possible)
        )
    return sentences
