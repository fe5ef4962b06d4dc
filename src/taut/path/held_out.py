"""Scores on held-out data while the path is computed, so that no weights need be kept for them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from taut.path.pieces import Breakpoint, place
from taut.solvers.loop import Score, score_of


def checked_lambdas(lambdas: Any, name: str) -> np.ndarray:
    """An array of lambdas, in the order they were given."""
    try:
        values = np.asarray(lambdas, np.float64)
    except (TypeError, ValueError):
        values = np.zeros(0)
    if values.ndim != 1 or not values.size or not np.all((values > 0) & np.isfinite(values)):
        raise ValueError(f"{name}={lambdas!r}; a list of positive numbers is expected")
    return values


class Validation:
    """``score(w)`` of every breakpoint, or of the path's weights at the given lambdas."""

    def __init__(self, score: Score, lambdas: Any = None):
        self.score: Score | None = score
        self.lambdas = None if lambdas is None else checked_lambdas(lambdas, "validate_at")
        self.scores = np.full(0 if self.lambdas is None else len(self.lambdas), np.nan)
        self.best_score = -np.inf
        self.best_w: np.ndarray | None = None  # of equal scores those of the largest lambda

    def take_up(self, scores: np.ndarray, points: Sequence[Breakpoint]) -> None:
        """Go on from earlier scores, the weights of which are not there any more."""
        self.scores, self.best_w = scores, None
        seen = scores if self.lambdas is not None else np.array([p.score for p in points])
        self.best_score = float(np.nanmax(seen)) if np.any(~np.isnan(seen)) else -np.inf

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
        here = np.flatnonzero(inside | (is_last & (self.lambdas == end)))
        for k in here[np.argsort(-self.lambdas[here], kind="stable")]:
            self.scores[k] = self._score(mixed(points, weights, self.lambdas[k]))
        return np.nan

    def _score(self, w: np.ndarray) -> float:
        if self.score is None:
            raise TypeError("a path that was pickled cannot go on scoring held-out data")
        score = score_of(self.score, w)
        if score > self.best_score:
            self.best_score, self.best_w = score, w.copy()
        return score


def mixed(points: Sequence[Breakpoint], weights: tuple, lam: float) -> np.ndarray:
    """The weights at lambda: interpolated between two points, those of the second below it."""
    a, b = points
    if lam <= b.lam:
        return weights[1]
    return weights[0] + place(a, b, lam) * (weights[1] - weights[0])
