"""What a CRF knows of forests beyond the best labelling: the n best, samples, likelihoods.

All of it is exact, of p(y) = exp(score(y) / temperature) / Z.
"""

from collections.abc import Iterator

import numpy as np

from taut.graphs import StackedGraphs
from taut.inference.forest import Forest
from taut.posterior import posterior
from taut.problem.problem_type import weights_of
from taut.structures.graphs import GraphProblem
from taut.structures.graphs.compute import sizes
from taut.structures.graphs.method import Topology


def first_cycle(stacked: StackedGraphs) -> int | None:
    """The first of these graphs that is not a forest."""
    pointer = np.concatenate([[0], np.cumsum(stacked.lengths)])
    stop = np.cumsum(stacked.n_edges)
    none = np.zeros(0, np.int32)  # what states nodes have does not matter
    return Topology(pointer, none, stacked.ends, stop - stacked.n_edges, stop, False).cycle()


def forests(problem: GraphProblem, w: np.ndarray, temperature: float) -> Iterator[Forest]:
    """The graphs of a problem one by one, all of them forests."""
    w = weights_of(problem, w)
    graph, work, order = problem.arrays, problem.new_work(), problem.new_sums().order
    local = work.local
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
