"""Many sequences in one matrix, cut by lengths: no copy is made, whatever their number."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from taut.arrays.lengths import checked_lengths
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
