"""Many sequences in one matrix, cut by lengths: no copy is made, whatever their number."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from taut.arrays.sound_sparse import sound_csr


class Sequences(Sequence):
    """Rows of a dense or CSR matrix, seen as a list of sequences.

    >>> words = Sequences(np.arange(6.0).reshape(3, 2), lengths=[2, 1])
    >>> len(words), words[1]
    (2, array([[4., 5.]]))
    """

    def __init__(self, rows: Any, lengths: Sequence[int] | np.ndarray):
        if not sparse.issparse(rows):
            rows = np.asarray(rows)
        elif rows.format != "csr":
            rows = sound_csr(rows, "rows")
        self.rows = rows
        if self.rows.ndim != 2:
            raise ValueError(f"rows have shape {self.rows.shape}; a matrix is expected")
        self.lengths = checked_lengths(lengths, self.rows.shape[0])
        self.pointer = np.concatenate([[0], np.cumsum(self.lengths)])

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice | np.ndarray | list):
            chosen = np.arange(len(self))[index]
            rows = np.concatenate(
                [np.arange(self.pointer[i], self.pointer[i + 1]) for i in chosen]
                or [np.zeros(0, int)]
            )
            return Sequences(self.rows[rows], self.lengths[chosen])
        index = range(len(self))[index]
        return self.rows[self.pointer[index] : self.pointer[index + 1]]

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))


def checked_lengths(lengths: Any, n_rows: int, what: str = "rows") -> np.ndarray:
    """Lengths that cut so many rows into sequences; compiled code will follow them unchecked.

    >>> checked_lengths([2, 1], 3)
    array([2, 1])
    """
    lengths = np.asarray(lengths)
    if lengths.ndim != 1 or (lengths.size and lengths.dtype.kind not in "iu"):
        raise ValueError(
            f"lengths are an array of shape {lengths.shape} and type {lengths.dtype}; one whole "
            "number per sequence is expected"
        )
    # One by one first: the sum of lengths far too large may wrap around and look right.
    for wrong, expected in (
        (lengths < 0, "; a length is not negative"),
        (lengths > n_rows, f" but there are {n_rows} {what}"),
    ):
        if wrong.any():
            i = int(np.flatnonzero(wrong)[0])
            raise ValueError(f"lengths[{i}] is {lengths[i]}{expected}")
    lengths = lengths.astype(np.int64, copy=False)
    if lengths.sum() != n_rows:
        raise ValueError(f"the lengths add up to {lengths.sum()} but there are {n_rows} {what}")
    return lengths
