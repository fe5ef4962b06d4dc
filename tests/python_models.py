"""Small models in plain Python, for the tests of PythonProblem and StructuredSVM."""

from itertools import pairwise, product

import numpy as np
from scipy import sparse


class Chain:
    """ChainSVM's feature map written by hand, maximised by enumeration."""

    def __init__(self, n_states, n_features, kind="dense"):
        self.n_states, self.n_features, self.kind = n_states, n_features, kind

    def joint_feature(self, x, y):
        K = self.n_states
        nodes, ends, steps = np.zeros((K, self.n_features)), np.zeros((3, K)), np.zeros((K, K))
        for t, k in enumerate(y):
            nodes[k] += x[t]
            ends[0, k] += 1
            if t > 0:
                steps[y[t - 1], k] += 1
        ends[1, y[0]] += 1
        ends[2, y[-1]] += 1
        phi = np.concatenate([nodes.ravel(), ends.ravel(), steps.ravel()])
        if self.kind == "dense":
            return phi
        if self.kind == "coo":
            return sparse.coo_array(phi)
        return sparse.csr_array(phi[None]) if self.kind == "csr" else sparse.csc_array(phi[:, None])

    def loss(self, y, y_hat):
        return float(np.mean(np.asarray(y) != np.asarray(y_hat)))

    def oracle(self, w, x, y):
        return self._best(w, x, lambda z: self.loss(y, z))

    def slack_oracle(self, w, x, y):
        phi = self.joint_feature
        return max(
            product(range(self.n_states), repeat=len(x)),
            key=lambda z: self.loss(y, z) * (1.0 + float((phi(x, z) - phi(x, y)) @ w)),
        )

    def predict(self, w, x):
        return self._best(w, x, lambda z: 0.0)

    def _best(self, w, x, loss):
        K, F = self.n_states, self.n_features
        bias, first, last = w[K * F : K * F + 3 * K].reshape(3, K)
        nodes = x @ w[: K * F].reshape(K, F).T + bias
        steps = w[K * F + 3 * K :].reshape(K, K)

        def score(z):
            total = first[z[0]] + last[z[-1]] + sum(nodes[t, k] for t, k in enumerate(z))
            return total + sum(steps[a, b] for a, b in pairwise(z)) + loss(z)

        return max(product(range(K), repeat=len(x)), key=score)


class Multiclass:
    """One node; counts how often it is asked."""

    def __init__(self, n_states):
        self.n_states, self.calls = n_states, 0

    def joint_feature(self, x, y):
        phi = np.zeros((self.n_states, len(x)))
        phi[y] = x
        return phi.ravel()

    def loss(self, y, y_hat):
        return float(y != y_hat)

    def oracle(self, w, x, y):
        self.calls += 1
        return int(np.argmax(w.reshape(self.n_states, -1) @ x + (np.arange(self.n_states) != y)))

    def predict(self, w, x):
        return int(np.argmax(w.reshape(self.n_states, -1) @ x))
