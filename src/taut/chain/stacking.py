"""From what people have (lists of arrays or matrices) to stacked rows."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from taut.arrays.sequences import Sequences
from taut.arrays.sound_sparse import check_sound, sound_csr
from taut.chain.model import Stacked

EXPECTED = "a matrix of numbers with one row per position is expected"


def is_empty(x: Any) -> bool:
    """Whether a sequence has no positions."""
    return x.shape[0] == 0 if hasattr(x, "shape") and x.shape else x in ([], ())


def stack(
    X: Any, n_features: int | None = None, name: str = "X", *, may_be_empty: bool = False
) -> Stacked:
    """Check and join sequences; ``n_features`` is what a fitted model expects."""
    if isinstance(X, Sequences):
        X = _checked_again(X, name)
        rows, lengths, steps = X.rows, X.lengths, None
    else:
        rows, lengths, steps = _join(X, name)
    if len(lengths) == 0:
        raise ValueError(f"{name} has no sequences")
    empty = np.flatnonzero(lengths == 0)
    if empty.size and not (may_be_empty and len(empty) < len(lengths)):
        raise ValueError(f"{name}[{empty[0]}] is an empty sequence; leave it out")
    if n_features is not None and rows.shape[1] != n_features:
        raise ValueError(
            f"{name} has {rows.shape[1]} features per row, the model was fitted with {n_features}"
        )
    rows = _checked_numbers(rows, lengths, name)
    if steps is not None:
        _checked_numbers(steps, lengths, f"step features of {name}")
    return Stacked(rows, lengths, steps)


def _checked_again(X: Sequences, name: str) -> Sequences:
    """Its arrays may have been altered since it was made."""
    try:
        X = Sequences(X.rows, X.lengths)
        if sparse.issparse(X.rows):
            check_sound(X.rows, "rows")
        return X
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


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
    filled = [i for i, x in enumerate(X) if not is_empty(x)]
    if not filled:
        raise ValueError(f"{name}[0] is an empty sequence; leave it out")
    with_steps = isinstance(X[filled[0]], tuple)
    nodes: list[Any] = []
    for i in filled:
        x = X[i]
        if isinstance(x, tuple) != with_steps or (with_steps and len(x) != 2):
            raise TypeError(
                f"{name}[{i}]: either every sequence is a matrix, or every one is a pair "
                "(node features, step features)"
            )
        nodes.append(_matrix(x[0] if with_steps else x, f"{name}[{i}]"))
        if nodes[-1].shape[1] != nodes[0].shape[1]:
            raise ValueError(
                f"{name}[{i}] has {nodes[-1].shape[1]} features per row but "
                f"{name}[{filled[0]}] has {nodes[0].shape[1]}"
            )
        if sparse.issparse(nodes[-1]) != sparse.issparse(nodes[0]):
            raise TypeError(f"{name}[{i}] and {name}[{filled[0]}] mix dense and sparse matrices")
    lengths = np.zeros(len(X), np.int64)
    lengths[filled] = [x.shape[0] for x in nodes]
    steps = None
    if with_steps:
        steps = _join_steps({i: X[i][1] for i in filled}, lengths, name)
    if sparse.issparse(nodes[0]):
        return sparse.vstack(nodes, format="csr"), lengths, steps
    whole = _common_base(nodes)
    return (np.concatenate(nodes) if whole is None else whole), lengths, steps


def _matrix(x: Any, place: str) -> Any:
    if sparse.issparse(x):
        if x.ndim != 2:
            raise ValueError(f"{place} has shape {x.shape}; {EXPECTED}")
        return sound_csr(x, place)
    if isinstance(x, dict):
        raise TypeError(
            f"{place} is a dict, which is one token; a list of tokens is expected for each "
            "sequence: put each into a list of its own, even if there is only one"
        )
    if isinstance(x, list | tuple) and x and isinstance(x[0], dict | str | bytes):
        raise TypeError(
            f"{place} holds {type(x[0]).__name__} objects; {EXPECTED}, as in the other sequences"
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


def _join_steps(parts: dict[int, Any], lengths: np.ndarray, name: str) -> np.ndarray:
    padded: list[np.ndarray] = []
    for i, part in parts.items():
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
                f"{name}[{i}] has {part.shape[1]} features per step but {name}[{min(parts)}] has "
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
