"""Sparse matrices, checked before anyone follows their numbers.

Neither scipy's compiled code nor ours checks an index, and scipy makes and keeps matrices whose
indices lie outside without a word. One look at each number is cheap beside anything done with it.
"""

from typing import Any

import numpy as np


def sound_csr(matrix: Any, name: str) -> Any:
    """A sparse matrix in CSR format; refused if its index arrays do not fit it.

    >>> from scipy import sparse
    >>> sound_csr(sparse.csr_array(([1.0], [7], [0, 1]), shape=(1, 5)), "X")
    Traceback (most recent call last):
    ValueError: X is no sound CSR matrix: indices[0] is 7, but there are 5 columns; make it anew \
from its entries
    """
    check_sound(matrix, name)
    csr = matrix.tocsr()
    if csr is not matrix:
        check_sound(csr, name)  # formats that are not looked into hand on what they have
    n_entries = int(csr.indptr[-1])
    if n_entries < len(csr.indices):  # room for more, with anything in it
        arrays = csr.data[:n_entries], csr.indices[:n_entries], csr.indptr
        csr = type(csr)(arrays, shape=csr.shape)
    return csr


def csr_arrays(matrix: Any, name: str = "the matrix") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """indptr, indices and data as kernels want them; rows are in order, no entry is there twice."""
    matrix = sound_csr(matrix, name)
    if matrix.shape[1] > np.iinfo(np.int32).max:
        raise ValueError(
            f"{name} has {matrix.shape[1]} columns; at most {np.iinfo(np.int32).max} can be "
            "numbered: leave out those without entries"
        )
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return (
        np.require(matrix.indptr, np.int64, ["C", "A"]),
        np.require(matrix.indices, np.int32, ["C", "A"]),
        np.require(matrix.data, np.float64, ["C", "A"]),
    )


def check_sound(matrix: Any, name: str) -> None:
    fault = ""
    if hasattr(matrix, "indptr"):
        fault = _compressed_fault(matrix)
    elif matrix.format == "coo":
        fault = _coordinate_fault(matrix)
    if fault:
        raise ValueError(
            f"{name} is no sound {matrix.format.upper()} matrix: {fault}; make it anew from its "
            "entries"
        )


def pointer_fault(indptr: np.ndarray, n_entries: int) -> str:
    """What is wrong with pointers to where rows begin among so many entries; "" if nothing is."""
    if indptr[0] != 0:
        return f"indptr begins with {indptr[0]}, not with 0"
    falls = indptr[1:] < indptr[:-1]
    if falls.any():
        i = int(falls.argmax())
        return f"indptr[{i + 1}] is {indptr[i + 1]}, after {indptr[i]}"
    if indptr[-1] > n_entries:
        return f"indptr ends with {indptr[-1]}, but there are {n_entries} entries"
    return ""


def _compressed_fault(matrix: Any) -> str:
    """Of CSR, CSC or BSR; scipy's own check overlooks pointers that come back to zero, or wrap."""
    indptr, indices, n_values = matrix.indptr, matrix.indices, len(matrix.data)
    (rows, columns), across = (1, *matrix.shape)[-2:], "columns"
    if matrix.format == "csc":
        rows, columns, across = columns, rows, "rows"
    elif matrix.format == "bsr":
        rows, columns = rows // matrix.blocksize[0], columns // matrix.blocksize[1]
        across = "columns of blocks"
    fault = _type_fault("indptr", indptr) or _type_fault("indices", indices)
    if fault:
        return fault
    if len(indptr) != rows + 1:
        return f"indptr has {len(indptr)} numbers, {rows + 1} are expected"
    if len(indices) != n_values:
        return f"there are {len(indices)} indices and {n_values} values"
    return pointer_fault(indptr, len(indices)) or _range_fault(
        "indices", indices[: indptr[-1]], columns, across
    )


def _coordinate_fault(matrix: Any) -> str:
    for axis, (numbers, size) in enumerate(zip(matrix.coords, matrix.shape, strict=True)):
        name = f"coords[{axis}]"
        fault = _type_fault(name, numbers)
        if not fault and len(numbers) != len(matrix.data):
            fault = f"{name} has {len(numbers)} numbers for {len(matrix.data)} values"
        fault = fault or _range_fault(name, numbers, size, ("rows", "columns")[axis - matrix.ndim])
        if fault:
            return fault
    return ""


def _type_fault(name: str, numbers: np.ndarray) -> str:
    if numbers.ndim == 1 and numbers.dtype.kind == "i":
        return ""
    return f"{name} are {numbers.dtype} numbers of shape {numbers.shape}, not a row of integers"


def _range_fault(name: str, numbers: np.ndarray, size: int, what: str) -> str:
    if not numbers.size or (numbers.min() >= 0 and numbers.max() < size):
        return ""
    i = int(((numbers < 0) | (numbers >= size)).argmax())
    return f"{name}[{i}] is {numbers[i]}, but there are {size} {what}"
