"""IDAL with the Gini-OTRW entropy (Hu & Obozinski 2018, sections 4.3 and 6.2).

The oriented tree-reweighted entropy (Globerson and Jaakkola 2007) of a random rooted tree,

    H(mu) = sum_i rho(i) H(X_i) + sum over edges of rho(u|v) H(X_u | X_v) + rho(v|u) H(X_v | X_u),

where rho(i) is the probability that i is the root and rho(u|v) that v is u's parent. Each term sees
one block only, an edge's the conditional entropies of its own table. Its expansion to second order
at the uniform marginals is, up to constants, -1/2 mu_c' Q_c mu_c with

    node   Q = rho(i) k_i I
    edge   Q = (rho(u|v) + rho(v|u)) k_u k_v I - rho(u|v) k_v A_v'A_v - rho(v|u) k_u A_u'A_u

and A_v a table's marginals of v. An edge's Q is positive semidefinite, but not definite; so, as
in section 6.2, the entropy is part of the smooth function, and a step is

    mu_c <- Proj(mu_c + g / L),    g = theta_hat - gamma Q mu_c,    L = L_c + gamma |Q|.

Trees are uniform spanning trees with a uniform root. With L+ the pseudoinverse of a component's
Laplacian, rho(u|v) = L+_uu - L+_uv, and rho(i) = 1 / size: for a fixed root r the probability that
v is the parent of u is G_uu - G_vu, with G the inverse of the Laplacian without r; its mean over r
is that. The paper's appendix C was not to be had; these weights are ours.

L_d is rho here, as nothing better is known. Values: max over the simplex of <theta, p> + gamma h(p)
has no closed form, but is at most its value at mu_c and the Frank-Wolfe gap there. The primal
values below are such upper bounds; they close as the gap does.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from papers.shared.relaxed import Soft
from taut._compile import Vector, by_reference, compiled, ready
from taut.graph_training import IDAL
from taut.graph_training.bracket import measure
from taut.graph_training.factor_solver import FactorRun
from taut.graph_training.factor_state import RHO, STEPS, View, write_violation
from taut.graph_training.idal import point_to_prox
from taut.graph_training.multipliers import update_multipliers
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
    reparametrise_edge,
    reparametrise_node,
    squares,
)
from taut.inference.local_polytope import marginals_of_table
from taut.solvers.objective import Objective
from taut.structures.graphs.factors import Factors


@by_reference
class Trees(NamedTuple):
    """gamma times the probabilities of roots and parents."""

    root: Vector  # (nodes,)
    u_from_v: Vector  # (edges,) that v is the parent of u
    v_from_u: Vector


@dataclass(frozen=True)
class GiniOTRW(IDAL):
    """IDAL with the Gini-OTRW entropy."""

    temperature: float = 1.0

    takes_tables: ClassVar[bool] = False
    name: ClassVar[str] = "inexact dual augmented Lagrangian, Gini-OTRW entropy"

    def start(self, problem: Any, objective: Objective) -> "OTRWRun":
        return OTRWRun(problem, self, objective)

    def after_pass(self, view: View, passes: int) -> None:
        if not self.tightens(view) and passes % self.passes == 0:
            update_multipliers(view, 1.0)


class OTRWRun(FactorRun):
    """Has no certificate of the hard problem; ``values`` say where it stands."""

    def __init__(self, problem: Any, solver: GiniOTRW, objective: Objective):
        super().__init__(problem, solver, objective)
        if len(self.factors.low):
            raise ValueError("the Gini-OTRW entropy is that of nodes and edges, without counts")
        # The steps of taut know Gini's entropy; ours is added to what they find.
        self.view = self.view._replace(rules=self.view.rules._replace(temperature=0.0))
        self.trees = trees_of(self.factors, problem.arrays.pointer, float(solver.temperature))

    def compile(self) -> None:
        super().compile()
        otrw_steps(self.view, self.trees, 0)
        ready(entropy_and_gap, self.view, self.trees)

    def advance(self, n_steps: int) -> None:
        before = self.steps // self.blocks
        otrw_steps(self.view, self.trees, n_steps)
        for passes in range(before + 1, self.steps // self.blocks + 1):
            self.solver.after_pass(self.view, passes)

    def values(self) -> Soft:
        """As ``soft_values``; constants of the entropy are such that it is 0 at a labelling."""
        self.rebuild()
        upper, soft, gaps = np.zeros(self.n), np.zeros(self.n), np.zeros(self.blocks)
        measure(self.view, upper, soft, gaps)
        entropy, gap = entropy_and_gap(self.view, self.trees)
        missed = np.zeros(len(self.state.delta))
        write_violation(self.view, missed)
        square, rho = float(missed @ missed), float(self.state.total[RHO])
        penalty = 0.5 * square / (rho * self.n)
        linear = 0.5 * self.lam * float(self.state.w @ self.state.w)
        linear += float(self.importance @ (upper - soft)) / self.n + penalty
        f_rho = linear + entropy / self.n
        g_rho = f_rho + gap / self.n
        return Soft(g_rho - penalty, g_rho, f_rho, gap / self.n, square)


def trees_of(factors: Factors, pointer: np.ndarray, temperature: float) -> Trees:
    """The uniform spanning trees of all graphs; graphs with the same edges are solved once."""
    n_nodes, n_edges, _ = factors.sizes
    root, first, second = np.zeros(n_nodes), np.zeros(n_edges), np.zeros(n_edges)
    known: dict[bytes, tuple[np.ndarray, np.ndarray, np.ndarray]] = {}
    for i in range(len(pointer) - 1):
        nodes = slice(pointer[i], pointer[i + 1])
        edges = slice(factors.edge_start[i], factors.edge_start[i + 1])
        ends = factors.ends[edges].astype(np.int64) - pointer[i]
        key = ends.tobytes() + bytes([0]) + str(pointer[i + 1] - pointer[i]).encode()
        if key not in known:
            known[key] = spanning_trees(int(pointer[i + 1] - pointer[i]), ends)
        root[nodes], first[edges], second[edges] = known[key]
    return Trees(temperature * root, temperature * first, temperature * second)


def spanning_trees(n: int, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of a graph: rho(i) of its nodes, rho(u|v) and rho(v|u) of its edges (u, v)."""
    u, v = ends.T
    laplacian = np.zeros((n, n))
    np.add.at(laplacian, (u, v), -1.0)
    np.add.at(laplacian, (v, u), -1.0)
    np.fill_diagonal(laplacian, -laplacian.sum(axis=1))
    inverse = np.linalg.pinv(laplacian, hermitian=True)
    # What the Laplacian maps to zero are the components' indicators.
    component = np.eye(n) - inverse @ laplacian
    size = 1.0 / np.diag(component)
    return 1.0 / size, inverse[u, u] - inverse[u, v], inverse[v, v] - inverse[u, v]


