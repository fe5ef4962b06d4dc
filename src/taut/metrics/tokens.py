"""Accuracy by token and by sequence, and the confusion matrix."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from taut.labels import sorted_if_possible
from taut.metrics._inputs import Labelling, Pair, number, number_pair
from taut.text.numbering import Numbering


def token_accuracy(y_true: Labelling, y_pred: Labelling) -> float:
    """The share of tokens with the right label; 0.0 if there are none.

    >>> token_accuracy([["a", "b"], ["a", "b"]], [["a", "b"], ["a", "a"]])
    0.75
    """
    return share_of_tokens(number_pair(y_true, y_pred))


def sequence_accuracy(y_true: Labelling, y_pred: Labelling) -> float:
    """The share of sequences with all labels right; 0.0 if there are none.

    >>> sequence_accuracy([["a", "b"], ["a", "b"]], [["a", "b"], ["a", "a"]])
    0.5
    """
    return share_of_sequences(number_pair(y_true, y_pred))


def confusion_matrix(
    y_true: Labelling,
    y_pred: Labelling,
    labels: Sequence[Any] | None = None,
) -> tuple[np.ndarray, list[Any]]:
    """How often each true label (row) was given each predicted label (column).

    Parameters
    ----------
    y_true, y_pred : list of label sequences
        Any hashable labels.
    labels : list, optional
        The labels to count, in this order; tokens whose true or predicted label is not among them
        are left out. By default all labels that occur, sorted.

    Returns
    -------
    matrix : (K, K) array of int64
    labels : list of K labels

    Examples
    --------
    >>> confusion_matrix([["a", "b"], ["a", "b"]], [["a", "b"], ["a", "a"]])
    (array([[2, 0],
           [1, 1]]), ['a', 'b'])
    """
    pair = number_pair(y_true, y_pred)
    labels = sorted_if_possible(set(pair.labels)) if labels is None else list(labels)
    numbering = Numbering()
    number(numbering, labels)
    if len(numbering) != len(labels):
        raise ValueError(f"labels names a label twice: {labels!r}; name each once")
    place = numbering.find(pair.labels)
    true, predicted = place[pair.true], place[pair.predicted]
    counted = (true >= 0) & (predicted >= 0)
    K = len(labels)
    cells = true[counted].astype(np.int64) * K + predicted[counted]
    return np.bincount(cells, minlength=K * K).reshape(K, K), labels


def share_of_tokens(pair: Pair) -> float:
    right = int(np.count_nonzero(pair.true == pair.predicted))
    return ratio(right, len(pair.true))


def share_of_sequences(pair: Pair) -> float:
    wrong_tokens = np.flatnonzero(pair.true != pair.predicted)
    wrong = np.unique(np.searchsorted(np.cumsum(pair.lengths), wrong_tokens, "right"))
    return ratio(len(pair.lengths) - len(wrong), len(pair.lengths))


def ratio(part: int, whole: int) -> float:
    """part / whole, and 0.0 where there is nothing to divide by."""
    return int(part) / int(whole) if whole else 0.0
