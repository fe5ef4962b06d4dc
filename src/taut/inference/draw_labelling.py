"""A labelling drawn from a forest's distribution, given its marginals.

Roots are drawn from their own marginals, and every other node given its parent's state: from a
column of their edge's marginals, divided by its sum. So the labelling has exactly the probability
p(y) of :mod:`taut.inference.sum_product`, which also writes the marginals.

Each node needs one uniform number of [0, 1). A marginal near the smallest number there is may be
positive while everything that it is the sum of has been rounded to zero. States this unlikely are
never drawn, unless they are all that is left; then it is the likeliest.
"""

from taut._compile import both_modes, compiled

# Far below what a uniform number of 53 bits can hit, far above where marginals lose digits.
NEVER = 1e-200


@both_modes
def draw_state(weights, uniform):
    """A state by its weight; they need not sum to one. One of weight zero only if they all are."""
    total, likeliest = 0.0, 0
    for k in range(weights.size):
        if weights[k] > NEVER:
            total += weights[k]
        if weights[k] > weights[likeliest]:
            likeliest = k
    threshold = uniform * total
    drawn, below = likeliest, 0.0
    for k in range(weights.size):
        if weights[k] > NEVER:
            drawn = k
            below += weights[k]
            # The last state is also drawn where rounding left the threshold at the total.
            if below > threshold:
                break
    return drawn


@compiled
def draw_labelling(node, edge, states, ends, n, m, order, uniforms, y):
    """Write a labelling into ``y``, drawn with ``uniforms`` (n,) from marginals of a forest.

    Where no labelling is possible, and all marginals are zero, it means nothing.
    """
    for t in range(n):
        y[t] = 0
    for position in range(m):
        e = order[position]
        child = ends[e, 0] if e >= 0 else ends[-e - 1, 1]
        y[child] = -1
    for t in range(n):
        if y[t] == 0:
            y[t] = draw_state(node[t, : states[t]], uniforms[t])
    for position in range(m - 1, -1, -1):
        e = order[position]
        if e >= 0:
            child, parent = ends[e, 0], ends[e, 1]
            y[child] = draw_state(edge[e, : states[child], y[parent]], uniforms[child])
        else:
            e = -e - 1
            child, parent = ends[e, 1], ends[e, 0]
            y[child] = draw_state(edge[e, y[parent], : states[child]], uniforms[child])