# --- steps ---------------------------------------------------------------------------------------


@compiled
def otrw_steps(view, trees, n_steps):
    count, n_nodes = view.state.count, view.factors.node_at.size - 1
    end = count[STEPS] + n_steps
    while count[STEPS] < end:
        t, t_end, e, e_end, _, _, _, _ = draw_blocks(view)
        for node in range(t, t_end):
            count_visit(view, node, otrw_node(view, trees, node))
        for edge in range(e, e_end):
            count_visit(view, n_nodes + edge, otrw_edge(view, trees, edge))


@compiled(inline=True)
def node_gradient(view, trees, t, mu, theta):
    """theta = theta_hat - gamma Q mu; returns gamma |Q|."""
    q = trees.root[t] * mu.size
    reparametrise_node(view, t, theta)
    for k in range(mu.size):
        theta[k] -= q * mu[k]
    return q


@compiled(inline=True)
def edge_gradient(view, trees, e, mu, theta):
    """The same for an edge; scratch memory gets the marginals of mu."""
    n_u, n_v = edge_shape(view, e)
    of_u, of_v = view.state.scratch.first[:n_u], view.state.scratch.second[:n_v]
    q = (trees.u_from_v[e] + trees.v_from_u[e]) * n_u * n_v
    reparametrise_edge(view, e, theta)
    marginals_of_table(mu, of_u, of_v)
    for k in range(n_u):
        for other in range(n_v):
            cell = k * n_v + other
            theta[cell] -= q * mu[cell]
            theta[cell] += trees.u_from_v[e] * n_v * of_v[other] + trees.v_from_u[e] * n_u * of_u[k]
    return q


