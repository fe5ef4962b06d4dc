"""A labelling from fractional node marginals.

Nodes are rounded one after the other by the method of conditional expectations: of the states with
a positive marginal, node t takes the one that maximises the expected score if the neighbours that
are not rounded yet drew their states independently from their marginals. Integral nodes are kept.
What results is compared with the plain argmax of the marginals, and the better one is improved by
*iterated conditional modes*: single nodes change their state as long as that raises the score.

Reference: P. Raghavan, "Probabilistic construction of deterministic algorithms", 1988; J. Besag,
"On the statistical analysis of dirty pictures", 1986.
"""

from typing import NamedTuple

import numpy as np

from taut._compile import Matrix, Vector, by_reference, compiled
from taut.inference.incidence import Incidence, fill_incidence, new_incidence
from taut.inference.labelling import labelling_score

# Every sweep but the last raises the score; the bound is for rounding errors that go in circles.
MOST_SWEEPS = 1000


@by_reference
class RoundingWork(NamedTuple):
    incidence: Incidence
    share: Matrix  # (N, K) marginals, integral for the nodes already rounded
    score: Vector  # (K,)


def new_rounding_work(max_nodes, max_edges, n_states):
    return RoundingWork(
        new_incidence(max_nodes, max_edges), np.zeros((max_nodes, n_states)), np.zeros(n_states)
    )


@compiled
def _conditional_scores(theta, states, ends, pair, t, incidence, y, score):
    """The score of every state of node t given the labels of its neighbours."""
    start, half = incidence.start, incidence.half
    for k in range(states[t]):
        score[k] = theta[t, k]
    for j in range(start[t], start[t + 1]):
        e, side = half[j] // 2, half[j] % 2
        other = y[ends[e, 1 - side]]
        for k in range(states[t]):
            score[k] += pair[e, k, other] if side == 0 else pair[e, other, k]


@compiled
def improve_labelling(theta, states, ends, pair, n, m, y, incidence, score):
    """Change single labels while that raises the score; returns the score."""
    for _ in range(MOST_SWEEPS):
        changed = False
        for t in range(n):
            _conditional_scores(theta, states, ends, pair, t, incidence, y, score)
            best = y[t]
            for k in range(states[t]):
                if score[k] > score[best]:
                    best = k
            if best != y[t]:
                y[t] = best
                changed = True
        if not changed:
            break
    return labelling_score(theta, ends, pair, n, m, y)


@compiled
def _argmax(theta, states, n, node, y):
    """The state of the largest marginal; among equals the one of the higher score."""
    for t in range(n):
        best = 0
        for k in range(1, states[t]):
            ahead = node[t, k] - node[t, best]
            if ahead > 0.0 or (ahead == 0.0 and theta[t, k] > theta[t, best]):
                best = k
        y[t] = best


@compiled
def _expected_scores(theta, states, ends, pair, t, work):
    """The expected score of every state of node t, its neighbours drawn from their shares."""
    start, half = work.incidence.start, work.incidence.half
    share, score = work.share, work.score
    for k in range(states[t]):
        score[k] = theta[t, k]
    for j in range(start[t], start[t + 1]):
        e, side = half[j] // 2, half[j] % 2
        s = ends[e, 1 - side]
        for other in range(states[s]):
            probability = share[s, other]
            if probability > 0.0:
                for k in range(states[t]):
                    gain = pair[e, k, other] if side == 0 else pair[e, other, k]
                    score[k] += probability * gain


@compiled
def _round_by_expectation(theta, states, ends, pair, n, node, y, work):
    share, score = work.share, work.score
    for t in range(n):
        for k in range(states[t]):
            share[t, k] = node[t, k]
    for t in range(n):
        _expected_scores(theta, states, ends, pair, t, work)
        best = -1
        for k in range(states[t]):
            if node[t, k] > 0.0 and (best < 0 or score[k] > score[best]):
                best = k
        y[t] = max(best, 0)
        for k in range(states[t]):
            share[t, k] = 1.0 if k == y[t] else 0.0


@compiled
def round_marginals(theta, states, ends, pair, n, m, node, y, work):
    """Write a labelling into ``y[:n]`` that no change of one node improves; returns its score.

    It is never worse than the argmax of the marginals, nor, up to rounding errors, than the
    expected score of labels drawn independently from the marginals.
    """
    fill_incidence(ends, n, m, work.incidence)
    _argmax(theta, states, n, node, y)
    plain = labelling_score(theta, ends, pair, n, m, y)
    _round_by_expectation(theta, states, ends, pair, n, node, y, work)
    value = improve_labelling(theta, states, ends, pair, n, m, y, work.incidence, work.score)
    if value < plain:
        _argmax(theta, states, n, node, y)
        value = improve_labelling(theta, states, ends, pair, n, m, y, work.incidence, work.score)
    return value
