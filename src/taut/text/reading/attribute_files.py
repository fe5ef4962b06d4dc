"""CRFsuite's attribute files: a token per line, ``label TAB attribute[:value] TAB ...``.

An empty line ends a sequence. A value stands after the last colon and is 1 if there is none; in
names ``\\:`` is a colon and ``\\\\`` a backslash. A field ``@weight:2.5`` at the beginning of a
line, alone or before the label, gives the weight of the sequence it is in.

Fields without colon and backslash, the many, pass from text to numbers without leaving C.
"""

import math
import re
from collections.abc import Iterator
from functools import cache
from itertools import chain
from typing import NamedTuple

import numpy as np

from taut.text.attributes import Attributes
from taut.text.columns import Column
from taut.text.numbering import Numbering
from taut.text.reading.column_files import sequence_lengths
from taut.text.reading.source import (
    BLANKS,
    FormatError,
    Source,
    TextBlock,
    paragraphs,
    shown,
    text_blocks,
)

_ESCAPED = re.compile(r"\\([\\:])")
_ESCAPED_OR_COLON = re.compile(r"\\[\\:]|:")
# What float accepts, without underscores, foreign digits, blanks, infinity and NaN. The possessive
# ++ never tries again with fewer digits: a long line of them takes no longer to refuse.
_NUMBER = re.compile(r"[+-]?(\d++(\.\d*+)?|\.\d++)([eE][+-]?\d++)?", re.ASCII)

WITHOUT_TABS = "no line has a tab; label and attributes are separated by tabs, not by blanks"


class LabelledAttributes(NamedTuple):
    attributes: Attributes
    labels: Column | None  # None if the file has none
    weights: np.ndarray  # (n_sequences,) float64
    lines: np.ndarray  # (n_tokens,) int64: the line of each token in its file, from 1


class AttributeBlock(NamedTuple):
    """Whole sequences of an attribute file, and the lines they were read from."""

    data: LabelledAttributes  # names and labels are numbered for this block alone
    lines: list[str]  # all of them, blank lines and weights too, without line ends
    token_lines: np.ndarray  # (n_tokens,) int64: in which of the lines each token is


def read_attributes(
    source: Source, *, encoding: str = "utf-8", labelled: bool = True
) -> LabelledAttributes:
    """Read a whole attribute file; of the text, only numbers and distinct names are kept.

    Parameters
    ----------
    source : path, "-" or open file
        Packed by gzip or not; ``"-"`` is standard input.
    encoding : {"utf-8", "latin-1"}
    labelled : bool
        Whether each line begins with a label. The format does not show it, so say False for a
        file in which every field is an attribute.

    Returns
    -------
    LabelledAttributes
        An attribute named twice in one token has two entries.

    Raises
    ------
    FormatError
        With file and line, if the file does not follow the format.

    Examples
    --------
    >>> import io
    >>> file = io.StringIO("@weight:2\\nB-NP\\tw=He\\tbias:0.5\\nB-VP\\tw=ran\\n")
    >>> data = read_attributes(file)
    >>> data.attributes.names, data.attributes.data, data.labels.values, data.weights
    (['w=He', 'bias', 'w=ran'], array([1. , 0.5, 1. ]), ['B-NP', 'B-VP'], array([2.]))
    """
    builder = _Builder(labelled)
    for block in paragraphs(text_blocks(source, encoding)):
        builder.add(block)
    data = builder.build()
    if not data.attributes.lengths.size:
        raise FormatError(block.path, 1, "no token in the whole file, only blank lines")
    if is_without_tabs(data):
        raise FormatError(block.path, 1, WITHOUT_TABS)
    return data


def attribute_blocks(
    source: Source, *, encoding: str = "utf-8", labelled: bool = True
) -> Iterator[AttributeBlock]:
    """Read an attribute file as a stream, to answer each sequence as soon as it has come.

    The parameters are those of :func:`read_attributes`. Each block holds all sequences that are
    complete by then: from a pipe, a sequence comes after its empty line.

    Examples
    --------
    >>> import io
    >>> [block] = attribute_blocks(io.StringIO("w=He\\n\\nw=ran\\tbias\\n\\n"), labelled=False)
    >>> block.data.attributes.lengths, block.data.attributes.indptr, block.token_lines
    (array([1, 1]), array([0, 1, 3]), array([0, 2]))
    """
    for block in paragraphs(text_blocks(source, encoding)):
        builder = _Builder(labelled)
        token_lines = builder.add(block)
        yield AttributeBlock(builder.build(), block.lines(), token_lines)


def is_without_tabs(data: LabelledAttributes) -> bool:
    """Whether blanks seem to stand where tabs should: labels with blanks, and no attribute."""
    if data.labels is None or data.attributes.names or not data.labels.values:
        return False
    return all(" " in label.strip(BLANKS) for label in data.labels.values)


