"""A step on one block: a node, an edge or a count factor, all others held.

The dual, per example and divided by C s_i, is a concave quadratic in each block's marginals with
gradient g = theta_hat - 2 gamma mu. Three directions:

    toward     d = e_best - mu                   Frank-Wolfe (Meshi et al. 2015, algorithm 1)
    pairwise   d = e_best - e_worst              worst of the states with mu > 0
    projected  d = Proj((L mu + theta_hat) / (L + 2 gamma)) - mu       SDCA (Hu & Obozinski, alg. 2)

The first two take the exact step  <g, d> / (C s |Phi d|^2 + |B d|^2 / rho + 2 gamma |d|^2), cut to
stay in the simplex; that of the third comes out as 1, because L bounds the curvature.

A count factor has no weights, and only its members' marginals p matter. Toward, it is a
Frank-Wolfe step in those (Meshi's appendix D); otherwise the best p given the rest, a projection.
"""

from enum import IntEnum

import numpy as np

from taut._compile import compiled
from taut.graph_training.factor_state import PROGRESS, RHO, STEPS
from taut.inference.counts import best_count, project_count
from taut.inference.local_polytope import marginals_of_table, simplex_threshold
from taut.solvers.sampling import draw, set_gap
from taut.structures.graphs.blocks import (
    add_messages_to_node,
    add_node_loss,
    clip_edge,
    clip_node,
    combine_edge,
    combine_node,
    combine_two_cells,
    push_edge,
    push_node,
    take_messages_of_edge,
)
from taut.structures.graphs.kernels import score_edge, score_node


class Step(IntEnum):
    TOWARD = 0
    PAIRWISE = 1
    PROJECTED = 2


TOWARD, PAIRWISE = int(Step.TOWARD), int(Step.PAIRWISE)  # as kernels know them


@compiled(inline=True)
def best_and_worst(theta, mu, temperature):
    """States with the largest entry of the gradient and, of those with mu > 0, the smallest.

    ``theta`` becomes the gradient g. Returns them and the Frank-Wolfe gap max g - <g, mu>.
    """
    best, worst = 0, -1
    top, bottom, mean = -np.inf, np.inf, 0.0
    for k in range(mu.size):
        gradient = theta[k] - 2.0 * temperature * mu[k]
        theta[k] = gradient
        mean += gradient * mu[k]
        if gradient > top:
            best, top = k, gradient
        if mu[k] > 0.0 and gradient < bottom:
            worst, bottom = k, gradient
    return best, worst, top - mean


@compiled(inline=True)
def write_direction(step, theta, mu, temperature, curvature, best, worst, d):
    """The direction d; ``theta`` is the gradient, ``curvature`` the bound L of projected steps.

    Returns its gain <g, d> and the largest step.
    """
    if step == PAIRWISE:
        for k in range(mu.size):
            d[k] = 0.0
        d[best], d[worst] = 1.0, -1.0
        return theta[best] - theta[worst], mu[worst]
    if step == TOWARD or curvature + 2.0 * temperature <= 0.0:
        for k in range(mu.size):
            d[k] = -mu[k]
        d[best] += 1.0
    else:
        shrink = 1.0 / (curvature + 2.0 * temperature)
        top = -np.inf
        for k in range(mu.size):
            d[k] = mu[k] + shrink * theta[k]
            top = max(top, d[k])
        threshold = simplex_threshold(d, top - 1.0)
        for k in range(mu.size):
            d[k] = max(d[k] - threshold, 0.0) - mu[k]
    gain = 0.0
    for k in range(mu.size):
        gain += theta[k] * d[k]
    return gain, 1.0


@compiled(inline=True)
def squares(values):
    total = 0.0
    for j in range(values.size):
        total += values[j] * values[j]
    return total


@compiled(inline=True)
def exact_step(gain, curvature, most):
    if gain <= 0.0:
        return 0.0
    # Equal features and a different loss: the dual is linear along d.
    if curvature * most <= gain:
        return most
    return gain / curvature


