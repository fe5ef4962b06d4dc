"""The marginals of a chain under the condition that only likely labels occur, in little time.

Names and scores are those of :mod:`taut.inference.sparse_forward_backward`. It looks at all pairs;
here a position's labels are chosen on the way forward, by their probability given what was read so
far, and all that follows is about the chosen ones:

    to choose     g[l] = arrive[l] (1 + Σ over pairs from chosen k of f[k] (E_s − 1)),   Σ_k f[k] = 1
    and then      f[l] = arrive[l] Σ over chosen k of f[k] exp(step from k to l)

The first is a difference, of which small results are wrong; it is only looked at to choose. The
second makes marginals and log Z exact, for the distribution over labellings of chosen labels. Its
log Z is a lower bound of the chain's.
"""

from typing import NamedTuple

import numpy as np

from taut._compile import Integers, Labels, Vector, by_reference, compiled
from taut.inference.exponentials import exponentials
from taut.inference.forward_backward import WIDEST, scale_row
from taut.inference.pairs import pair_of

MOST_LABELS = 64  # at one position


@by_reference
class LikelyLabels(NamedTuple):
    """Scratch memory. Chosen labels stand one position after the other."""

    begin: Integers  # (longest + 1,) those of position t: begin[t] to begin[t+1]
    label: Labels
    forward: Vector  # f
    arrive: Vector
    backward: Vector
    number: Labels  # (longest, MOST_LABELS squared) the pair of two chosen labels, -1 if none
    reach: Vector  # (K,) g
    every: Vector  # (K,) arrive, of all labels
    candidate: Labels  # (K,)


def new_likely_labels(longest: int, n_states: int) -> LikelyLabels:
    most = longest * min(MOST_LABELS, n_states)
    return LikelyLabels(
        np.zeros(longest + 1, np.int64),
        np.zeros(most, np.int32),
        np.zeros(most),
        np.zeros(most),
        np.zeros(most),
        np.zeros(longest * min(MOST_LABELS, n_states) ** 2, np.int32),
        np.zeros(n_states),
        np.zeros(n_states),
        np.zeros(n_states, np.int32),
    )


@compiled
def exponentials_of_steps(step, sharpness, table):
    """table = exp(sharpness · step)."""
    high = 0.0
    for s in range(step.size):
        high = max(high, step[s])
    exponentials(step, sharpness, high, table)
    if high > 0.0:
        scale_row(table, np.exp(sharpness * high))


@compiled
def _spread_of_steps(step):
    """How far apart the scores of steps are; one that is no pair scores zero."""
    low = high = 0.0
    for s in range(step.size):
        low, high = min(low, step[s]), max(high, step[s])
    return high - low


@compiled
def _look_ahead(t, table, pairs, likely):
    """reach = 1 + Σ over pairs from labels of position t of f (E − 1)."""
    reach, begin, target = likely.reach, pairs.begin, pairs.target
    reach[:] = 1.0
    for j in range(likely.begin[t], likely.begin[t + 1]):
        k, f = likely.label[j], likely.forward[j]
        for s in range(begin[k], begin[k + 1]):
            reach[target[s]] += f * (table[s] - 1.0)


@compiled
def _choose(probability, total, enough, candidate, label):
    """Write the labels that have ``enough`` of the ``total``, as large ones as a few looks find and
    as many as there is room for, rising; returns how many."""
    n_states = probability.size
    wanted = enough * total
    smallest = (total - wanted) / n_states  # what is less does not add up to what may be missing
    n = 0
    for k in range(n_states):
        candidate[n] = k
        n += 1 if probability[k] >= smallest else 0
    least, above, sure = total, 0.0, 0
    while True:
        least *= 0.25
        found, count = 0.0, 0
        for j in range(n):
            p = probability[candidate[j]]
            if p >= least:
                found += p
                count += 1
        if found >= wanted or count >= label.size or least <= smallest:
            break
        above, sure = found, count
    # All labels of the last look but one, and as many new ones of the last as are wanted.
    room = label.size - sure
    count = 0
    for j in range(n):
        p = probability[candidate[j]]
        is_new = p < 4.0 * least
        if p >= least and not (is_new and (above >= wanted or room == 0)):
            label[count] = candidate[j]
            count += 1
            if is_new:
                above += p
                room -= 1
    return count


