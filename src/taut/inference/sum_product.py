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
roundings for every step from the root. A temperature divides scores before they get here. The cost
is one exponential for each entry of ``edge``.

A score of minus infinity forbids a state or a step: what it makes impossible has a marginal of
exactly zero. log Z is minus infinity exactly if no labelling is possible, and then all marginals
are zero.

``pair`` has one table for every edge, or a single one shared by all. The order of the edges is that
of :func:`taut.inference.maxsum.forest_order`.
"""

from typing import NamedTuple

import numpy as np

from taut._compile import Flags, Vector, both_modes, by_reference, compiled


@by_reference
class SumProductWork(NamedTuple):
    message: Vector  # (K,)
    total: Vector  # (K,)
    is_child: Flags  # (nodes,)


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
    for state in range(n_parent):
        # Relative to zero instead, where no state of the child is possible: all weights are zero.
        if message[state] == -np.inf:
            message[state] = 0.0
    for k in range(n_child):
        for state in range(n_parent):
            weight = np.exp(belief[k] + pair[k, state] - message[state])
            conditional[k, state] = weight
            total[state] += weight
    for state in range(n_parent):
        # The largest weight is 1, if any is possible.
        if total[state] > 0.0:
            message[state] += np.log(total[state])
        else:
            message[state], total[state] = -np.inf, 1.0
    for k in range(n_child):
        for state in range(n_parent):
            conditional[k, state] /= total[state]


@both_modes
def _receive(belief, message):
    """Add a message, relative to its largest entry; returns that entry."""
    top = message[0]
    for k in range(1, message.size):
        top = max(top, message[k])
    shift = top if top > -np.inf else 0.0
    for k in range(message.size):
        belief[k] += message[k] - shift
    return top


@both_modes
def _normalise(belief):
    """belief := exp(belief) / Σ exp(belief), if that is possible; returns the sum's logarithm."""
    top = belief[0]
    for k in range(1, belief.size):
        top = max(top, belief[k])
    if top == -np.inf:
        return top
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
def _clear(n, m, node, edge):
    for t in range(n):
        for k in range(node.shape[1]):
            node[t, k] = 0.0
    for e in range(m):
        for k in range(edge.shape[1]):
            for other in range(edge.shape[2]):
                edge[e, k, other] = 0.0


@both_modes
def _start(theta, states, n, m, work, node, edge):
    """Beliefs, kept in ``node`` until they become marginals; zeros wherever there is no state."""
    for t in range(n):
        work.is_child[t] = False
        for k in range(node.shape[1]):
            node[t, k] = theta[t, k] if k < states[t] else 0.0
    _clear(0, m, node, edge)


@compiled
def sum_product(theta, states, ends, pair, n, m, order, work, node, edge):
    """Write the marginals into ``node`` (n, K) and ``edge`` (m, K, K); returns log Z."""
    _start(theta, states, n, m, work, node, edge)
    shared = pair.shape[0] == 1
    log_z = 0.0
    for position in range(m):
        e = order[position]
        first_is_child = e >= 0
        e = e if first_is_child else -e - 1
        child, parent = ends[e, 0], ends[e, 1]
        if not first_is_child:
            child, parent = parent, child
        belief, k = node[child, : states[child]], states[parent]
        message, total, table = work.message[:k], work.total[:k], pair[0 if shared else e]
        if first_is_child:
            _condition(belief, table, edge[e], message, total)
        else:
            _condition(belief, table.T, edge[e].T, message, total)
        log_z += _receive(node[parent, :k], message)
        work.is_child[child] = True
    for t in range(n):
        if not work.is_child[t]:
            log_z += _normalise(node[t, : states[t]])
    if log_z == -np.inf:
        _clear(n, m, node, edge)
        return log_z
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


@both_modes
def _expectation(scores, marginals):
    """What is impossible has a marginal of zero, and adds nothing even where its score is -inf."""
    total = 0.0
    for k in range(scores.size):
        if marginals[k] > 0.0:
            total += scores[k] * marginals[k]
    return total


@compiled
def entropy(theta, states, ends, pair, n, m, node, edge, log_z):
    """−Σ_y p(y) log p(y) = log Z − expected score, from what :func:`sum_product` wrote.

    Its rounding is relative to the scores, and may make it negative where it should be zero. It is
    minus infinity if no labelling is possible.
    """
    shared = pair.shape[0] == 1
    expected = 0.0
    for t in range(n):
        expected += _expectation(theta[t, : states[t]], node[t])
    for e in range(m):
        table, n_columns = pair[0 if shared else e], states[ends[e, 1]]
        for k in range(states[ends[e, 0]]):
            expected += _expectation(table[k, :n_columns], edge[e, k])
    return log_z - expected
