"""Scores on held-out data while the path is computed, so that no weights need be kept for them.

An estimator is scored its own way, scikit-learn's, or by a metric here.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.metrics import get_scorer, get_scorer_names

from taut.metrics import sequence_accuracy, span_f1, token_accuracy
from taut.path.pieces import Breakpoint, place
from taut.solvers.loop import Score, score_of

Scorer = Callable[[Any, Any, Any], float]  # of estimator, X, y

# Of sequences of labels, for which scikit-learn has none.
METRICS: dict[str, Callable[[Any, Any], float]] = {
    "sequence_accuracy": sequence_accuracy,
    "span_f1": span_f1,
    "token_accuracy": token_accuracy,
}


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
        return score_of(self.score, w)


def mixed(points: Sequence[Breakpoint], weights: tuple, lam: float) -> np.ndarray:
    """The weights at lambda: interpolated between two points, those of the second below it."""
    a, b = points
    if lam <= b.lam:
        return weights[1]
    return weights[0] + place(a, b, lam) * (weights[1] - weights[0])


def as_scorer(scoring: str | Scorer | None) -> Scorer:
    """A function of a fitted estimator, inputs and true outputs; higher is better.

    >>> from types import SimpleNamespace
    >>> echo = SimpleNamespace(predict=lambda X: X)
    >>> as_scorer("token_accuracy")(echo, [["a", "b"]], [["a", "c"]])
    0.5
    """
    if scoring is None:
        return lambda estimator, X, y: estimator.score(X, y)
    if callable(scoring):
        return scoring
    if isinstance(scoring, str) and scoring in METRICS:
        metric = METRICS[scoring]
        return lambda estimator, X, y: metric(y, estimator.predict(X))
    if isinstance(scoring, str) and scoring in get_scorer_names():
        return _explained(scoring)
    raise ValueError(
        f"scoring={scoring!r}; expected {', '.join(map(repr, METRICS))}, a name that scikit-learn "
        "knows (sklearn.metrics.get_scorer_names()), or a function of estimator, X, y"
    )


def _explained(name: str) -> Scorer:
    """scikit-learn's scorers do not take sequences of labels, and say so in other words."""
    scorer = get_scorer(name)

    def score(estimator: Any, X: Any, y: Any) -> float:
        try:
            return scorer(estimator, X, y)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"scoring={name!r} of scikit-learn cannot score this: {error}. For sequences there "
                f"are {', '.join(map(repr, METRICS))}; or give a function of estimator, X, y"
            ) from error

    return score
