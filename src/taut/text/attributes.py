"""Named attributes of tokens in numbers: what attribute files, JSON lines and dicts hold."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from taut.arrays.lengths import checked_lengths
from taut.arrays.sound_sparse import pointer_fault
from taut.text.attribute_matrix import AttributeRows
from taut.text.numbering import Numbering, check_codes

if TYPE_CHECKING:
    from scipy import sparse


class Attributes(NamedTuple):
    """All tokens of all sequences: token t has the attributes ``indptr[t] .. indptr[t + 1]``."""

    lengths: np.ndarray  # (n_sequences,) int64
    indptr: np.ndarray  # (n_tokens + 1,) int64
    codes: np.ndarray  # (n_occurrences,) int32: which of the names
    data: np.ndarray  # (n_occurrences,) float64: its value
    names: list[str]  # distinct, in order of first appearance


class AttributeEncoder:
    """Learns the attributes of training data, and finds them again in other data.

    >>> text = Attributes(np.array([1]), np.array([0, 2]), np.array([0, 1]), np.ones(2), ["a", "b"])
    >>> encoder = AttributeEncoder()
    >>> encoder.fit_transform(text).toarray()
    array([[1., 1.]])
    >>> encoder.transform(text._replace(names=["c", "a"])).toarray()
    array([[1., 0.]])
    """

    def __init__(self, min_freq: int = 1):
        self.min_freq = min_freq
        self._names: list[str] = []
        self._numbering: Numbering | None = None

    @property
    def n_attributes(self) -> int:
        return len(self._names)

    def fit_transform(self, text: Attributes) -> "sparse.csr_array":
        """An attribute is kept if at least ``min_freq`` tokens have it."""
        check_attributes(text)
        self.set_names(text.names)
        matrix = self._rows(text, np.arange(len(text.names))).matrix()
        # Counted in the matrix, where an attribute that a token repeats is there once.
        frequent = np.bincount(matrix.indices, minlength=len(text.names)) >= self.min_freq
        if frequent.all():
            return matrix
        self.keep(frequent)
        return matrix[:, frequent]

    def transform(self, text: Attributes) -> "sparse.csr_array":
        """The attributes known from training; others are left out."""
        return self.rows(text).matrix()

    def rows(self, text: Attributes) -> AttributeRows:
        """The same, as arrays."""
        check_attributes(text)
        return self._rows(text, self.numbering.find(text.names))

    @property
    def numbering(self) -> Numbering:
        if self._numbering is None:
            self._numbering = Numbering(self._names)
        return self._numbering

    def _rows(self, text: Attributes, number: np.ndarray) -> AttributeRows:
        columns = number[text.codes].astype(np.int32)
        known = columns >= 0
        if known.all():
            indptr, data = text.indptr, text.data.copy()  # which is sorted in place below
        else:
            indptr = np.concatenate([[0], np.cumsum(known)])[text.indptr]
            columns, data = columns[known], text.data[known]
        return AttributeRows(indptr, columns, data, len(self._names), False)

    def names(self) -> list[str]:
        """The attributes in order of their numbers."""
        return self._names

    def set_names(self, names: list[str]) -> None:
        self._names, self._numbering = names, None

    def keep(self, wanted: np.ndarray) -> None:
        """Forget the attributes that are not wanted (a flag for each)."""
        flags = wanted.tolist()
        self.set_names([name for name, flag in zip(self._names, flags, strict=True) if flag])


def check_attributes(text: Attributes) -> None:
    """The arrays fit each other; compiled code follows them unchecked."""
    checked_lengths(text.lengths, len(text.indptr) - 1, "tokens")
    if len(text.codes) != len(text.data):
        raise ValueError(f"there are {len(text.codes)} codes and {len(text.data)} values")
    check_codes(text.codes, len(text.names), "text", "names")
    fault = pointer_fault(text.indptr, len(text.codes))
    if fault:
        raise ValueError(f"the attributes do not fit their tokens: {fault}")
