"""The steps by name for tables, factors over three or more variables; see ``steps``.

    theta_hat(s) = theta(s) - sum over its variables j of delta_cj(s_j)
    curvature    = (C s_i |z|^2 + 2 gamma) |d|^2 + sum_j |d_j|^2 / rho

with d_j the marginals of d; a table has a weight for each joint state, so |Phi d|^2 = |z|^2 |d|^2.
"""

from taut._compile import compiled
from taut.graph_training.factor_state import RHO
from taut.graph_training.steps import squares
from taut.inference.joint_tables import marginals_of_joint, take_from_joint
from taut.structures.graphs.table_factors import clip_table, push_table, score_table


@compiled(inline=True)
def first_table(factors):
    """The number of the first block that is a table: they are the last ones."""
    return factors.owner.size - factors.tables.norm.size


@compiled(inline=True)
def table_weight(view, f):
    return view.importance[view.factors.owner[first_table(view.factors) + f]]


@compiled
def reparametrise_table(view, f, theta):
    """theta_hat(s) = theta(s) - the messages to all members."""
    tables, state = view.factors.tables, view.state
    score_table(view.graph.tables, state.w, f, theta)
    messages = state.delta[tables.message_at[f] : tables.message_at[f + 1]]
    size = tables.size[tables.pointer[f] : tables.pointer[f + 1]]
    take_from_joint(messages, size, theta)


@compiled(inline=True)
def table_constant(view, f):
    """C s |z|^2, of which a table's curvature is made."""
    return view.rules.C * table_weight(view, f) * view.factors.tables.norm[f]


@compiled(inline=True)
def most_summed(view, f):
    """The largest |B d|^2 / |d|^2: so many entries make up one number of a member's marginals."""
    tables = view.factors.tables
    fewest = tables.size[tables.pointer[f]]
    for j in range(tables.pointer[f], tables.pointer[f + 1]):
        fewest = min(fewest, tables.size[j])
    return (tables.at[f + 1] - tables.at[f]) // fewest


@compiled
def table_curvature(view, f, d):
    """Scratch memory gets B d: the marginals of the change."""
    tables = view.factors.tables
    to_members = view.state.scratch.first[: tables.message_at[f + 1] - tables.message_at[f]]
    marginals_of_joint(d, tables.size[tables.pointer[f] : tables.pointer[f + 1]], to_members)
    of_table = table_constant(view, f) + 2.0 * view.rules.temperature
    return of_table * squares(d) + squares(to_members) * (1.0 / view.state.total[RHO])


@compiled
def move_table(view, f, d, step):
    """mu += step d, w = Psi mu, delta = nu + B mu / rho; ``table_curvature`` was called before."""
    tables, state = view.factors.tables, view.state
    scale, per_rho = view.rules.C * table_weight(view, f), 1.0 / state.total[RHO]
    push_table(view.graph.tables, f, d, -scale * step, state.v)
    if state.lower.size > 0:
        clip_table(view.graph.tables, f, d, state.v, state.lower, state.upper, state.w)
    mu = state.edge[tables.at[f] : tables.at[f + 1]]
    for k in range(d.size):
        mu[k] += step * d[k]
    messages = state.delta[tables.message_at[f] : tables.message_at[f + 1]]
    for k in range(messages.size):
        messages[k] += step * per_rho * state.scratch.first[k]
