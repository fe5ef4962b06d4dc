"""Columns of text in numbers: what a column file holds, without its strings repeated."""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from taut.text.numbering import Numbering


class Column(NamedTuple):
    codes: np.ndarray  # (n_tokens,) int32: which of the values each token has
    values: list[str]  # distinct, in order of first appearance

    def sequences(self, lengths: np.ndarray) -> list[list[str]]:
        """The values of all tokens, sentence by sentence: as ``predict`` returns labels.

        >>> Column(np.array([0, 1, 0]), ["O", "B"]).sequences(np.array([2, 1]))
        [['O', 'B'], ['O']]
        """
        ends = np.cumsum(lengths)
        cuts = zip((ends - lengths).tolist(), ends.tolist(), strict=True)
        labels = [self.values[code] for code in self.codes.tolist()]
        return [labels[start:stop] for start, stop in cuts]


class Columns(NamedTuple):
    """All tokens of all sentences: sentence i has ``lengths[i]`` of them.

    >>> text = Columns.from_sentences([[("He", "PRP"), ("ran", "VBD")], [("He", "PRP")]])
    >>> len(text.lengths), text.columns[0]
    (2, Column(codes=array([0, 1, 0], dtype=int32), values=['He', 'ran']))
    """

    lengths: np.ndarray  # (n_sentences,) int64
    columns: tuple[Column, ...]

    @property
    def n_tokens(self) -> int:
        return int(self.lengths.sum())

    @classmethod
    def from_sentences(
        cls, sentences: Sequence[Sequence[Sequence[str]]], name: str = "X"
    ) -> "Columns":
        """Number sentences of tokens; a token is a row of strings, or a string (one column)."""
        builder = ColumnsBuilder()
        builder.add(sentences, name)
        return builder.build()

    def without(self, number: int) -> tuple["Columns", Column]:
        """The other columns, and this one (negative numbers count from the end)."""
        columns = list(self.columns)
        taken = columns.pop(number)
        return Columns(self.lengths, tuple(columns)), taken


class ColumnsBuilder:
    """Collects rows of strings block by block; only numbers and distinct strings are kept."""

    def __init__(self) -> None:
        self.lengths: list[np.ndarray] = []
        self.codes: list[list[np.ndarray]] = []
        self.numbering: list[Numbering] = []

    def add(self, sentences: Sequence[Sequence[Sequence[str]]], name: str = "X") -> None:
        """A token is a row of strings, or a string (one column); ``name`` is for errors."""
        rows: list[Any] = list(chain.from_iterable(sentences))
        if set(map(type, rows)) <= {str}:
            rows = list(zip(rows, strict=True))
        width = len(self.numbering) or (_width(rows[0]) if rows else 0)
        if str in map(type, sentences) or not _all_rows(rows, width):
            raise _wrong_token(sentences, width, name, sum(map(len, self.lengths)))
        self.add_flat(list(map(len, sentences)), list(chain.from_iterable(rows)), width)

    def add_flat(self, lengths: Iterable[int], fields: list[str], width: int) -> None:
        """All fields of all rows in one list."""
        if not self.numbering:
            self.numbering = [Numbering() for _ in range(width)]
            self.codes = [[] for _ in range(width)]
        for k in range(width):
            self.codes[k].append(self.numbering[k].number(fields[k::width]))
        self.lengths.append(np.fromiter(lengths, np.int64))

    def build(self) -> Columns:
        return Columns(
            np.concatenate(self.lengths or [np.zeros(0, np.int64)]),
            tuple(
                Column(np.concatenate(codes), numbering.values)
                for codes, numbering in zip(self.codes, self.numbering, strict=True)
            ),
        )


def _width(row: Any) -> int:
    return len(row) if isinstance(row, Sequence) and not isinstance(row, str | bytes) else 0


def _all_rows(rows: list[Any], width: int) -> bool:
    """Whether each is ``width`` strings; by loops in C, because every token passes here."""
    kinds = set(map(type, rows))
    return (
        all(issubclass(kind, Sequence) and not issubclass(kind, str | bytes) for kind in kinds)
        and set(map(len, rows)) <= {max(width, 1)}
        and all(issubclass(kind, str) for kind in set(map(type, chain.from_iterable(rows))))
    )


def _wrong_token(sentences: Sequence[Any], width: int, name: str, before: int) -> TypeError:
    """``before`` is how many sentences there were already."""
    for i, sentence in enumerate(sentences, before):
        if isinstance(sentence, str):
            return TypeError(f"{name}[{i}] is a string; a list of tokens is expected: split it")
    i, t = next(
        (i, t)
        for i, sentence in enumerate(sentences)
        for t, row in enumerate(sentence)
        if not _all_rows([row], width)
    )
    token = f"{name}[{before + i}][{t}]"
    return TypeError(
        f"{token} is {sentences[i][t]!r}; all tokens must be strings, or all rows of "
        f"{max(width, 1)} strings (as many as the first)"
    )
