"""The messages of one edge that are best given all others, in closed form.

``hat`` are the reparametrised scores theta_hat of the ends, ``table`` the theta(k, l) of the edge,
``messages`` those to u, then those to v. The formulas are in ``dlpw``.

Reference: Globerson, Jaakkola (2007), Fixing max-product: convergent message passing algorithms for
MAP LP-relaxations.
"""

import numpy as np

from taut._compile import both_modes


@both_modes
def fit_messages(table, messages, hat_u, hat_v):
    """Those to both ends that minimise max hat_u + max hat_v + max (table - messages).

    ``hat`` follows.
    """
    n_u, n_v = hat_u.size, hat_v.size
    to_u, to_v = messages[:n_u], messages[n_u:]
    for k in range(n_u):
        hat_u[k] -= to_u[k]
        to_u[k] = -np.inf
    for other in range(n_v):
        hat_v[other] -= to_v[other]
        to_v[other] = -np.inf
    for k in range(n_u):
        for other in range(n_v):
            score = table[k * n_v + other]
            to_u[k] = max(to_u[k], score + hat_v[other])
            to_v[other] = max(to_v[other], score + hat_u[k])
    for k in range(n_u):
        to_u[k] = 0.5 * (to_u[k] - hat_u[k])
        hat_u[k] += to_u[k]
    for other in range(n_v):
        to_v[other] = 0.5 * (to_v[other] - hat_v[other])
        hat_v[other] += to_v[other]


@both_modes
def fit_softly(table, messages, hat_u, hat_v, smoothing, row):
    """Those to u that minimise the same with soft maxima, then those to v."""
    n_u, n_v = hat_u.size, hat_v.size
    to_u, to_v = messages[:n_u], messages[n_u:]
    for k in range(n_u):
        for other in range(n_v):
            row[other] = table[k * n_v + other] - to_v[other]
        before = hat_u[k] - to_u[k]
        to_u[k] = 0.5 * (log_sum_exp(row[:n_v], smoothing) - before)
        hat_u[k] = before + to_u[k]
    for other in range(n_v):
        for k in range(n_u):
            row[k] = table[k * n_v + other] - to_u[k]
        before = hat_v[other] - to_v[other]
        to_v[other] = 0.5 * (log_sum_exp(row[:n_u], smoothing) - before)
        hat_v[other] = before + to_v[other]


@both_modes
def log_sum_exp(values, smoothing):
    """smoothing * log(sum of exp(values / smoothing))."""
    top = values[0]
    for k in range(1, values.size):
        top = max(top, values[k])
    total = 0.0
    for k in range(values.size):
        total += np.exp((values[k] - top) / smoothing)
    return top + smoothing * np.log(total)
