"""The score of a labelling, by definition."""

from taut._compile import compiled


@compiled
def labelling_score(theta, ends, pair, n, m, y):
    """sum_t theta[t, y_t] + sum_e pair[e, y_u, y_v]."""
    total = 0.0
    for t in range(n):
        total += theta[t, y[t]]
    for e in range(m):
        total += pair[e, y[ends[e, 0]], y[ends[e, 1]]]
    return total