@compiled
def visit_node(view, t):
    """One step on node t; returns the block's gap, weighted."""
    graph, factors, rules, state = view.graph, view.factors, view.rules, view.state
    nodes, scratch, i = graph.nodes, state.scratch, factors.owner[t]
    at, end = factors.node_at[t], factors.node_at[t + 1]
    mu, theta, d = state.node[at:end], scratch.theta[: end - at], scratch.d[: end - at]
    first, last = factors.sender_start[t], factors.sender_start[t + 1]
    score_node(nodes, state.w, t, scratch.c, theta)
    add_node_loss(nodes, graph.loss, t, graph.loss.scale[i], theta)
    add_messages_to_node(factors, state.delta, t, theta)
    best, worst, gap = best_and_worst(theta, mu, rules.temperature)
    gap *= view.importance[i]
    if best == worst and rules.step == PAIRWISE:
        return gap
    scale, per_rho = rules.C * view.importance[i], 1.0 / state.total[RHO]
    norm, penalty = scale * factors.row_norm[nodes.row[t]], (last - first) * per_rho
    bound = norm * factors.node_spread[nodes.type[t]] + penalty
    gain, most = write_direction(rules.step, theta, mu, rules.temperature, bound, best, worst, d)
    size = combine_node(nodes, t, d, scratch.c)
    curvature = norm * squares(scratch.c[:size])
    curvature += (penalty + 2.0 * rules.temperature) * squares(d)
    step = exact_step(gain, curvature, most)
    if step == 0.0:
        return gap
    state.total[PROGRESS] += view.importance[i] * step * (gain - 0.5 * step * curvature)
    push_node(nodes, t, scratch.c[:size], -scale * step, state.v)
    if state.lower.size > 0:
        clip_node(nodes, t, size, state.v, state.lower, state.upper, state.w)
    for k in range(d.size):
        mu[k] += step * d[k]
        d[k] *= step * per_rho
    for position in range(first, last):
        message = factors.sender_at[position]
        for k in range(d.size):
            state.delta[message + k] -= d[k]
    return gap


@compiled(inline=True)
def swap_cells(view, e, best, worst, messages, weight):
    """The pairwise step on edge e: only two cells of its table change, and what depends on them.

    Scratch memory has the gradient.
    """
    factors, rules, state, edges = view.factors, view.rules, view.state, view.graph.edges
    theta, c, number = state.scratch.theta, state.scratch.c, factors.number[e]
    mu = state.edge[factors.edge_at[e] : factors.edge_at[e + 1]]
    v = factors.ends[e, 1]
    n_v = factors.node_at[v + 1] - factors.node_at[v]
    k, other = best // n_v, best % n_v
    k_from, other_from = worst // n_v, worst % n_v
    n_u = messages.size - n_v
    size = combine_two_cells(edges, number, k, other, k_from, other_from, c)
    per_rho = 1.0 / state.total[RHO]
    differ = int(k != k_from) + int(other != other_from)  # truths of NumPy do not add up
    gain, most = theta[best] - theta[worst], mu[worst]
    norm = rules.C * weight * factors.edge_norm[number]
    curvature = norm * squares(c[:size]) + 2.0 * differ * per_rho + 4.0 * rules.temperature
    step = exact_step(gain, curvature, most)
    state.total[PROGRESS] += weight * step * (gain - 0.5 * step * curvature)
    push_edge(edges, number, c[:size], -rules.C * weight * step, state.v)
    if state.lower.size > 0:
        clip_edge(edges, number, size, state.v, state.lower, state.upper, state.w)
    mu[best] += step
    mu[worst] -= step
    if k != k_from:
        messages[k] += step * per_rho
        messages[k_from] -= step * per_rho
    if other != other_from:
        messages[n_u + other] += step * per_rho
        messages[n_u + other_from] -= step * per_rho