class _Builder:
    """Collects blocks of text as numbers."""

    def __init__(self, labelled: bool):
        self.names = Numbering()
        self.labels = Numbering() if labelled else None
        self.lengths = [np.zeros(0, np.int64)]
        self.sizes = [np.zeros(1, np.int64)]
        self.codes = [np.zeros(0, np.int32)]
        self.data = [np.zeros(0)]
        self.label_codes = [np.zeros(0, np.int32)]
        self.weights = [np.zeros(0)]
        self.lines = [np.zeros(0, np.int64)]

    def add(self, block: TextBlock) -> np.ndarray:
        """Take a block of whole sequences; which of its lines hold a token."""
        lines = block.lines()
        is_blank = np.array([not line.strip(BLANKS) for line in lines], bool)
        # Several tabs in a row are as good as one.
        rows = [
            [] if blank else list(filter(None, line.split("\t")))
            for line, blank in zip(lines, is_blank.tolist(), strict=True)
        ]
        weights = self._take_weights(block, rows)
        is_token = np.fromiter(map(bool, rows), bool, len(rows))
        token_lines = np.flatnonzero(is_token)
        self.lengths.append(sequence_lengths(is_token, is_blank))
        self.lines.append(block.line + token_lines)
        self.weights.append(_sequence_weights(block, is_token, is_blank, weights))
        if self.labels is not None:
            self._take_labels(block, rows, token_lines)
        self._take_attributes(block, rows, token_lines)
        return token_lines

    def _take_weights(self, block: TextBlock, rows: list[list[str]]) -> dict[int, float]:
        """The weights the lines declare, by line; the declarations leave the rows."""
        # CRFsuite's labels cannot begin with @, but attributes can.
        mark = "@weight:" if self.labels is None else "@"
        if mark not in block.text:
            return {}
        declaring = [i for i, row in enumerate(rows) if row and row[0].startswith(mark)]
        return {i: _declared_weight(block, i, rows[i].pop(0)) for i in declaring}

    def _take_labels(
        self, block: TextBlock, rows: list[list[str]], token_lines: np.ndarray
    ) -> None:
        """The first field of each token; it leaves its row."""
        assert self.labels is not None
        if "\n\t" in block.text or block.text.startswith("\t"):
            _refuse_missing_labels(block, token_lines)
        labels = [_unescaped(rows[i].pop(0)) for i in token_lines.tolist()]
        self.label_codes.append(self.labels.number(labels))

    def _take_attributes(
        self, block: TextBlock, rows: list[list[str]], token_lines: np.ndarray
    ) -> None:
        sizes = np.fromiter(map(len, rows), np.int64, len(rows))
        data = np.ones(sizes.sum())
        if ":" in block.text or "\\" in block.text:
            _split_values(block, rows, np.cumsum(sizes) - sizes, data)
        self.sizes.append(sizes[token_lines])
        self.codes.append(self.names.number(chain.from_iterable(rows)))
        self.data.append(data)

    def build(self) -> LabelledAttributes:
        attributes = Attributes(
            lengths=np.concatenate(self.lengths),
            indptr=np.cumsum(np.concatenate(self.sizes)),
            codes=np.concatenate(self.codes),
            data=np.concatenate(self.data),
            names=self.names.values,
        )
        labels = None
        if self.labels is not None:
            labels = Column(np.concatenate(self.label_codes), self.labels.values)
        weights, lines = np.concatenate(self.weights), np.concatenate(self.lines)
        return LabelledAttributes(attributes, labels, weights, lines)


def _declared_weight(block: TextBlock, index: int, declaration: str) -> float:
    name, _, text = declaration.partition(":")
    if name != "@weight":
        raise block.error(
            index,
            f"unknown declaration {shown(declaration)}; at the beginning of a line, @ is for "
            "@weight:NUMBER, so no label begins with it",
        )
    weight = _number(text)
    if weight is None or weight < 0:
        raise block.error(
            index,
            f"{shown(declaration)} does not give a weight; expected @weight:NUMBER, a finite "
            "number that is not negative",
        )
    return weight


def _sequence_weights(
    block: TextBlock, is_token: np.ndarray, is_end: np.ndarray, declared: dict[int, float]
) -> np.ndarray:
    """One weight per sequence: 1 where the lines declare none."""
    paragraph = np.cumsum(is_end)  # of each line
    sequences = np.unique(paragraph[is_token])
    weights = np.ones(len(sequences))
    taken = set()
    for i, weight in declared.items():
        sequence = int(np.searchsorted(sequences, paragraph[i]))
        if sequence == len(sequences) or sequences[sequence] != paragraph[i]:
            raise block.error(i, "@weight is not in a sequence; put no blank line after it")
        if sequence in taken:
            raise block.error(i, "a second @weight in one sequence; give one")
        taken.add(sequence)
        weights[sequence] = weight
    return weights


def _refuse_missing_labels(block: TextBlock, token_lines: np.ndarray) -> None:
    lines = block.lines()
    for i in token_lines.tolist():
        if lines[i].startswith("\t"):
            raise block.error(
                i,
                "the line begins with a tab: its label is missing; without labels it can only be "
                "tagged, with ‹labelled=False›",
            )


def _split_values(
    block: TextBlock, rows: list[list[str]], starts: np.ndarray, data: np.ndarray
) -> None:
    """Replace fields by the names they hold, and put their values into ``data``.

    ``starts[i]`` is where the values of line i begin.
    """
    parsed = cache(_name_and_value)  # for this block: fields are as many as their values
    for i, line in enumerate(block.lines()):
        if ":" not in line and "\\" not in line:
            continue
        row = rows[i]
        for k, field in enumerate(row):
            if ":" in field or "\\" in field:
                name, value = parsed(field)
                if not name or value is None:
                    raise block.error(
                        i,
                        f"the attribute {shown(field)} must be a name, or a name, a colon and a "
                        r"finite number; write \: for a colon in a name",
                    )
                row[k] = name
                data[starts[i] + k] = value


def _name_and_value(field: str) -> tuple[str, float | None]:
    """The parts of a field that has a colon or backslash; None for a value that is no number."""
    if "\\" not in field:
        name, _, text = field.rpartition(":")
        return name, _number(text)
    colon = -1
    for match in _ESCAPED_OR_COLON.finditer(field):
        if match.group() == ":":
            colon = match.start()
    if colon < 0:
        return _unescaped(field), 1.0
    return _unescaped(field[:colon]), _number(field[colon + 1 :])


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(r"\1", text) if "\\" in text else text


def _number(text: str) -> float | None:
    if _NUMBER.fullmatch(text):
        value = float(text)
        if math.isfinite(value):
            return value
    return None
