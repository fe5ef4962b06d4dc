"""Forward-backward by logarithms of all sums: right for any scores, for about ten times the price.

See :mod:`taut.inference.forward_backward`, which uses it where its own numbers could underflow.
"""

import numpy as np

from taut._compile import compiled


@compiled
def _log_sum(values, step, sharpness):
    """log Σ_j exp(values[j] + sharpness · step[j])."""
    top = -np.inf
    for j in range(values.size):
        top = max(top, values[j] + sharpness * step[j])
    if top == -np.inf:
        return top
    total = 0.0
    for j in range(values.size):
        total += np.exp(values[j] + sharpness * step[j] - top)
    return top + np.log(total)


@compiled
def _lower(row):
    """Subtract the maximum, which is returned; minus infinities stay."""
    top = row[0]
    for k in range(1, row.size):
        top = max(top, row[k])
    if top > -np.inf:
        for k in range(row.size):
            row[k] -= top
    return top


@compiled
def _probabilities(row):
    """row := exp(row) / Σ exp(row)."""
    _lower(row)
    total = 0.0
    for k in range(row.size):
        row[k] = np.exp(row[k])
        total += row[k]
    for k in range(row.size):
        row[k] /= total


@compiled
def logarithmic(theta, pair, length, sharpness, sums, node):
    """Write the marginals into ``node`` (length, K), logarithms into ``sums``; returns log Z."""
    n_states = theta.shape[1]
    forward, backward, arrive = sums.forward, sums.backward, sums.arrive
    shared = pair.shape[0] == 1
    log_z = 0.0
    for t in range(length):
        for k in range(n_states):
            forward[t, k] = sharpness * theta[t, k]
            if t > 0:
                table = pair[0 if shared else t - 1]
                forward[t, k] += _log_sum(forward[t - 1], table[:, k], sharpness)
        top = _lower(forward[t])
        if top == -np.inf:
            return top
        log_z += top
    total = 0.0
    for k in range(n_states):
        total += np.exp(forward[length - 1, k])
    log_z += np.log(total)

    backward[length - 1, :] = 0.0
    for t in range(length - 1, -1, -1):
        for k in range(n_states):
            node[t, k] = forward[t, k] + backward[t, k]
            arrive[t, k] = sharpness * theta[t, k] + backward[t, k]
        _probabilities(node[t])
        if t > 0:
            table = pair[0 if shared else t - 1]
            for k in range(n_states):
                backward[t - 1, k] = _log_sum(arrive[t], table[k], sharpness)
            _lower(backward[t - 1])
    return log_z


@compiled
def logarithmic_step(t, pair, sharpness, sums, step):
    """The marginals of the step from t after ``logarithmic``."""
    table = pair[0 if pair.shape[0] == 1 else t]
    for k in range(step.shape[0]):
        for label in range(step.shape[1]):
            step[k, label] = sums.forward[t, k] + sharpness * table[k, label]
            step[k, label] += sums.arrive[t + 1, label]
    _probabilities(step.reshape(-1))
