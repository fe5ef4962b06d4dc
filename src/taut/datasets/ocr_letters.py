"""OCR letters: handwritten words as sequences of 16 x 8 binary images (Taskar et al., 2003)."""

from __future__ import annotations

import os
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taut.datasets._files import find_file, malformed, numbered_lines

N_PIXELS = 128

# id, letter, next_id (-1 ends the word), word_id, position in the word, fold, pixels.
_LETTER = re.compile(
    rb"(\d{1,9})\t([a-z])\t(-1|\d{1,9})\t(\d{1,9})\t(\d{1,9})\t(\d)\t"
    rb"((?:[01]\t){%d})\r?\n?" % N_PIXELS
)


def load_ocr_letters(
    data_home: str | os.PathLike[str] | None = None,
) -> tuple[list[NDArray[np.float64]], list[NDArray[np.str_]], NDArray[np.int64]]:
    """Load the OCR letters: 6,877 handwritten words, 52,152 letters, ten folds.

    The first letter of every word was removed by the authors because it may be a capital. The
    customary "small" task trains on fold 0 and tests on the other nine; "large" is the reverse.

    Parameters
    ----------
    data_home : path, optional
        The folder that contains ``ocr_letters/letter.data.gz``; by default the environment variable
        ``TAUT_DATA``.

    Returns
    -------
    X : list of arrays of shape (n_letters, 128)
        The pixels of each word, 0 or 1: 16 rows of 8, row by row.
    y : list of arrays of shape (n_letters,)
        The letters of each word, "a" to "z".
    fold : array of shape (n_words,)
        The fold of each word, 0 to 9.

    Examples
    --------
    >>> X, y, fold = load_ocr_letters()  # doctest: +SKIP
    >>> "".join(y[0]), X[0].shape  # doctest: +SKIP
    ('ommanding', (9, 128))
    """
    path = find_file(data_home, "ocr_letters/letter.data.gz")
    letters: list[bytes] = []
    pixels: list[bytes] = []
    word_ends: list[int] = []
    folds: list[int] = []
    # What the next line must say in order to continue the word: id, word_id, position, fold.
    expected: tuple[bytes, bytes, int, bytes] | None = None
    for number, line in numbered_lines(path):
        match = _LETTER.fullmatch(line)
        if match is None:
            raise malformed(
                path,
                number,
                "expected id, letter a-z, next_id, word_id, position, fold 0-9 and "
                f"{N_PIXELS} pixels 0 or 1, each followed by a tab",
            )
        letter_id, letter, next_id, word_id, position, fold, row = match.groups()
        if expected is None:
            expected = (letter_id, word_id, 1, fold)
        if (letter_id, word_id, int(position), fold) != expected:
            raise malformed(path, number, _broken_word(expected))
        letters.append(letter)
        pixels.append(row)
        if next_id == b"-1":
            word_ends.append(len(letters))
            folds.append(int(fold))
            expected = None
        else:
            expected = (next_id, word_id, int(position) + 1, fold)
    if expected is not None:
        raise malformed(path, number + 1, _broken_word(expected) + ", but the file ends")

    digits = np.frombuffer(b"".join(pixels), dtype=np.uint8).reshape(-1, 2 * N_PIXELS)[:, ::2]
    X = (digits == ord("1")).astype(np.float64)
    y: NDArray[Any] = np.frombuffer(b"".join(letters), dtype="S1").astype("U1")
    return np.split(X, word_ends[:-1]), np.split(y, word_ends[:-1]), np.array(folds, dtype=np.int64)


def _broken_word(expected: tuple[bytes, bytes, int, bytes]) -> str:
    letter_id, word_id, position, fold = expected
    return (
        f"expected id {letter_id.decode()} at position {position} of word {word_id.decode()} "
        f"(fold {fold.decode()})"
    )
