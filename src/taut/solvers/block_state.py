"""Everything a run moves, in one object that cannot fall out of step.

The dual point is mu (kept by the problem) and its loss ``ell``; the weights follow from it:

    v = C * sum_i s_i Psi_i(truth_i - mu_i),   w = clip(v, lower, upper)

with s_i the sample weights and C = 1/(lambda n). Where lambda l1 |w|_1 is added to the objective, v
is first brought nearer to zero by l1. In this scale a block step does not depend on n,
so adding examples leaves the weights of the others alone. Without bounds v and w are one array.
"""

from typing import NamedTuple

from taut._compile import (
    Integers,
    Labels,
    Opaque,
    Problem,
    Vector,
    both_modes,
    by_reference,
    compiled,
    local,
)
from taut.arrays.accumulator import DENSE, Accumulator, add_to, clear, list_entries
from taut.problem import add_corner, begin_change, project, true_label, weight
from taut.solvers.corners import Corners, Scratch
from taut.solvers.sampling import Sampler

# positions in State.count
STEPS, ORACLE_CALLS, AVERAGED = 0, 1, 2
# positions in State.total
GLOBAL_GAP, LOSS_AVERAGE, MOMENTUM, L1 = 0, 1, 2, 3


@by_reference
class State(NamedTuple):
    w: Vector
    v: Vector
    lower: Vector  # (dim,), or empty without bounds
    upper: Vector
    mu: Vector  # the dual, as the problem keeps it
    ell: Vector  # (n,) loss of mu_i
    corners: Corners
    sampler: Sampler
    average: Vector  # (dim,), or empty: see ``move``
    count: Integers  # type: ignore[assignment]
    total: Vector
    delta: Accumulator
    direct: Accumulator  # adds to v itself
    plane: Vector  # (dim,) delta as a vector, where fully corrective steps need it so
    work: Opaque
    y: Labels  # a labelling
    y_away: Labels  # another
    scratch: Scratch  # of fully corrective steps


@both_modes
def move(state, delta, scale, step, loss_change):
    """v -= scale * step * delta, and w with it; then clear delta.

    The weighted average of the iterates, w_bar = 2/(K(K+1)) * sum_k k w_k, would cost O(dim) a
    step. With u = sum_k k(k-1)/2 (w_k - w_{k-1}) it is w_bar = w_K - 2/(K(K+1)) u, and u changes
    only where w does.
    """
    add_to(delta, -scale * step, state.v)
    if state.average.size > 0:
        k = float(state.count[AVERAGED])
        factor = 0.5 * k * (k - 1.0)
        add_to(delta, -scale * step * factor, state.average)
        state.total[LOSS_AVERAGE] += factor * loss_change
    if state.lower.size > 0:
        list_entries(delta)
        _clip_touched(delta, state.v, state.lower, state.upper, state.total[L1], state.w)
    clear(delta)


@compiled(inline=True)
def nearer_zero(v, l1):
    """v moved toward zero by l1, at most to it."""
    return v - min(max(v, -l1), l1)


@compiled
def _clip_touched(delta, v, lower, upper, l1, w):
    count = delta.count[0]
    for position in range(v.size if count == DENSE else count):
        entry = position if count == DENSE else delta.touched[position]
        w[entry] = min(max(nearer_zero(v[entry], l1), lower[entry]), upper[entry])


@by_reference
class Box(NamedTuple):
    """w = clip(v, lower, upper), where v is first brought nearer to zero by l1."""

    v: Vector
    w: Vector
    lower: Vector
    upper: Vector
    l1: float


box_of = local(Box)


@compiled
def _slope(delta, box, scale, step):
    """<w(step) - w, delta> and its derivative, for w(step) = clip(v - scale * step * delta)."""
    v, w, lower, upper, l1 = box.v, box.w, box.lower, box.upper, box.l1
    change = 0.0
    slope = 0.0
    count = delta.count[0]
    for position in range(v.size if count == DENSE else count):
        entry = position if count == DENSE else delta.touched[position]
        amount = delta.value[position]
        value = nearer_zero(v[entry] - scale * step * amount, l1)
        if value < lower[entry]:
            value = lower[entry]
        elif value > upper[entry]:
            value = upper[entry]
        elif value != 0.0 or l1 == 0.0:
            slope -= scale * amount * amount
        change += (value - w[entry]) * amount
    return change, slope


@compiled
def bounded_step(delta, box, scale, gain, most):
    """Exact line search under box constraints and with an l1 norm.

    The gain of moving on, ``gain + <w(step) - w, delta>``, is continuous, non-increasing and
    piecewise linear in the step: Newton's method inside a shrinking bracket finds its zero
    exactly once both ends lie on one piece.
    """
    low, high = 0.0, most
    change, slope = _slope(delta, box, scale, most)
    if gain + change >= 0.0:
        return most
    change, slope = _slope(delta, box, scale, 0.0)
    step, value = 0.0, gain
    for _ in range(100):
        following = step - value / slope if slope < 0.0 else high
        if not low < following < high:
            following = 0.5 * (low + high)
        if following == low or following == high or following == step:
            break
        step = following
        change, slope = _slope(delta, box, scale, step)
        value = gain + change
        if value > 0.0:
            low = step
        elif value < 0.0:
            high = step
        else:
            break
        if abs(value) <= 1e-15 * gain:
            break
    return step


@both_modes
def parabola_top(curvature, gain, most):
    """Where step * gain - step^2 / 2 * curvature is largest, in [0, most]."""
    if gain <= 0.0:
        return 0.0
    # Equal features and a different loss: the dual is linear along d.
    if curvature <= 0.0:
        return most
    return min(gain / curvature, most)


@both_modes
def line_search(state, delta, scale, curvature, gain, most):
    """The step in [0, most] that increases the dual most; ``curvature`` is scale * |delta|^2."""
    if gain > 0.0 and state.lower.size > 0:
        list_entries(delta)
        box = box_of(state.v, state.w, state.lower, state.upper, state.total[L1])
        return bounded_step(delta, box, scale, gain, most)
    return parabola_top(curvature, gain, most)


@compiled
def rebuild_weights(problem: Problem, state, C, n):
    """v = C * sum_i s_i Psi_i(truth_i - mu_i) afresh, without the rounding of many small moves."""
    state.v[:] = 0.0
    for i in range(n):
        true_label(problem, i, state.y)
        begin_change(problem, i, state.mu, -1.0, state.work)
        add_corner(problem, i, state.y, 1.0, state.work)
        project(problem, i, state.work, C * weight(problem, i), state.direct)
    if state.lower.size > 0:
        for entry in range(state.v.size):
            value = nearer_zero(state.v[entry], state.total[L1])
            state.w[entry] = min(max(value, state.lower[entry]), state.upper[entry])
