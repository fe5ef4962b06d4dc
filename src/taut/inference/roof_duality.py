"""Roof duality: the exact LP relaxation of any binary model, by one maximum flow.

Over the local polytope (node and edge marginals that agree) a binary model has an optimum with
values 0, 1/2 and 1 only. It is the minimum cut of a graph with two copies of every node, v for
"v has label 1" and its *mirror* n + v for "v has label 0" (Hammer, Hansen and Simeone, 1984; Boros
and Hammer, 2002; Kolmogorov and Rother, 2007). With gains g and interactions q as in
:mod:`taut.inference.graph_cut`,

    terminals  g_v at v, -g_v at its mirror
    q_uv > 0   u - v and mirror(u) - mirror(v), capacity q/2: the ends like to agree
    q_uv < 0   u - mirror(v) and mirror(u) - v, capacity -q/2: they like to differ

Every loss is in the graph twice, so half the flow is how much the relaxation falls short of the
bound where all nodes and edges have their way. Label 1 is "v with the source, its mirror not",
label 0 the other way round. Otherwise the node is at 1/2: mirrored, every minimum cut is another
one, and the marginals are the mean of the two. (Both with the source happens by rounding only, when
the flow fills the sink and leaves a last bit to the source, which then floods what it can reach.)

*Persistency*: the labels of nodes at 0 and 1 are those of some best labelling, so that prediction
has to search among the nodes at 1/2 only. On supermodular models the relaxation is exact; a node
may still be at 1/2, where best labellings are tied.
"""

from typing import NamedTuple

import numpy as np

from taut._compile import LabelMatrix, Labels, Vector, by_reference, compiled
from taut.inference.graph_cut import interaction
from taut.inference.labelling import labelling_score
from taut.inference.maxflow import SOURCE, FlowWork, link_arcs, max_flow, new_flow_work

MOST_ENUMERATED = 14  # nodes at 1/2: 16,384 labellings take less than a millisecond
MOST_SWEEPS = 100


@by_reference
class RoofWork(NamedTuple):
    """Scratch memory of one thread."""

    flow: FlowWork  # twice the nodes, twice the edges
    ends: LabelMatrix  # (2 edges, 2) the doubled graph
    gain: Vector  # (nodes,) g
    strength: Vector  # (edges,) q
    x: Vector  # (nodes,) labels during the search, 1/2 while undecided
    halves: Labels  # (nodes,) the nodes at 1/2


def new_roof_work(max_nodes, max_edges):
    """Scratch memory for models of up to that many nodes and edges.

    Three nodes that all like to differ cannot: a labelling reaches 2, the relaxation 3.

    >>> theta = np.zeros((3, 2))
    >>> ends = np.array([[0, 1], [1, 2], [2, 0]], np.int32)
    >>> pair = np.broadcast_to(1.0 - np.eye(2), (3, 2, 2)).copy()
    >>> work, node, edge = new_roof_work(3, 3), np.zeros((3, 2)), np.zeros((3, 2, 2))
    >>> bound, value = roof_duality(theta, ends, pair, 3, 3, work, node, edge)
    >>> float(bound), float(value), node.tolist()
    (3.0, 3.0, [[0.5, 0.5], [0.5, 0.5], [0.5, 0.5]])
    >>> y = np.zeros(3, np.int32)
    >>> float(label_halves(theta, ends, pair, 3, 3, node, work, y))
    2.0
    """
    return RoofWork(
        flow=new_flow_work(2 * max_nodes, 2 * max_edges),
        ends=np.zeros((2 * max_edges, 2), np.int32),
        gain=np.zeros(max_nodes),
        strength=np.zeros(max_edges),
        x=np.zeros(max_nodes),
        halves=np.zeros(max_nodes, np.int32),
    )


@compiled
def _measure(theta, ends, pair, n, m, work):
    """The gains g and interactions q."""
    for v in range(n):
        work.gain[v] = theta[v, 1] - theta[v, 0]
    for e in range(m):
        q, gain_u, gain_v, _ = interaction(pair[e])
        work.gain[ends[e, 0]] += gain_u
        work.gain[ends[e, 1]] += gain_v
        work.strength[e] = q


