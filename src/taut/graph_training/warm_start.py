"""Starts from what another solver found.

A solver without inference keeps marginals of every node and edge; one with an oracle keeps less:
marginals of nodes, and of edges only the sums that the weights see. Where it remembers labellings
(pairwise, away and corrective steps of exact inference) their mixture is the point itself.
Otherwise each table is the truth's, changed as little as makes it agree with its nodes.
"""

from typing import Any

from taut._compile import compiled
from taut.graph_training.factor_state import RHO, FactorState, fill_truth
from taut.inference.local_polytope import make_consistent
from taut.solvers.block_state import State
from taut.solvers.solution import Solution, describe


def take_marginals(run: Any, earlier: Solution, share: float) -> None:
    """Put the marginals (and multipliers) of an earlier solution into ``run``."""
    if not isinstance(earlier.state, FactorState | State):
        raise ValueError(
            f"the earlier run, {describe(earlier.solver)}, kept no marginals to start from; start "
            "cold, or from a block-coordinate solver"
        )
    before, state = earlier.state, run.state
    state.total[RHO] = run.solver.rho  # a loose start would undo what is given
    fill_truth(run.graph, run.factors, state)
    truths = [getattr(state, name).copy() for name in ("node", "edge", "chosen")]
    if isinstance(before, FactorState):
        for name in ("node", "edge", "chosen", "nu"):
            getattr(state, name)[:] = getattr(before, name)
        if not run.solver.has_multipliers and not run.solver.has_free_weights:
            state.nu[:] = 0.0
    else:
        remembers = earlier.solver.keeps_alpha and not earlier.certifies
        _take_block_images(run, before, remembers)
    if share < 1.0:
        for name, truth in zip(("node", "edge", "chosen"), truths, strict=True):
            mixed = getattr(state, name)
            mixed *= share
            mixed += (1.0 - share) * truth


def _take_block_images(run: Any, before: Any, remembers: bool) -> None:
    """From the state of a solver with an oracle, which may remember labellings."""
    problem, factors, state = run.problem, run.factors, run.state
    if remembers:
        _mix_labellings(run.graph, factors, before.corners, state.node, state.edge)
    else:
        _take_nodes(run.graph, factors, problem.n_edge_weights, before.mu, state.node)
        _fit_tables(factors, state.node, state.edge, state.scratch.first, state.scratch.second)
    state.chosen[:] = state.node[factors.node_at[factors.member] + 1]


@compiled
def _mix_labellings(graph, factors, corners, node, edge):
    """Marginals of the distribution alpha over remembered labellings."""
    head, following, alpha = corners.head, corners.following, corners.alpha
    node[:], edge[:] = 0.0, 0.0
    for i in range(head.size):
        first = graph.pointer[i]
        slot = head[i]
        while slot >= 0:
            y = corners.labels[corners.label_at[slot] :]
            for t in range(first, graph.pointer[i + 1]):
                node[factors.node_at[t] + y[t - first]] += alpha[slot]
            for e in range(factors.edge_start[i], factors.edge_start[i + 1]):
                u, v = factors.ends[e, 0], factors.ends[e, 1]
                n_v = factors.node_at[v + 1] - factors.node_at[v]
                edge[factors.edge_at[e] + y[u - first] * n_v + y[v - first]] += alpha[slot]
            slot = following[slot]


@compiled
def _take_nodes(graph, factors, n_edge_weights, mu, node):
    width = graph.nodes.width
    for t in range(factors.node_at.size - 1):
        at = t * width + factors.owner[t] * n_edge_weights
        for k in range(factors.node_at[t + 1] - factors.node_at[t]):
            node[factors.node_at[t] + k] = max(mu[at + k], 0.0)


@compiled
def _fit_tables(factors, node, edge, rows, columns):
    for e in range(factors.edge_at.size - 1):
        u, v = factors.ends[e, 0], factors.ends[e, 1]
        of_u = node[factors.node_at[u] : factors.node_at[u + 1]]
        of_v = node[factors.node_at[v] : factors.node_at[v + 1]]
        table = edge[factors.edge_at[e] : factors.edge_at[e + 1]]
        make_consistent(table, of_u, of_v, rows[: of_u.size], columns[: of_v.size])