@compiled
def visit_edge(view, e):
    """One step on edge e; returns the block's gap, weighted."""
    factors, rules, state = view.factors, view.rules, view.state
    edges, scratch, number = view.graph.edges, state.scratch, factors.number[e]
    at, end = factors.edge_at[e], factors.edge_at[e + 1]
    messages = state.delta[factors.message_at[e] : factors.message_at[e + 1]]
    u = factors.ends[e, 0]
    n_u = factors.node_at[u + 1] - factors.node_at[u]
    n_v = messages.size - n_u
    mu, theta, d = state.edge[at:end], scratch.theta[: end - at], scratch.d[: end - at]
    score_edge(edges, state.w, number, n_v, scratch.c, theta)
    take_messages_of_edge(messages, n_u, n_v, theta)
    best, worst, gap = best_and_worst(theta, mu, rules.temperature)
    weight = view.importance[factors.owner[factors.node_at.size - 1 + e]]
    gap *= weight
    scale, per_rho = rules.C * weight, 1.0 / state.total[RHO]
    norm = scale * factors.edge_norm[number]
    if rules.step == PAIRWISE:
        if best != worst and worst >= 0:  # scores that are not numbers leave it at -1
            swap_cells(view, e, best, worst, messages, weight)
        return gap
    bound = norm * factors.edge_spread[edges.type[number]] + max(n_u, n_v) * per_rho
    gain, most = write_direction(rules.step, theta, mu, rules.temperature, bound, best, worst, d)
    size = combine_edge(edges, number, n_v, d, scratch.c)
    c, to_u, to_v = scratch.c[:size], scratch.first[:n_u], scratch.second[:n_v]
    marginals_of_table(d, to_u, to_v)
    curvature = norm * squares(c) + (squares(to_u) + squares(to_v)) * per_rho
    curvature += 2.0 * rules.temperature * squares(d)
    step = exact_step(gain, curvature, most)
    if step == 0.0:
        return gap
    state.total[PROGRESS] += weight * step * (gain - 0.5 * step * curvature)
    push_edge(edges, number, c, -scale * step, state.v)
    if state.lower.size > 0:
        clip_edge(edges, number, size, state.v, state.lower, state.upper, state.w)
    for k in range(d.size):
        mu[k] += step * d[k]
    for k in range(n_u):
        messages[k] += step * per_rho * to_u[k]
    for other in range(n_v):
        messages[n_u + other] += step * per_rho * to_v[other]
    return gap


@compiled
def visit_count(view, f):
    """One step on count factor f; returns the block's gap, weighted."""
    factors, state = view.factors, view.state
    scratch, rho = state.scratch, state.total[RHO]
    n_nodes, n_edges = factors.node_at.size - 1, factors.edge_at.size - 1
    at, end = factors.count_at[f], factors.count_at[f + 1]
    messages = state.delta[factors.message_at[n_edges + f] : factors.message_at[n_edges + f + 1]]
    p, gain, d = state.chosen[at:end], scratch.theta[: end - at], scratch.d[: end - at]
    mean = 0.0
    for j in range(p.size):
        gain[j] = messages[2 * j] - messages[2 * j + 1]
        mean += gain[j] * p[j]
    best = best_count(gain, factors.low[f], factors.high[f], scratch.sorted, d)
    gap = best - mean
    step = 1.0
    if view.rules.step == TOWARD:
        for j in range(p.size):
            d[j] -= p[j]
        step = exact_step(gap, 2.0 * squares(d) / rho, 1.0)
    else:
        target = scratch.first[: p.size]
        for j in range(p.size):
            target[j] = p[j] + 0.5 * rho * gain[j]
        project_count(target, factors.low[f], factors.high[f], d)
        for j in range(p.size):
            d[j] -= p[j]
    gained = 0.0
    for j in range(p.size):
        gained += gain[j] * d[j]
    weight = view.importance[factors.owner[n_nodes + n_edges + f]]
    state.total[PROGRESS] += weight * step * (gained - step * squares(d) / rho)
    for j in range(p.size):
        p[j] += step * d[j]
        messages[2 * j] -= step / rho * d[j]
        messages[2 * j + 1] += step / rho * d[j]
    return weight * gap


@compiled
def example_steps(view, n_steps):
    """Visit all blocks of one example after the other, until there were so many."""
    graph, factors, state = view.graph, view.factors, view.state
    sampler, count = state.sampler, state.count
    end = count[STEPS] + n_steps
    while count[STEPS] < end:
        i = draw(sampler.kind, sampler.permutation, sampler.position, sampler.tree, sampler.random)
        for t in range(graph.pointer[i], graph.pointer[i + 1]):
            visit_node(view, t)
            count[STEPS] += 1
        for e in range(factors.edge_start[i], factors.edge_start[i + 1]):
            visit_edge(view, e)
            count[STEPS] += 1
        for f in range(factors.count_start[i], factors.count_start[i + 1]):
            visit_count(view, f)
            count[STEPS] += 1


@compiled
def drawn_steps(view, n_steps):
    """Visit any blocks, at random or by their gaps."""
    factors, sampler, count = view.factors, view.state.sampler, view.state.count
    n_nodes, n_edges = factors.node_at.size - 1, factors.edge_at.size - 1
    for _ in range(n_steps):
        block = draw(
            sampler.kind, sampler.permutation, sampler.position, sampler.tree, sampler.random
        )
        if block < n_nodes:
            gap = visit_node(view, block)
        elif block < n_nodes + n_edges:
            gap = visit_edge(view, block - n_nodes)
        else:
            gap = visit_count(view, block - n_nodes - n_edges)
        set_gap(sampler.tree, block, gap)
        count[STEPS] += 1
