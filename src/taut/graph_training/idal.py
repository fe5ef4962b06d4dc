"""SoftSDCA and IDAL: proximal block steps for CRFs with a quadratic entropy (Hu and Obozinski).

The Gini entropy H(mu) = sum over nodes and edges of 1 - |mu_c|^2 is defined for inconsistent
marginals too, and makes the dual strongly concave. With xi = nu, A = -B, lambda = 1 / C and blocks
(*cliques*) c, the two listings are

    Algorithm 1, IDAL
    2   mu_c = 1 / k_c everywhere, xi = 0                                       ``fill_uniform``
    3   for t = 1, 2, ...
    4       mu = T_in steps of algorithm 2 from mu                              ``sdca``
    5       stop if the gap is small and A mu too                               the loop of all runs
    6       xi <- xi - A mu / L_d                                               ``after_pass``

    Algorithm 2, SDCA, which goes on from mu: T_in times
    3       draw a clique c                                                     ``draw_blocks``
    4       mu_c <- Prox(mu_c - gradient of r / L_c)                            ``prox_node``
              = Proj((L_c mu_c + theta_hat_c) / (L_c + 2 gamma))                ``prox_edge``

and w and delta follow. L_c = C s |x|^2 lambda_max(U'U) + N / rho for a node with N edges, and
likewise with the larger number of its ends' states in place of N for an edge (of its joint states
over the fewest states of a member, for a larger clique): on directions that
sum to zero, which are all that matter, these are the eigenvalues of the penalty. T_in = 2 |blocks|.
Line 6 is a gradient step on the smooth max_mu D_rho(mu, xi), with 1 / L_d = 1 / rho + 2 gamma / s
and s >= |A|^2. Without it, that is for xi = 0, the algorithm is SoftSDCA. At temperature 0 the
problem is the structured SVM's, and mu starts at the truth.

Reference: Hu, Obozinski (2018), SDCA-powered inexact dual augmented Lagrangian method for fast CRF
learning. L_d and the constants on zero-sum directions are not in the paper.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from taut._compile import compiled
from taut.graph_training.count_steps import step_count
from taut.graph_training.factor_solver import FactorSolver
from taut.graph_training.factor_state import RHO, STEPS, View
from taut.graph_training.multipliers import rho_over_L_d, update_multipliers
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
    node_constants,
    node_curvature,
    note_progress,
    point_toward,
    reparametrise_edge,
    reparametrise_node,
)
from taut.graph_training.table_steps import (
    first_table,
    most_summed,
    move_table,
    reparametrise_table,
    table_constant,
    table_curvature,
    table_weight,
)
from taut.inference.local_polytope import simplex_threshold
from taut.solvers.sampling import Order


@dataclass(frozen=True)
class SoftSDCA(FactorSolver):
    """Proximal steps on one node or edge at a time, with soft consistency."""

    takes_tables: ClassVar[bool] = True

    name: ClassVar[str] = "soft-constraint dual coordinate ascent"

    def move(self, view: View, n_steps: int) -> None:
        sdca(view, n_steps)


@dataclass(frozen=True)
class IDAL(SoftSDCA):
    """SoftSDCA with multipliers: the inexact dual augmented Lagrangian.

    ``passes`` of the inner solver lie between two updates. Cliques are drawn uniformly, as in the
    paper. Going from example to example ("permuted") took a fifth of the time on Yeast and as much
    on Potts grids, but updates of inner problems half solved can then wander: on superpixels with
    lambda = gamma = 10, rho = 1, the soft gap was still 2e-2 after 500 passes, and 5e-6 after 200
    uniform ones. Nesterov's momentum on the updates, the paper's future work, was tried and left
    out: up to a quarter fewer passes on some problems, and no convergence on others.
    """

    order: Order | str = Order.UNIFORM
    passes: int = 2

    closes_bracket: ClassVar[bool] = True
    has_multipliers: ClassVar[bool] = True
    name: ClassVar[str] = "inexact dual augmented Lagrangian"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_passes("passes")

    def after_pass(self, view: View, passes: int) -> None:
        """Algorithm 1, line 6, once line 4 has taken its T_in steps."""
        if not self.tightens(view) and passes % self.passes == 0:
            update_multipliers(view, rho_over_L_d(view))


# --- algorithm 2 ---------------------------------------------------------------------------------


@compiled
def sdca(view, n_steps):
    """So many cliques, or as many more as complete an example."""
    count, factors = view.state.count, view.factors
    n_nodes, n_edges = factors.node_at.size - 1, factors.edge_at.size - 1
    first = first_table(factors)
    end = count[STEPS] + n_steps
    while count[STEPS] < end:
        t, t_end, e, e_end, f, f_end, g, g_end = draw_blocks(view)  # line 3
        for node in range(t, t_end):
            count_visit(view, node, prox_node(view, node))
        for edge in range(e, e_end):
            count_visit(view, n_nodes + edge, prox_edge(view, edge))
        for of_counts in range(f, f_end):
            gap = step_count(view, of_counts, False)
            count_visit(view, n_nodes + n_edges + of_counts, gap)
        for table in range(g, g_end):
            count_visit(view, first + table, prox_table(view, table))


@compiled
def prox_node(view, t):
    """Line 4 for a node; returns the block's gap, weighted."""
    factors, state, temperature = view.factors, view.state, view.rules.temperature
    at, end = factors.node_at[t], factors.node_at[t + 1]
    mu, d = state.node[at:end], state.scratch.d[: end - at]
    theta, weight = state.scratch.theta[: end - at], view.importance[factors.owner[t]]
    reparametrise_node(view, t, theta)
    best, _, gap = best_and_worst(theta, mu, temperature)
    norm, penalty = node_constants(view, t)
    L = norm * factors.node_spread[view.graph.nodes.type[t]] + penalty
    point_to_prox(theta, mu, L + 2.0 * temperature, best, d)
    gain, curvature = gain_along(theta, d), node_curvature(view, t, d)
    step = exact_step(gain, curvature, 1.0)  # comes out as 1: L bounds the curvature
    if step > 0.0:
        note_progress(view, weight, step, gain, curvature)
        move_node(view, t, d, step)
    return weight * gap


