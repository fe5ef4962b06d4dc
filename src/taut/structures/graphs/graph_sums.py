"""The sum oracle of forests: the image of the marginals, and log Z, by sum-product.

A temperature multiplies all scores before sum-product sees them. Where true states are known and
sums limited to them (``GraphArrays.known``), every other state of such a node scores minus
infinity.
"""

from typing import Any, NamedTuple

import numpy as np

from taut._compile import Cube, Labels, Matrix, by_reference, compiled
from taut.inference.sum_product import SumProductWork, new_sum_product_work, sum_product
from taut.structures.graphs.compute import block_range, sizes
from taut.structures.graphs.graph_checks import check_tables
from taut.structures.graphs.kernels import (
    add_label_image,
    image_score,
    loss_of_image,
    write_image,
)
from taut.structures.graphs.method import Topology


@by_reference
class GraphSums(NamedTuple):
    """What the oracle needs beyond the problem and its work."""

    order: Labels  # (n_edges,) of all forests
    theta: Matrix  # (most nodes, K) scores, sharpened
    pair: Cube  # (most edges, K, K)
    node: Matrix  # (most nodes, K) marginals
    edge: Cube  # (most edges, K, K)
    work: SumProductWork


def _graph_sums(order: np.ndarray, nodes: int, edges: int, n_states: int) -> GraphSums:
    check_tables(2, edges, n_states)
    return GraphSums(
        order,
        np.zeros((nodes, n_states)),
        np.zeros((edges, n_states, n_states)),
        np.zeros((nodes, n_states)),
        np.zeros((edges, n_states, n_states)),
        new_sum_product_work(nodes, n_states),
    )


@compiled
def sharpen(scores, sharpness, out):
    for j in range(out.size):
        out[j] = sharpness * scores[j]


@compiled
def limit(known, truth, states, n, theta):
    """Known nodes are in their true state."""
    for t in range(n):
        if known[t]:
            for k in range(states[t]):
                if k != truth[t]:
                    theta[t, k] = -np.inf


@compiled
def find_expectation(graph, i, work, sums, sharpness, image):
    """Write the image of the marginals; returns log Z of the sharpened scores."""
    local = work.local
    first, n, start, m = sizes(graph, i)
    states, ends, order = graph.nodes.states[first:], graph.edges.ends[start:], sums.order[start:]
    theta, pair = sums.theta[:n], sums.pair[:m]
    sharpen(local.theta.reshape(-1), sharpness, theta.reshape(-1))
    sharpen(local.pair.reshape(-1), sharpness, pair.reshape(-1))
    if graph.known.size > 0:
        limit(graph.known[first:], graph.loss.truth[first:], states, n, theta)
    log_z = sum_product(theta, states, ends, pair, n, m, order, sums.work, sums.node, sums.edge)
    at, end = block_range(graph, i)
    write_image(
        graph.edges, states, start, n, m, sums.node, sums.edge, local.coefficient, image[: end - at]
    )
    return log_z


@compiled
def find_image_score(graph, w, i, work, image):
    local = work.local
    at, end = block_range(graph, i)
    n = graph.pointer[i + 1] - graph.pointer[i]
    return image_score(image[: end - at], n, local.theta, w[graph.edges.weights_at :])


@compiled
def find_image_loss(graph, i, image):
    first, n, _, _ = sizes(graph, i)
    return graph.loss.scale[i] * loss_of_image(graph.loss, graph.nodes.type, first, n, image)


@compiled
def write_true_image(graph, i, image):
    first, n, start, m = sizes(graph, i)
    at, end = block_range(graph, i)
    image[: end - at] = 0.0
    add_label_image(graph.edges, start, n, m, graph.loss.truth[first:], 1.0, image)


def new_graph_sums(problem: Any) -> GraphSums:
    """Scratch memory; raises an error that says why there is no exact oracle."""
    if problem.has_counts:
        raise ValueError(
            "there are limits on the numbers of nodes in a state (counts), under which no sum over "
            'labellings is exact; train without counts, or the relaxed CRF by solver="idal"'
        )
    order = problem.arrays.search.order
    if order.size == 0:  # max-sum is not what finds the best labelling
        order = _forest_order(problem)
    return _graph_sums(order, problem.most_nodes, problem.most_edges, problem.width)


def _forest_order(problem: Any) -> np.ndarray:
    nodes, edges = problem.arrays.nodes, problem.arrays.edges
    shared = problem.n > 1 and bool(edges.stop[0] > 0 and edges.start[1] == 0)
    topology = Topology(problem.pointer, nodes.states, edges.ends, edges.start, edges.stop, shared)
    cycle = topology.cycle()
    if cycle is not None:
        raise ValueError(
            f"the edges of graph {cycle} close a cycle, and sums over all labellings are exact on "
            'forests only: leave edges out, or train the relaxed CRF by solver="idal"'
        )
    return topology.order()
