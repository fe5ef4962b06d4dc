"""Everything a run without inference moves.

Marginals mu of every block and multipliers nu are free; the rest follows from them:

    scale v = C sum_i s_i Psi_i (truth_i - mu_i),   w = clip(scale v, lower, upper)
    delta = nu + B mu / rho,   B mu = marginals of a factor - marginals of its nodes

Only DLPW has a scale other than 1. Penalty rho and C are as in a sum over examples, so that neither
depends on how many there are (Meshi's rho is ours divided by n).
"""

from typing import NamedTuple

import numpy as np

from taut._compile import Flags, Integers, Vector, both_modes, by_reference, compiled
from taut.inference.joint_tables import marginals_of_joint
from taut.solvers.sampling import Sampler
from taut.structures.graphs.arrays import GraphArrays
from taut.structures.graphs.blocks import (
    combine_edge,
    combine_node,
    push_edge,
    push_node,
)
from taut.structures.graphs.factors import Factors
from taut.structures.graphs.table_factors import push_table

# positions in FactorState.count
STEPS, UPDATES, VISITS = 0, 1, 2
# positions in FactorState.total
RHO, PROGRESS, LENGTH, JOINED, GAINED, PENALISED, EARLIER, SCALE = range(8)


@by_reference
class Rules(NamedTuple):
    """What does not change during a run."""

    C: float
    temperature: float
    norm: float  # |B|^2 on directions that sum to zero is at most this


@by_reference
class Scratch(NamedTuple):
    """For one block at a time."""

    theta: Vector
    d: Vector  # a change of the block's marginals
    c: Vector  # of a basis
    first: Vector  # marginals of an edge: rows; or of all members of a table
    second: Vector  # columns
    sorted: Integers  # of the members of a count factor
    nodes: Vector  # scores of all nodes of an example
    edges: Vector


@by_reference
class FactorState(NamedTuple):
    w: Vector
    v: Vector
    lower: Vector  # (dim,), or empty without bounds
    upper: Vector
    node: Vector  # marginals of all nodes, packed
    edge: Vector  # of all edges, then of all tables
    chosen: Vector  # of count factors
    delta: Vector  # messages
    nu: Vector  # multipliers, laid out like the messages
    active: Flags  # (edges,) the working set of GDMM, else empty
    share: Vector  # (n,) of DLPW: how much of w comes from an example, else empty
    sampler: Sampler
    count: Integers  # type: ignore[assignment]
    total: Vector
    scratch: Scratch


@by_reference
class View(NamedTuple):
    """Everything that compiled code sees of a run; it goes there by reference."""

    graph: GraphArrays
    factors: Factors
    importance: Vector  # (n,)
    rules: Rules
    state: FactorState


def new_scratch(graph: GraphArrays, factors: Factors) -> Scratch:
    width, tables = graph.nodes.width, factors.tables
    members = int(np.diff(factors.count_at).max(initial=0))
    cells = max(width * width, members, int(np.diff(tables.at).max(initial=0)))
    marginals = max(width, members, int(np.diff(tables.message_at).max(initial=0)))
    basis = np.concatenate([graph.nodes.basis.size, graph.edges.basis.size])
    return Scratch(
        theta=np.zeros(cells),
        d=np.zeros(cells),
        c=np.zeros(int(basis.max())),
        first=np.zeros(marginals),
        second=np.zeros(marginals),
        sorted=np.zeros(members, np.int64),
        nodes=np.zeros(int(np.diff(factors.node_at[graph.pointer]).max(initial=0))),
        edges=np.zeros(int(np.diff(factors.edge_at[factors.edge_start]).max(initial=0))),
    )


def new_state(
    graph: GraphArrays,
    factors: Factors,
    w: np.ndarray,
    v: np.ndarray,
    bounds: tuple[np.ndarray, np.ndarray],
    sampler: Sampler,
) -> FactorState:
    """All marginals zero; ``w`` and ``v`` are one array without bounds."""
    messages = int(factors.message_at[-1])
    return FactorState(
        w=w,
        v=v,
        lower=bounds[0],
        upper=bounds[1],
        node=np.zeros(int(factors.node_at[-1])),
        edge=np.zeros(int(factors.tables.at[-1])),
        chosen=np.zeros(len(factors.member)),
        delta=np.zeros(messages),
        nu=np.zeros(messages),
        active=np.zeros(0, np.bool_),
        share=np.zeros(0),
        sampler=sampler,
        count=np.zeros(3, np.int64),
        total=np.zeros(8),
        scratch=new_scratch(graph, factors),
    )


def fill_truth(graph: GraphArrays, factors: Factors, state: FactorState) -> None:
    """Marginals at the truth, where w and delta vanish."""
    truth = graph.loss.truth.astype(np.int64)
    ends = factors.ends
    state.node[:], state.edge[:] = 0.0, 0.0
    state.node[factors.node_at[:-1] + truth] = 1.0
    second = np.diff(factors.node_at)[ends[:, 1]]
    state.edge[factors.edge_at[:-1] + truth[ends[:, 0]] * second + truth[ends[:, 1]]] = 1.0
    state.edge[factors.tables.true_at] = 1.0
    state.chosen[:] = truth[factors.member]


