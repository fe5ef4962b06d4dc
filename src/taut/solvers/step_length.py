"""How far a step goes along its direction d, at most to ``most``.

    line-search  where the dual is largest, exactly, also under box constraints
    parabola     min(gain / (scale |Psi d|^2), most), the top of a parabola: of the dual itself
                 without bounds, of one below it with them (Osokin et al. 2016, algorithms 8, 9)
    fixed        2n / (k + 2n) after k block steps, of one block as of all of them: 2 / (k + 2)
                 after k steps of all blocks (Lacoste-Julien et al. 2013, algorithms 1 and 3)

The first two never lower the dual. Fixed steps ask for no value but the oracle's, and do.
"""

from enum import IntEnum

from taut._compile import both_modes, compiled
from taut.arrays.accumulator import DENSE, list_entries, squared_norm
from taut.solvers.block_state import box_of, line_search, parabola_top


class StepLength(IntEnum):
    LINE_SEARCH = 0
    PARABOLA = 1
    FIXED = 2


def named(step: StepLength) -> str:
    """As people write it."""
    return step.name.lower().replace("_", "-")


# Compiled code compares with plain numbers.
PARABOLA, FIXED = int(StepLength.PARABOLA), int(StepLength.FIXED)


@both_modes
def fixed_step(n, taken):
    """After so many block steps."""
    return 2.0 * n / (taken + 2.0 * n)


@both_modes
def step_along(state, delta, scale, gain, most, rule):
    """By the line search or the parabola; ``delta`` is Psi d."""
    curvature = scale * squared_norm(delta)
    if rule == PARABOLA:
        return parabola_top(curvature, gain, most)
    return line_search(state, delta, scale, curvature, gain, most)


@both_modes
def progress(state, delta, scale, gain, step):
    """By how much a step raises the dual, in units of lambda / scale."""
    if state.lower.size > 0:
        list_entries(delta)
        box = box_of(state.v, state.w, state.lower, state.upper, 0.0)  # no l1 norm in SVMs
        return step * gain - _lost_in_box(delta, box, scale, step)
    return step * (gain - 0.5 * step * scale * squared_norm(delta))


@compiled
def _lost_in_box(delta, box, scale, step):
    """Integral of <w - w(t), delta> for t from 0 to ``step``, w(t) = clip(v - scale t delta).

    <v, w> - |w|^2 / 2 has the gradient w, so each entry has (w - w') ((w + w') / 2 - v') / scale.
    """
    v, w, lower, upper = box.v, box.w, box.lower, box.upper
    lost = 0.0
    count = delta.count[0]
    for position in range(v.size if count == DENSE else count):
        entry = position if count == DENSE else delta.touched[position]
        after = v[entry] - scale * step * delta.value[position]
        placed = min(max(after, lower[entry]), upper[entry])
        lost += (w[entry] - placed) * (0.5 * (w[entry] + placed) - after)
    return lost / scale
