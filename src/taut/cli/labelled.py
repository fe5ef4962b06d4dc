"""Sequences with their labels, and where in which file each token was read."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from taut.constraints import InvalidTruth
from taut.text.attributes import Attributes
from taut.text.columns import Column, Columns
from taut.text.numbering import Numbering
from taut.text.reading import FormatError
from taut.text.schemes import MisfitLabel


class Places(NamedTuple):
    """Where tokens were read."""

    names: list[str]  # of the files
    ends: np.ndarray  # (n_files,): how many tokens there are up to the end of each
    lines: np.ndarray  # (n_tokens,) int64: in their files, from 1

    def error(self, token: int, problem: str) -> FormatError:
        name = self.names[int(np.searchsorted(self.ends, token, "right"))]
        return FormatError(name, int(self.lines[token]), problem)

    def of(self, tokens: np.ndarray) -> "Places":
        """Those of some tokens, in their order."""
        file_of = np.searchsorted(self.ends, tokens, "right")
        ends = np.cumsum(np.bincount(file_of, minlength=len(self.names)))
        return Places(self.names, ends, self.lines[tokens])


class Labelled(NamedTuple):
    text: Columns | Attributes
    labels: Column
    weights: np.ndarray | None  # of sequences; None if all are 1
    places: Places

    @contextmanager
    def located(self) -> Iterator[None]:
        """Errors about labels name file and line."""
        try:
            yield
        except InvalidTruth as error:
            token = int(self.text.lengths[: error.example].sum()) + error.position
            raise self.places.error(token, error.problem) from None
        except MisfitLabel as error:
            if error.label not in self.labels.values:
                raise
            code = self.labels.values.index(str(error.label))
            token = int(np.flatnonzero(self.labels.codes == code)[0])
            raise self.places.error(token, error.problem) from None


class AttributesBuilder:
    """Joins texts whose attributes are numbered apart, one after the other."""

    def __init__(self) -> None:
        self.names = Numbering()
        self.parts: list[dict[str, Any]] = []

    def add(self, part: Attributes) -> None:
        self.parts.append(
            {
                "lengths": part.lengths,
                "indptr": np.diff(part.indptr),
                "codes": self.names.number(part.names)[part.codes],
                "data": part.data,
            }
        )

    def build(self) -> Attributes:
        whole = {name: np.concatenate([p[name] for p in self.parts]) for name in self.parts[0]}
        whole["indptr"] = np.concatenate([[0], np.cumsum(whole["indptr"])])
        return Attributes(**whole, names=self.names.values)


# --- several files as one -------------------------------------------------------------------------


def joined(parts: Sequence[Labelled]) -> Labelled:
    """The sequences of all, in this order; their text is of one kind, with as many columns."""
    if len(parts) == 1:
        return parts[0]
    weights = None
    if any(part.weights is not None for part in parts):
        ones = [np.ones(len(part.text.lengths)) for part in parts]
        given = [part.weights for part in parts]
        weights = np.concatenate(
            [g if g is not None else o for g, o in zip(given, ones, strict=True)]
        )
    counts = [len(part.labels.codes) for part in parts]
    places = Places(
        [name for part in parts for name in part.places.names],
        np.cumsum(counts),
        np.concatenate([part.places.lines for part in parts]),
    )
    text = joined_text([part.text for part in parts])
    return Labelled(text, _joined_column([part.labels for part in parts]), weights, places)


def joined_text(parts: Sequence[Columns | Attributes]) -> Columns | Attributes:
    """Texts that number their words or attributes apart, as one."""
    columns = [part for part in parts if isinstance(part, Columns)]
    if columns:
        lengths = np.concatenate([part.lengths for part in columns])
        width = len(columns[0].columns)
        numbers = range(width)
        return Columns(
            lengths, tuple(_joined_column([part.columns[k] for part in columns]) for k in numbers)
        )
    builder = AttributesBuilder()
    for part in parts:
        assert isinstance(part, Attributes)
        builder.add(part)
    return builder.build()


def _joined_column(parts: Sequence[Column]) -> Column:
    values = Numbering()
    codes = [values.number(part.values)[part.codes] for part in parts]
    return Column(np.concatenate(codes), values.values)


# --- parts of it ----------------------------------------------------------------------------------


def chosen(data: Labelled, sequences: np.ndarray) -> Labelled:
    """Some sequences, exactly as if a file had held them alone."""
    lengths = data.text.lengths
    is_chosen = np.zeros(len(lengths), bool)
    is_chosen[sequences] = True
    tokens = np.flatnonzero(np.repeat(is_chosen, lengths))
    text: Columns | Attributes
    if isinstance(data.text, Columns):
        columns = tuple(_chosen_column(column, tokens) for column in data.text.columns)
        text = Columns(lengths[is_chosen], columns)
    else:
        text = _chosen_attributes(data.text, lengths[is_chosen], tokens)
    weights = None if data.weights is None else data.weights[is_chosen]
    return Labelled(text, _chosen_column(data.labels, tokens), weights, data.places.of(tokens))


def _chosen_column(column: Column, tokens: np.ndarray) -> Column:
    """Values that are left over are numbered in order of first appearance, as readers do."""
    found, first, codes = np.unique(column.codes[tokens], return_index=True, return_inverse=True)
    order = np.argsort(first)
    number = np.empty(len(order), np.int32)
    number[order] = np.arange(len(order), dtype=np.int32)
    return Column(number[codes], [column.values[code] for code in found[order].tolist()])


def _chosen_attributes(text: Attributes, lengths: np.ndarray, tokens: np.ndarray) -> Attributes:
    sizes = np.diff(text.indptr)
    is_chosen = np.zeros(len(sizes), bool)
    is_chosen[tokens] = True
    entries = np.flatnonzero(np.repeat(is_chosen, sizes))
    names = _chosen_column(Column(text.codes, text.names), entries)
    indptr = np.concatenate([[0], np.cumsum(sizes[is_chosen])])
    return Attributes(lengths, indptr, names.codes, text.data[entries], names.values)
