"""The sets on which ``defaults.py`` measures: what a tagger may meet, from two corpora.

They differ in size (143 to 8,936 sequences), length (5 to 180 tokens), attributes a token (2 to 56)
and labels (3 to 44). Text is encoded by templates, as ``taut train`` does; the letters' attributes
are their black pixels. A file of one's own is split in six: four parts to train on, one held out,
one for the test.
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import conll
import numpy as np
from scipy import sparse

from taut.datasets import load_ocr_letters
from taut.text.columns import Column, Columns
from taut.text.extract import TemplateEncoder
from taut.text.template import read_template

FEW = "w[0]; pos[0]; BOS; EOS"
MANY = """
    w[-4..4]; pos[-4..4]; w[-1]|w[0]; w[0]|w[1]; pos[-1]|pos[0]; pos[0]|pos[1]; lower(w[-2..2])
    brief(w[-2..2]); prefix(w[-1..1], 1..4); suffix(w[-1..1], 1..4); BOS; EOS
"""

Labelled = tuple[list[tuple[str, ...]], list[str]]  # a sequence: rows of columns, labels


class Data(NamedTuple):
    """Attributes of all tokens, one row each, the lengths of the sequences, and the labels."""

    rows: Any
    lengths: np.ndarray
    labels: Column


class Task(NamedTuple):
    train: Data
    held_out: Data

    @property
    def is_large(self) -> bool:
        return len(self.train.labels.codes) >= 100_000

    @property
    def squared_norm(self) -> float:
        """The mean of |x|^2 over tokens: how many attributes a token has."""
        return float(self.train.rows.power(2).sum() / len(self.train.labels.codes))


class Text(NamedTuple):
    """Made of CoNLL-2000: what is predicted, from which attributes, how many of the sentences."""

    labelled: Callable[[conll.Sentence], Labelled]
    template: str
    share: float = 1.0
    change: Callable[[list[Labelled]], list[Labelled]] = lambda sequences: sequences


def chunks(sentence: conll.Sentence) -> Labelled:
    return list(zip(sentence.words, sentence.pos, strict=True)), sentence.tags


def noun_phrases(sentence: conll.Sentence) -> Labelled:
    rows, tags = chunks(sentence)
    return rows, [tag if tag.endswith("-NP") else "O" for tag in tags]


def parts_of_speech(sentence: conll.Sentence) -> Labelled:
    return [(word,) for word in sentence.words], sentence.pos


def joined(sequences: list[Labelled]) -> list[Labelled]:
    """Eight sentences are one sequence."""
    groups = (sequences[i : i + 8] for i in range(0, len(sequences), 8))
    return [
        ([row for rows, _ in group for row in rows], [tag for _, tags in group for tag in tags])
        for group in groups
    ]


def cut(sequences: list[Labelled]) -> list[Labelled]:
    """Five tokens are one sequence."""
    return [
        (rows[i : i + 5], tags[i : i + 5])
        for rows, tags in sequences
        for i in range(0, len(tags), 5)
    ]


TEXTS = {
    "chunks": Text(chunks, "chunking"),
    "chunks 10 %": Text(chunks, "chunking", 0.1),
    "chunks 2 %": Text(chunks, "chunking", 0.02),
    "noun phrases": Text(noun_phrases, "chunking"),
    "chunks from words 10 %": Text(chunks, "ner", 0.1),
    "parts of speech": Text(parts_of_speech, "pos"),
    "parts of speech 10 %": Text(parts_of_speech, "pos", 0.1),
    "chunks, few attributes 10 %": Text(chunks, FEW, 0.1),
    "chunks, many attributes 10 %": Text(chunks, MANY, 0.1),
    "chunks, joined sentences 10 %": Text(chunks, "chunking", 0.1, joined),
    "chunks, cut sentences 10 %": Text(chunks, "chunking", 0.1, cut),
}


class Folds(NamedTuple):
    train: tuple[int, ...]
    held_out: tuple[int, ...]


# Of the letters: for the choice, and for the test.
LETTERS = {
    "letters small": (Folds((0,), (5, 6, 7, 8, 9)), Folds((0,), tuple(range(1, 10)))),
    "letters large": (Folds(tuple(range(1, 9)), (9,)), Folds(tuple(range(1, 10)), (0,))),
}
NAMES = (*TEXTS, *LETTERS)
QUICK = ("chunks 10 %", "chunks 2 %", "chunks, few attributes 10 %", "letters small")


def has_shuffles(name: str) -> bool:
    """Whether another seed gives other training sequences."""
    return name not in LETTERS and (name not in TEXTS or TEXTS[name].share < 1.0)


def load(name: str, seed: int = 0, test: bool = False) -> Task:
    """One of the ``NAMES``, or ``template:file`` for a column file with tabs, label last."""
    if name in LETTERS:
        X, y, fold = load_ocr_letters()
        return Task(*(_letters(X, y, np.isin(fold, part)) for part in LETTERS[name][test]))
    if name in TEXTS:
        text = TEXTS[name]
        inside, outside = _conll(test)
        size = round(text.share * len(inside))
        some = sorted(np.random.default_rng(seed).permutation(len(inside))[:size])
        parts = [inside[i] for i in some], outside
        train, held_out = (text.change([text.labelled(s) for s in part]) for part in parts)
        return _encoded(train, held_out, text.template)
    template, _, path = name.partition(":")
    sequences = _file(path)
    order = np.random.default_rng(seed).permutation(len(sequences))
    sixths = [[sequences[i] for i in part] for part in np.array_split(order, 6)]
    train = [sequence for part in sixths[2:] for sequence in part]
    return _encoded(train, sixths[1 if test else 0], template)


@cache
def _conll(test: bool) -> tuple[list[conll.Sentence], list[conll.Sentence]]:
    """Every fifth training sentence is held out; for the test, none."""
    train = conll.read("train")
    if test:
        return train, conll.read("test")
    return [sentence for i, sentence in enumerate(train) if i % 5], train[::5]


@cache
def _file(path: str) -> list[Labelled]:
    """Sequences that occur twice are taken once, or held-out ones would be known."""
    sequences = []
    for paragraph in dict.fromkeys(Path(path).read_text("utf-8").strip("\n").split("\n\n")):
        fields = [line.split("\t") for line in paragraph.split("\n")]
        sequences.append(([tuple(row[:-1]) for row in fields], [row[-1] for row in fields]))
    return sequences


def _encoded(train: list[Labelled], held_out: list[Labelled], template: str) -> Task:
    encoder = TemplateEncoder(read_template(template))

    def data(sequences: list[Labelled], encode: Callable[[Columns], Any]) -> Data:
        text = Columns.from_sentences([rows for rows, _ in sequences])
        labels = Columns.from_sentences([tags for _, tags in sequences]).columns[0]
        return Data(encode(text), text.lengths, labels)

    return Task(data(train, encoder.fit_transform), data(held_out, encoder.transform))


def _letters(X: list, y: list, wanted: np.ndarray) -> Data:
    chosen = np.flatnonzero(wanted)
    labels = Columns.from_sentences([y[i].tolist() for i in chosen])
    pixels = sparse.csr_array(np.concatenate([X[i] for i in chosen]))
    return Data(pixels, labels.lengths, labels.columns[0])
