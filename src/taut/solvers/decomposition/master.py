"""The master problem: a small concave quadratic program over a product of simplexes or cones.

    maximise  <linear, q> - 1/2 q' gram q - 1/2 sum_b mass_cost_b (sum_{k in b} q_k)^2,    q >= 0

Every point k belongs to one block b. In a *simplex* the weights of a block sum to one and there is
no mass cost; in a *cone* the sum is free and its cost positive. A cone is treated as a simplex with
one more point, its apex: at zero, with all the weight one could ask for.

Two kinds of ascent steps alternate. A *pair step* moves weight inside one block from the worst
point in use to the best, as far as it pays: it brings points in and takes them out, at O(m) a step.
*Newton steps* (see ``newton``) then solve the problem on the points in use exactly. If no point out
of use has a larger gradient after that, the master is solved, to rounding.

This is the projected Newton idea of Bertsekas (1982), which Yu & Rousu recommend, with a ratio test
in place of its projection arc: the arc needs many evaluations where many weights vanish at once,
while here one factorisation takes up to one point per block out of use.
"""

from typing import NamedTuple

import numpy as np

from taut._compile import compiled
from taut.solvers.decomposition.newton import new_newton, newton_steps
from taut.solvers.decomposition.quadratic import (
    APEX,
    Quadratic,
    add_multiple,
    gap_of,
    new_quadratic,
    times_hessian,
)

# Pair steps sweep the blocks until they gain less than this part of what the first sweep gained.
FADING = 0.1
MOST_SWEEPS = 10
MOST_ROUNDS = 200


class MasterResult(NamedTuple):
    weights: np.ndarray
    gap: float  # the objective can be improved by at most this
    iterations: int  # Newton steps


def solve_master(
    gram: np.ndarray,
    linear: np.ndarray,
    blocks: np.ndarray,
    weights: np.ndarray,
    *,
    mass_cost: np.ndarray | None = None,
    tol: float = 1e-14,
) -> MasterResult:
    """Maximise in place, from feasible ``weights``; ``mass_cost`` is per block, None for simplexes.

    ``gram`` may be larger than the number of points: its leading part is used. Stops when the gap
    is ``tol`` of the size of the terms it is made of, or at the limit of rounding, which is above
    that for nearly dependent points.

    >>> solve_master(np.eye(3), np.zeros(3), np.zeros(3, int), np.array([1.0, 0, 0])).weights
    array([0.33333333, 0.33333333, 0.33333333])
    """
    quadratic = new_quadratic(gram, linear, blocks, mass_cost)
    gradient, mass = np.zeros(len(linear)), np.zeros(len(quadratic.start) - 1)
    iterations, least, stalled = 0, np.inf, 0
    for _ in range(MOST_ROUNDS):
        gap, size = begin_round(quadratic, weights, mass, gradient)
        if gap <= tol * size:
            break
        # Below this, rounding of the gradient decides; a few rounds may still lower it.
        stalled = stalled + 1 if gap >= 0.5 * least else 0
        least = min(least, gap)
        if stalled >= 3 and gap <= 1e-12 * size:
            break
        pair_sweeps(quadratic, weights, gradient)
        iterations += solve_points_in_use(quadratic, weights, gradient)
    return MasterResult(weights, gap, iterations)


def solve_points_in_use(quadratic: Quadratic, q: np.ndarray, gradient: np.ndarray) -> int:
    """Newton steps on a problem of these points only; returns how many were taken."""
    used = quadratic.member[q[quadratic.member] > 0.0]  # block by block
    blocks, n_blocks = quadratic.block[used], len(quadratic.start) - 1
    part = Quadratic(
        gram=quadratic.gram[used[:, None], used],
        linear=quadratic.linear[used],
        block=blocks,
        start=np.searchsorted(blocks, np.arange(n_blocks + 1)),
        member=np.arange(len(used)),
        mass_cost=quadratic.mass_cost,
    )
    weights = q[used]
    steps = newton_steps(part, weights, new_newton(gradient[used], n_blocks))
    q[used] = weights
    return int(steps)


@compiled
def begin_round(quadratic, q, mass, gradient):
    """The gradient afresh; the gap, and the size of the terms that it is the difference of."""
    if quadratic.mass_cost.size == 0:
        normalise(quadratic, q)
    times_hessian(quadratic, q, mass, gradient)
    for k in range(q.size):
        gradient[k] = quadratic.linear[k] - gradient[k]
    return gap_of(quadratic, q, gradient)


@compiled
def normalise(quadratic, q):
    """Sums of one, without what rounding adds up to."""
    for b in range(quadratic.start.size - 1):
        mass = 0.0
        for at in range(quadratic.start[b], quadratic.start[b + 1]):
            mass += q[quadratic.member[at]]
        for at in range(quadratic.start[b], quadratic.start[b + 1]):
            q[quadratic.member[at]] /= mass


@compiled
def pair_sweeps(quadratic, q, gradient):
    """Pair steps in every block, as long as sweeps gain much."""
    first = 0.0
    for count in range(MOST_SWEEPS):
        gained = 0.0
        for b in range(quadratic.start.size - 1):
            gained += pair_step(quadratic, q, gradient, b)
        if count == 0:
            first = gained
        if gained <= FADING * first:
            break


@compiled
def pair_step(quadratic, q, gradient, b):
    """Move weight from the worst point in use to the best; returns what the objective gained."""
    is_cone = quadratic.mass_cost.size > 0
    best, worst = APEX, APEX
    high, low = -np.inf, np.inf
    if is_cone:
        high = low = 0.0
    for at in range(quadratic.start[b], quadratic.start[b + 1]):
        k = quadratic.member[at]
        if gradient[k] > high:
            best, high = k, gradient[k]
        if q[k] > 0.0 and gradient[k] < low:
            worst, low = k, gradient[k]
    if best == worst or not high > low:
        return 0.0
    gram = quadratic.gram
    curvature = 0.0
    if best != APEX:
        curvature += gram[best, best]
    if worst != APEX:
        curvature += gram[worst, worst]
    if best != APEX and worst != APEX:
        curvature -= 2.0 * gram[best, worst]
    elif is_cone:
        curvature += quadratic.mass_cost[b]
    most = np.inf if worst == APEX else q[worst]
    step = min((high - low) / curvature, most) if curvature > 0.0 else most
    if best != APEX:
        q[best] += step
        add_multiple(gram[best], -step, gradient)
    if worst != APEX:
        q[worst] = 0.0 if step == most else q[worst] - step
        add_multiple(gram[worst], step, gradient)
    if is_cone and (best == APEX or worst == APEX):
        more = step if worst == APEX else -step
        for at in range(quadratic.start[b], quadratic.start[b + 1]):
            gradient[quadratic.member[at]] -= quadratic.mass_cost[b] * more
    return step * (high - low) - 0.5 * curvature * step * step
