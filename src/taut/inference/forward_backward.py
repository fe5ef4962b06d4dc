"""Forward-backward: the marginals of a chain, and the logarithm of its partition function.

    p(y) = exp(sharpness · score(y)) / Z,   score(y) = Σ_t theta[t, y_t] + Σ_t pair[t, y_t, y_t+1]

``pair`` has one table per step, or a single one shared by all. With f_t and b_t the sums over all
beginnings and all endings of a labelling, each scaled to stay near one,

    node_t[k] = f_t[k] b_t[k]     step_t[k, l] = f_t[k] P[k, l] a_t+1[l],     a_t = exp(theta_t) b_t

``scaled`` works with exponentials: three multiplications for each pair of labels and step. None of
its numbers can underflow as long as the scores that meet in a sum differ by little (``spread``):
f_t sums over all labels before it, so that the smallest of its entries is at least exp(−range of
theta_t − range of pair) times the largest. Where steps are forbidden they run over few labels, and
what a label lags behind, in scores and in the number of labellings, adds up over the steps.
``logarithmic`` takes logarithms of all sums: it is right whatever the scores are, for about ten
times the price.

``chain_expectation`` chooses between them, and is compiled once for all solvers.

A score of minus infinity forbids a label or a step; log Z is minus infinity exactly if every
labelling is forbidden, and then the marginals mean nothing.
"""

from typing import NamedTuple

import numpy as np

from taut._compile import Cube, Matrix, by_reference, compiled
from taut.inference.exponentials import exponentials
from taut.inference.log_forward_backward import logarithmic, logarithmic_step

# exp(−2 · 300), the product of two of the smallest numbers that meet, is far from underflow.
WIDEST = 300.0


@by_reference
class ChainSums(NamedTuple):
    """Scratch memory, and what the marginals of steps are computed from."""

    forward: Matrix  # (longest, K) f; its logarithm after ``logarithmic``
    backward: Matrix  # (longest, K) b, likewise
    arrive: Matrix  # (longest, K) a, likewise
    table: Cube  # (steps or 1, K, K) exp(sharpness · (pair − its maximum))
    step: Matrix  # (K, K) the marginals of one step


def new_chain_sums(longest: int, n_tables: int, n_states: int) -> ChainSums:
    rows, square = (longest, n_states), (n_states, n_states)
    return ChainSums(
        np.zeros(rows), np.zeros(rows), np.zeros(rows), np.zeros((n_tables, *square)),
        np.zeros(square),
    )  # fmt: skip


@compiled
def _range(scores):
    """Largest minus smallest of the finite scores, and whether some are not."""
    low, high = np.inf, -np.inf
    forbids = False
    for j in range(scores.size):
        value = scores[j]
        if value == -np.inf:
            forbids = True
        else:
            low, high = min(low, value), max(high, value)
    return max(high - low, 0.0), forbids


@compiled
def spread(theta, pair, length, sharpness):
    """How far the logarithms of numbers that meet in one of the sums can be apart."""
    n_states = theta.shape[1]
    n_tables = min(pair.shape[0], length - 1)
    flat = pair.reshape(-1)
    widest = total = most = 0.0
    forbids = False
    for e in range(n_tables):
        size, some = _range(flat[e * n_states * n_states : (e + 1) * n_states * n_states])
        widest, total = max(widest, size), total + size
        forbids |= some
    if n_tables == 1:
        total *= length - 1
    # A label that is forbidden is missing from every sum alike; steps are what sums run over.
    for t in range(length):
        size, _ = _range(theta[t])
        most, total = max(most, size), total + size
    # What lags behind, lags behind sums over up to K labels at every step.
    if forbids:
        return sharpness * total + length * np.log(n_states)
    return sharpness * (most + widest)


@compiled
def _exponentials(scores, sharpness, out):
    """out = exp(sharpness · (scores − their maximum)), which is returned."""
    top = scores[0]
    for j in range(1, scores.size):
        top = max(top, scores[j])
    if top == -np.inf:
        out[:] = 0.0
        return top
    exponentials(scores, sharpness, top, out)
    return top


@compiled(fastmath=True)
def _add_four(f, table, out):
    f0, f1, f2, f3 = f[0], f[1], f[2], f[3]
    r0, r1, r2, r3 = table[0], table[1], table[2], table[3]
    for label in range(out.size):
        out[label] += (f0 * r0[label] + f1 * r1[label]) + (f2 * r2[label] + f3 * r3[label])


@compiled(fastmath=True)
def _add_one(f, row, out):
    for label in range(out.size):
        out[label] += f * row[label]


@compiled
def _onward(f, table, out):
    """out[l] = Σ_k f[k] table[k, l]."""
    out[:] = 0.0
    k = 0
    while k + 3 < out.size:
        _add_four(f[k:], table[k:], out)
        k += 4
    while k < out.size:
        _add_one(f[k], table[k], out)
        k += 1