def fill_uniform(factors: Factors, state: FactorState) -> None:
    """Where the entropy is largest; counts start at their nodes' marginals if those are allowed."""
    of_edges = state.edge, np.concatenate([factors.edge_at, factors.tables.at[1:]])
    for marginals, at in ((state.node, factors.node_at), of_edges):
        size = np.diff(at)
        marginals[:] = np.repeat(1.0 / size, size)
    size = np.diff(factors.count_at)
    half = np.clip(0.5 * size, factors.low, factors.high)
    state.chosen[:] = np.repeat(half / np.maximum(size, 1), size)


# --- what follows from the marginals -------------------------------------------------------------


@both_modes
def move_node(nodes, t, d, amount, c, target):
    """target += amount * Psi d for a change d of node t."""
    size = combine_node(nodes, t, d, c)
    push_node(nodes, t, c[:size], amount, target)


@both_modes
def move_edge(edges, number, n_v, d, amount, c, target):
    size = combine_edge(edges, number, n_v, d, c)
    push_edge(edges, number, c[:size], amount, target)


@compiled
def add_features(view, node, edge, target):
    """target += C sum_i s_i Psi_i (truth_i - mu_i) for these marginals."""
    graph, factors, scratch = view.graph, view.factors, view.state.scratch
    truth, d, C = graph.loss.truth, scratch.d, view.rules.C
    n_nodes = factors.node_at.size - 1
    for t in range(n_nodes):
        at, end = factors.node_at[t], factors.node_at[t + 1]
        for k in range(end - at):
            d[k] = node[at + k]
        d[truth[t]] -= 1.0
        amount = -C * view.importance[factors.owner[t]]
        move_node(graph.nodes, t, d[: end - at], amount, scratch.c, target)
    for e in range(factors.edge_at.size - 1):
        at, end = factors.edge_at[e], factors.edge_at[e + 1]
        u, v = factors.ends[e, 0], factors.ends[e, 1]
        n_v = factors.node_at[v + 1] - factors.node_at[v]
        for k in range(end - at):
            d[k] = edge[at + k]
        d[truth[u] * n_v + truth[v]] -= 1.0
        amount = -C * view.importance[factors.owner[n_nodes + e]]
        move_edge(graph.edges, factors.number[e], n_v, d[: end - at], amount, scratch.c, target)
    first = factors.owner.size - factors.tables.norm.size
    for f in range(factors.tables.norm.size):
        at, end = factors.tables.at[f], factors.tables.at[f + 1]
        for k in range(end - at):
            d[k] = edge[at + k]
        d[factors.tables.true_at[f] - at] -= 1.0
        amount = -C * view.importance[factors.owner[first + f]]
        push_table(graph.tables, f, d[: end - at], amount, target)


@compiled
def write_violation(view, out):
    """out = B mu, laid out like the messages."""
    factors, node, edge, chosen = view.factors, view.state.node, view.state.edge, view.state.chosen
    n_edges = factors.edge_at.size - 1
    for e in range(n_edges):
        u, v = factors.ends[e, 0], factors.ends[e, 1]
        to_u, to_v = factors.node_at[u], factors.node_at[v]
        n_u, n_v = factors.node_at[u + 1] - to_u, factors.node_at[v + 1] - to_v
        at, cell = factors.message_at[e], factors.edge_at[e]
        for k in range(n_u):
            out[at + k] = -node[to_u + k]
        for other in range(n_v):
            out[at + n_u + other] = -node[to_v + other]
        for k in range(n_u):
            for other in range(n_v):
                out[at + k] += edge[cell]
                out[at + n_u + other] += edge[cell]
                cell += 1
    for f in range(factors.count_at.size - 1):
        at = factors.message_at[n_edges + f]
        for j in range(factors.count_at[f], factors.count_at[f + 1]):
            t = factors.node_at[factors.member[j]]
            out[at] = 1.0 - chosen[j] - node[t]
            out[at + 1] = chosen[j] - node[t + 1]
            at += 2
    for f in range(factors.tables.norm.size):
        tables = factors.tables
        size = tables.size[tables.pointer[f] : tables.pointer[f + 1]]
        at, end = tables.message_at[f], tables.message_at[f + 1]
        marginals_of_joint(edge[tables.at[f] : tables.at[f + 1]], size, out[at:end])
        for j in range(tables.pointer[f], tables.pointer[f + 1]):
            to = factors.node_at[tables.member[j]]
            for k in range(tables.size[j]):
                out[at + k] -= node[to + k]
            at += tables.size[j]


def write_weights(state: FactorState) -> None:
    """w from v; without bounds and but for DLPW they are one array."""
    np.multiply(state.v, state.total[SCALE], out=state.w)
    if state.lower.size:
        np.clip(state.w, state.lower, state.upper, out=state.w)


def rebuild(view: View) -> None:
    """w and delta afresh from marginals and multipliers, without the rounding of many moves."""
    state = view.state
    state.v[:] = 0.0
    add_features(view, state.node, state.edge, state.v)
    state.total[SCALE] = 1.0
    write_weights(state)
    write_violation(view, state.delta)
    np.divide(state.delta, state.total[RHO], out=state.delta)
    np.add(state.delta, state.nu, out=state.delta)
