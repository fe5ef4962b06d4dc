"""Exhaustive search: the slow truth that every oracle is tested against."""

from collections.abc import Iterator
from itertools import pairwise, product

import numpy as np


def possible_labellings(
    length: int,
    n_states: int,
    allowed: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None,
    forced: np.ndarray | None = None,
) -> Iterator[tuple[int, ...]]:
    """All labellings that obey the tables (begin, end, step) and the forced labels (-1: free).

    The last position varies slowest: the order in which Viterbi prefers equal scores.

    >>> no_repetition = np.ones(2, bool), np.ones(2, bool), ~np.eye(2, dtype=bool)
    >>> list(possible_labellings(3, 2, no_repetition))
    [(0, 1, 0), (1, 0, 1)]
    """
    for reverse in product(range(n_states), repeat=length):
        y = reverse[::-1]
        if allowed is not None:
            begin, end, step = allowed
            if not (begin[y[0]] and end[y[-1]] and all(step[k, other] for k, other in pairwise(y))):
                continue
        if forced is not None and any(f not in (-1, k) for f, k in zip(forced, y, strict=True)):
            continue
        yield y


def enumerate_chain(
    theta: np.ndarray,
    pair: np.ndarray,
    allowed: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None,
    forced: np.ndarray | None = None,
) -> tuple[float, np.ndarray | None]:
    """Best score and labelling of a chain by trying all of them; None if none is possible.

    Sums are taken from left to right as in :func:`taut.inference.viterbi.viterbi`, and ties are
    broken the same way.

    >>> enumerate_chain(np.array([[0.0, 1.0], [0.0, 0.0]]), np.zeros((1, 2, 2)))
    (1.0, array([1, 0]))
    """
    length, n_states = theta.shape
    best_score, best_labels = -np.inf, None
    for labels in possible_labellings(length, n_states, allowed, forced):
        score = theta[0, labels[0]]
        for t in range(1, length):
            step = pair[0] if len(pair) == 1 else pair[t - 1]
            score = (score + step[labels[t - 1], labels[t]]) + theta[t, labels[t]]
        if score > best_score:
            best_score, best_labels = score, labels
    return float(best_score), None if best_labels is None else np.array(best_labels)
