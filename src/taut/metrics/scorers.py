"""How an estimator is scored on held-out data: its own way, scikit-learn's, or by a metric here."""

from collections.abc import Callable
from typing import Any

from sklearn.metrics import get_scorer, get_scorer_names

from taut.metrics.report import span_f1
from taut.metrics.tokens import sequence_accuracy, token_accuracy

Scorer = Callable[[Any, Any, Any], float]  # of estimator, X, y

# Of sequences of labels, for which scikit-learn has none.
METRICS: dict[str, Callable[[Any, Any], float]] = {
    "sequence_accuracy": sequence_accuracy,
    "span_f1": span_f1,
    "token_accuracy": token_accuracy,
}


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
