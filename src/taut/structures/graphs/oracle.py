"""The max oracle of a graph problem: hands prepared scores to the chosen inference method.

Each method is a class of its own, found through a table like a problem: only what is used is
compiled.
"""

from typing import Any, NamedTuple

import numpy as np

from taut._compile import Labels, Problem, by_reference, generic
from taut.inference.exhaustive import try_all
from taut.inference.expansion import expand, start_apart
from taut.inference.graph_cut import graph_cut
from taut.inference.maxsum import max_sum
from taut.inference.message_passing import lp_by_messages
from taut.inference.methods import Method
from taut.inference.roof_duality import label_halves, roof_duality
from taut.inference.rounding import round_marginals
from taut.structures.graphs.arrays import GraphArrays
from taut.structures.graphs.compute import sizes
from taut.structures.graphs.kernels import worst_loss, write_image
from taut.structures.graphs.work import WorkArrays


@generic(group="oracle")
def best_labelling(
    oracle: Problem, graph: GraphArrays, i: int, work: WorkArrays, y: Labels
) -> float:
    """Write the best labelling into ``y``; returns its score, or a bound on it if relaxed."""


@by_reference
class ByMaxSum(NamedTuple):
    def best_labelling(oracle, graph, i, work, y):
        local, scratch = work.local, work.oracle
        first, n, start, m = sizes(graph, i)
        states, ends = graph.nodes.states[first:], graph.edges.ends[start:]
        order = graph.search.order[start:]
        return max_sum(local.theta, states, ends, local.pair, n, m, order, scratch.max_sum, y)


@by_reference
class ByTryingAll(NamedTuple):
    def best_labelling(oracle, graph, i, work, y):
        local, scratch = work.local, work.oracle
        first, n, start, m = sizes(graph, i)
        states, ends = graph.nodes.states[first:], graph.edges.ends[start:]
        return try_all(local.theta, states, ends, local.pair, n, m, scratch.exhaustive, y)


@by_reference
class ByCut(NamedTuple):
    def best_labelling(oracle, graph, i, work, y):
        local, scratch = work.local, work.oracle
        _, n, start, m = sizes(graph, i)
        return graph_cut(local.theta, graph.edges.ends[start:], local.pair, n, m, scratch.cut, y)


@by_reference
class ByExpansion(NamedTuple):
    def best_labelling(oracle, graph, i, work, y):
        local, scratch = work.local, work.oracle
        first, n, start, m = sizes(graph, i)
        states, ends = graph.nodes.states[first:], graph.edges.ends[start:]
        start_apart(local.theta, states, n, y)
        return expand(local.theta, states, ends, local.pair, n, m, scratch.expansion, y)


@by_reference
class ByRoofDuality(NamedTuple):
    def best_labelling(oracle, graph, i, work, y):
        local, scratch = work.local, work.oracle
        first, n, start, m = sizes(graph, i)
        theta, pair, ends = local.theta, local.pair, graph.edges.ends[start:]
        node, edge = scratch.node, scratch.edge
        bound, _ = roof_duality(theta, ends, pair, n, m, scratch.roof, node, edge)
        if not graph.search.relaxed:
            return label_halves(theta, ends, pair, n, m, node, scratch.roof, y)
        image = y[: 2 * (n * graph.nodes.width + graph.edges.n_weights)].view(np.float64)
        write_image(
            graph.edges,
            graph.nodes.states[first:],
            start,
            n,
            m,
            node,
            edge,
            local.coefficient,
            image,
        )
        return bound


@by_reference
class ByMessages(NamedTuple):
    def best_labelling(oracle, graph, i, work, y):
        local, scratch = work.local, work.oracle
        first, n, start, m = sizes(graph, i)
        theta, pair, ends = local.theta, local.pair, graph.edges.ends[start:]
        states, search = graph.nodes.states[first:], graph.search
        node, edge = scratch.node, scratch.edge
        worst = graph.loss.scale[i] * worst_loss(graph.loss, graph.nodes.type, first, n)
        bound, _ = lp_by_messages(
            theta, states, ends, pair, n, m, search.messages[search.message_start[i] :],
            scratch.messages, node, edge, search.rounds, search.accuracy * worst,
        )  # fmt: skip
        if not search.relaxed:
            value = round_marginals(theta, states, ends, pair, n, m, node, y, scratch.rounding)
            if scratch.messages.best_score[0] > value:
                value = scratch.messages.best_score[0]
                for t in range(n):
                    y[t] = scratch.messages.best_y[t]
            return value
        image = y[: 2 * (n * graph.nodes.width + graph.edges.n_weights)].view(np.float64)
        write_image(graph.edges, states, start, n, m, node, edge, local.coefficient, image)
        return bound


METHODS: dict[int, Any] = {
    Method.MAX_SUM: ByMaxSum,
    Method.EXHAUSTIVE: ByTryingAll,
    Method.GRAPH_CUT: ByCut,
    Method.EXPANSION: ByExpansion,
    Method.ROOF_DUALITY: ByRoofDuality,
    Method.MESSAGE_PASSING: ByMessages,
}


def oracle_of(method: int) -> Any:
    """What asks this inference method; the LP solver is called from Python instead."""
    return METHODS.get(method, ByMessages)()
