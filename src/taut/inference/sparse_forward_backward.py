"""Forward-backward where most steps score zero: exact, for the pairs and the labels, not K squared.

With E_s = exp(sharpness · step_s) of the pairs, and 1 for every other step, a sum over all sources
is a sum over pairs and the rest,

    Σ_k f[k] exp(step from k to l) = (Σ_k f[k] − Σ over pairs f[k]) + Σ over pairs f[k] E_s

and likewise backward. The difference loses digits where pairs have nearly all of the sum: its error
is about 1e-16 of Σ_k f[k], whatever the result. Where the result is so small that this matters,
what is no pair is summed one by one. See :mod:`taut.inference.forward_backward` for the names; what
that does by logarithms is done there.
"""

from typing import NamedTuple

import numpy as np

from taut._compile import Cube, Matrix, Vector, by_reference, compiled
from taut.inference.exponentials import exponentials
from taut.inference.forward_backward import WIDEST, ChainSums, new_chain_sums, scale_row
from taut.inference.likely_labels import (
    LikelyLabels,
    exponentials_of_steps,
    new_likely_labels,
)
from taut.inference.pairs import pair_of

# A difference of sums is taken if the result is this part of the larger: three digits are lost.
FEW_DIGITS = 1e-3


@by_reference
class SparseSums(NamedTuple):
    """Scratch memory, and what the marginals of steps are computed from."""

    table: Matrix  # (steps or 1, pairs) E
    with_pair: Vector  # (K,) sums over pairs, of f
    log_z: Vector  # (1,) of the last chain; not a number if by full tables
    pair: Cube  # (steps or 1, K, K) the scores of all steps, zero but for pairs
    dense: ChainSums  # forward, backward and arrive; and all of it where tables are full
    likely: LikelyLabels


def new_sparse_sums(longest: int, n_tables: int, n_states: int, n_pairs: int) -> SparseSums:
    return SparseSums(
        np.zeros((n_tables, n_pairs)),
        np.zeros(n_states),
        np.zeros(1),
        np.zeros((n_tables, n_states, n_states)),
        new_chain_sums(longest, n_tables, n_states),
        new_likely_labels(longest, n_states),
    )


@compiled
def are_close(theta, step, length, sharpness):
    """Whether the numbers that meet in a sum are so near each other that exponentials can do."""
    low = high = 0.0  # of a step that is no pair
    for e in range(min(step.shape[0], length - 1)):
        row = step[e]
        for s in range(row.size):
            low, high = min(low, row[s]), max(high, row[s])
    widest = 0.0
    for t in range(length):
        least, most = np.inf, -np.inf
        for k in range(theta.shape[1]):
            value = theta[t, k]
            if value > -np.inf:
                least, most = min(least, value), max(most, value)
        widest = max(widest, most - least)
    return sharpness * (widest + high - low) <= WIDEST


@compiled
def _rest_into(f, pairs, label):
    """Σ f[k] over sources whose step to this label is no pair."""
    rest = 0.0
    for k in range(f.size):
        if f[k] > 0.0 and pair_of(pairs, k, label) < 0:
            rest += f[k]
    return rest


@compiled
def _rest_from(a, pairs, source):
    """Σ a[l] over labels to which the step from this one is no pair."""
    rest = 0.0
    label = 0
    for s in range(pairs.begin[source], pairs.begin[source + 1]):
        while label < pairs.target[s]:
            rest += a[label]
            label += 1
        label += 1
    while label < a.size:
        rest += a[label]
        label += 1
    return rest


@compiled
def _onward(f, table, pairs, with_pair, out):
    """out[l] = Σ_k f[k] exp(step from k to l)."""
    total = 0.0
    for k in range(out.size):
        total += f[k]
        with_pair[k] = 0.0
        out[k] = 0.0
    begin, target = pairs.begin, pairs.target
    for k in range(out.size):
        if f[k] == 0.0:
            continue
        for s in range(begin[k], begin[k + 1]):
            with_pair[target[s]] += f[k]
            out[target[s]] += f[k] * table[s]
    for label in range(out.size):
        if pairs.n_into[label] < out.size:
            rest = total - with_pair[label]
            if out[label] + rest < FEW_DIGITS * total:
                rest = _rest_into(f, pairs, label)
            out[label] += rest


