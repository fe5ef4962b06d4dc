"""Numbers for integer codes: distinct codes count up as they first appear, and are found again."""

from typing import Any

import numpy as np

from taut.text.loops import loops


def number_codes(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Distinct codes in order of first appearance, their counts, and the rank of each code.

    Negative codes mean "nothing" and have rank -1.

    >>> number_codes(np.array([7, 5, -1, 7]))
    (array([7, 5]), array([2, 1]), array([ 0,  1, -1,  0], dtype=int32))
    """
    return loops().number_codes(codes)


class CodeTable:
    """Finds the rank of a code among distinct ``keys``; made when first searched.

    >>> CodeTable(np.array([7, 5])).find(np.array([5, 6, -1]))
    array([ 1, -1, -1], dtype=int32)
    """

    def __init__(self, keys: np.ndarray):
        self.keys = np.array(keys, np.int64)
        self._finder: tuple[str, Any] | None = None  # which loops made it

    def find(self, codes: np.ndarray) -> np.ndarray:
        by, finder = loops(), self._finder
        if finder is None or finder[0] != by.__name__:
            finder = self._finder = by.__name__, by.finder(self.keys)
        return by.find(codes, self.keys, finder[1])

    def __len__(self) -> int:
        return self.keys.size