@compiled
def _double(ends, n, m, work):
    """Build the graph of nodes and mirrors."""
    flow, doubled = work.flow, work.ends
    for e in range(m):
        u, v = ends[e, 0], ends[e, 1]
        agrees = work.strength[e] >= 0.0
        doubled[2 * e, 0] = u
        doubled[2 * e, 1] = v if agrees else n + v
        doubled[2 * e + 1, 0] = n + u
        doubled[2 * e + 1, 1] = n + v if agrees else v
    link_arcs(doubled, 2 * n, 2 * m, flow)
    for v in range(n):
        flow.terminal[v] = work.gain[v]
        flow.terminal[n + v] = -work.gain[v]
    for e in range(2 * m):
        capacity = abs(work.strength[e // 2]) / 2
        flow.residual[flow.slot[e]] = capacity
        flow.residual[flow.sister[flow.slot[e]]] = capacity


@compiled
def _join(first, second, agrees, table):
    """Write the best edge marginals between two half-integral node marginals; exact sums.

    An integral end leaves no choice. Two halves go together or apart, as the interaction prefers.
    """
    if first[1] == 0.5 and second[1] == 0.5:
        table[0, 0] = table[1, 1] = 0.5 if agrees else 0.0
        table[0, 1] = table[1, 0] = 0.0 if agrees else 0.5
    else:
        for k in range(2):
            for other in range(2):
                table[k, other] = first[k] * second[other]


@compiled
def roof_duality(theta, ends, pair, n, m, work, node, edge):
    """Solve the LP relaxation: write ``node[:n]`` and ``edge[:m]``, return (bound, value).

    ``value`` is the score of these marginals, ``bound`` what the flow proves no marginals to
    exceed. The two are equal but for rounding. Their difference is the cut minus the flow, and
    computed as that: what has nothing to do with the labels never enters it.
    """
    _measure(theta, ends, pair, n, m, work)
    _double(ends, n, m, work)
    shortfall = max_flow(2 * n, work.flow) / 2
    value, loss = 0.0, 0.0
    for v in range(n):
        one = work.flow.tree[v] == SOURCE
        zero = work.flow.tree[n + v] == SOURCE
        node[v, 1] = 0.5 if one == zero else (1.0 if one else 0.0)
        node[v, 0] = 1.0 - node[v, 1]
        for k in range(2):
            if node[v, k] > 0.0:
                value += node[v, k] * theta[v, k]
        loss += abs(work.gain[v]) / 2 - work.gain[v] * (node[v, 1] - 0.5)
    for e in range(m):
        q, table = work.strength[e], edge[e]
        _join(node[ends[e, 0]], node[ends[e, 1]], q >= 0.0, table)
        for k in range(2):
            for other in range(2):
                if table[k, other] > 0.0:
                    value += table[k, other] * pair[e, k, other]
        loss += abs(q) / 4 - q * ((table[0, 0] + table[1, 1]) / 2 - 0.25)
    return value + max(loss - shortfall, 0.0), value


@compiled
def _couple(theta, ends, pair, n, m, work):
    """Arcs that carry q, terminals that are the gain of label 1 among neighbours labelled 0."""
    flow = work.flow
    link_arcs(ends, n, m, flow)
    _measure(theta, ends, pair, n, m, work)
    for v in range(n):
        flow.terminal[v] = work.gain[v]
    for e in range(m):
        q = work.strength[e]
        flow.residual[flow.slot[e]] = q
        flow.residual[flow.sister[flow.slot[e]]] = q
        flow.terminal[ends[e, 0]] -= q / 2
        flow.terminal[ends[e, 1]] -= q / 2


@compiled
def _gain_of_one(v, work):
    """What label 1 gains over label 0 at node v, given the labels x around it."""
    flow = work.flow
    gain = flow.terminal[v]
    for arc in range(flow.first[v], flow.first[v + 1]):
        gain += flow.residual[arc] * work.x[flow.head[arc]]
    return gain


@compiled
def _enumerate_halves(n_halves, work, y):
    """Try all labels of the halves, one flip at a time (Gray code), and leave the best in y."""
    x, halves = work.x, work.halves
    for i in range(n_halves):
        x[halves[i]] = 0.0
        y[halves[i]] = 0
    gained, most = 0.0, 0.0
    for step in range(1, 1 << n_halves):
        flipped = 0
        while not (step >> flipped) & 1:
            flipped += 1
        v = halves[flipped]
        x[v] = 1.0 - x[v]
        gained += _gain_of_one(v, work) * (2.0 * x[v] - 1.0)
        if gained > most:
            most = gained
            for i in range(n_halves):
                y[halves[i]] = np.int32(x[halves[i]])


@compiled
def _improve_halves(n_halves, work, y):
    """Give every half the better label, again and again until none changes."""
    x, halves = work.x, work.halves
    for _ in range(MOST_SWEEPS):
        changed = False
        for i in range(n_halves):
            v = halves[i]
            gain = _gain_of_one(v, work)
            better = 1.0 if gain > 0.0 else (0.0 if gain < 0.0 or x[v] == 0.5 else x[v])
            changed |= better != x[v]
            x[v] = better
        if not changed:
            break
    for i in range(n_halves):
        y[halves[i]] = np.int32(x[halves[i]])


@compiled
def label_halves(theta, ends, pair, n, m, node, work, y):
    """Round roof duality's ``node`` marginals: write a labelling and return its score.

    Integral nodes keep their label. With few nodes at 1/2 all their labels are tried, so that by
    persistency the result is a best labelling; else it is one that no single node can improve.
    """
    n_halves = 0
    for v in range(n):
        work.x[v] = node[v, 1]
        y[v] = 1 if node[v, 1] == 1.0 else 0
        if node[v, 1] == 0.5:
            work.halves[n_halves] = v
            n_halves += 1
    if n_halves > 0:
        _couple(theta, ends, pair, n, m, work)
        if n_halves <= MOST_ENUMERATED:
            _enumerate_halves(n_halves, work, y)
        else:
            _improve_halves(n_halves, work, y)
    return labelling_score(theta, ends, pair, n, m, y)
