"""What a CRF knows of forests beyond the best labelling: the n best, samples, likelihoods.

All of it is exact, of p(y) = exp(score(y) / temperature) / Z.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from taut.graphs import StackedGraphs
from taut.inference.draw_labelling import draw_labelling
from taut.inference.nbest import n_best, new_n_best_work
from taut.inference.sum_product import new_sum_product_work, sum_product
from taut.posterior import posterior
from taut.structures.graphs import GraphProblem
from taut.structures.graphs.compute import sizes
from taut.structures.graphs.method import Topology


def first_cycle(stacked: StackedGraphs) -> int | None:
    """The first of these graphs that is not a forest."""
    pointer = np.concatenate([[0], np.cumsum(stacked.lengths)])
    stop = np.cumsum(stacked.n_edges)
    none = np.zeros(0, np.int32)  # what states nodes have does not matter
    return Topology(pointer, none, stacked.ends, stop - stacked.n_edges, stop, False).cycle()


class Forest(NamedTuple):
    """One of a problem's graphs, its scores divided by the temperature."""

    theta: np.ndarray  # (n, K)
    states: np.ndarray
    ends: np.ndarray  # (m, 2)
    pair: np.ndarray  # (m, K, K)
    order: np.ndarray  # (m,)

    @property
    def size(self) -> tuple[int, int]:
        """Numbers of nodes and edges."""
        return len(self.theta), len(self.ends)

    def marginals(self) -> tuple[np.ndarray, np.ndarray, float]:
        """Of nodes and edges, and log Z."""
        node, edge = np.zeros_like(self.theta), np.zeros_like(self.pair)
        work = new_sum_product_work(*self.theta.shape)
        log_z = sum_product(
            self.theta, self.states, self.ends, self.pair, *self.size, self.order, work, node, edge
        )
        return node, edge, float(log_z)

    def best(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """The most probable labellings (count, n), best first, and their probabilities."""
        count = min(count, math.prod(self.states.tolist()))
        labels, values = np.zeros((count, len(self.theta)), np.int32), np.zeros(count)
        work = new_n_best_work(len(self.theta), self.theta.shape[1], count)
        n_best(
            self.theta, self.states, self.ends, self.pair, *self.size, self.order, count, work,
            labels, values,
        )  # fmt: skip
        return labels, np.exp(np.minimum(values - self.marginals()[2], 0.0))

    def drawn(self, count: int, random: np.random.RandomState) -> np.ndarray:
        """Labellings (count, n), each drawn with its probability."""
        node, edge, _ = self.marginals()
        labels = np.zeros((count, len(self.theta)), np.int32)
        for y in labels:
            uniforms = random.random_sample(len(y))
            draw_labelling(node, edge, self.states, self.ends, *self.size, self.order, uniforms, y)
        return labels


def forests(problem: GraphProblem, w: np.ndarray, temperature: float) -> Iterator[Forest]:
    """The graphs of a problem one by one, all of them forests."""
    graph, work, order = problem.arrays, problem.new_work(), problem.new_sums().order
    local = work.arrays.local
    for i in range(problem.n):
        first, n, start, m = (int(size) for size in sizes(graph, i))
        problem.scores(w, i, work)
        yield Forest(
            local.theta[:n] / temperature,
            graph.nodes.states[first : first + n],
            graph.edges.ends[start : start + m],
            local.pair[:m] / temperature,
            order[start : start + m],
        )


def log_likelihoods(
    problem: GraphProblem, w: np.ndarray, temperature: float, known: np.ndarray, n_threads: int
) -> np.ndarray:
    """log p of every graph's true labels at ``known`` nodes; the others' are summed over."""
    of_all = posterior(problem, w, temperature, n_threads)[1]
    if known.all():
        return -of_all
    return posterior(problem.clamped(known), w, temperature, n_threads)[1] - of_all
