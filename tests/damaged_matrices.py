"""Sparse matrices whose index arrays do not fit them: scipy makes them without a word."""

import numpy as np
from scipy import sparse

ROWS = np.random.default_rng(0).random((40, 5)) * (np.arange(200).reshape(40, 5) % 3 > 0)
HUGE = 2 * 10**9


def _with(name, place, value):
    def damage(matrix):
        changed = getattr(matrix, name).copy()
        changed[place] = value
        setattr(matrix, name, changed)

    return damage


def _with_end(last):
    """All pointers but the last one lead away, and nobody looks at them where that one is 0."""

    def damage(matrix):
        matrix.indptr = np.full(len(matrix.indptr), HUGE, matrix.indptr.dtype)
        matrix.indptr[0], matrix.indptr[-1] = 0, last

    return damage


def _with_coordinate(axis, value):
    def damage(matrix):
        coords = [part.copy() for part in matrix.coords]
        coords[axis][2] = value
        matrix.coords = tuple(coords)

    return damage


# What is said of them, and how they come to be.
DAMAGED = {
    "a column far outside": ("csr", _with("indices", 3, HUGE), "indices[3] is 2000000000"),
    "one column too many": (
        "csr",
        _with("indices", 3, 5),
        "indices[3] is 5, but there are 5 columns",
    ),
    "a negative column": (
        "csr",
        _with("indices", 3, -1),
        "indices[3] is -1, but there are 5 columns",
    ),
    "pointers that fall": ("csr", _with("indptr", 3, HUGE), "indptr[4] is 13, after 2000000000"),
    "pointers that lead away": ("csr", _with_end(0), "indptr[40] is 0, after 2000000000"),
    "pointers beyond the end": ("csr", _with("indptr", -1, HUGE), "indptr ends with 2000000000"),
    "a negative pointer": ("csr", _with("indptr", -1, -5), "indptr[40] is -5, after 130"),
    "pointers from elsewhere": ("csr", _with("indptr", 0, 3), "indptr begins with 3"),
    "too few pointers": (
        "csr",
        lambda m: setattr(m, "indptr", m.indptr[:10]),
        "indptr has 10 numbers, 41 are expected",
    ),
    "too few values": (
        "csr",
        lambda m: setattr(m, "data", m.data[:4]),
        "there are 133 indices and 4 values",
    ),
    "columns that are no integers": (
        "csr",
        lambda m: setattr(m, "indices", m.indices.astype(float)),
        "indices are float64 numbers of shape (133,)",
    ),
    "one row too many": ("csc", _with("indices", 3, 40), "indices[3] is 40, but there are 40 rows"),
    "CSC pointers that fall": ("csc", _with("indptr", 3, HUGE), "indptr[4] is 106, after 2000"),
    "a block far outside": ("bsr", _with("indices", 3, HUGE), "indices[3] is 2000000000"),
    "a COO column outside": ("coo", _with_coordinate(1, HUGE), "coords[1][2] is 2000000000"),
    "a COO row outside": (
        "coo",
        _with_coordinate(0, -1),
        "coords[0][2] is -1, but there are 40 rows",
    ),
}


def damaged(name):
    """A matrix of 40 rows and 5 columns."""
    kind, damage, _ = DAMAGED[name]
    matrix = sparse.csr_array(ROWS).asformat(kind)
    damage(matrix)
    return matrix
