"""The max oracle of a graph problem: hands prepared scores to the chosen inference method."""

from typing import NamedTuple

import numpy as np

from taut._compile import compiled
from taut.inference.exhaustive import ExhaustiveWork, new_exhaustive_work, try_all
from taut.inference.expansion import ExpansionWork, expand, new_expansion_work, start_apart
from taut.inference.graph_cut import CutWork, graph_cut, new_cut_work
from taut.inference.maxsum import MaxSumWork, max_sum, new_maxsum_work
from taut.inference.message_passing import MessageWork, lp_by_messages, new_message_work
from taut.inference.methods import RELAXED, Method
from taut.inference.roof_duality import RoofWork, label_halves, new_roof_work, roof_duality
from taut.inference.rounding import RoundingWork, new_rounding_work, round_marginals
from taut.structures.graphs.kernels import worst_loss, write_image

# Compiled code compares with plain numbers.
MAX_SUM, EXHAUSTIVE, GRAPH_CUT = int(Method.MAX_SUM), int(Method.EXHAUSTIVE), int(Method.GRAPH_CUT)
EXPANSION, ROOF_DUALITY = int(Method.EXPANSION), int(Method.ROOF_DUALITY)


class OracleWork(NamedTuple):
    """Scratch memory of every method; empty for those that are not used."""

    node: np.ndarray  # (nodes, K) marginals
    edge: np.ndarray  # (edges, K, K)
    max_sum: MaxSumWork
    exhaustive: ExhaustiveWork
    cut: CutWork
    expansion: ExpansionWork
    roof: RoofWork
    messages: MessageWork
    rounding: RoundingWork


def new_oracle_work(method: int, nodes: int, edges: int, width: int) -> OracleWork:
    def room(*methods: Method) -> tuple[int, int]:
        return (nodes, edges) if method in methods else (0, 0)

    marginals = room(*RELAXED)
    return OracleWork(
        node=np.zeros((marginals[0], width)),
        edge=np.zeros((marginals[1], width, width)),
        max_sum=new_maxsum_work(*room(Method.MAX_SUM), width),
        exhaustive=new_exhaustive_work(*room(Method.EXHAUSTIVE)),
        cut=new_cut_work(*room(Method.GRAPH_CUT)),
        expansion=new_expansion_work(*room(Method.EXPANSION)),
        roof=new_roof_work(*room(Method.ROOF_DUALITY)),
        messages=new_message_work(*room(Method.MESSAGE_PASSING), width),
        rounding=new_rounding_work(*room(Method.MESSAGE_PASSING, Method.LP), width),
    )


@compiled
def best_labelling(nodes, edges, loss, search, pointer, i, theta, pair, work, y):
    """Write the best labelling into ``y``; returns its score, or a bound on it if relaxed."""
    first, start = pointer[i], edges.start[i]
    n, m = pointer[i + 1] - first, edges.stop[i] - start
    states, ends = nodes.states[first : first + n], edges.ends[start : start + m]
    if search.method == MAX_SUM:
        order = search.order[start : start + m]
        return max_sum(theta, states, ends, pair, n, m, order, work.max_sum, y)
    if search.method == EXHAUSTIVE:
        return try_all(theta, states, ends, pair, n, m, work.exhaustive, y)
    if search.method == GRAPH_CUT:
        return graph_cut(theta, ends, pair, n, m, work.cut, y)
    if search.method == EXPANSION:
        start_apart(theta, states, n, y)
        return expand(theta, states, ends, pair, n, m, work.expansion, y)
    if search.method == ROOF_DUALITY:
        bound, _ = roof_duality(theta, ends, pair, n, m, work.roof, work.node, work.edge)
        if not search.relaxed:
            return label_halves(theta, ends, pair, n, m, work.node, work.roof, y)
    else:
        enough = search.accuracy * loss.scale[i] * worst_loss(loss, nodes.type, first, n)
        bound, _ = lp_by_messages(
            theta, states, ends, pair, n, m, search.messages[search.message_start[i] :],
            work.messages, work.node, work.edge, search.rounds, enough,
        )  # fmt: skip
        if not search.relaxed:
            return round_marginals(theta, states, ends, pair, n, m, work.node, y, work.rounding)
    image = y[: 2 * (n * nodes.width + edges.n_weights)].view(np.float64)
    write_image(edges, states, start, n, m, work.node, work.edge, image)
    return bound
