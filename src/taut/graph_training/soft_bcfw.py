"""Block-coordinate Frank-Wolfe with soft constraints: SoftBCFW (Meshi's algorithm 1).

The constraint that an edge's table agrees with its nodes becomes a penalty; what is left is a
product of simplices, one per node (a *variable* i) and edge (a *factor* c). The listing, with n in
the place of M, rho and C as in a sum over examples, and B for the paper's A without its scale:

     1  w = 0, delta = 0, mu = the truth                                        ``fill_truth``
     2  repeat                                                                  ``soft_bcfw``
     3      draw a block
     5      variable i:  theta_hat(k) = theta(k) + sum over c of delta_ci(k)
     6                   s = the corner at argmax theta_hat,   d = s - mu
     7                   gamma = <theta_hat, d> / (C s_i |Phi d|^2 + N |d|^2 / rho), cut to [0, 1]
    10      factor c:    theta_hat(k, l) = theta(k, l) - delta_cu(k) - delta_cv(l)
    11                   s = the corner at argmax theta_hat,   d = s - mu
    12                   gamma = <theta_hat, d> / (C s_i |Phi d|^2 + (|d_u|^2 + |d_v|^2) / rho)
    14      mu <- mu + gamma d
    15      w = Psi mu,   delta = B mu / rho

d_u and d_v are the marginals of d, N the number of factors that the variable is in. A factor
of three or more variables is a *table*, with messages to all of them. A *pairwise*
step, which is not in the paper, goes from the worst state with mu > 0 to the best one and converges
linearly: d = e_best - e_worst, and gamma is at most mu(worst).

The limit is the penalised problem's optimum, near the hard one's for small rho. A small rho holds a
block where its neighbours are, so that all move slowly at first; the paper's section 7 suggests to
start loose and tighten, which is what ``anneal`` does.

Reference: Meshi, Srebro, Hazan (2015), Efficient training of structured SVMs via soft constraints.
As printed, lines 7 and 12 diverge (sign of the penalty, its scale, 1/M in the gradient).
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar

from taut._compile import compiled
from taut.graph_training.count_steps import step_count
from taut.graph_training.factor_solver import FactorSolver
from taut.graph_training.factor_state import RHO, STEPS, View
from taut.graph_training.steps import (
    best_and_worst,
    count_visit,
    draw_blocks,
    edge_constant,
    edge_curvature,
    edge_shape,
    edge_weight,
    exact_step,
    gain_along,
    move_edge_table,
    move_node,
    move_weights_of_edge,
    node_curvature,
    note_progress,
    point_toward,
    reparametrise_edge,
    reparametrise_node,
    squares,
)
from taut.graph_training.table_steps import (
    first_table,
    move_table,
    reparametrise_table,
    table_curvature,
    table_weight,
)
from taut.solvers.checks import parsed
from taut.structures.graphs.blocks import combine_two_cells


class Step(IntEnum):
    TOWARD = 0
    PAIRWISE = 1


@dataclass(frozen=True)
class SoftBCFW(FactorSolver):
    """Frank-Wolfe on one node or edge at a time, with soft consistency.

    ``direction`` is "pairwise" (linear convergence) or "toward" (the paper's). Other options are
    those of :class:`taut.graph_training.factor_solver.FactorSolver`.

    >>> SoftBCFW(rho=0)
    Traceback (most recent call last):
    ValueError: rho=0; the penalty parameter must be a positive number: small values enforce \
consistency, 1 is a good start
    """

    direction: Step | str = Step.PAIRWISE

    takes_tables: ClassVar[bool] = True
    name: ClassVar[str] = "soft-constraint block-coordinate Frank-Wolfe"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "direction", parsed(Step, self.direction, "direction"))

    def move(self, view: View, n_steps: int) -> None:
        soft_bcfw(view, n_steps, self.direction == Step.PAIRWISE)


@compiled
def soft_bcfw(view, n_steps, pairwise):
    """Lines 2 to 16: so many blocks, or as many more as complete an example."""
    count, factors = view.state.count, view.factors
    n_nodes, n_edges = factors.node_at.size - 1, factors.edge_at.size - 1
    first = first_table(factors)
    end = count[STEPS] + n_steps
    while count[STEPS] < end:
        t, t_end, e, e_end, f, f_end, g, g_end = draw_blocks(view)  # line 3
        for node in range(t, t_end):
            count_visit(view, node, visit_variable(view, node, pairwise))
        for edge in range(e, e_end):
            count_visit(view, n_nodes + edge, visit_factor(view, edge, pairwise))
        for of_counts in range(f, f_end):
            gap = step_count(view, of_counts, not pairwise)
            count_visit(view, n_nodes + n_edges + of_counts, gap)
        for table in range(g, g_end):
            count_visit(view, first + table, visit_table(view, table, pairwise))


@compiled
def visit_variable(view, t, pairwise):
    """Lines 5 to 7, 14 and 15; returns the block's gap, weighted."""
    factors, state, temperature = view.factors, view.state, view.rules.temperature
    at, end = factors.node_at[t], factors.node_at[t + 1]
    mu, d = state.node[at:end], state.scratch.d[: end - at]
    theta, weight = state.scratch.theta[: end - at], view.importance[factors.owner[t]]
    reparametrise_node(view, t, theta)  # line 5
    best, worst, gap = best_and_worst(theta, mu, temperature)  # line 6
    if pairwise:
        if best == worst:
            return weight * gap
        for k in range(d.size):
            d[k] = 0.0
        d[best], d[worst] = 1.0, -1.0
        gain, most = theta[best] - theta[worst], mu[worst]
    else:
        point_toward(best, mu, d)
        gain, most = gain_along(theta, d), 1.0
    curvature = node_curvature(view, t, d)
    step = exact_step(gain, curvature, most)  # line 7
    if step > 0.0:
        note_progress(view, weight, step, gain, curvature)
        move_node(view, t, d, step)  # lines 14 and 15
    return weight * gap


@compiled
def visit_factor(view, e, pairwise):
    """Lines 10 to 12, 14 and 15; returns the block's gap, weighted."""
    factors, state, temperature = view.factors, view.state, view.rules.temperature
    at, end = factors.edge_at[e], factors.edge_at[e + 1]
    mu, d = state.edge[at:end], state.scratch.d[: end - at]
    theta, weight = state.scratch.theta[: end - at], edge_weight(view, e)
    reparametrise_edge(view, e, theta)  # line 10
    best, worst, gap = best_and_worst(theta, mu, temperature)  # line 11
    if pairwise:
        if best != worst and worst >= 0:  # scores that are not numbers leave it at -1
            swap_cells(view, e, best, worst, weight)
        return weight * gap
    point_toward(best, mu, d)
    gain, curvature = gain_along(theta, d), edge_curvature(view, e, d)
    step = exact_step(gain, curvature, 1.0)  # line 12
    if step > 0.0:
        note_progress(view, weight, step, gain, curvature)
        move_edge_table(view, e, d, step)  # lines 14 and 15
    return weight * gap


@compiled(inline=True)
def swap_cells(view, e, best, worst, weight):
    """The pairwise step on factor e: only two cells of its table change, and what depends on them.

    Scratch memory has the gradient.
    """
    factors, state = view.factors, view.state
    theta, c, number = state.scratch.theta, state.scratch.c, factors.number[e]
    mu = state.edge[factors.edge_at[e] : factors.edge_at[e + 1]]
    messages = state.delta[factors.message_at[e] : factors.message_at[e + 1]]
    n_u, n_v = edge_shape(view, e)
    k, other = best // n_v, best % n_v
    k_from, other_from = worst // n_v, worst % n_v
    size = combine_two_cells(view.graph.edges, number, k, other, k_from, other_from, c)
    per_rho = 1.0 / state.total[RHO]
    differ = int(k != k_from) + int(other != other_from)  # truths of NumPy do not add up
    curvature = edge_constant(view, e) * squares(c[:size])
    curvature = curvature + 2.0 * differ * per_rho + 4.0 * view.rules.temperature
    gain = theta[best] - theta[worst]
    step = exact_step(gain, curvature, mu[worst])
    note_progress(view, weight, step, gain, curvature)
    move_weights_of_edge(view, e, step)
    mu[best] += step
    mu[worst] -= step
    if k != k_from:
        messages[k] += step * per_rho
        messages[k_from] -= step * per_rho
    if other != other_from:
        messages[n_u + other] += step * per_rho
        messages[n_u + other_from] -= step * per_rho


@compiled
def visit_table(view, f, pairwise):
    """Lines 10 to 12, 14 and 15 for three or more variables; returns the block's gap, weighted."""
    tables, state, temperature = view.factors.tables, view.state, view.rules.temperature
    at, end = tables.at[f], tables.at[f + 1]
    mu, d = state.edge[at:end], state.scratch.d[: end - at]
    theta, weight = state.scratch.theta[: end - at], table_weight(view, f)
    reparametrise_table(view, f, theta)  # line 10
    best, worst, gap = best_and_worst(theta, mu, temperature)  # line 11
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
    curvature = table_curvature(view, f, d)
    step = exact_step(gain, curvature, most)  # line 12
    if step > 0.0:
        note_progress(view, weight, step, gain, curvature)
        move_table(view, f, d, step)  # lines 14 and 15
    return weight * gap
