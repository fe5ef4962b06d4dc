"""From what people have (lists of arrays, any labels) to stacked rows and label numbers."""

from collections.abc import Hashable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from taut.sequences import Sequences

EXPECTED = "a matrix of numbers with one row per position is expected"


class Stacked(NamedTuple):
    rows: Any  # (n_nodes, n_features) array or CSR matrix
    lengths: np.ndarray
    steps: np.ndarray | None  # (n_nodes, F): row t describes the step from t; the last is unused


def stack(X: Any, n_features: int | None = None, name: str = "X") -> Stacked:
    """Check and join sequences; ``n_features`` is what a fitted model expects."""
    if isinstance(X, Sequences):
        rows, lengths, steps = X.rows, X.lengths, None
    else:
        rows, lengths, steps = _join(X, name)
    empty = np.flatnonzero(lengths == 0)
    if empty.size:
        raise ValueError(f"{name}[{empty[0]}] is an empty sequence; leave it out")
    if n_features is not None and rows.shape[1] != n_features:
        raise ValueError(
            f"{name} has {rows.shape[1]} features per row, the model was fitted with {n_features}"
        )
    rows = _checked_numbers(rows, lengths, name)
    if steps is not None:
        _checked_numbers(steps, lengths, f"step features of {name}")
    return Stacked(rows, lengths, steps)


def _join(X: Any, name: str) -> tuple[Any, np.ndarray, np.ndarray | None]:
    if (isinstance(X, np.ndarray) and X.dtype != object and X.ndim == 2) or sparse.issparse(X):
        raise TypeError(
            f"{name} is one matrix; a list of sequences is expected (one matrix each), or "
            "taut.Sequences(matrix, lengths)"
        )
    if not isinstance(X, Sequence | np.ndarray):
        raise TypeError(f"{name} is a {type(X).__name__}; a list of sequences is expected")
    if len(X) == 0:
        raise ValueError(f"{name} has no sequences")
    with_steps = isinstance(X[0], tuple)
    nodes = []
    for i, x in enumerate(X):
        if isinstance(x, tuple) != with_steps or (with_steps and len(x) != 2):
            raise TypeError(
                f"{name}[{i}]: either every sequence is a matrix, or every one is a pair "
                "(node features, step features)"
            )
        nodes.append(_matrix(x[0] if with_steps else x, f"{name}[{i}]"))
        if nodes[i].shape[1] != nodes[0].shape[1]:
            raise ValueError(
                f"{name}[{i}] has {nodes[i].shape[1]} features per row but "
                f"{name}[0] has {nodes[0].shape[1]}"
            )
        if sparse.issparse(nodes[i]) != sparse.issparse(nodes[0]):
            raise TypeError(f"{name}[{i}] and {name}[0] mix dense and sparse matrices")
    lengths = np.array([x.shape[0] for x in nodes], np.int64)
    steps = _join_steps([x[1] for x in X], lengths, name) if with_steps else None
    if sparse.issparse(nodes[0]):
        return sparse.vstack(nodes, format="csr"), lengths, steps
    whole = _common_base(nodes)
    return (np.concatenate(nodes) if whole is None else whole), lengths, steps


def _matrix(x: Any, place: str) -> Any:
    if sparse.issparse(x):
        if x.ndim != 2:
            raise ValueError(f"{place} has shape {x.shape}; {EXPECTED}")
        return x
    if isinstance(x, list | tuple) and x and isinstance(x[0], dict | str | bytes):
        raise TypeError(
            f"{place} holds {type(x[0]).__name__} objects; {EXPECTED} "
            "(scikit-learn's DictVectorizer makes one from dicts)"
        )
    try:
        x = np.asarray(x)
        if np.iscomplexobj(x):
            raise TypeError
        x = x.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        raise TypeError(f"{place} is not a matrix of numbers; {EXPECTED}") from None
    if x.ndim != 2:
        raise ValueError(f"{place} has shape {x.shape}; {EXPECTED}")
    return x


def _common_base(nodes: list[np.ndarray]) -> np.ndarray | None:
    """The array that all sequences are consecutive views of, if there is one: saves a copy."""
    base = nodes[0].base
    if not isinstance(base, np.ndarray) or base.ndim != 2 or not base.flags.c_contiguous:
        return None
    width = base.shape[1] * base.itemsize
    if width == 0 or base.dtype != np.float64:
        return None
    address = nodes[0].ctypes.data
    first = address
    for x in nodes:
        if x.base is not base or not x.flags.c_contiguous or x.ctypes.data != address:
            return None
        if x.shape[1] != base.shape[1]:
            return None
        address += x.shape[0] * width
    start = (first - base.ctypes.data) // width
    return base[start : start + sum(len(x) for x in nodes)]


