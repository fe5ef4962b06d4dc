"""Viterbi: the best labelling of a chain.

Scores: ``theta[t, k]`` of label k at position t, ``pair[e, k, l]`` of the step from k at position
e to l at position e + 1; ``pair`` has one matrix per step, or a single one shared by all.

The forward pass computes values only,

    best[0, l] = theta[0, l]
    best[t, l] = max_k (best[t-1, k] + pair[k, l]) + theta[t, l],

which is a vectorised maximum over contiguous rows; back-pointers are not stored but recovered by
looking for the ``k`` that attains the value, K comparisons per position. Among equal scores the
lowest last label wins, then the lowest label before it, and so on.
"""

from taut._compile import compiled


@compiled
def viterbi(theta, pair, length, best, y):
    """Write the best labelling into ``y[:length]`` and return its score."""
    n_states = theta.shape[1]
    shared = pair.shape[0] == 1
    for label in range(n_states):
        best[0, label] = theta[0, label]
    for t in range(1, length):
        step = pair[0 if shared else t - 1]
        row = best[t]
        before = best[t - 1]
        for label in range(n_states):
            row[label] = before[0] + step[0, label]
        for previous in range(1, n_states):
            value = before[previous]
            for label in range(n_states):
                candidate = value + step[previous, label]
                row[label] = candidate if candidate > row[label] else row[label]
        for label in range(n_states):
            row[label] += theta[t, label]

    last = best[length - 1]
    winner = 0
    for label in range(1, n_states):
        if last[label] > last[winner]:
            winner = label
    total = last[winner]
    y[length - 1] = winner
    for t in range(length - 1, 0, -1):
        step = pair[0 if shared else t - 1]
        label = y[t]
        winner = 0
        top = best[t - 1, 0] + step[0, label]
        for previous in range(1, n_states):
            candidate = best[t - 1, previous] + step[previous, label]
            if candidate > top:
                top = candidate
                winner = previous
        y[t - 1] = winner
    return total


@compiled
def independent_argmax(theta, length, y):
    """The best labelling of ``length`` unconnected nodes; ties go to the lowest label."""
    total = 0.0
    for t in range(length):
        winner = 0
        for label in range(1, theta.shape[1]):
            if theta[t, label] > theta[t, winner]:
                winner = label
        y[t] = winner
        total += theta[t, winner]
    return total