@compiled
def prox_edge(view, e):
    """Line 4 for an edge; returns the block's gap, weighted."""
    factors, state, temperature = view.factors, view.state, view.rules.temperature
    at, end = factors.edge_at[e], factors.edge_at[e + 1]
    mu, d = state.edge[at:end], state.scratch.d[: end - at]
    theta, weight = state.scratch.theta[: end - at], edge_weight(view, e)
    reparametrise_edge(view, e, theta)
    best, _, gap = best_and_worst(theta, mu, temperature)
    spread = factors.edge_spread[view.graph.edges.type[factors.number[e]]]
    n_u, n_v = edge_shape(view, e)
    L = edge_constant(view, e) * spread + max(n_u, n_v) * (1.0 / state.total[RHO])
    point_to_prox(theta, mu, L + 2.0 * temperature, best, d)
    gain, curvature = gain_along(theta, d), edge_curvature(view, e, d)
    step = exact_step(gain, curvature, 1.0)
    if step > 0.0:
        note_progress(view, weight, step, gain, curvature)
        move_edge_table(view, e, d, step)
    return weight * gap


@compiled
def prox_table(view, f):
    """Line 4 for a clique of three or more variables; returns the block's gap, weighted."""
    tables, state, temperature = view.factors.tables, view.state, view.rules.temperature
    at, end = tables.at[f], tables.at[f + 1]
    mu, d = state.edge[at:end], state.scratch.d[: end - at]
    theta, weight = state.scratch.theta[: end - at], table_weight(view, f)
    reparametrise_table(view, f, theta)
    best, _, gap = best_and_worst(theta, mu, temperature)
    L = table_constant(view, f) + most_summed(view, f) * (1.0 / state.total[RHO])
    point_to_prox(theta, mu, L + 2.0 * temperature, best, d)
    gain, curvature = gain_along(theta, d), table_curvature(view, f, d)
    step = exact_step(gain, curvature, 1.0)
    if step > 0.0:
        note_progress(view, weight, step, gain, curvature)
        move_table(view, f, d, step)
    return weight * gap


@compiled(inline=True)
def point_to_prox(g, mu, L, best, d):
    """d = Proj(mu + g / L) - mu, for the gradient g and L + 2 gamma in the place of L.

    That is Proj((L mu + theta_hat) / (L + 2 gamma)) - mu, since g = theta_hat - 2 gamma mu.
    """
    if L <= 0.0:  # the dual is linear
        point_toward(best, mu, d)
        return
    shrink = 1.0 / L
    top = -np.inf
    for k in range(mu.size):
        d[k] = mu[k] + shrink * g[k]
        top = max(top, d[k])
    threshold = simplex_threshold(d, top - 1.0)
    for k in range(mu.size):
        d[k] = max(d[k] - threshold, 0.0) - mu[k]