@compiled(fastmath=True)
def _back(table, a, out):
    """out[k] = Σ_l table[k, l] a[l]."""
    for k in range(out.size):
        row = table[k]
        total = 0.0
        for label in range(a.size):
            total += row[label] * a[label]
        out[k] = total


@compiled(fastmath=True)
def _product(f, b, node):
    """node = f · b; returns its sum."""
    total = 0.0
    for k in range(node.size):
        node[k] = f[k] * b[k]
        total += node[k]
    return total


@compiled
def scale_row(row, factor):
    for k in range(row.size):
        row[k] *= factor


@compiled
def scaled(theta, pair, length, sharpness, sums, node):
    """Write the marginals into ``node`` (length, K); returns log Z. For a small ``spread``."""
    n_states = theta.shape[1]
    forward, backward, arrive, table = sums.forward, sums.backward, sums.arrive, sums.table
    n_tables = min(pair.shape[0], length - 1)
    flat, exponentials = pair.reshape(-1), table.reshape(-1)
    tops = 0.0
    for e in range(n_tables):
        part = slice(e * n_states * n_states, (e + 1) * n_states * n_states)
        tops += _exponentials(flat[part], sharpness, exponentials[part])
    if n_tables == 1:
        tops *= length - 1

    log_z = 0.0
    for t in range(length):
        tops += _exponentials(theta[t], sharpness, arrive[t])
        reach = forward[t]
        if t == 0:
            reach[:] = 1.0
        else:
            _onward(forward[t - 1], table[0 if n_tables == 1 else t - 1], reach)
        total = _product(arrive[t], reach, reach)
        if not total > 0.0:
            return -np.inf
        scale_row(reach, 1.0 / total)
        scale_row(arrive[t], 1.0 / total)
        log_z += np.log(total)

    backward[length - 1, :] = 1.0
    for t in range(length - 1, -1, -1):
        total = _product(forward[t], backward[t], node[t])
        # One, but for rounding; so marginals of nodes and of the steps from them agree exactly.
        scale_row(node[t], 1.0 / total)
        scale_row(forward[t], 1.0 / total)
        if t > 0:
            _product(arrive[t], backward[t], arrive[t])
            _back(table[0 if n_tables == 1 else t - 1], arrive[t], backward[t - 1])
    return sharpness * tops + log_z


@compiled(fastmath=True)
def _add_outer(f, a, out):
    """out[k, l] += f[k] a[l]."""
    for k in range(f.size):
        row, amount = out[k], f[k]
        for label in range(a.size):
            row[label] += amount * a[label]


@compiled
def scaled_step_sum(length, sums, total):
    """total = Σ_t step_t after ``scaled``, where all steps share a table."""
    total[:] = 0.0
    for t in range(length - 1):
        _add_outer(sums.forward[t], sums.arrive[t + 1], total)
    table = sums.table[0]
    for k in range(total.shape[0]):
        for label in range(total.shape[1]):
            total[k, label] *= table[k, label]


@compiled
def scaled_step(t, sums, step):
    """The marginals of the step from t after ``scaled``."""
    table = sums.table[0 if sums.table.shape[0] == 1 else t]
    for k in range(step.shape[0]):
        for label in range(step.shape[1]):
            step[k, label] = sums.forward[t, k] * table[k, label] * sums.arrive[t + 1, label]


@compiled
def independent(theta, length, sharpness, node):
    """Marginals of ``length`` unconnected nodes; returns log Z."""
    log_z = 0.0
    for t in range(length):
        top = _exponentials(theta[t], sharpness, node[t])
        total = 0.0
        for k in range(node.shape[1]):
            total += node[t, k]
        if not total > 0.0:
            return -np.inf
        scale_row(node[t], 1.0 / total)
        log_z += sharpness * top + np.log(total)
    return log_z


@compiled
def chain_expectation(theta, pair, length, sharpness, step_features, sums, image):
    """Write the marginals of nodes (length, K), then the sums of those of the steps, each times its
    ``step_features`` (F, K, K); without such the plain sum. Returns log Z."""
    n_states = theta.shape[1]
    node = image[: length * n_states].reshape((length, n_states))
    by_scaling = spread(theta, pair, length, sharpness) <= WIDEST
    if by_scaling:
        log_z = scaled(theta, pair, length, sharpness, sums, node)
    else:
        log_z = logarithmic(theta, pair, length, sharpness, sums, node)
    if log_z == -np.inf:
        return log_z
    n_features, square = step_features.shape[1], n_states * n_states
    steps = image[length * n_states :][: max(n_features, 1) * square]
    if n_features == 0 and by_scaling:
        scaled_step_sum(length, sums, steps.reshape((n_states, n_states)))
        return log_z
    steps[:] = 0.0
    step = sums.step.reshape(-1)
    for t in range(length - 1):
        if by_scaling:
            scaled_step(t, sums, sums.step)
        else:
            logarithmic_step(t, pair, sharpness, sums, sums.step)
        if n_features == 0:
            _add_one(1.0, step, steps)
        for f in range(n_features):
            _add_one(step_features[t, f], step, steps[f * square : (f + 1) * square])
    return log_z
