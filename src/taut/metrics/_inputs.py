"""From two lists of label sequences to label numbers, all tokens in one array."""

from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from taut.text.columns import Column
from taut.text.numbering import Numbering

# A list of label sequences, as sequence labellers take and return.
Labelling = Sequence[Sequence[Any] | np.ndarray] | np.ndarray

EXPECTED = "a list of label sequences is expected, such as [['B-NP', 'I-NP'], ['O']]"


class Pair(NamedTuple):
    """Two labellings of the same tokens."""

    true: np.ndarray  # (n_tokens,) int32
    predicted: np.ndarray  # (n_tokens,) int32
    lengths: np.ndarray  # (n_sequences,) int64
    labels: list[Any]  # what the numbers of both stand for


def number_pair(y_true: Labelling, y_pred: Labelling) -> Pair:
    """Number the labels of both; sequences that do not correspond are an error."""
    true, lengths = flatten(y_true, "y_true")
    predicted, predicted_lengths = flatten(y_pred, "y_pred")
    if len(lengths) != len(predicted_lengths):
        raise ValueError(
            f"y_true has {len(lengths)} sequences but y_pred has {len(predicted_lengths)}; "
            "they must correspond one to one"
        )
    different = np.flatnonzero(lengths != predicted_lengths)
    if different.size:
        i = different[0]
        raise ValueError(
            f"y_pred[{i}] has {predicted_lengths[i]} labels but y_true[{i}] has {lengths[i]}; "
            "there must be one per token"
        )
    numbering = Numbering()
    return Pair(number(numbering, true), number(numbering, predicted), lengths, numbering.values)


def join_columns(true: Column, predicted: Column, lengths: Any) -> Pair:
    """Give numbered labels the same numbers in both columns."""
    lengths = np.asarray(lengths, np.int64)
    numbering = Numbering()
    codes = []
    for name, column in (("true", true), ("predicted", predicted)):
        check_codes(name, column, lengths)
        renumbered = number(numbering, list(column.values))
        codes.append(renumbered[column.codes])
    return Pair(codes[0], codes[1], lengths, numbering.values)


def flatten(y: Any, name: str) -> tuple[list[Any], np.ndarray]:
    """All labels in one list, and the length of each sequence."""
    if isinstance(y, Column):
        raise TypeError(
            f"{name} is a Column, which does not know where sequences end; use "
            f"column.sequences(lengths), or span_report_from_codes"
        )
    if isinstance(y, str | bytes | dict | set) or not hasattr(y, "__len__"):
        raise TypeError(f"{name} is a {type(y).__name__}; {EXPECTED}")
    parts = [part.tolist() if isinstance(part, np.ndarray | np.generic) else part for part in y]
    for i, part in enumerate(parts):
        if isinstance(part, str | bytes) or not isinstance(part, Sequence):
            raise TypeError(
                f"{name}[{i}] is {part!r}; {EXPECTED}: put a single sequence into a list, [{name}]"
            )
    return list(chain.from_iterable(parts)), np.fromiter(map(len, parts), np.int64, len(parts))


def number(numbering: Numbering, labels: list[Any]) -> np.ndarray:
    try:
        return numbering.number(labels)
    except TypeError:
        unhashable = next(label for label in labels if not _is_hashable(label))
        raise TypeError(
            f"there is the label {unhashable!r}; labels must be hashable, such as strings"
        ) from None


def check_codes(name: str, column: Column, lengths: np.ndarray) -> None:
    codes = column.codes
    if codes.ndim != 1 or codes.dtype.kind not in "iu":
        raise TypeError(
            f"{name}.codes is a {codes.ndim}-dimensional array of {codes.dtype}; "
            "one integer per token is expected"
        )
    if len(codes) != lengths.sum():
        raise ValueError(
            f"the lengths add up to {lengths.sum()} but {name}.codes has {len(codes)} numbers"
        )
    wrong = np.flatnonzero((codes < 0) | (codes >= len(column.values)))
    if wrong.size:
        i = np.searchsorted(np.cumsum(lengths), wrong[0], "right")
        raise ValueError(
            f"sequence {i} has the label number {codes[wrong[0]]} in {name}.codes, but "
            f"{name}.values has {len(column.values)} labels, numbered from 0"
        )


def _is_hashable(label: Any) -> bool:
    try:
        hash(label)
    except TypeError:
        return False
    return True
