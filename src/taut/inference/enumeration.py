"""Exhaustive search: the slow truth that every oracle is tested against."""

from itertools import product

import numpy as np


def enumerate_chain(theta: np.ndarray, pair: np.ndarray) -> tuple[float, np.ndarray]:
    """Best score and labelling of a chain by trying all of them.

    Sums are taken from left to right as in :func:`taut.inference.viterbi.viterbi`, and labellings
    are tried with the last position varying slowest, so that ties are broken the same way.

    >>> enumerate_chain(np.array([[0.0, 1.0], [0.0, 0.0]]), np.zeros((1, 2, 2)))
    (1.0, array([1, 0]))
    """
    length, n_states = theta.shape
    best_score, best_labels = -np.inf, None
    for reverse in product(range(n_states), repeat=length):
        labels = reverse[::-1]
        score = theta[0, labels[0]]
        for t in range(1, length):
            step = pair[0] if len(pair) == 1 else pair[t - 1]
            score = (score + step[labels[t - 1], labels[t]]) + theta[t, labels[t]]
        if score > best_score:
            best_score, best_labels = score, labels
    return float(best_score), np.array(best_labels)
