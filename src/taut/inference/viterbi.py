"""Viterbi: the best labelling of a chain.

Scores: ``theta[t, k]`` of label k at position t, ``pair[e, k, l]`` of the step from k at position
e to l at position e + 1; ``pair`` has one matrix per step, or a single one shared by all.

The forward pass computes values only,

    reach[t, l] = max_k (best[t-1, k] + pair[k, l])
    best[t, l]  = reach[t, l] + theta[t, l]

which is a vectorised maximum over contiguous rows. Back-pointers are not stored: on the way back
the first ``k`` that attains ``reach`` is looked for, which stops early and hardly ever surprises
the branch predictor. Among equal scores the lowest last label wins, then the lowest label before
it, and so on.

A score of minus infinity forbids a label or a step. The value is minus infinity exactly if every
labelling is forbidden; then ``y`` holds labels that mean nothing.
"""

from taut._compile import compiled


@compiled
def _maxima(value, step, row):
    """row[l] = max(row[l], value + step[l])."""
    for label in range(row.size):
        candidate = value + step[label]
        row[label] = candidate if candidate > row[label] else row[label]


@compiled
def _four_maxima(value, step, row):
    """The same for four rows at once: a quarter of the loads and stores of ``row``."""
    v0, v1, v2, v3 = value[0], value[1], value[2], value[3]
    s0, s1, s2, s3 = step[0], step[1], step[2], step[3]
    for label in range(row.size):
        a = v0 + s0[label]
        b = v1 + s1[label]
        c = v2 + s2[label]
        d = v3 + s3[label]
        a = b if b > a else a
        c = d if d > c else c
        a = c if c > a else a
        row[label] = a if a > row[label] else row[label]


@compiled
def best_steps(before, step, row):
    """row[l] = max_k (before[k] + step[k, l])."""
    n_states = row.size
    for label in range(n_states):
        row[label] = before[0] + step[0, label]
    previous = 1
    while previous + 3 < n_states:
        _four_maxima(before[previous:], step[previous:], row)
        previous += 4
    while previous < n_states:
        _maxima(before[previous], step[previous], row)
        previous += 1


@compiled
def viterbi(theta, pair, length, best, reach, y):
    """Write the best labelling into ``y[:length]`` and return its score."""
    n_states = theta.shape[1]
    shared = pair.shape[0] == 1
    for label in range(n_states):
        best[0, label] = theta[0, label]
    for t in range(1, length):
        row = reach[t]
        best_steps(best[t - 1], pair[0 if shared else t - 1], row)
        for label in range(n_states):
            best[t, label] = row[label] + theta[t, label]

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
        # The bound only matters for scores that are not numbers.
        while (
            winner < n_states - 1 and best[t - 1, winner] + step[winner, label] != reach[t, label]
        ):
            winner += 1
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
