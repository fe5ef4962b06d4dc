"""Along what a block of block-coordinate Frank-Wolfe moves, and the step that it takes there.

With y* the labelling to go to, y_a the worst active one and a its weight in mu_i,

    toward    d = e(y*) - mu_i      gain = H_i(y*) - H_i(mu_i)    most = 1
    pairwise  d = e(y*) - e(y_a)    gain = H_i(y*) - H_i(y_a)     most = a
    away      d = mu_i - e(y_a)     gain = H_i(mu_i) - H_i(y_a)   most = a / (1 - a)

where away is taken only if it gains more than toward. The safeguard takes the toward step instead
where that raises the dual more: gains say nothing of how soon a step ends. So every step raises it
by as much as one of plain block-coordinate Frank-Wolfe would, and the bounds on that method's speed
hold (Osokin et al. 2016, after theorem 4).
"""

from enum import IntEnum
from typing import NamedTuple

from taut._compile import both_modes, by_reference, local
from taut.arrays.accumulator import clear
from taut.problem import add_corner, advance, begin_change, label_loss, project, weight
from taut.solvers.block_state import STEPS, move
from taut.solvers.corners import rescale
from taut.solvers.step_length import FIXED, fixed_step, progress, step_along


class Direction(IntEnum):
    TOWARD = 0
    PAIRWISE = 1
    AWAY = 2
    CORRECTIVE = 3


# Compiled code compares with plain numbers.
TOWARD, PAIRWISE, AWAY = int(Direction.TOWARD), int(Direction.PAIRWISE), int(Direction.AWAY)


@by_reference
class Options(NamedTuple):
    """What a compiled pass needs to know of ``BCFW``."""

    C: float
    n: int
    direction: int
    safeguard: bool
    step: int  # a StepLength
    keeps_corners: bool
    cache: bool
    cache_factor: float
    cache_share: float
    cache_size: int


@by_reference
class Seen(NamedTuple):
    """Values of mu_i, of the labelling to go to, and of the worst active one; their slots."""

    mean: float
    plus: int
    plus_value: float
    away: int
    away_value: float


seen_of = local(Seen)


@both_modes
def _is_mixed(alpha):
    """Whether others than this labelling are active; rounding leaves a lone one just below 1."""
    return alpha < 1.0 - 1e-12


@both_modes
def _way(direction, alpha, seen):
    """(keep, add, drop, gain, most) of d = keep * mu_i + add * e(y) + drop * e(y_away)."""
    gain = seen.plus_value - seen.mean
    if direction == PAIRWISE:
        if seen.plus == seen.away:
            return 0.0, 1.0, -1.0, 0.0, 0.0
        return 0.0, 1.0, -1.0, seen.plus_value - seen.away_value, alpha[seen.away]
    if direction == AWAY and seen.mean - seen.away_value > gain and _is_mixed(alpha[seen.away]):
        gain, share = seen.mean - seen.away_value, alpha[seen.away]
        return 1.0, 0.0, -1.0, gain, share / (1.0 - share)
    return -1.0, 1.0, 0.0, gain, 1.0


@both_modes
def _begin(problem, state, i, away, keep, add, drop):
    """Have the change d of mu_i in ``work``, and Psi_i d in ``delta``."""
    begin_change(problem, i, state.mu, keep, state.work)
    if add != 0.0:
        add_corner(problem, i, state.y, add, state.work)
    if drop != 0.0:
        y_away = state.corners.labels[state.corners.label_at[away] :]
        add_corner(problem, i, y_away, drop, state.work)
    project(problem, i, state.work, 1.0, state.delta)


@both_modes
def safer_direction(problem, state, options, i, seen):
    """That of ``options``, or toward if this raises the dual more."""
    keep, _, _, _, _ = _way(options.direction, state.corners.alpha, seen)
    if keep < 0.0:  # away is toward here: nothing to compare
        return TOWARD
    if _progress(problem, state, options, i, TOWARD, seen) > _progress(
        problem, state, options, i, options.direction, seen
    ):
        return TOWARD
    return options.direction


@both_modes
def _progress(problem, state, options, i, direction, seen):
    keep, add, drop, gain, most = _way(direction, state.corners.alpha, seen)
    if gain <= 0.0:
        return 0.0
    _begin(problem, state, i, seen.away, keep, add, drop)
    scale = options.C * weight(problem, i)
    step = step_along(state, state.delta, scale, gain, most, options.step)
    raised = progress(state, state.delta, scale, gain, step)
    clear(state.delta)
    return raised


@both_modes
def take_step(problem, state, options, i, direction, seen):
    """Move mu_i and w along the direction."""
    corners = state.corners
    alpha = corners.alpha
    scale = options.C * weight(problem, i)
    keep, add, drop, gain, most = _way(direction, alpha, seen)
    if gain <= 0.0 and options.step != FIXED:
        return
    _begin(problem, state, i, seen.away, keep, add, drop)
    if options.step == FIXED:
        step = fixed_step(options.n, state.count[STEPS] - 1)  # this one is counted
    else:
        step = step_along(state, state.delta, scale, gain, most, options.step)
    loss_change = keep * state.ell[i]
    if add != 0.0:
        loss_change += label_loss(problem, i, state.y)
    if drop != 0.0:
        loss_change -= label_loss(problem, i, corners.labels[corners.label_at[seen.away] :])
    loss_change *= step
    advance(problem, i, state.mu, step, state.work)
    state.ell[i] += loss_change
    move(state, state.delta, scale, step, weight(problem, i) * loss_change)

    if options.direction != TOWARD:
        if keep != 0.0:
            rescale(corners.head, corners.following, alpha, i, 1.0 + keep * step)
        if add != 0.0:
            alpha[seen.plus] += step
        if drop != 0.0:
            # At the cap the corner leaves the active set, whatever rounding says.
            alpha[seen.away] = 0.0 if step == most else alpha[seen.away] - step
