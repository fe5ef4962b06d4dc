"""One forest and what inference can say of p(y) = exp(score(y)) / Z: marginals, n best, samples."""

import math
from typing import NamedTuple

import numpy as np

from taut.inference.draw_labelling import draw_labelling
from taut.inference.nbest import n_best, new_n_best_work
from taut.inference.sum_product import new_sum_product_work, sum_product


class Forest(NamedTuple):
    """Scores of a forest, divided by the temperature; minus infinity forbids."""

    theta: np.ndarray  # (n, K)
    states: np.ndarray
    ends: np.ndarray  # (m, 2)
    pair: np.ndarray  # (m, K, K), or (1, K, K) shared by all edges
    order: np.ndarray  # (m,) as :func:`taut.inference.maxsum.forest_order` has it

    @property
    def size(self) -> tuple[int, int]:
        """Numbers of nodes and edges."""
        return len(self.theta), len(self.ends)

    def marginals(self) -> tuple[np.ndarray, np.ndarray, float]:
        """Of nodes and edges, and log Z; minus infinity if no labelling is possible."""
        n_states = self.theta.shape[1]
        node, edge = np.zeros_like(self.theta), np.zeros((len(self.ends), n_states, n_states))
        work = new_sum_product_work(*self.theta.shape)
        log_z = sum_product(
            self.theta, self.states, self.ends, self.pair, *self.size, self.order, work, node, edge
        )
        return node, edge, float(log_z)

    def best(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """The most probable labellings (count, n), best first, and their probabilities.

        There are fewer where no more are possible.
        """
        count = min(count, math.prod(self.states.tolist()))
        labels, values = np.zeros((count, len(self.theta)), np.int32), np.zeros(count)
        work = new_n_best_work(len(self.theta), self.theta.shape[1], count)
        kept = n_best(
            self.theta, self.states, self.ends, self.pair, *self.size, self.order, count, work,
            labels, values,
        )  # fmt: skip
        probabilities = np.exp(np.minimum(values[:kept] - self.marginals()[2], 0.0))
        return labels[:kept], probabilities

    def drawn(self, count: int, random: np.random.RandomState) -> np.ndarray:
        """Labellings (count, n), each drawn with its probability."""
        node, edge, _ = self.marginals()
        labels = np.zeros((count, len(self.theta)), np.int32)
        for y in labels:
            uniforms = random.random_sample(len(y))
            draw_labelling(node, edge, self.states, self.ends, *self.size, self.order, uniforms, y)
        return labels
