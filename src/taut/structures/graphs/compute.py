"""What solvers ask of a graph problem; i is the example's number."""

import numpy as np

from taut._compile import both_modes, compiled
from taut.arrays.accumulator import add_scaled
from taut.inference.labelling import labelling_score
from taut.structures.graphs.kernels import (
    add_difference,
    add_edges,
    add_label_image,
    add_losses,
    image_score,
    loss_of_image,
    loss_of_states,
    margin_of_image,
    margin_of_states,
    push_nodes,
    push_sums,
    score_edges,
    score_nodes,
)


@both_modes
def sizes(graph, i):
    """First node, number of nodes, first edge, number of edges."""
    first, start = graph.pointer[i], graph.edges.start[i]
    return first, graph.pointer[i + 1] - first, start, graph.edges.stop[i] - start


@both_modes
def block_range(graph, i):
    """Where the dual block of example i begins and ends."""
    width, n_weights = graph.nodes.width, graph.edges.n_weights
    return (
        graph.pointer[i] * width + i * n_weights,
        graph.pointer[i + 1] * width + (i + 1) * n_weights,
    )


@compiled
def prepare_scores(graph, w, i, work):
    local = work.local
    first, n, start, m = sizes(graph, i)
    score_nodes(graph.nodes, w, first, n, local.coefficient, local.theta)
    score_edges(graph.edges, w, start, m, local.coefficient, local.pair)


@compiled
def prepare_losses(graph, i, work):
    local = work.local
    first, n, _, _ = sizes(graph, i)
    add_losses(graph.loss, graph.nodes.type, first, n, graph.loss.scale[i], local.theta)


@compiled
def find_truth_score(graph, i, work):
    local = work.local
    first, n, start, m = sizes(graph, i)
    truth = graph.loss.truth[first:]
    return labelling_score(local.theta, graph.edges.ends[start:], local.pair, n, m, truth)


@compiled
def find_label_score(graph, w, i, work, y):
    local = work.local
    _, n, start, m = sizes(graph, i)
    if graph.search.relaxed:
        at, end = block_range(graph, i)
        image = y[: 2 * (end - at)].view(np.float64)
        return image_score(image, n, local.theta, w[graph.edges.weights_at :])
    return labelling_score(local.theta, graph.edges.ends[start:], local.pair, n, m, y)


@compiled
def find_mean_score(graph, w, i, work, mu):
    local = work.local
    at, end = block_range(graph, i)
    n = graph.pointer[i + 1] - graph.pointer[i]
    return image_score(mu[at:end], n, local.theta, w[graph.edges.weights_at :])


@compiled
def find_label_loss(graph, i, y):
    first, n, _, _ = sizes(graph, i)
    loss, types = graph.loss, graph.nodes.type
    if graph.search.relaxed:
        at, end = block_range(graph, i)
        image = y[: 2 * (end - at)].view(np.float64)
        return loss.scale[i] * loss_of_image(loss, types, first, n, image)
    return loss.scale[i] * loss_of_states(loss, types, first, n, y)


@compiled
def add_labelling(graph, i, y, amount, change):
    _, n, start, m = sizes(graph, i)
    if graph.search.relaxed:
        at, end = block_range(graph, i)
        add_scaled(y[: 2 * (end - at)].view(np.float64), amount, change)
    else:
        add_label_image(graph.edges, start, n, m, y, amount, change)


@compiled
def project_change(graph, i, work, amount, delta):
    local = work.local
    first, n, _, _ = sizes(graph, i)
    edges, at = graph.edges, n * graph.nodes.width
    push_nodes(graph.nodes, first, n, local.change, amount, local.coefficient, delta)
    push_sums(local.change[at : at + edges.n_weights], edges.weights_at, amount, delta)


@both_modes
def find_truth_sums(graph, i, local):
    """The edge part of the truth's image, computed again only if the example has changed."""
    if local.truth_of[0] != i:
        first, _, start, m = sizes(graph, i)
        local.truth_of[0] = i
        local.truth_sums[:] = 0.0
        add_edges(graph.edges, start, m, graph.loss.truth[first:], 1.0, local.truth_sums)


@compiled
def find_margin(graph, w, i, work, y):
    local = work.local
    first, n, start, m = sizes(graph, i)
    nodes, edges, truth = graph.nodes, graph.edges, graph.loss.truth[first:]
    if graph.search.relaxed:
        find_truth_sums(graph, i, local)
        at, end = block_range(graph, i)
        image = y[: 2 * (end - at)].view(np.float64)
        edge_weights = w[edges.weights_at :]
        return margin_of_image(nodes, first, n, truth, edge_weights, w, local, image)
    return margin_of_states(nodes, edges, first, start, n, m, truth, w, local, y)


@compiled
def add_shift(graph, i, work, y, amount):
    """The shifts of a visit are added up: their labellings share most of their features."""
    pending = work.local.pending
    first, n, start, m = sizes(graph, i)
    if graph.search.relaxed:
        # What each takes from the truth cancels in the sum.
        at, end = block_range(graph, i)
        add_scaled(y[: 2 * (end - at)].view(np.float64), amount, pending)
    else:
        truth = graph.loss.truth[first:]
        add_difference(graph.edges, start, n, m, truth, y, amount, pending)


@compiled
def make_shifts(graph, i, work, scale, mu, delta):
    local = work.local
    first, n, _, _ = sizes(graph, i)
    at, end = block_range(graph, i)
    edges, pending = graph.edges, local.pending[: end - at]
    push_nodes(graph.nodes, first, n, pending, -scale, local.coefficient, delta)
    push_sums(pending[n * graph.nodes.width :], edges.weights_at, -scale, delta)
    add_scaled(pending, 1.0, mu[at:end])
    pending[:] = 0.0


@compiled
def write_truth(graph, i, y):
    first, n, start, m = sizes(graph, i)
    truth = graph.loss.truth[first:]
    if graph.search.relaxed:
        at, end = block_range(graph, i)
        image = y[: 2 * (end - at)].view(np.float64)
        image[:] = 0.0
        add_label_image(graph.edges, start, n, m, truth, 1.0, image)
    else:
        for t in range(n):
            y[t] = truth[t]
