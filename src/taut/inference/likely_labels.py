"""The marginals of a chain under the condition that only likely labels occur, in little time.

Names and scores are those of :mod:`taut.inference.sparse_forward_backward`. It looks at all pairs;
here a position's labels are chosen on the way forward, by their probability given what was read so
far, and all that follows is about the chosen ones:

    to choose    g[l] = arrive[l] (1 + Σ over pairs from chosen k of f[k] (E_s − 1)),  Σ_k f[k] = 1
    and then     f[l] = arrive[l] Σ over chosen k of f[k] exp(step from k to l)

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

MOST_LABELS = 16  # at one position
NOTHING = 1e-16  # of a probability


@by_reference
class LikelyLabels(NamedTuple):
    """Scratch memory. Chosen labels stand one position after the other."""

    begin: Integers  # (longest + 1,) those of position t: begin[t] to begin[t+1]
    label: Labels
    forward: Vector  # f
    arrive: Vector
    backward: Vector
    number: Labels  # (longest, MOST_LABELS squared) the pair of two chosen labels, -1 if none
    reach: Vector  # (K,) sums over chosen labels of the position before
    candidate: Labels  # (K,) labels that may be chosen, with their scores, later g, and a
    score: Vector
    arrive_near: Vector


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
        np.zeros(n_states, np.int32),
        np.zeros(n_states),
        np.zeros(n_states),
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
def _range_of_steps(step):
    """The smallest and the largest score; a step that is no pair scores zero."""
    low = high = 0.0
    for s in range(step.size):
        low, high = min(low, step[s]), max(high, step[s])
    return low, high


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
def _largest(scores):
    """In four parts, which do not wait for each other."""
    a = b = c = d = scores[0]
    whole = scores.size - scores.size % 4
    for k in range(0, whole, 4):
        a, b = max(a, scores[k]), max(b, scores[k + 1])
        c, d = max(c, scores[k + 2]), max(d, scores[k + 3])
    for k in range(whole, scores.size):
        a = max(a, scores[k])
    return max(max(a, b), max(c, d))


@compiled
def _write_candidates(scores, sharpness, top, lowest, likely):
    """Labels with a score from ``lowest`` on, and their a = exp(sharpness · (score − top)) and g;
    returns how many."""
    candidate, near, arrive = likely.candidate, likely.score, likely.arrive_near
    n = 0
    for k in range(scores.size):
        candidate[n] = k
        near[n] = scores[k]
        n += 1 if scores[k] >= lowest else 0
    exponentials(near[:n], sharpness, top, arrive[:n])
    for j in range(n):
        near[j] = arrive[j] * likely.reach[candidate[j]]
    return n


@compiled
def _choose(probability, enough, chosen):
    """Write where those are that have ``enough`` of the sum, as large ones as a few looks find and
    as many as there is room for, rising; returns how many."""
    total = 0.0
    for j in range(probability.size):
        total += probability[j]
    wanted = max(enough, NOTHING) * total
    smallest = (total - wanted) / probability.size  # less cannot add up to what may be missing
    least, above, sure = total, 0.0, 0
    while True:
        least *= 0.25
        found, count = 0.0, 0
        for j in range(probability.size):
            p = probability[j]
            found += p if p >= least else 0.0
            count += 1 if p >= least else 0
        if found >= wanted or count >= chosen.size or least <= smallest:
            break
        above, sure = found, count
    # All of the last look but one, and as many new ones of the last as are wanted.
    room = chosen.size - sure
    count = 0
    for j in range(probability.size):
        p = probability[j]
        is_new = p < 4.0 * least
        if p >= least and not (is_new and (above >= wanted or room == 0)):
            chosen[count] = j
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
def _choose_at(t, scores, sharpness, far, enough, likely, most):
    """Choose the labels of position t, with their a; returns the largest of all scores, or minus
    infinity if there is none."""
    top = _largest(scores)
    if not np.abs(top) < np.inf:
        return -np.inf
    first = likely.begin[t]
    n = _write_candidates(scores, sharpness, top, top - far / sharpness, likely)
    label = likely.label[first : first + most]
    count = _choose(likely.score[:n], enough, label)
    for j in range(count):
        likely.arrive[first + j] = likely.arrive_near[label[j]]
        label[j] = likely.candidate[label[j]]
    likely.begin[t + 1] = first + count
    return top if count > 0 else -np.inf


@compiled
def choose_likely(theta, step, pairs, length, sharpness, enough, most, sums):
    """Choose labels that have about ``enough`` of the probability at each position, given what
    comes before, but at most so many; returns log Z of labellings by them, or minus infinity if it
    cannot be done so. ``sums`` is that of :mod:`taut.inference.sparse_forward_backward`."""
    table, likely = sums.table, sums.likely
    shared = step.shape[0] == 1
    most = min(most, MOST_LABELS, theta.shape[1])
    likely.begin[0] = 0
    likely.reach[:] = 1.0
    log_z = high = 0.0
    for t in range(length):
        row = table[0 if shared or t == 0 else t - 1]
        if t > 0 and (t == 1 or not shared):
            scores = step[0 if shared else t - 1]
            low, high = _range_of_steps(scores)
            if not sharpness * (high - low) <= WIDEST:
                return -np.inf
            exponentials_of_steps(scores, sharpness, row)
        if t > 0:
            _look_ahead(t - 1, row, pairs, likely)
        # Scores so low that not even the best step makes up for it are not looked at.
        far = sharpness * high - np.log(max(1.0 - enough, NOTHING) / theta.shape[1])
        top = _choose_at(t, theta[t], sharpness, far, enough, likely, most)
        if top == -np.inf:
            return top
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
def add_likely(length, most, sums, node, out):
    """Add the marginals of chosen labels to ``node``, and those of their pairs to ``out``: (pairs,)
    the sum over steps, or one row each."""
    table, likely = sums.table, sums.likely
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
