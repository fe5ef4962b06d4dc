"""A graph problem whose oracle is a general LP solver: the reference for the fast methods.

The solver is called from Python, so training runs interpreted (see :mod:`taut._compile`).
"""

import numpy as np

from taut.inference.lp import lp_relaxation
from taut.inference.rounding import round_marginals
from taut.structures.graphs.kernels import write_image
from taut.structures.graphs.problem import GraphProblem, sizes, truth_score


class GraphByLP(GraphProblem):
    __slots__ = ()

    def argmax(problem, w, i, work, y):
        first, n, start, m = (int(size) for size in sizes(problem, i))
        states = problem.nodes.states[first : first + n]
        ends = problem.edges.ends[start : start + m]
        theta, pair = work.local.theta[:n], work.local.pair[:m]
        value, node, edge = lp_relaxation(theta, states, ends, pair)
        if problem.search.relaxed:
            image = y[: 2 * (n * problem.nodes.width + problem.edges.n_weights)]
            write_image(problem.edges, states, start, n, m, node, edge, image.view(np.float64))
        else:
            value = round_marginals(theta, states, ends, pair, n, m, node, y, work.oracle.rounding)
        return value - truth_score(problem, i, work)
