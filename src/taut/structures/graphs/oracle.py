"""The max oracle of a graph problem: hands prepared scores to the chosen inference method."""

import numpy as np

from taut._compile import FROZEN, INDEX, LABELS, apart, both_modes
from taut.inference.exhaustive import try_all
from taut.inference.expansion import expand, start_apart
from taut.inference.graph_cut import graph_cut
from taut.inference.maxsum import max_sum
from taut.inference.message_passing import lp_by_messages
from taut.inference.methods import Method
from taut.inference.roof_duality import label_halves, roof_duality
from taut.inference.rounding import round_marginals
from taut.structures.graphs.compute import sizes
from taut.structures.graphs.frozen import graph_of, work_of
from taut.structures.graphs.kernels import worst_loss, write_image

# Compiled code compares with plain numbers.
MAX_SUM, EXHAUSTIVE, GRAPH_CUT = int(Method.MAX_SUM), int(Method.EXHAUSTIVE), int(Method.GRAPH_CUT)
EXPANSION, ROOF_DUALITY = int(Method.EXPANSION), int(Method.ROOF_DUALITY)


@apart(FROZEN, INDEX, FROZEN, LABELS)
def by_max_sum(graph, i, work, y):
    graph, local, oracle = graph_of(graph), work_of(work).local, work_of(work).oracle
    first, n, start, m = sizes(graph, i)
    states, ends = graph.nodes.states[first:], graph.edges.ends[start:]
    order = graph.search.order[start:]
    return max_sum(local.theta, states, ends, local.pair, n, m, order, oracle.max_sum, y)


@apart(FROZEN, INDEX, FROZEN, LABELS)
def by_trying_all(graph, i, work, y):
    graph, local, oracle = graph_of(graph), work_of(work).local, work_of(work).oracle
    first, n, start, m = sizes(graph, i)
    states, ends = graph.nodes.states[first:], graph.edges.ends[start:]
    return try_all(local.theta, states, ends, local.pair, n, m, oracle.exhaustive, y)


@apart(FROZEN, INDEX, FROZEN, LABELS)
def by_cut(graph, i, work, y):
    graph, local, oracle = graph_of(graph), work_of(work).local, work_of(work).oracle
    _, n, start, m = sizes(graph, i)
    return graph_cut(local.theta, graph.edges.ends[start:], local.pair, n, m, oracle.cut, y)


@apart(FROZEN, INDEX, FROZEN, LABELS)
def by_expansion(graph, i, work, y):
    graph, local, oracle = graph_of(graph), work_of(work).local, work_of(work).oracle
    first, n, start, m = sizes(graph, i)
    states, ends = graph.nodes.states[first:], graph.edges.ends[start:]
    start_apart(local.theta, states, n, y)
    return expand(local.theta, states, ends, local.pair, n, m, oracle.expansion, y)


@apart(FROZEN, INDEX, FROZEN, LABELS)
def by_roof_duality(graph, i, work, y):
    graph, local, oracle = graph_of(graph), work_of(work).local, work_of(work).oracle
    first, n, start, m = sizes(graph, i)
    theta, pair, ends = local.theta, local.pair, graph.edges.ends[start:]
    node, edge = oracle.node, oracle.edge
    bound, _ = roof_duality(theta, ends, pair, n, m, oracle.roof, node, edge)
    if not graph.search.relaxed:
        return label_halves(theta, ends, pair, n, m, node, oracle.roof, y)
    image = y[: 2 * (n * graph.nodes.width + graph.edges.n_weights)].view(np.float64)
    write_image(
        graph.edges, graph.nodes.states[first:], start, n, m, node, edge, local.coefficient, image
    )
    return bound


@apart(FROZEN, INDEX, FROZEN, LABELS)
def by_messages(graph, i, work, y):
    graph, local, oracle = graph_of(graph), work_of(work).local, work_of(work).oracle
    first, n, start, m = sizes(graph, i)
    theta, pair, ends = local.theta, local.pair, graph.edges.ends[start:]
    states, search = graph.nodes.states[first:], graph.search
    node, edge = oracle.node, oracle.edge
    worst = graph.loss.scale[i] * worst_loss(graph.loss, graph.nodes.type, first, n)
    bound, _ = lp_by_messages(
        theta, states, ends, pair, n, m, search.messages[search.message_start[i] :],
        oracle.messages, node, edge, search.rounds, search.accuracy * worst,
    )  # fmt: skip
    if not search.relaxed:
        value = round_marginals(theta, states, ends, pair, n, m, node, y, oracle.rounding)
        if oracle.messages.best_score[0] > value:
            value = oracle.messages.best_score[0]
            for t in range(n):
                y[t] = oracle.messages.best_y[t]
        return value
    image = y[: 2 * (n * graph.nodes.width + graph.edges.n_weights)].view(np.float64)
    write_image(graph.edges, states, start, n, m, node, edge, local.coefficient, image)
    return bound


@both_modes
def best_labelling(method, graph, i, work, y):
    """Write the best labelling into ``y``; returns its score, or a bound on it if relaxed."""
    if method == MAX_SUM:
        return by_max_sum(graph, i, work, y)
    if method == EXHAUSTIVE:
        return by_trying_all(graph, i, work, y)
    if method == GRAPH_CUT:
        return by_cut(graph, i, work, y)
    if method == EXPANSION:
        return by_expansion(graph, i, work, y)
    if method == ROOF_DUALITY:
        return by_roof_duality(graph, i, work, y)
    return by_messages(graph, i, work, y)


METHODS = {
    Method.MAX_SUM: by_max_sum,
    Method.EXHAUSTIVE: by_trying_all,
    Method.GRAPH_CUT: by_cut,
    Method.EXPANSION: by_expansion,
    Method.ROOF_DUALITY: by_roof_duality,
    Method.MESSAGE_PASSING: by_messages,
}


def make_method_ready(method: int) -> None:
    """Compile or load what a problem uses; the others are not needed."""
    if method in METHODS:  # the LP solver is called from Python
        METHODS[Method(method)].make_ready()
