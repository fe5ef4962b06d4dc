"""Graph cut: the best labelling of a binary model whose neighbours like to agree.

With y_v in {0, 1}, the scores of an edge (u, v) are

    pair[y_u, y_v] = mean + g_u (y_u - 1/2) + g_v (y_v - 1/2) + q/4 - q/2 [y_u != y_v]
    g_u = (pair[1, :].sum() - pair[0, :].sum()) / 2,   g_v likewise with columns
    q   = pair[0, 0] + pair[1, 1] - pair[0, 1] - pair[1, 0]

so a labelling loses, against what nodes and edges would have on their own, the gain |g| of every
node labelled against its sign and q/2 of every edge whose ends differ. If all q are non-negative
(*supermodular* scores) these losses are capacities, label 1 is the source's side, and the minimum
cut is the best labelling (Picard and Ratliff, 1975; Kolmogorov and Zabih, 2004). Among equal scores
the one with the fewest nodes labelled 1 is found; it is unique.

A q below zero by no more than ``ROUNDING`` times the magnitudes of its four scores counts as zero:
scores are sums of thousands of products at most, each rounded to 1e-16 of its size, and errors add
up like their number in the worst case. Below that, the edge is refused.
"""

from typing import NamedTuple

import numpy as np

from taut._compile import Integers, by_reference, compiled
from taut.inference.labelling import labelling_score
from taut.inference.maxflow import SOURCE, FlowWork, link_arcs, max_flow, new_flow_work

ROUNDING = 1e-12
NO_EDGE = -1


@by_reference
class CutWork(NamedTuple):
    """Scratch memory of one thread."""

    flow: FlowWork
    edge: Integers  # (1,) the first edge that is not supermodular, or NO_EDGE


def new_cut_work(max_nodes, max_edges):
    """Scratch memory for models of up to that many nodes and edges.

    >>> theta = np.array([[0.0, 3.0], [1.0, 0.0]])
    >>> potts = 2.5 * np.eye(2)[None]
    >>> y = np.zeros(2, np.int32)
    >>> ends = np.array([[0, 1]], np.int32)
    >>> float(graph_cut(theta, ends, potts, 2, 1, new_cut_work(2, 1), y)), y.tolist()
    (5.5, [1, 1])
    """
    return CutWork(new_flow_work(max_nodes, max_edges), np.full(1, NO_EDGE, np.int64))


@compiled(inline=True)
def interaction(table):
    """The gain q of agreeing, the node gains g_u and g_v, and the magnitude of a (2, 2) table."""
    a, b, c, d = table[0, 0], table[0, 1], table[1, 0], table[1, 1]
    # Differences first: what all four have in common cancels before it can round.
    q = (a - b) + (d - c)
    return q, ((c - a) + (d - b)) / 2, ((b - a) + (d - c)) / 2, abs(a) + abs(b) + abs(c) + abs(d)


@compiled
def cut_linked(theta, ends, pair, n, m, work):
    """Find the minimum cut for these scores; the arcs are linked already.

    Return whether all edges are supermodular; then ``flow.tree`` tells the labels.
    """
    flow = work.flow
    residual, terminal = flow.residual, flow.terminal
    work.edge[0] = NO_EDGE
    for v in range(n):
        terminal[v] = theta[v, 1] - theta[v, 0]
    for e in range(m):
        q, gain_u, gain_v, size = interaction(pair[e])
        # Written so that NaN and infinities are refused too.
        if not q + ROUNDING * size >= 0.0:
            work.edge[0] = e
            return False
        terminal[ends[e, 0]] += gain_u
        terminal[ends[e, 1]] += gain_v
        arc = flow.slot[e]
        residual[arc] = max(q, 0.0) / 2
        residual[flow.sister[arc]] = max(q, 0.0) / 2
    max_flow(n, flow)
    return True


@compiled
def graph_cut(theta, ends, pair, n, m, work, y):
    """Write the best labelling into ``y[:n]`` and return its score.

    Only states 0 and 1 are looked at. If an edge is not supermodular the result is minus infinity
    and ``work.edge[0]`` the edge's number, else that is -1.
    """
    link_arcs(ends, n, m, work.flow)
    if not cut_linked(theta, ends, pair, n, m, work):
        return -np.inf
    for v in range(n):
        y[v] = 1 if work.flow.tree[v] == SOURCE else 0
    return labelling_score(theta, ends, pair, n, m, y)
