"""ARFF, the text format of Weka and Mulan: a header that declares attributes, then rows.

Dense rows are comma-separated values. Sparse rows are ``{index value, ...}`` with indices from 0 in
increasing order; what is left out is 0, or the first value of a nominal attribute. Read are numeric
and nominal attributes, quoted names and values, and comments; strings, dates, missing values and
weights of rows are refused with the line.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from taut.datasets._files import malformed, numbered_lines

_QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_ATTRIBUTE = re.compile(rf"@attribute\s+({_QUOTED}|[^\s'\"]\S*)\s+(\S.*)", re.IGNORECASE)
_FIELD = re.compile(rf"([^,'\"]*(?:(?:{_QUOTED})\s*)?)(,|$)")
_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_INDEX = re.compile(r"[0-9]{1,9}")


class Attribute(NamedTuple):
    """A column: numeric if it has no values, else nominal."""

    name: str
    values: tuple[str, ...]


class ArffTable(NamedTuple):
    """Numbers as they are; of a nominal attribute, the index of the value."""

    attributes: list[Attribute]
    #: Of shape (n_rows, n_attributes).
    values: NDArray[np.float64] | csr_array
    #: The line of each row in the file.
    lines: list[int]


class _Fault(Exception):
    """What is wrong with a line; becomes the error that names file and line."""


def read_arff(path: Path) -> ArffTable:
    """Read a gzipped ARFF file, or raise ValueError with the line that is wrong."""
    attributes: dict[str, Attribute] = {}
    reader: _Rows | None = None
    for number, line in numbered_lines(path):
        try:
            text = _decoded(line).strip()
            if not text or text.startswith("%"):
                continue
            if reader is not None:
                reader.add(text, number)
            elif text.lower() == "@data":
                reader = _Rows(list(attributes.values()))
            elif not text.lower().startswith("@relation"):
                attribute = _attribute(text)
                if attribute.name in attributes:
                    raise _Fault(f"attribute {attribute.name!r} is declared twice")
                attributes[attribute.name] = attribute
        except _Fault as fault:
            raise malformed(path, number, str(fault)) from None
    if reader is None:
        raise malformed(path, number + 1, "expected @data, but the file ends")
    if not reader.lines:
        raise malformed(path, number + 1, "expected at least one row of data, but the file ends")
    return ArffTable(reader.attributes, reader.values(), reader.lines)


def _decoded(line: bytes) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _Fault(f"not UTF-8 text ({error})") from error


def _attribute(text: str) -> Attribute:
    match = _ATTRIBUTE.fullmatch(text)
    if match is None:
        raise _Fault(f"expected '@attribute name type' or '@data', not {_short(text)}")
    name, kind = _unquoted(match[1]), match[2]
    if kind.lower() in ("numeric", "real", "integer"):
        return Attribute(name, ())
    if not (kind.startswith("{") and kind.endswith("}")):
        raise _Fault(
            f"attribute {name!r} has the type {_short(kind)}, expected numeric, real, integer or "
            "a list of values in braces"
        )
    values = tuple(_fields(kind[1:-1]))
    if len(set(values)) < len(values) or "" in values:
        raise _Fault(f"attribute {name!r} has an empty value, or one twice: {_short(kind)}")
    return Attribute(name, values)


class _Rows:
    """Rows as they are read. The first one decides whether the table is sparse."""

    def __init__(self, attributes: list[Attribute]) -> None:
        if not attributes:
            raise _Fault("expected an @attribute before @data")
        self.attributes = attributes
        self.read_value = [_reader(attribute) for attribute in attributes]
        self.sparse: bool | None = None
        self.lines: list[int] = []
        self.numbers: list[float] = []
        self.indices: list[int] = []
        self.row_ends = [0]

    def add(self, text: str, line: int) -> None:
        sparse = text.startswith("{")
        if self.sparse is None:
            self.sparse = sparse
        if sparse != self.sparse:
            raise _Fault("dense and sparse rows in one file")
        if sparse:
            self._add_sparse(text)
        else:
            self._add_dense(_fields(text))
        self.lines.append(line)
        self.row_ends.append(len(self.numbers))

    def _add_dense(self, fields: list[str]) -> None:
        if len(fields) != len(self.attributes):
            raise _Fault(f"{len(fields)} values, expected {len(self.attributes)}")
        try:
            row = [read(field) for read, field in zip(self.read_value, fields, strict=True)]
        except (KeyError, ValueError):
            for k, field in enumerate(fields):
                self._value(k, field)
            raise  # pragma: no cover (the loop above raises)
        self.numbers += row

    def _add_sparse(self, text: str) -> None:
        if not text.endswith("}"):
            raise _Fault("expected '}' at the end of a sparse row")
        previous = -1
        for entry in _fields(text[1:-1], unquote=False) if text[1:-1].strip() else []:
            index, value = (*entry.split(None, 1), "", "")[:2]
            if not _INDEX.fullmatch(index) or int(index) >= len(self.attributes):
                raise _Fault(
                    f"expected 'index value' with an index below {len(self.attributes)}, "
                    f"not {_short(entry)}"
                )
            k = int(index)
            if k <= previous:
                raise _Fault(f"index {k} after {previous}: indices must increase")
            previous = k
            self.indices.append(k)
            self.numbers.append(self._value(k, _unquoted(value)))

    def _value(self, k: int, field: str) -> float:
        try:
            return self.read_value[k](field)
        except (KeyError, ValueError):
            name, values = self.attributes[k]
            if field == "?":
                raise _Fault(f"the value of {name!r} is missing, which is not supported") from None
            expected = "{" + ",".join(values) + "}" if values else "a finite number"
            raise _Fault(
                f"the value of {name!r} is {_short(field)}, expected {_short(expected, False)}"
            ) from None

    def values(self) -> NDArray[np.float64] | csr_array:
        shape = (len(self.lines), len(self.attributes))
        numbers = np.array(self.numbers, dtype=np.float64)
        if self.sparse:
            columns = np.array(self.indices, dtype=np.int32)
            return csr_array((numbers, columns, np.array(self.row_ends)), shape=shape)
        return numbers.reshape(shape)


def _reader(attribute: Attribute) -> Callable[[str], float]:
    if attribute.values:
        return {value: float(code) for code, value in enumerate(attribute.values)}.__getitem__
    return _number


def _number(text: str) -> float:
    # float() alone also reads "nan", "1_000" and the digits of other scripts.
    if not _NUMBER.fullmatch(text):
        raise ValueError(text)
    number = float(text)
    if math.isinf(number):
        raise ValueError(text)
    return number


def _fields(text: str, *, unquote: bool = True) -> list[str]:
    """The comma-separated fields of a text."""
    if "'" not in text and '"' not in text:
        return [field.strip() for field in text.split(",")]
    return [_unquoted(field) if unquote else field for field in _quoted_fields(text)]


def _quoted_fields(text: str) -> Iterator[str]:
    position = 0
    more = True
    while more:
        match = _FIELD.match(text, position)
        if match is None:
            raise _Fault(f"a quotation mark in the wrong place: {_short(text[position:])}")
        yield match[1].strip()
        position = match.end()
        more = match[2] == ","


def _unquoted(text: str) -> str:
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    return text


def _short(text: str, quoted: bool = True) -> str:
    text = text if len(text) <= 40 else text[:37] + "..."
    return repr(text) if quoted else text
