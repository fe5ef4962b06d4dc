"""RCV1: newswire articles with several topics each (Lewis et al., 2004), subset 1 of 6,000."""

from __future__ import annotations

import os
from collections.abc import Iterator
from io import UnsupportedOperation
from pathlib import Path
from typing import Literal

import numpy as np
from scipy.sparse import csr_array

from taut.datasets._files import find_file, malformed, numbered_lines
from taut.datasets._types import LabelSets

N_FEATURES = 47236
N_LABELS = 101
N_ROWS = 6000
N_TRAIN = 5000
# In the second half of the published file features and labels were cut apart one column too late:
# label 0 is there a last feature of value 1 (92 rows, whose norm is then sqrt(2) and not 1), and
# every other label has a number too small by one. Linear SVMs of the 5,000 training rows have a
# micro F1 of 0.22 on the test rows as they are, and of 0.79 once that is put right.
FIRST_SHIFTED_ROW = 3000


def load_rcv1(
    data_home: str | os.PathLike[str] | None = None,
    *,
    subset: Literal["train", "test", "all"] = "all",
    n_labels: int = 30,
) -> LabelSets:
    """Load RCV1 subset 1: 6,000 documents as words weighted by frequency, and their topics.

    The first 5,000 rows are for training and the last 1,000 for testing. Kept are the labels most
    frequent in the training rows; a few rows have none of them. In rows 3001 to 6000 of the file
    labels are numbered one too low, and label 0 is the last feature with value 1, by an error of an
    old conversion; both are put right, so that all rows have norm 1.

    Parameters
    ----------
    data_home : path, optional
        The folder that contains ``rcv1/rcv1subset1.svm.gz``; by default the environment variable
        ``TAUT_DATA``.
    subset : {"all", "train", "test"}
        Which rows; "all" is both, training rows first.
    n_labels : int
        How many labels to keep, at most 101; the most frequent is the first column of Y.

    Returns
    -------
    LabelSets
        The named tuple X, Y, label_names, feature_names: X is a ``csr_array`` of 47,236 columns,
        the names are the numbers of the labels in the file, and the features have none.

    Examples
    --------
    >>> rcv1 = load_rcv1(subset="train")  # doctest: +SKIP
    >>> rcv1.X.shape, rcv1.Y.shape  # doctest: +SKIP
    ((5000, 47236), (5000, 30))
    """
    if not 1 <= n_labels <= N_LABELS:
        raise ValueError(f"n_labels must be from 1 to {N_LABELS}, not {n_labels}")
    rows = {"train": slice(0, N_TRAIN), "test": slice(N_TRAIN, None), "all": slice(None)}.get(
        subset
    )
    if rows is None:
        raise ValueError(f"subset must be 'train', 'test' or 'all', not {subset!r}")
    X, label_rows = _read(find_file(data_home, "rcv1/rcv1subset1.svm.gz"))
    Y = np.zeros((N_ROWS, N_LABELS), dtype=np.int64)
    for i, labels in enumerate(label_rows):
        Y[i, labels] = 1
    frequency = Y[:N_TRAIN].sum(axis=0)
    kept = np.argsort(-frequency, kind="stable")[:n_labels]
    return LabelSets(X[rows], Y[rows][:, kept], [str(label) for label in kept], None)


class _Lines:
    """The lines of the file for scikit-learn's reader, which does not say where it stopped."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.number = 0
        #: The line of each row read so far.
        self.of_row: list[int] = []

    def read(self) -> bytes:  # what scikit-learn knows a file by; it only iterates
        raise UnsupportedOperation("read")

    def __iter__(self) -> Iterator[bytes]:
        for number, line in numbered_lines(self.path):
            self.number = number
            if line.partition(b"#")[0].strip():
                self.of_row.append(number)
                yield line


def _read(path: Path) -> tuple[csr_array, list[list[int]]]:
    """The features, without the artefact, and the labels of each row."""
    from sklearn.datasets import load_svmlight_file  # here, because it takes a second to import

    lines = _Lines(path)
    try:
        X, label_rows = load_svmlight_file(lines, multilabel=True, zero_based=False)
    except (ValueError, OverflowError, IndexError) as error:
        if str(error).startswith(str(path)):  # damaged gzip data, already located
            raise
        raise malformed(
            path, lines.number, f"expected labels, a space and index:value pairs ({error})"
        ) from error
    if X.shape[0] != N_ROWS:
        raise malformed(path, lines.number + 1, f"{X.shape[0]} rows, expected {N_ROWS}")
    if not np.isfinite(X.data).all() or X.indices.max(initial=0) >= N_FEATURES:
        wrong = ~np.isfinite(X.data) | (X.indices >= N_FEATURES)
        row = np.searchsorted(X.indptr, np.flatnonzero(wrong)[0], side="right") - 1
        raise malformed(
            path,
            lines.of_row[row],
            f"expected finite values of features 1 to {N_FEATURES}",
        )
    for row, labels in enumerate(label_rows):
        most = N_LABELS - 1 - (row >= FIRST_SHIFTED_ROW)
        if not labels or not set(labels) <= set(range(most + 1)):
            raise malformed(
                path, lines.of_row[row], f"labels {labels}, expected some of 0 to {most}"
            )
    row_of = np.repeat(np.arange(N_ROWS), np.diff(X.indptr))
    is_label = (row_of >= FIRST_SHIFTED_ROW) & (X.indices == N_FEATURES - 1)
    X.data[is_label] = 0.0
    X = csr_array((X.data, X.indices, X.indptr), shape=(N_ROWS, N_FEATURES))
    X.eliminate_zeros()
    has_label_0 = np.bincount(row_of[is_label], minlength=N_ROWS) > 0
    return X, [
        _unshifted(labels, row, bool(has_label_0[row])) for row, labels in enumerate(label_rows)
    ]


def _unshifted(labels: tuple[float, ...], row: int, has_label_0: bool) -> list[int]:
    if row < FIRST_SHIFTED_ROW:
        return [int(label) for label in labels]
    return [0] * has_label_0 + [int(label) + 1 for label in labels]
