"""A graph problem whose oracle is a general LP solver: the reference for the fast methods, and the
one that knows of counts and tables. With these, prediction is exact, by an integer program.

Its optimum is good to about 1e-7, and so is the certificate. It is called from Python, so training
runs interpreted (see :mod:`taut._compile`).
"""

import numpy as np

from taut.inference.integer_program import best_allowed_labelling
from taut.inference.lp import lp_relaxation
from taut.inference.rounding import round_marginals
from taut.structures.graphs.compute import find_truth_score, sizes
from taut.structures.graphs.count_factors import counts_of
from taut.structures.graphs.graph_problem import GraphProblem
from taut.structures.graphs.kernels import write_image
from taut.structures.graphs.table_factors import score_of, tables_of


class GraphByLP(GraphProblem):
    def argmax(problem, w, i, work, y):
        graph, local, oracle = problem.arrays, work.local, work.oracle
        first, n, start, m = (int(size) for size in sizes(graph, i))
        states, ends = graph.nodes.states[first : first + n], graph.edges.ends[start : start + m]
        theta, pair = local.theta[:n], local.pair[:m]
        counts, tables = counts_of(graph.counts, i), tables_of(graph, w, i)
        truth_score = find_truth_score(graph, i, work)
        truth_score += score_of(tables, graph.loss.truth[first : first + n])
        if (counts or tables) and not problem.relaxed:
            value, y[:n] = best_allowed_labelling(theta, states, ends, pair, counts, tables)
            return value - truth_score
        value, node, edge = lp_relaxation(theta, states, ends, pair, counts, tables)
        if problem.relaxed:
            image = y[: 2 * (n * problem.width + problem.n_edge_weights)].view(np.float64)
            write_image(graph.edges, states, start, n, m, node, edge, local.coefficient, image)
        else:
            value = round_marginals(theta, states, ends, pair, n, m, node, y, oracle.rounding)
        return value - truth_score

    def label_value(problem, w, i, work, y):
        graph, tables = problem.arrays, tables_of(problem.arrays, w, i)
        truth = graph.loss.truth[graph.pointer[i] : graph.pointer[i + 1]]
        of_tables = score_of(tables, y) - score_of(tables, truth)
        return GraphProblem.label_value(problem, w, i, work, y) + of_tables
