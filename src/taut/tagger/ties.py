"""Sequences in which two labellings are as good as each other, decided as compiled code would.

Which of them wins may hang on the last bit of a sum, and so on the order of its terms. Here terms
are added in the order of ``node_scores`` (taut/structures/features.py) and of ``viterbi``: weights
of few labels as they come, rows of many labels four at a time.
"""

import numpy as np

from taut.tagger.weights import Weights
from taut.text.attribute_matrix import AttributeRows


def exact_scores(weights: Weights, rows: AttributeRows) -> np.ndarray:
    """(tokens, K) of labels by their attributes, to the bit."""
    rows = rows.canonical()
    scores = [_score(weights, rows, t) for t in range(len(rows.indptr) - 1)]
    return np.array(scores).reshape(-1, weights.n_labels)


def _score(weights: Weights, rows: AttributeRows, t: int) -> np.ndarray:
    K = weights.n_labels
    total = np.zeros(K)
    waiting: list[np.ndarray] = []
    entries = slice(rows.indptr[t], rows.indptr[t + 1])
    for attribute, value in zip(rows.indices[entries], rows.data[entries], strict=True):
        own = slice(weights.begin[attribute], weights.begin[attribute + 1])
        labels, terms = weights.label[own], value * weights.value[own]
        if not has_a_row(len(labels), K):
            total[labels] += terms
            continue
        row = np.zeros(K)
        row[labels] = terms
        waiting.append(row)
        if len(waiting) == 4:
            first, second, third, fourth = waiting
            total += (third + second) + (first + fourth)
            waiting = []
    for row in waiting[::-1]:
        total += row
    return total


def has_a_row(n_weights: int, n_labels: int) -> bool:
    """Whether an attribute with so many weights has room for all labels (``observed_layout``)."""
    return 6 * n_weights >= n_labels


def viterbi(theta: np.ndarray, pair: np.ndarray) -> np.ndarray:
    """As in :mod:`taut.inference.viterbi`, ties included; ``pair`` is (1 or steps, K, K).

    >>> viterbi(np.array([[0.0, 1.0], [0.5, 0.0]]), np.zeros((1, 2, 2)))
    array([1, 0])
    """
    best, came_from = theta[0], []
    for t in range(1, len(theta)):
        reach = best[:, None] + pair[0 if len(pair) == 1 else t - 1]
        came_from.append(reach.argmax(axis=0))
        best = reach.max(axis=0) + theta[t]
    labels = [int(best.argmax())]
    for step in reversed(came_from):
        labels.append(int(step[labels[-1]]))
    return np.array(labels[::-1])
