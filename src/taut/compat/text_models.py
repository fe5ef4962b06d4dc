"""Models of CRF++ (``crf_learn -t``) and Wapiti, which are text: weights by the names of patterns.

CRF++: lines "version:", "cost-factor:", "maxid:", "xsize:"; the labels; the template; a line
"number name" for each feature, which has as many weights from that number on as there are labels,
or pairs of labels if its name begins with B; the weights, one a line. Blank lines lie between.

Wapiti: "#mdl#type#weights", "#rdr#patterns/columns/..." with the patterns, two "#qrk#count" with
labels and names of features, and "number=weight" for the weights that are not zero. Texts are
written "length:text,". Features have weights in their order: one for each label if their names
begin with u, for each pair of labels with b, and both with *.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse

MOST_LABELS = 10_000  # that a model file of taut's holds
CRFPP_HEAD = re.compile(
    rb"version: \d{1,9}\ncost-factor: (\S{1,40})\nmaxid: (\d{1,18})\nxsize: (\d{1,4})\n\n"
)
WAPITI_HEAD = re.compile(rb"#mdl#(\d{1,9})#(\d{1,18})\n")
WAPITI_READER = re.compile(rb"#rdr#(\d{1,9})/\d{1,9}/\d{1,9}\n")
WAPITI_NAMES = re.compile(rb"#qrk#(\d{1,9})\n")
LENGTH = re.compile(rb"(\d{1,9}):")


class TextModel(NamedTuple):
    labels: list[str]
    template: str
    names: list[str]  # of features
    of_labels: sparse.csr_array  # (names, labels)
    of_steps: sparse.csr_array  # (names, labels^2), number before * labels + after
    n_columns: int  # of the training file, with the labels; 0 if that is not known


class Fault(ValueError):
    """What is wrong with a file, and where."""


def is_crfpp(beginning: bytes) -> bool:
    return beginning.startswith(b"version: ")


def is_wapiti(beginning: bytes) -> bool:
    return beginning.startswith(b"#mdl#")


def parse_crfpp(data: bytes) -> TextModel:
    head = CRFPP_HEAD.match(data)
    if head is None:
        raise Fault("line 1: version, cost-factor, maxid, xsize and a blank line are expected")
    parts = _text(data[head.end() :], head[0].count(b"\n") + 1).rstrip("\n").split("\n\n")
    if len(parts) < 4:
        raise Fault(f"line {data.count(10) + 1}: it ends before its weights")
    labels, template = parts[0].split("\n"), "\n\n".join(parts[1:-2])
    line = 7 + len(labels) + template.count("\n") + 2
    numbers, names = _crfpp_features(parts[-2].split("\n"), line)
    weights = _numbers(parts[-1].split(), line + len(names) + 1)
    if len(weights) != int(head[2]):
        raise Fault(f"line {line + len(names) + 1}: {len(weights)} weights; {int(head[2])} are due")
    weights *= _numbers([head[1].decode(errors="replace")], 2)[0]
    _check_labels(labels, 7)
    n_labels = len(labels)
    are_steps = np.array([name.startswith("B") for name in names], bool)
    size = np.where(are_steps, n_labels**2, n_labels)
    wrong = np.flatnonzero((numbers < 0) | (numbers + size > len(weights)))
    if wrong.size:
        raise Fault(f"line {line + wrong[0]}: the weights of {names[wrong[0]]!r} do not exist")
    order = np.argsort(numbers)
    shared = np.flatnonzero((numbers + size)[order][:-1] > numbers[order][1:])
    if shared.size:
        wrong = order[shared[0] + 1]
        raise Fault(f"line {line + wrong}: {names[wrong]!r} shares weights with another feature")
    of_labels, of_steps = (
        _rows(numbers, size * which, weights, each)
        for which, each in ((~are_steps, n_labels), (are_steps, n_labels**2))
    )
    return TextModel(labels, template, names, of_labels, of_steps, int(head[3]) + 1)


def _crfpp_features(lines: Sequence[str], first: int) -> tuple[np.ndarray, list[str]]:
    numbers, names = [], []
    for number, line in enumerate(lines, start=first):
        found = re.fullmatch(r"(\d{1,18}) (.+)", line, re.ASCII | re.DOTALL)
        if found is None:
            raise Fault(f"line {number}: {line[:40]!r} is no number and name of a feature")
        numbers.append(int(found[1]))
        names.append(found[2])
    return np.array(numbers, np.int64), names


def _rows(start: np.ndarray, size: np.ndarray, weights: np.ndarray, width: int) -> sparse.csr_array:
    """A row of ``size`` weights from ``start`` on for each feature; the zeros are left out."""
    row = np.repeat(np.arange(len(size)), size)
    column = np.arange(len(row)) - np.repeat(np.cumsum(size) - size, size)
    value = weights[start[row] + column]
    kept = value != 0.0
    return sparse.csr_array(
        (value[kept], (row[kept], column[kept])), shape=(len(size), max(width, 1))
    )


def parse_wapiti(data: bytes) -> TextModel:
    head = WAPITI_HEAD.match(data)
    if head is None or int(head[1]) != 2:
        raise Fault("line 1: '#mdl#2#' and a number are expected: a conditional random field")
    at = head.end()
    reader = WAPITI_READER.match(data, at)
    if reader is None:
        raise Fault(f"line {_line(data, at)}: '#rdr#' with three numbers is expected")
    patterns, at = _texts(data, reader.end(), int(reader[1]))
    labels, at = _table(data, at)
    _check_labels(labels, _line(data, at))
    names, at = _table(data, at)
    strange = [name for name in names if name[:1] not in ("u", "b", "*")]
    if strange or not patterns:
        raise Fault(
            "it was trained without patterns, on features as they are"
            if not patterns else f"the feature {strange[0]!r} begins neither with u, b nor *"
        )  # fmt: skip
    number, value = _wapiti_weights(data, at)
    if len(number) != int(head[2]):
        raise Fault(f"line {_line(data, at)}: {len(number)} weights; {int(head[2])} are due")
    n_labels = len(labels)
    n_first = np.array([name[0] in "u*" for name in names], np.int64) * n_labels
    size = n_first + np.array([name[0] in "b*" for name in names], np.int64) * n_labels**2
    end = np.cumsum(size)
    n_weights = int(size.sum())
    if number.max(initial=-1) >= n_weights or np.unique(number).size < number.size:
        raise Fault(f"line {_line(data, at)}: a weight is of no feature, or there twice")
    row = np.searchsorted(end, number, side="right")
    column = number - (end - size)[row]
    of_step = column >= n_first[row]
    column -= np.where(of_step, n_first[row], 0)
    of_labels, of_steps = (
        sparse.csr_array((value[which], (row[which], column[which])), shape=(len(names), width))
        for which, width in ((~of_step, n_labels), (of_step, n_labels**2))
    )
    return TextModel(labels, "\n".join(patterns), names, of_labels, of_steps, 0)


def _wapiti_weights(data: bytes, at: int) -> tuple[np.ndarray, np.ndarray]:
    first = _line(data, at)
    numbers, values = [], []
    for line, text in enumerate(_text(data[at:], first).split("\n"), start=first):
        number, _, value = text.partition("=")
        if not text:
            continue
        try:
            if not (number.isascii() and number.isdecimal() and len(number) <= 18):
                raise ValueError
            numbers.append(int(number))
            values.append(float.fromhex(value) if "x" in value else float(value))
        except (OverflowError, ValueError):
            raise Fault(
                f"line {line}: {text[:40]!r} is no number of a weight and its value"
            ) from None
    weights = np.array(values, np.float64)
    if not np.isfinite(weights).all():
        raise Fault(f"line {first + int(np.flatnonzero(~np.isfinite(weights))[0])}: not finite")
    return np.array(numbers, np.int64), weights


def _table(data: bytes, at: int) -> tuple[list[str], int]:
    head = WAPITI_NAMES.match(data, at)
    if head is None:
        raise Fault(f"line {_line(data, at)}: '#qrk#' and a number is expected")
    found, at = _texts(data, head.end(), int(head[1]))
    if len(set(found)) < len(found):
        raise Fault(f"the texts before line {_line(data, at)} are not distinct")
    return found, at


def _texts(data: bytes, at: int, count: int) -> tuple[list[str], int]:
    """``count`` texts written "length:text,", and where they end."""
    found: list[str] = []
    while len(found) < count:
        head = LENGTH.match(data, at)
        end = -1 if head is None else head.end() + int(head[1])
        if head is None or data[end : end + 2] != b",\n":
            raise Fault(f"line {_line(data, at)}: a text of the form 'length:text,' is expected")
        found.append(_text(data[head.end() : end], 0))
        at = end + 2
    return found, at


def _check_labels(labels: list[str], line: int) -> None:
    if not 1 <= len(labels) <= MOST_LABELS or len(set(labels)) < len(labels) or "" in labels:
        raise Fault(
            f"line {line}: there are {len(labels)} labels; from 1 to {MOST_LABELS} that are "
            "distinct are expected"
        )


def _numbers(texts: Sequence[str], line: int) -> np.ndarray:
    try:
        numbers = np.array(texts, np.float64)
    except ValueError:
        raise Fault(f"line {line} or below: a weight is no number") from None
    if not np.isfinite(numbers).all():
        raise Fault(f"line {line + int(np.flatnonzero(~np.isfinite(numbers))[0])}: not finite")
    return numbers


def _text(data: bytes, line: int) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        where = f"line {line} or below: " * (line > 0)
        raise Fault(f"{where}{data[:20]!r} is not UTF-8") from None


def _line(data: bytes, at: int) -> int:
    return data.count(b"\n", 0, at) + 1