@compiled
def _forward(t, table, pairs, likely, most):
    """f of the labels that were chosen at position t; returns their sum before it is made one."""
    begin, label, forward = likely.begin, likely.label, likely.forward
    width = begin[t] - begin[t - 1] if t > 0 else 0
    total = 0.0
    at = t * most * most
    for j in range(begin[t], begin[t + 1]):
        reach = 1.0 if t == 0 else 0.0
        for i in range(width):
            source = begin[t - 1] + i
            s = pair_of(pairs, label[source], label[j])
            likely.number[at] = s
            at += 1
            reach += forward[source] * (table[s] if s >= 0 else 1.0)
        forward[j] = likely.arrive[j] * reach
        total += forward[j]
    if total > 0.0:
        for j in range(begin[t], begin[t + 1]):
            forward[j] /= total
            likely.arrive[j] /= total
    return total


@compiled
def choose_likely(theta, step, pairs, length, sharpness, enough, most, table, likely):
    """Choose labels that have ``enough`` of the probability at each position, given what comes
    before; returns log Z of labellings by them, or minus infinity if it cannot be done so."""
    shared = step.shape[0] == 1
    reach = likely.reach
    likely.begin[0] = 0
    most, log_z = min(most, MOST_LABELS, theta.shape[1]), 0.0
    for t in range(length):
        row = table[0 if shared or t == 0 else t - 1]
        if t > 0 and (t == 1 or not shared):
            scores = step[0 if shared else t - 1]
            if not sharpness * _spread_of_steps(scores) <= WIDEST:
                return -np.inf
            exponentials_of_steps(scores, sharpness, row)
        scores, first = theta[t], likely.begin[t]
        top = scores[0]
        for k in range(1, scores.size):
            top = max(top, scores[k])
        if not np.abs(top) < np.inf:
            return -np.inf
        exponentials(scores, sharpness, top, likely.every)
        if t > 0:
            _look_ahead(t - 1, row, pairs, likely)
        else:
            reach[:] = 1.0
        total = 0.0
        for k in range(reach.size):
            reach[k] *= likely.every[k]
            total += reach[k]
        label = likely.label[first : first + most]
        count = _choose(reach, total, enough, likely.candidate, label)
        if count <= 0:
            return -np.inf
        for j in range(first, first + count):
            likely.arrive[j] = likely.every[likely.label[j]]
        likely.begin[t + 1] = first + count
        of_chosen = _forward(t, row, pairs, likely, most)
        if not of_chosen > 0.0:
            return -np.inf
        log_z += sharpness * top + np.log(of_chosen)
    return log_z


@compiled
def _make_whole(t, likely):
    """Scale f of position t so that its marginals sum to one."""
    forward, backward = likely.forward, likely.backward
    total = 0.0
    for j in range(likely.begin[t], likely.begin[t + 1]):
        total += forward[j] * backward[j]
    for j in range(likely.begin[t], likely.begin[t + 1]):
        forward[j] /= total


@compiled
def _backward(t, table, likely, most):
    """From b of position t, a of position t and b of position t-1."""
    begin, arrive, backward = likely.begin, likely.arrive, likely.backward
    for i in range(begin[t - 1], begin[t]):
        backward[i] = 0.0
    at = t * most * most
    for j in range(begin[t], begin[t + 1]):
        arrive[j] *= backward[j]
        for i in range(begin[t - 1], begin[t]):
            s = likely.number[at]
            at += 1
            backward[i] += arrive[j] * (table[s] if s >= 0 else 1.0)


@compiled
def _add_steps(t, table, likely, most, out):
    """Add the marginals of the pairs that lead to position t."""
    begin = likely.begin
    at = t * most * most
    for j in range(begin[t], begin[t + 1]):
        for i in range(begin[t - 1], begin[t]):
            s = likely.number[at]
            at += 1
            if s >= 0:
                out[s] += likely.forward[i] * table[s] * likely.arrive[j]


@compiled
def add_likely(length, most, table, likely, node, out):
    """Add the marginals of chosen labels to ``node``, and those of their pairs to ``out``: (pairs,)
    the sum over steps, or one row each."""
    shared, most = table.shape[0] == 1, min(most, MOST_LABELS, node.shape[1])
    n_pairs = table.shape[1]
    for j in range(likely.begin[length - 1], likely.begin[length]):
        likely.backward[j] = 1.0
    _make_whole(length - 1, likely)
    for t in range(length - 1, -1, -1):
        for j in range(likely.begin[t], likely.begin[t + 1]):
            node[t, likely.label[j]] += likely.forward[j] * likely.backward[j]
        if t > 0:
            e = 0 if shared else t - 1
            _backward(t, table[e], likely, most)
            _make_whole(t - 1, likely)
            _add_steps(t, table[e], likely, most, out[e * n_pairs : (e + 1) * n_pairs])
