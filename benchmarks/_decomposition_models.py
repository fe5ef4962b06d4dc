"""The models in plain Python of ``decomposition.py``: matchings, and words read by Viterbi."""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

Vector = NDArray[np.float64]
Labels = NDArray[np.int64]


class Matchings:
    """Which column belongs to which row: x is (size, size, features), y a permutation."""

    def joint_feature(self, x: Vector, y: Labels) -> Vector:
        return x[np.arange(len(y)), y].sum(axis=0)

    def loss(self, y: Labels, y_hat: Labels) -> float:
        return float(np.sum(y != y_hat))

    def oracle(self, w: Vector, x: Vector, y: Labels) -> Labels:
        score = x @ w + 1.0
        score[np.arange(len(y)), y] -= 1.0
        return linear_sum_assignment(score, maximize=True)[1]

    def predict(self, w: Vector, x: Vector) -> Labels:
        return linear_sum_assignment(x @ w, maximize=True)[1]


def random_matchings(n: int, size: int, n_features: int) -> tuple[list[Vector], list[Labels]]:
    """Points and noisy copies of them; features are squared differences, some noisier than others.

    >>> X, Y = random_matchings(2, size=3, n_features=4)
    >>> X[0].shape, sorted(Y[0].tolist())
    ((3, 3, 4), [0, 1, 2])
    """
    random = np.random.default_rng(0)
    noise = 0.5 * np.linspace(0.2, 2.0, n_features)
    X, Y = [], []
    for _ in range(n):
        points, order = random.normal(size=(size, n_features)), random.permutation(size)
        copies = np.empty_like(points)
        copies[order] = points + noise * random.normal(size=points.shape)
        X.append(-np.square(points[:, None] - copies[None]))
        Y.append(order)
    return X, Y


class Words:
    """A chain: x is (length, features), y the letters; weights of letters, then of pairs."""

    def __init__(self, n_letters: int, n_features: int):
        self.shape = n_letters, n_features

    def joint_feature(self, x: Vector, y: Labels) -> Vector:
        letters, pairs = np.zeros(self.shape), np.zeros((self.shape[0],) * 2)
        np.add.at(letters, y, x)
        np.add.at(pairs, (y[:-1], y[1:]), 1.0)
        return np.concatenate([letters.ravel(), pairs.ravel()])

    def loss(self, y: Labels, y_hat: Labels) -> float:
        return float(np.sum(y != y_hat))

    def oracle(self, w: Vector, x: Vector, y: Labels) -> Labels:
        cost = np.ones((len(y), self.shape[0]))
        cost[np.arange(len(y)), y] = 0.0
        return self._best(w, x, cost)

    def predict(self, w: Vector, x: Vector) -> Labels:
        return self._best(w, x, np.zeros((len(x), self.shape[0])))

    def _best(self, w: Vector, x: Vector, cost: Vector) -> Labels:
        """Viterbi: best[k] is the best score of a word so far that ends with letter k."""
        letters, features = self.shape
        theta = x @ w[: letters * features].reshape(self.shape).T + cost
        pairs = w[letters * features :].reshape(letters, letters)
        before, best = np.zeros(theta.shape, np.int64), theta[0]
        for t in range(1, len(theta)):
            through = best[:, None] + pairs
            before[t] = through.argmax(axis=0)
            best = through.max(axis=0) + theta[t]
        y = np.zeros(len(theta), np.int64)
        y[-1] = best.argmax()
        for t in range(len(theta) - 1, 0, -1):
            y[t - 1] = before[t, y[t]]
        return y
