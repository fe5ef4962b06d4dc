"""Numbers for strings, at the speed of C: distinct strings count up as they first appear."""

from collections import defaultdict
from collections.abc import Iterable
from itertools import count

import numpy as np


class Numbering:
    """
    >>> words = Numbering()
    >>> words.number(["the", "cat", "the"])
    array([0, 1, 0], dtype=int32)
    >>> words.values
    ['the', 'cat']
    """

    def __init__(self, values: Iterable[str] = ()):
        # A missing key takes the next number without leaving C.
        self._numbers: defaultdict[str, int] = defaultdict(count().__next__)
        self.number(values)

    def __reduce__(self) -> tuple[type["Numbering"], tuple[list[str]]]:
        # Python 3.14 no longer copies or pickles the counter.
        return Numbering, (self.values,)

    def number(self, values: Iterable[str]) -> np.ndarray:
        """The number of each value; new values are added."""
        return np.fromiter(map(self._numbers.__getitem__, values), np.int32)

    def find(self, values: Iterable[str]) -> np.ndarray:
        """The number of each value, -1 for what has none."""
        get = self._numbers.get
        return np.fromiter((get(value, -1) for value in values), np.int32)

    @property
    def values(self) -> list[str]:
        return list(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)


def check_codes(codes: np.ndarray, n_values: int, name: str, what: str) -> None:
    """Every code must be the number of one of the values."""
    if codes.size and codes.dtype.kind not in "iu":
        raise ValueError(f"{name} has codes of type {codes.dtype}, not integers")
    if codes.size and not 0 <= codes.min() <= codes.max() < n_values:
        wrong = codes[(codes < 0) | (codes >= n_values)][0]
        raise ValueError(f"{name} has the code {wrong}, but {n_values} {what}")
