"""A step on a count factor, which has no weights: only its members' marginals p matter.

Toward, it is a Frank-Wolfe step in those (Meshi's appendix D); otherwise p becomes the best there
is given the rest, a projection.
"""

from taut._compile import compiled
from taut.graph_training.factor_state import PROGRESS, RHO
from taut.graph_training.steps import exact_step, squares
from taut.inference.counts import best_count, project_count


@compiled
def step_count(view, f, toward):
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
    if toward:
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
