"""The attributes of all tokens: a row each, as a sparse matrix or as the arrays that make one."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from taut.text.loops import loops

if TYPE_CHECKING:
    from scipy import sparse


class AttributeRows(NamedTuple):
    """Token t has the attributes ``indptr[t] .. indptr[t + 1]``."""

    indptr: np.ndarray
    indices: np.ndarray  # int32
    data: np.ndarray  # float64
    n_attributes: int
    is_canonical: bool  # whether attributes rise and no token has one twice

    def canonical(self) -> "AttributeRows":
        """Attributes in order, with the values of each token's added up."""
        if self.is_canonical:
            return self
        token = np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))
        key = token * self.n_attributes + self.indices
        order = np.argsort(key, kind="stable")
        key = key[order]
        first = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]])[: len(key)])
        data = self.data[order]
        if len(first) < len(key):
            data = np.add.reduceat(data, first)
        token, indices = np.divmod(key[first], max(self.n_attributes, 1))
        counts = np.bincount(token, minlength=len(self.indptr) - 1)
        indptr = np.concatenate([[0], np.cumsum(counts)])
        return AttributeRows(indptr, indices.astype(np.int32), data, self.n_attributes, True)

    def matrix(self) -> "sparse.csr_array":
        from scipy import sparse  # which takes longer to import than tagging a sentence

        shape = (len(self.indptr) - 1, self.n_attributes)
        arrays = self.data, self.indices, small_index(self.indptr)
        matrix = sparse.csr_array(arrays, shape)
        if self.is_canonical:
            matrix.has_canonical_format = True
        else:
            matrix.has_canonical_format = matrix.has_sorted_indices = False
            matrix.sum_duplicates()
        return matrix

    def beside(self, other: "AttributeRows") -> "AttributeRows":
        """Those of both, the others' numbered after these."""
        counts = np.diff(self.indptr), np.diff(other.indptr)
        indptr = self.indptr + other.indptr
        # Where the entries of each go: first these of a token, then the others.
        place = np.arange(len(self.indices)) + np.repeat(other.indptr[:-1], counts[0])
        later = np.arange(len(other.indices)) + np.repeat(self.indptr[1:], counts[1])
        indices = np.empty(len(self.indices) + len(other.indices), np.int32)
        data = np.empty(len(indices))
        indices[place], indices[later] = self.indices, other.indices + self.n_attributes
        data[place], data[later] = self.data, other.data
        n_attributes = self.n_attributes + other.n_attributes
        both = self.is_canonical and other.is_canonical
        return AttributeRows(indptr, indices, data, n_attributes, both)


def small_index(indptr: np.ndarray) -> np.ndarray:
    """Row pointers in 32 bits where they fit: scipy keeps the column numbers in the same type."""
    fits = indptr[-1] <= np.iinfo(np.int32).max
    return indptr.astype(np.int32 if fits else np.int64, copy=False)


def assemble(ids: np.ndarray, first: np.ndarray, n_attributes: int, once: bool) -> AttributeRows:
    """From a number for each feature and token; ``once`` if no two features share attributes."""
    indptr, indices = loops().assemble(ids, first)
    return AttributeRows(indptr, indices, np.ones(len(indices)), n_attributes, once)


def vector_block(rows: np.ndarray, values: np.ndarray, kept: np.ndarray) -> AttributeRows:
    """The numbers of each token's vector, row ``rows[t]`` of the values, where that is not -1."""
    known = rows >= 0
    indptr = np.append(0, np.cumsum(known)) * len(kept)
    data = values[rows[known]][:, kept].astype(np.float64).ravel()
    indices = np.tile(np.arange(len(kept), dtype=np.int32), int(known.sum()))
    return AttributeRows(indptr, indices, data, len(kept), True)
