"""A step on a table factor: lines 10 to 12, 14 and 15 of ``soft_bcfw`` for three or more variables.

    theta_hat(s) = theta(s) - sum over its variables j of delta_cj(s_j)
    gamma = <theta_hat, d> / (C s_i |Phi d|^2 + sum_j |d_j|^2 / rho)

with d_j the marginals of d; a table has a weight per joint state s, so |Phi d|^2 = |z|^2 |d|^2.
"""

from taut._compile import compiled
from taut.graph_training.factor_state import RHO
from taut.graph_training.steps import (
    best_and_worst,
    exact_step,
    gain_along,
    note_progress,
    point_toward,
    squares,
)
from taut.inference.joint_tables import marginals_of_joint, take_from_joint
from taut.structures.graphs.table_factors import clip_table, push_table, score_table


@compiled
def reparametrise_table(view, f, theta):
    """theta_hat(s) = theta(s) - the messages to all members."""
    tables, state = view.factors.tables, view.state
    score_table(view.graph.tables, state.w, f, theta)
    messages = state.delta[tables.message_at[f] : tables.message_at[f + 1]]
    size = tables.size[tables.pointer[f] : tables.pointer[f + 1]]
    take_from_joint(messages, size, theta)


@compiled
def visit_table(view, f, pairwise):
    """One step on table f; returns the block's gap, weighted."""
    factors, state, temperature = view.factors, view.state, view.rules.temperature
    tables = factors.tables
    at, end = tables.at[f], tables.at[f + 1]
    mu, d = state.edge[at:end], state.scratch.d[: end - at]
    theta = state.scratch.theta[: end - at]
    weight = view.importance[factors.owner[factors.owner.size - tables.norm.size + f]]
    reparametrise_table(view, f, theta)
    best, worst, gap = best_and_worst(theta, mu, temperature)
    if pairwise:
        if best == worst or worst < 0:  # scores that are not numbers leave it at -1
            return weight * gap
        for k in range(d.size):
            d[k] = 0.0
        d[best], d[worst] = 1.0, -1.0
        gain, most = theta[best] - theta[worst], mu[worst]
    else:
        point_toward(best, mu, d)
        gain, most = gain_along(theta, d), 1.0
    messages = state.delta[tables.message_at[f] : tables.message_at[f + 1]]
    change, per_rho = state.scratch.first[: messages.size], 1.0 / state.total[RHO]
    marginals_of_joint(d, tables.size[tables.pointer[f] : tables.pointer[f + 1]], change)
    of_weights = view.rules.C * weight * tables.norm[f]
    curvature = (of_weights + 2.0 * temperature) * squares(d) + squares(change) * per_rho
    step = exact_step(gain, curvature, most)
    if step > 0.0:
        note_progress(view, weight, step, gain, curvature)
        move_table(view, f, d, step)
        for k in range(d.size):
            mu[k] += step * d[k]
        for k in range(change.size):
            messages[k] += step * per_rho * change[k]
    return weight * gap


@compiled
def move_table(view, f, d, step):
    """w = Psi mu."""
    factors, state, tables = view.factors, view.state, view.graph.tables
    owner = factors.owner[factors.owner.size - factors.tables.norm.size + f]
    push_table(tables, f, d, -view.rules.C * view.importance[owner] * step, state.v)
    if state.lower.size > 0:
        clip_table(tables, f, d, state.v, state.lower, state.upper, state.w)
