"""Sum-product: exact marginals of a forest, and the logarithm of its partition function.

    p(y) = exp(score(y)) / Z,        score(y) = Σ_t theta[t, y_t] + Σ_e pair[e, y_u, y_v]

From the leaves to the roots, every edge finds the distribution of its child given its parent, and
tells the parent what the child's subtree adds:

    message[l]        = log Σ_k exp(belief[child, k] + pair(k, l)),  belief[parent, l] += message[l]
    conditional[k, l] = exp(belief[child, k] + pair(k, l) − message[l])

The roots' marginals follow from their beliefs; on the way back edge = conditional · parent, and the
child's marginals are its sums. Nothing is divided by a message, so nothing can be 0 / 0.

Everything is computed relative to the largest term. Beliefs are kept near zero, what was taken off
goes into log Z: they lose no digits on long chains, and sums of marginals no more than a few
roundings for every step from the root. Scores must be finite; a temperature divides them before
they get here. The cost is one exponential for each entry of ``pair``.

The order of the edges is that of :func:`taut.inference.maxsum.forest_order`.
"""

from typing import NamedTuple

import numpy as np

from taut._compile import both_modes, compiled


class SumProductWork(NamedTuple):
    message: np.ndarray  # (K,)
    total: np.ndarray  # (K,)
    is_child: np.ndarray  # (nodes,)


def new_sum_product_work(nodes: int, n_states: int) -> SumProductWork:
    return SumProductWork(np.zeros(n_states), np.zeros(n_states), np.zeros(nodes, np.bool_))


@both_modes
def _condition(belief, pair, conditional, message, total):
    """Child given parent, one column for each state of the parent, and the message to it."""
    n_child, n_parent = belief.size, message.size
    for state in range(n_parent):
        message[state] = belief[0] + pair[0, state]
        total[state] = 0.0
    for k in range(1, n_child):
        for state in range(n_parent):
            message[state] = max(message[state], belief[k] + pair[k, state])
    for k in range(n_child):
        for state in range(n_parent):
            weight = np.exp(belief[k] + pair[k, state] - message[state])
            conditional[k, state] = weight
            total[state] += weight
    for k in range(n_child):
        for state in range(n_parent):
            conditional[k, state] /= total[state]
    for state in range(n_parent):
        message[state] += np.log(total[state])


@both_modes
def _receive(belief, message):
    """Add a message, relative to its largest entry; returns that entry."""
    top = message[0]
    for k in range(1, message.size):
        top = max(top, message[k])
    for k in range(message.size):
        belief[k] += message[k] - top
    return top


@both_modes
def _normalise(belief):
    """belief := exp(belief) / Σ exp(belief); returns the logarithm of the sum."""
    top = belief[0]
    for k in range(1, belief.size):
        top = max(top, belief[k])
    total = 0.0
    for k in range(belief.size):
        belief[k] = np.exp(belief[k] - top)
        total += belief[k]
    for k in range(belief.size):
        belief[k] /= total
    return top + np.log(total)


@both_modes
def _join(conditional, parent, child):
    """conditional := joint distribution, child := its marginals."""
    for k in range(child.size):
        child[k] = 0.0
        for state in range(parent.size):
            conditional[k, state] *= parent[state]
            child[k] += conditional[k, state]


@both_modes
def _start(theta, states, n, m, work, node, edge):
    """Beliefs, kept in ``node`` until they become marginals; zeros wherever there is no state."""
    for t in range(n):
        work.is_child[t] = False
        for k in range(node.shape[1]):
            node[t, k] = theta[t, k] if k < states[t] else 0.0
    for e in range(m):
        for k in range(edge.shape[1]):
            for other in range(edge.shape[2]):
                edge[e, k, other] = 0.0


@compiled
def sum_product(theta, states, ends, pair, n, m, order, work, node, edge):
    """Write the marginals into ``node`` (n, K) and ``edge`` (m, K, K); returns log Z."""
    _start(theta, states, n, m, work, node, edge)
    log_z = 0.0
    for position in range(m):
        e = order[position]
        first_is_child = e >= 0
        e = e if first_is_child else -e - 1
        child, parent = ends[e, 0], ends[e, 1]
        if not first_is_child:
            child, parent = parent, child
        belief, k = node[child, : states[child]], states[parent]
        message, total = work.message[:k], work.total[:k]
        if first_is_child:
            _condition(belief, pair[e], edge[e], message, total)
        else:
            _condition(belief, pair[e].T, edge[e].T, message, total)
        log_z += _receive(node[parent, :k], message)
        work.is_child[child] = True
    for t in range(n):
        if not work.is_child[t]:
            log_z += _normalise(node[t, : states[t]])
    for position in range(m - 1, -1, -1):
        e = order[position]
        if e >= 0:
            u, v = ends[e, 0], ends[e, 1]
            _join(edge[e], node[v, : states[v]], node[u, : states[u]])
        else:
            e = -e - 1
            u, v = ends[e, 0], ends[e, 1]
            _join(edge[e].T, node[u, : states[u]], node[v, : states[v]])
    return log_z
