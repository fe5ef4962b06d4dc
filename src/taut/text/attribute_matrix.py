"""The attributes of all tokens as a sparse matrix: of features, and the numbers of vectors."""

import numpy as np
from scipy import sparse

from taut._compile import compiled
from taut.text.attributes import small_index


@compiled
def _count(ids, indptr):
    """indptr[t + 1] = number of attributes of the tokens up to t."""
    for t in range(ids.shape[1]):
        present = 0
        for f in range(ids.shape[0]):
            present += ids[f, t] >= 0
        indptr[t + 1] = indptr[t] + present


@compiled
def _fill(ids, first, indices):
    """The attributes of all tokens; those of a token rise, because features come in order."""
    at = 0
    for t in range(ids.shape[1]):
        for f in range(ids.shape[0]):
            if ids[f, t] >= 0:
                indices[at] = first[f] + ids[f, t]
                at += 1


def assemble(ids: np.ndarray, first: np.ndarray, n_attributes: int) -> sparse.csr_array:
    indptr = np.zeros(ids.shape[1] + 1, np.int64)
    _count(ids, indptr)
    indices = np.empty(indptr[-1], np.int32)
    _fill(ids, first.astype(np.int32), indices)
    matrix = sparse.csr_array(
        (np.ones(len(indices)), indices, small_index(indptr)), (ids.shape[1], n_attributes)
    )
    matrix.has_canonical_format = True  # sorted and without repetition, by construction
    return matrix


def vector_block(rows: np.ndarray, values: np.ndarray, kept: np.ndarray) -> sparse.csr_array:
    """The numbers of each token's vector, row ``rows[t]`` of the values, where that is not -1."""
    known = rows >= 0
    indptr = np.append(0, np.cumsum(known)) * len(kept)
    data = values[rows[known]][:, kept].astype(np.float64).ravel()
    indices = np.tile(np.arange(len(kept), dtype=np.int32), int(known.sum()))
    return sparse.csr_array((data, indices, small_index(indptr)), (len(rows), len(kept)))
