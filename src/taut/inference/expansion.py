"""α-expansion: good labellings of models with more than two states, by one graph cut per move.

A move keeps a state α and lets every node choose between what it has and α: a binary model, whose
best labelling is a minimum cut (:mod:`taut.inference.graph_cut`) if on each edge (u, v)

    pair[y_u, y_v] + pair[α, α] >= pair[y_u, α] + pair[α, y_v].

This is the triangle inequality for scores that are minus a distance, such as Potts scores, and then
holds in all moves. Moves over all α are repeated until none improves the score (Boykov, Veksler and
Zabih, 2001). With two states the result is a best labelling. For Potts scores its *energy* is at
most twice the least, where the energy adds up what every node falls short of its own best score and
what every edge is charged for different labels.

A node that does not have the state α keeps what it has.
"""

from typing import NamedTuple

import numpy as np

from taut._compile import Cube, Integers, Labels, Matrix, by_reference, compiled
from taut.inference.graph_cut import CutWork, cut_linked, new_cut_work
from taut.inference.labelling import labelling_score
from taut.inference.maxflow import SOURCE, link_arcs

MOST_SWEEPS = 100  # a handful is usual; the bound is for moves that only gain in rounding


@by_reference
class ExpansionWork(NamedTuple):
    """Scratch memory of one thread."""

    cut: CutWork
    edge: Integers  # (1,) the first edge that no cut can handle, or -1; shared with ``cut``
    theta: Matrix  # (nodes, 2) the binary model of a move: 0 keeps, 1 takes α
    pair: Cube  # (edges, 2, 2)
    moved: Labels  # (nodes,) the labelling after the move


def new_expansion_work(max_nodes, max_edges):
    """Scratch memory for models of up to that many nodes and edges, whatever their states.

    >>> theta = np.array([[2.0, 0.0, 0.0], [0.0, 0.5, 0.0], [0.0, 0.0, 2.0]])
    >>> ends = np.array([[0, 1], [1, 2]], np.int32)
    >>> potts = np.broadcast_to(np.eye(3), (2, 3, 3)).copy()
    >>> states, y = np.full(3, 3, np.int32), np.array([0, 1, 2], np.int32)
    >>> float(expand(theta, states, ends, potts, 3, 2, new_expansion_work(3, 2), y)), y.tolist()
    (5.0, [0, 0, 2])
    """
    cut = new_cut_work(max_nodes, max_edges)
    return ExpansionWork(
        cut=cut,
        edge=cut.edge,
        theta=np.zeros((max_nodes, 2)),
        pair=np.zeros((max_edges, 2, 2)),
        moved=np.zeros(max_nodes, np.int32),
    )


@compiled
def start_apart(theta, states, n, y):
    """Write the best state of every node on its own, a start for ``expand``; ties: the lowest."""
    for v in range(n):
        y[v] = 0
        for k in range(1, states[v]):
            if theta[v, k] > theta[v, y[v]]:
                y[v] = k


@compiled
def _fill_move(theta, states, ends, pair, n, m, alpha, y, work):
    """The binary model of a move. A node without the state α has two equal choices."""
    for v in range(n):
        taken = alpha if alpha < states[v] else y[v]
        work.theta[v, 0] = theta[v, y[v]]
        work.theta[v, 1] = theta[v, taken]
    for e in range(m):
        u, v = ends[e, 0], ends[e, 1]
        u_taken = alpha if alpha < states[u] else y[u]
        v_taken = alpha if alpha < states[v] else y[v]
        work.pair[e, 0, 0] = pair[e, y[u], y[v]]
        work.pair[e, 0, 1] = pair[e, y[u], v_taken]
        work.pair[e, 1, 0] = pair[e, u_taken, y[v]]
        work.pair[e, 1, 1] = pair[e, u_taken, v_taken]


@compiled
def expand(theta, states, ends, pair, n, m, work, y):
    """Improve the labelling ``y[:n]`` by expansion moves and return its score.

    If a move is not supermodular at an edge, the result is minus infinity, ``work.edge[0]`` the
    edge's number (else -1), and y the labelling reached so far.
    """
    link_arcs(ends, n, m, work.cut.flow)
    work.edge[0] = -1
    n_states = 0
    for v in range(n):
        n_states = max(n_states, states[v])
    value = labelling_score(theta, ends, pair, n, m, y)
    moved, tree = work.moved, work.cut.flow.tree

    alpha, unchanged = 0, 0
    for _ in range(MOST_SWEEPS * n_states):
        _fill_move(theta, states, ends, pair, n, m, alpha, y, work)
        if not cut_linked(work.theta, ends, work.pair, n, m, work.cut):
            return -np.inf
        for v in range(n):
            moved[v] = alpha if tree[v] == SOURCE and alpha < states[v] else y[v]
        after = labelling_score(theta, ends, pair, n, m, moved)
        unchanged += 1
        if after > value:
            value, unchanged = after, 0
            for v in range(n):
                y[v] = moved[v]
        if unchanged == n_states:
            break
        alpha = (alpha + 1) % n_states
    return value
