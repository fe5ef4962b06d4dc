"""The k best labellings of one chain: as Viterbi, with k scores for every label at a position.

Among equal scores those of lower labels come first, as in :mod:`taut.inference.nbest`.
"""

import numpy as np


def n_best(theta: np.ndarray, pair: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Labellings (up to k, positions), best first, and their scores; none that is forbidden.

    ``pair`` is (1 or steps, K, K).

    >>> n_best(np.array([[0.0, 3.0], [0.0, 1.0]]), np.zeros((1, 2, 2)), 2)
    (array([[1, 1],
           [1, 0]]), array([4., 3.]))
    """
    n_labels = theta.shape[1]
    best = theta[0][:, None]  # (K, up to k), each row falling
    came_from = []
    for t in range(1, len(theta)):
        table = pair[0 if len(pair) == 1 else t - 1]
        sums = (table.T[:, :, None] + best).reshape(n_labels, -1)
        order = np.argsort(-sums, axis=1, kind="stable")[:, :k]
        came_from.append((best.shape[1], order))
        best = np.take_along_axis(sums, order, axis=1) + theta[t][:, None]
    flat = best.ravel()
    places = np.argsort(-flat, kind="stable")[:k]
    places = places[flat[places] > -np.inf]
    values = flat[places]
    label, rank = np.divmod(places, best.shape[1])
    labels = np.empty((len(places), len(theta)), np.int64)
    labels[:, -1] = label
    for t, (width, order) in zip(range(len(theta) - 2, -1, -1), came_from[::-1], strict=True):
        label, rank = np.divmod(order[label, rank], width)
        labels[:, t] = label
    return labels, values
