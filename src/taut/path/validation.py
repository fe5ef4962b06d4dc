"""Scores on held-out data while the path is computed, so that no weights need be kept for them."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from taut.path.breakpoint import Breakpoint
from taut.path.checks import checked_lambdas
from taut.path.pieces import place

Score = Callable[[np.ndarray], float]


class Validation:
    """``score(w)`` of every breakpoint, or of the path's weights at the given lambdas."""

    def __init__(self, score: Score, lambdas: Any = None):
        self.score: Score | None = score
        self.lambdas = None if lambdas is None else checked_lambdas(lambdas, "validate_at")
        self.scores = np.full(0 if self.lambdas is None else len(self.lambdas), np.nan)

    def __getstate__(self) -> dict[str, Any]:
        """Scores can be pickled, the function that made them perhaps not."""
        return {**self.__dict__, "score": None}

    def of_piece(
        self,
        points: Sequence[Breakpoint],
        weights: tuple,
        covered: float,
        end: float,
        is_last: bool,
    ) -> float:
        """The score of the second point, or those of the lambdas above ``end`` up to ``covered``.

        With ``is_last`` also that of ``end`` itself, which would else be the next point's.
        """
        if self.lambdas is None:
            return self._score(weights[1])
        inside = (self.lambdas > end) & (self.lambdas <= covered)
        for k in np.flatnonzero(inside | (is_last & (self.lambdas == end))):
            self.scores[k] = self._score(mixed(points, weights, self.lambdas[k]))
        return np.nan

    def _score(self, w: np.ndarray) -> float:
        if self.score is None:
            raise TypeError("a path that was pickled cannot go on scoring held-out data")
        score = float(self.score(w))
        if np.isnan(score):
            raise ValueError("the score on held-out data is not a number")
        return score


def mixed(points: Sequence[Breakpoint], weights: tuple, lam: float) -> np.ndarray:
    """The weights at lambda: interpolated between two points, those of the second below it."""
    a, b = points
    if lam <= b.lam:
        return weights[1]
    return weights[0] + place(a, b, lam) * (weights[1] - weights[0])
