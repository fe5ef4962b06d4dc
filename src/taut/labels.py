"""Labels of any kind: numbers for them, and back as they came. Some may be missing."""

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import numpy as np

from taut.text.columns import Column


class LabelCodec:
    """Numbers for labels, and back as they came: arrays to arrays, lists to lists."""

    def __init__(self, y: Sequence | Column):
        parts: Sequence[Any] = [y.values] if isinstance(y, Column) else y
        self.as_arrays = all(isinstance(part, np.ndarray) for part in parts)
        # Labels of different kinds, joined in one array, would all become strings.
        kinds = {part.dtype.kind for part in parts} if self.as_arrays else {"O"}
        if len(kinds) == 1 and kinds != {"O"}:
            self.classes = np.unique(np.concatenate(parts))
        else:
            self.classes = object_array(sorted_if_possible(_label_set(parts)))
        labels = self.classes.tolist()
        if any(label != label for label in labels):
            raise ValueError("y has labels that are NaN; leave such sequences out, or name a label")
        self.number = {label: k for k, label in enumerate(labels)}

    def encode(self, y: Sequence | Column) -> np.ndarray:
        """Label numbers of all positions; -1 for a label never seen in training."""
        number = self.number
        if isinstance(y, Column):
            return np.array([number.get(label, -1) for label in y.values], np.int32)[y.codes]
        return np.array([number.get(label, -1) for _, label in _labels(y)], np.int32)

    def encode_known(self, y: Sequence | Column) -> np.ndarray:
        """Label numbers of all positions; all labels must be known."""
        numbers = self.encode(y)
        if numbers.min() < 0:
            parts = [y.values] if isinstance(y, Column) else y
            i, unknown = next((i, label) for i, label in _labels(parts) if label not in self.number)
            raise ValueError(
                f"y[{i}] has the label {unknown!r}, which is not one of {self.classes.tolist()}; "
                "name all labels by classes= at the first call of partial_fit"
            )
        return numbers

    def decode(self, numbers: np.ndarray, lengths: np.ndarray) -> list:
        cuts = np.cumsum(lengths)[:-1]
        if self.as_arrays:
            return np.split(self.classes[numbers], cuts)
        labels = self.classes.tolist()
        return [[labels[k] for k in part] for part in np.split(numbers, cuts)]


def _labels(y: Sequence) -> Iterator[tuple[int, Any]]:
    """(sequence, label) of all positions, as they are in lists and as Python's from arrays."""
    for i, part in enumerate(y):
        for label in part.tolist() if isinstance(part, np.ndarray) else part:
            yield i, label


def _label_set(y: Sequence) -> set[Hashable]:
    found = set()
    for i, label in _labels(y):
        try:
            found.add(label)
        except TypeError:
            raise TypeError(
                f"y[{i}] has the label {label!r}; labels must be hashable: use a tuple, not a "
                f"{type(label).__name__}"
            ) from None
    return {_plain(label) for label in found}


def _plain(label: Any) -> Any:
    """Numpy's scalars as Python's, which are equal to them and found by the same hash."""
    is_scalar = isinstance(label, np.generic) and label.dtype.kind in "biufcUS"
    return label.item() if is_scalar else label


def check_labels(
    y: Any, lengths: np.ndarray, of: str = "X", name: str = "y", what: str = "sequences"
) -> None:
    """Refuse labels that do not fit the sequences, or whatever else ``of`` is a list of."""
    if isinstance(y, Column):
        if len(y.codes) != lengths.sum():
            raise ValueError(f"there are {len(y.codes)} labels for {lengths.sum()} tokens")
        return
    if isinstance(y, str | dict | set) or not hasattr(y, "__len__"):
        raise TypeError(f"{name} is a {type(y).__name__}; a list of label sequences is expected")
    if len(y) != len(lengths):
        raise ValueError(
            f"{of} has {len(lengths)} {what} but {name} has {len(y)}; they must correspond one "
            "to one" + (f": [{name}]?" if len(lengths) == 1 and len(y) == lengths[0] else "")
        )
    for i, part in enumerate(y):
        if isinstance(part, str | bytes | dict | set) or not hasattr(part, "__len__"):
            raise TypeError(
                f"{name}[{i}] is {part!r}; a list of labels is expected, one per row of {of}[{i}]"
            )
        if isinstance(part, np.ndarray) and part.ndim != 1:
            raise ValueError(f"{name}[{i}] has shape {part.shape}; one label per row is expected")
        if len(part) != lengths[i]:
            raise ValueError(
                f"{name}[{i}] has {len(part)} labels but {of}[{i}] has {lengths[i]} rows"
            )


def sorted_if_possible(labels: set[Hashable]) -> list:
    try:
        return sorted(labels)  # type: ignore[type-var]
    except TypeError:
        return sorted(labels, key=lambda label: (type(label).__name__, repr(label)))


def object_array(labels: list) -> np.ndarray:
    array = np.empty(len(labels), object)
    for k, label in enumerate(labels):  # numpy would take a list of tuples for a matrix
        array[k] = label
    return array


# --- missing labels: None, or a label that says so ------------------------------------------------


def as_parts(y: Any) -> Any:
    """Labels as a list of lists; those of a column as one."""
    return [[y.values[code] for code in y.codes]] if isinstance(y, Column) else y


def is_labelled(labels: Any, missing: Any) -> np.ndarray:
    """Which of all nodes have a label; NaN marks what is missing if it is said to."""
    labels, is_nan = as_parts(labels), missing != missing

    def has_label(label: Any) -> bool:
        return label is not None and label != missing and not (is_nan and label != label)

    known = [
        (part == part if is_nan else part != missing)
        if isinstance(part, np.ndarray) and part.dtype != object
        else np.array([has_label(label) for label in part], bool)
        for part in labels
    ]
    return np.concatenate([np.broadcast_to(k, len(p)) for k, p in zip(known, labels, strict=True)])


def chosen_parts(labels: Any, is_chosen: np.ndarray) -> list:
    """Some of all labels, example by example, arrays as arrays."""
    parts = []
    at = 0
    for part in as_parts(labels):
        mask = is_chosen[at : at + len(part)]
        at += len(part)
        if isinstance(part, np.ndarray):
            parts.append(part[mask])
        else:
            parts.append([label for label, wanted in zip(part, mask, strict=True) if wanted])
    return parts


def numbers_of_known(codec: LabelCodec, y: Any, missing: Any) -> np.ndarray:
    """Label numbers of all positions, 0 where the label is missing."""
    known = is_labelled(y, missing)
    numbers = np.zeros(len(known), np.int32)
    if known.any():
        numbers[known] = codec.encode_known(chosen_parts(y, known))
    return numbers


# --- other ways to give them ----------------------------------------------------------------------


def as_labels(classes: Any, y: Any) -> list:
    """All classes as if they were one sequence of y, an array or a list as the others are."""
    as_arrays = all(isinstance(part, np.ndarray) for part in y)
    return [np.asarray(classes) if as_arrays else list(classes)]


def few(labels: Sequence[Any], most: int = 5) -> str:
    """
    >>> few(["B-NP", "I-NP", "O"], 2)
    'B-NP, I-NP, ...'
    """
    return ", ".join([*map(str, labels[:most]), *["..."] * (len(labels) > most)])
