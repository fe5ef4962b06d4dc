"""Max-sum: the best labelling of a forest, with any number of states per node.

From the leaves to the roots, every edge sends its parent the best that its child's subtree can add,

    message[l] = max_k (best[child, k] + pair(k, l)),     best[parent, l] += message[l]

and remembers which k that was; the roots then choose, and the way back reads off the rest. Among
equal scores the lowest state wins, at the root first.

``order`` lists the edges of a forest so that a node's children come before it: the edge's number e
where ``ends[e, 0]`` is the child, -e - 1 where ``ends[e, 1]`` is.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from taut._compile import Flags, LabelMatrix, Matrix, by_reference, compiled


@by_reference
class MaxSumWork(NamedTuple):
    best: Matrix  # (nodes, K) best score of the subtree below a node
    choice: LabelMatrix  # (edges, K) the child's best state for each of the parent's
    is_child: Flags  # (nodes,)


def new_maxsum_work(nodes: int, edges: int, n_states: int) -> MaxSumWork:
    return MaxSumWork(
        np.zeros((nodes, n_states)),
        np.zeros((edges, n_states), np.int32),
        np.zeros(nodes, np.bool_),
    )


def forest_order(n: int, ends: np.ndarray) -> np.ndarray | None:
    """The edges in the order max-sum needs them; None if they close a cycle.

    >>> forest_order(3, np.array([[0, 1], [2, 1]]))
    array([ 1, -1], dtype=int32)
    >>> forest_order(2, np.array([[0, 1], [1, 0]])) is None
    True
    """
    m = len(ends)
    u, v = ends[:, 0].astype(np.int64), ends[:, 1].astype(np.int64)
    graph = sparse.coo_array((np.ones(m), (u, v)), shape=(n, n)).tocsr()
    n_components, component = csgraph.connected_components(graph, directed=False)
    if m != n - n_components:
        return None
    # One tree: a new node above the lowest node of every component is where the search begins.
    roots = np.unique(component, return_index=True)[1]
    whole = sparse.coo_array(
        (
            np.ones(m + n_components),
            (np.concatenate([u, np.full(n_components, n)]), np.concatenate([v, roots])),
        ),
        shape=(n + 1, n + 1),
    )
    visited = csgraph.breadth_first_order(
        whole.tocsr(), n, directed=False, return_predecessors=False
    )
    rank = np.empty(n + 1, np.int64)
    rank[visited] = np.arange(n + 1)
    first_is_child = rank[u] > rank[v]
    deepest_first = np.argsort(-np.maximum(rank[u], rank[v]), kind="stable")
    number = np.arange(m)
    return np.where(first_is_child, number, -number - 1)[deepest_first].astype(np.int32)


@compiled
def max_sum(theta, states, ends, pair, n, m, order, work, y):
    """Write the best labelling of a forest into ``y`` and return its score."""
    best, choice, is_child = work.best, work.choice, work.is_child
    for t in range(n):
        is_child[t] = False
        for k in range(states[t]):
            best[t, k] = theta[t, k]
    for position in range(m):
        e = order[position]
        if e >= 0:
            child, parent = ends[e, 0], ends[e, 1]
            for state in range(states[parent]):
                winner = 0
                value = best[child, 0] + pair[e, 0, state]
                for k in range(1, states[child]):
                    candidate = best[child, k] + pair[e, k, state]
                    if candidate > value:
                        winner, value = k, candidate
                choice[e, state] = winner
                best[parent, state] += value
        else:
            e = -e - 1
            child, parent = ends[e, 1], ends[e, 0]
            for state in range(states[parent]):
                winner = 0
                value = best[child, 0] + pair[e, state, 0]
                for k in range(1, states[child]):
                    candidate = best[child, k] + pair[e, state, k]
                    if candidate > value:
                        winner, value = k, candidate
                choice[e, state] = winner
                best[parent, state] += value
        is_child[child] = True
    total = 0.0
    for t in range(n):
        if not is_child[t]:
            winner = 0
            for k in range(1, states[t]):
                if best[t, k] > best[t, winner]:
                    winner = k
            y[t] = winner
            total += best[t, winner]
    for position in range(m - 1, -1, -1):
        e = order[position]
        if e >= 0:
            y[ends[e, 0]] = choice[e, y[ends[e, 1]]]
        else:
            e = -e - 1
            y[ends[e, 1]] = choice[e, y[ends[e, 0]]]
    return total