@compiled(inline=True)
def edge_form(view, trees, e, q, d):
    """gamma d'Qd, where scratch memory has the marginals of d."""
    n_u, n_v = edge_shape(view, e)
    of_u, of_v = view.state.scratch.first[:n_u], view.state.scratch.second[:n_v]
    form = q * squares(d) - trees.u_from_v[e] * n_v * squares(of_v)
    return form - trees.v_from_u[e] * n_u * squares(of_u)


@compiled
def otrw_node(view, trees, t):
    factors, state = view.factors, view.state
    at, end = factors.node_at[t], factors.node_at[t + 1]
    mu, d = state.node[at:end], state.scratch.d[: end - at]
    theta, weight = state.scratch.theta[: end - at], view.importance[factors.owner[t]]
    q = node_gradient(view, trees, t, mu, theta)
    best, _, gap = best_and_worst(theta, mu, 0.0)
    norm, penalty = node_constants(view, t)
    L = norm * factors.node_spread[view.graph.nodes.type[t]] + penalty
    point_to_prox(theta, mu, L + q, best, d)
    gain, curvature = gain_along(theta, d), node_curvature(view, t, d) + q * squares(d)
    step = exact_step(gain, curvature, 1.0)
    if step > 0.0:
        note_progress(view, weight, step, gain, curvature)
        move_node(view, t, d, step)
    return weight * gap


@compiled
def otrw_edge(view, trees, e):
    factors, state = view.factors, view.state
    at, end = factors.edge_at[e], factors.edge_at[e + 1]
    mu, d = state.edge[at:end], state.scratch.d[: end - at]
    theta, weight = state.scratch.theta[: end - at], edge_weight(view, e)
    q = edge_gradient(view, trees, e, mu, theta)
    best, _, gap = best_and_worst(theta, mu, 0.0)
    spread = factors.edge_spread[view.graph.edges.type[factors.number[e]]]
    n_u, n_v = edge_shape(view, e)
    L = edge_constant(view, e) * spread + max(n_u, n_v) * (1.0 / state.total[RHO])
    point_to_prox(theta, mu, L + q, best, d)
    gain, curvature = gain_along(theta, d), edge_curvature(view, e, d)
    curvature += edge_form(view, trees, e, q, d)
    step = exact_step(gain, curvature, 1.0)
    if step > 0.0:
        note_progress(view, weight, step, gain, curvature)
        move_edge_table(view, e, d, step)
    return weight * gap


@compiled
def entropy_and_gap(view, trees):
    """gamma H and the Frank-Wolfe gaps of all blocks, in sum; a labelling's entropy is 0."""
    factors, state = view.factors, view.state
    entropy, total = 0.0, 0.0
    for t in range(factors.node_at.size - 1):
        mu = state.node[factors.node_at[t] : factors.node_at[t + 1]]
        theta, weight = state.scratch.theta[: mu.size], view.importance[factors.owner[t]]
        q = node_gradient(view, trees, t, mu, theta)
        entropy += weight * 0.5 * q * (1.0 - squares(mu))
        total += weight * best_and_worst(theta, mu, 0.0)[2]
    for e in range(factors.edge_at.size - 1):
        mu = state.edge[factors.edge_at[e] : factors.edge_at[e + 1]]
        theta, weight = state.scratch.theta[: mu.size], edge_weight(view, e)
        n_u, n_v = edge_shape(view, e)
        q = edge_gradient(view, trees, e, mu, theta)
        at_corner = q - trees.u_from_v[e] * n_v - trees.v_from_u[e] * n_u
        entropy += weight * 0.5 * (at_corner - edge_form(view, trees, e, q, mu))
        total += weight * best_and_worst(theta, mu, 0.0)[2]
    return entropy, total