def _join_steps(parts: list[Any], lengths: np.ndarray, name: str) -> np.ndarray:
    padded = []
    for i, part in enumerate(parts):
        part = _matrix(part, f"step features of {name}[{i}]")
        if sparse.issparse(part):
            part = part.toarray()
        if part.shape[0] != lengths[i] - 1:
            raise ValueError(
                f"{name}[{i}] has {lengths[i]} rows and {part.shape[0]} rows of step features; "
                f"there are {lengths[i] - 1} steps between its positions"
            )
        padded += [part, np.zeros((1, part.shape[1]))]
        if part.shape[1] != padded[0].shape[1]:
            raise ValueError(
                f"{name}[{i}] has {part.shape[1]} features per step but {name}[0] has "
                f"{padded[0].shape[1]}"
            )
    return np.concatenate(padded)


def _checked_numbers(rows: Any, lengths: np.ndarray, name: str) -> Any:
    """NaN and infinity are refused with the place they are at."""
    if rows.dtype == bool:
        return rows.astype(np.float64)
    if not np.issubdtype(rows.dtype, np.number) or np.iscomplexobj(rows):
        raise TypeError(f"{name} has values of type {rows.dtype}; numbers are expected")
    values = rows.data if sparse.issparse(rows) else rows
    with np.errstate(over="ignore", invalid="ignore"):
        total = values.sum(dtype=np.float64)  # finite if every value is: saves an array of flags
    if np.isfinite(total) or np.all(np.isfinite(values)):
        return rows
    if sparse.issparse(rows):
        row = np.searchsorted(rows.indptr, np.flatnonzero(~np.isfinite(values))[0], "right") - 1
    else:
        row = np.flatnonzero(~np.isfinite(values).all(axis=1))[0]
    ends = np.cumsum(lengths)
    i = np.searchsorted(ends, row, "right")
    position = row - (ends[i] - lengths[i])
    raise ValueError(
        f"{name}[{i}] has a value that is NaN or infinite in row {position}; "
        "replace it or leave the sequence out"
    )


class LabelCodec:
    """Numbers for labels, and back as they came: arrays to arrays, lists to lists."""

    def __init__(self, y: Sequence):
        self.as_arrays = all(isinstance(part, np.ndarray) for part in y)
        # Labels of different kinds, joined in one array, would all become strings.
        kinds = {part.dtype.kind for part in y} if self.as_arrays else {"O"}
        if len(kinds) == 1 and kinds != {"O"}:
            self.classes = np.unique(np.concatenate(y))
        else:
            self.classes = object_array(sorted_if_possible(_label_set(y)))
        labels = self.classes.tolist()
        if any(label != label for label in labels):
            raise ValueError("y has labels that are NaN; leave such sequences out, or name a label")
        self.number = {label: k for k, label in enumerate(labels)}

    def encode(self, y: Sequence) -> np.ndarray:
        """Label numbers of all positions; -1 for a label never seen in training."""
        number = self.number
        return np.array([number.get(label, -1) for _, label in _labels(y)], np.int32)

    def encode_known(self, y: Sequence) -> np.ndarray:
        """Label numbers of all positions; all labels must be known."""
        numbers = self.encode(y)
        if numbers.min() < 0:
            i, unknown = next((i, label) for i, label in _labels(y) if label not in self.number)
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
    """(sequence, label) of all positions; numpy's scalars as Python's."""
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
    return found


def check_labels(y: Any, lengths: np.ndarray) -> None:
    """Refuse labels that do not fit the sequences."""
    if isinstance(y, str | dict | set) or not hasattr(y, "__len__"):
        raise TypeError(f"y is a {type(y).__name__}; a list of label sequences is expected")
    if len(y) != len(lengths):
        raise ValueError(
            f"X has {len(lengths)} sequences but y has {len(y)}; they must correspond one to one"
        )
    for i, part in enumerate(y):
        if isinstance(part, str | bytes | dict | set) or not hasattr(part, "__len__"):
            raise TypeError(
                f"y[{i}] is {part!r}; a list of labels is expected, one per row of X[{i}]"
            )
        if isinstance(part, np.ndarray) and part.ndim != 1:
            raise ValueError(f"y[{i}] has shape {part.shape}; one label per row is expected")
        if len(part) != lengths[i]:
            raise ValueError(f"y[{i}] has {len(part)} labels but X[{i}] has {lengths[i]} rows")


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