@compiled
def _back(table, a, pairs, out):
    """out[k] = Σ_l exp(step from k to l) a[l]."""
    total = 0.0
    for label in range(a.size):
        total += a[label]
    begin, target = pairs.begin, pairs.target
    for k in range(out.size):
        of_pairs = without = 0.0
        for s in range(begin[k], begin[k + 1]):
            of_pairs += table[s] * a[target[s]]
            without += a[target[s]]
        out[k] = of_pairs
        if begin[k + 1] - begin[k] < out.size:
            rest = total - without
            if of_pairs + rest < FEW_DIGITS * total:
                rest = _rest_from(a, pairs, k)
            out[k] += rest


@compiled
def _product(f, b, node):
    total = 0.0
    for k in range(node.size):
        node[k] = f[k] * b[k]
        total += node[k]
    return total


@compiled
def sparse_log_z(theta, step, pairs, length, sharpness, sums):
    """log Z, and what is summed from the left. For what ``are_close``."""
    table, forward, arrive = sums.table, sums.dense.forward, sums.dense.arrive
    shared = step.shape[0] == 1
    for e in range(min(step.shape[0], length - 1)):
        exponentials_of_steps(step[e], sharpness, table[e])
    tops = log_z = 0.0
    for t in range(length):
        top = theta[t, 0]
        for k in range(1, theta.shape[1]):
            top = max(top, theta[t, k])
        if top == -np.inf:
            return top
        exponentials(theta[t], sharpness, top, arrive[t])
        tops += top
        reach = forward[t]
        if t == 0:
            reach[:] = 1.0
        else:
            _onward(forward[t - 1], table[0 if shared else t - 1], pairs, sums.with_pair, reach)
        total = _product(arrive[t], reach, reach)
        if not total > 0.0:
            return -np.inf
        scale_row(reach, 1.0 / total)
        scale_row(arrive[t], 1.0 / total)
        log_z += np.log(total)
    return sharpness * tops + log_z


@compiled
def sparse_marginals(theta, step, pairs, length, sharpness, sums, node):
    """Write the marginals into ``node`` (length, K); returns log Z. For what ``are_close``."""
    table, dense = sums.table, sums.dense
    forward, backward, arrive = dense.forward, dense.backward, dense.arrive
    shared = step.shape[0] == 1
    log_z = sparse_log_z(theta, step, pairs, length, sharpness, sums)
    if log_z == -np.inf:
        return log_z
    backward[length - 1, :] = 1.0
    for t in range(length - 1, -1, -1):
        total = _product(forward[t], backward[t], node[t])
        # One, but for rounding; so marginals of nodes and of the steps from them agree exactly.
        scale_row(node[t], 1.0 / total)
        scale_row(forward[t], 1.0 / total)
        if t > 0:
            _product(arrive[t], backward[t], arrive[t])
            _back(table[0 if shared else t - 1], arrive[t], pairs, backward[t - 1])
    return log_z


@compiled
def keep_most(probability, scores, enough, out):
    """Copy the scores of labels whose probabilities sum to ``enough``, as large ones as a few looks
    find; minus infinity for the others."""
    least, above = 0.25, 0.0
    total = 0.0
    enough = max(enough, 1e-300)  # at least one label
    while least > 1e-300:
        total = 0.0
        for k in range(probability.size):
            total += probability[k] if probability[k] >= least else 0.0
        if total >= enough:
            break
        least, above = 0.25 * least, total
    # All labels of the last look but one, and as many new ones of the last as are wanted.
    for k in range(scores.size):
        p = probability[k]
        is_new = least <= p < 4.0 * least and least < 0.25
        out[k] = scores[k] if p >= least and not (is_new and above >= enough) else -np.inf
        above += p if is_new else 0.0


@compiled
def add_pair_marginals(length, pairs, sums, out):
    """Add the marginals of all pairs to ``out``: (pairs,) the sum over steps, or one row each."""
    forward, arrive, table = sums.dense.forward, sums.dense.arrive, sums.table
    n_pairs = pairs.target.size
    shared = table.shape[0] == 1
    for t in range(length - 1):
        at = 0 if shared else t * n_pairs
        row, f, a = table[0 if shared else t], forward[t], arrive[t + 1]
        for k in range(f.size):
            amount = f[k]
            if amount > 0.0:
                for s in range(pairs.begin[k], pairs.begin[k + 1]):
                    out[at + s] += amount * row[s] * a[pairs.target[s]]
