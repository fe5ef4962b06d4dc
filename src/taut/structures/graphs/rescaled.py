"""The oracle of graphs under slack rescaling: argmax loss * (1 + score - truth's score).

Forests are searched level by level of their loss, which must be a whole multiple of some unit (see
:mod:`taut.inference.rescaled_forest`); of small graphs and single nodes all labellings are tried,
whatever they cost. There is no other: cuts and relaxations maximise sums, not products.
"""

from typing import Any, NamedTuple

import numpy as np

from taut._compile import IntegerMatrix, Matrix, both_modes, by_reference, compiled
from taut.inference.methods import Method
from taut.inference.rescaled_exhaustive import (
    RescaledExhaustiveWork,
    new_rescaled_exhaustive_work,
    try_all_rescaled,
)
from taut.inference.rescaled_forest import (
    RescaledForestWork,
    new_merges,
    new_rescaled_forest_work,
    plan_merges,
    rescaled_max_sum,
)
from taut.structures.graphs.compute import sizes
from taut.structures.graphs.kernels import add_losses
from taut.structures.loss_levels import check_memory, no_levels, whole_levels


@by_reference
class GraphSearch(NamedTuple):
    """What the oracle needs beyond the problem and its work."""

    tries_all: bool
    level: IntegerMatrix  # (n_nodes, K) loss of every state in units; not read where all are tried
    loss: Matrix  # (most nodes, K) losses of the example at hand
    forest: RescaledForestWork
    exhaustive: RescaledExhaustiveWork


@compiled
def rescaled_by_max_sum(graph, i, work, search, y):
    local = work.local
    first, n, start, m = sizes(graph, i)
    states, ends = graph.nodes.states[first:], graph.edges.ends[start:]
    order, level, truth = graph.search.order[start:], search.level[first:], graph.loss.truth[first:]
    return rescaled_max_sum(
        local.theta, states, ends, local.pair, n, m, order, level, truth, search.forest, y
    )


@compiled
def rescaled_by_trying_all(graph, i, work, search, y):
    local = work.local
    first, n, start, m = sizes(graph, i)
    states, ends = graph.nodes.states[first:], graph.edges.ends[start:]
    loss, truth = search.loss, graph.loss.truth[first:]
    loss[:n] = 0.0
    add_losses(graph.loss, graph.nodes.type, first, n, graph.loss.scale[i], loss)
    return try_all_rescaled(
        local.theta, states, ends, local.pair, n, m, loss, truth, search.exhaustive, y
    )


@both_modes
def rescaled_labelling(graph, i, work, search, y):
    """Write the best labelling into ``y``, under scores without loss."""
    if search.tries_all:
        rescaled_by_trying_all(graph, i, work, search, y)
    else:
        rescaled_by_max_sum(graph, i, work, search, y)


@compiled
def _most_rows(graph, level, merges):
    """(the example whose tables have the most rows, how many)."""
    found, most = 0, 0
    for i in range(graph.pointer.size - 1):
        first, n, start, m = sizes(graph, i)
        states, ends = graph.nodes.states[first:], graph.edges.ends[start:]
        rows = plan_merges(level[first:], states, ends, n, m, graph.search.order[start:], merges)
        if rows > most:
            found, most = i, rows
    return found, most


def new_graph_search(problem: Any) -> GraphSearch:
    """Tables and scratch memory; raises an error that says why there is no exact oracle."""
    method = Method(problem.method)
    if problem.relaxed or method not in (Method.MAX_SUM, Method.EXHAUSTIVE):
        raise ValueError(
            f"there is no exact oracle of slack rescaling under inference={method.text!r}: it "
            "needs forests, or graphs so small that all labellings can be tried, without counts "
            '(inference="exhaustive", up to 2^24 labellings). Use formulation="margin", or '
            "StructuredSVM with a model of your own that has a method slack_oracle"
        )
    nodes, edges = problem.most_nodes, problem.most_edges
    if method is Method.EXHAUSTIVE or nodes <= 1:
        return GraphSearch(
            tries_all=True,
            level=np.zeros((0, problem.width), np.int64),
            loss=np.zeros((nodes, problem.width)),
            forest=new_rescaled_forest_work(0, 0, 0, problem.width),
            exhaustive=new_rescaled_exhaustive_work(nodes, edges),
        )
    level = _node_levels(problem)
    return GraphSearch(
        tries_all=False,
        level=level,
        loss=np.zeros((0, problem.width)),
        forest=_forest_work(problem, level),
        exhaustive=new_rescaled_exhaustive_work(0, 0),
    )


def _node_levels(problem: Any) -> np.ndarray:
    """The loss of every state of every node, as multiples of one unit."""
    loss, types = problem.arrays.loss, problem.arrays.nodes.type
    level = whole_levels(loss.node_weight[:, None] * loss.cost[types, loss.truth])
    if level is None:
        raise no_levels(
            "costs times weights of nodes", ' (or, for small graphs, inference="exhaustive")'
        )
    return level


def _forest_work(problem: Any, level: np.ndarray) -> RescaledForestWork:
    n_states, merges = problem.width, new_merges(problem.most_nodes)
    i, rows = _most_rows(problem.arrays, level, merges)
    n_nodes = problem.pointer[i + 1] - problem.pointer[i]
    check_memory(rows, n_states, f"for graph {i}, which has {n_nodes} nodes")
    highest = np.add.reduceat(level.max(axis=1), problem.pointer[:-1]).max()
    return new_rescaled_forest_work(problem.most_nodes, rows, highest + 1, n_states)
