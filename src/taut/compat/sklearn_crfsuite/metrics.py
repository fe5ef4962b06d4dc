"""Scores of labels, all sequences joined, as scikit-learn computes them.

>>> y, z = [["x", "z", "y"], ["x", "x"]], [["y", "z", "y"], ["x", "y"]]
>>> flat_accuracy_score(y, z), float(flat_f1_score(y, z, average="micro"))
(0.6, 0.6)
>>> sequence_accuracy_score(y, [["x", "z", "y"], ["x", "y"]])
0.5
"""

from collections.abc import Sequence
from itertools import chain
from typing import Any

from sklearn import metrics

Labels = Sequence[Sequence[Any]]


def _flat(y_true: Labels, y_pred: Labels) -> tuple[list[Any], list[Any]]:
    return list(chain.from_iterable(y_true)), list(chain.from_iterable(y_pred))


def flat_accuracy_score(y_true: Labels, y_pred: Labels) -> float:
    return metrics.accuracy_score(*_flat(y_true, y_pred))


def flat_precision_score(y_true: Labels, y_pred: Labels, **options: Any) -> Any:
    return metrics.precision_score(*_flat(y_true, y_pred), **options)


def flat_recall_score(y_true: Labels, y_pred: Labels, **options: Any) -> Any:
    return metrics.recall_score(*_flat(y_true, y_pred), **options)


def flat_f1_score(y_true: Labels, y_pred: Labels, **options: Any) -> Any:
    return metrics.f1_score(*_flat(y_true, y_pred), **options)


def flat_fbeta_score(y_true: Labels, y_pred: Labels, beta: float, **options: Any) -> Any:
    return metrics.fbeta_score(*_flat(y_true, y_pred), beta=beta, **options)


def flat_classification_report(
    y_true: Labels, y_pred: Labels, labels: Sequence[Any] | None = None, **options: Any
) -> Any:
    return metrics.classification_report(*_flat(y_true, y_pred), labels=labels, **options)


def sequence_accuracy_score(y_true: Labels, y_pred: Labels) -> float:
    """The share of sequences whose labels are all right; 0 if there are none."""
    if not len(y_true):
        return 0.0
    right = sum(list(true) == list(found) for true, found in zip(y_true, y_pred, strict=True))
    return right / len(y_true)
