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

from taut._compile import Integers, Matrix, Vector, by_reference, compiled
from taut.solvers.decomposition.newton import Newton, local_newton, new_newton, newton_step
from taut.solvers.decomposition.quadratic import (
    APEX,
    add_multiple,
    gap_of,
    local_quadratic,
    new_quadratic,
    times_hessian,
)

# Pair steps sweep the blocks until they gain less than this part of what the first sweep gained.
FADING = 0.1
MOST_SWEEPS = 10
MOST_ROUNDS = 200


@by_reference
class Scratch(NamedTuple):
    """Memory of a solve."""

    gradient: Vector  # (m,)
    product: Vector  # (m,)
    mass: Vector  # (n_blocks,)
    # The points in use, as a problem of their own.
    of: Integers  # (m,) which they are
    weights: Vector  # (m,)
    gram: Matrix  # (m, m)
    block: Integers  # (m,)
    start: Integers  # (n_blocks + 1,)
    member: Integers  # (m,)
    newton: Newton


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
    scratch = new_scratch(len(linear), len(quadratic.start) - 1)
    gap, iterations = maximise(quadratic, weights, scratch, tol)
    return MasterResult(weights, gap, iterations)


def new_scratch(m: int, n_blocks: int) -> Scratch:
    return Scratch(
        gradient=np.zeros(m),
        product=np.zeros(m),
        mass=np.zeros(n_blocks),
        of=np.zeros(m, np.int64),
        weights=np.zeros(m),
        gram=np.empty((m, m)),  # few rows of it are ever touched
        block=np.zeros(m, np.int64),
        start=np.zeros(n_blocks + 1, np.int64),
        member=np.arange(m),
        newton=new_newton(m, n_blocks),
    )


@compiled
def maximise(quadratic, q, scratch, tol):
    """(gap, number of Newton steps); see ``solve_master``."""
    steps = 0
    least, stalled = np.inf, 0
    for _ in range(MOST_ROUNDS):
        if quadratic.mass_cost.size == 0:
            normalise(quadratic, q)
        times_hessian(quadratic, q, scratch.mass, scratch.product)
        for k in range(q.size):
            scratch.gradient[k] = quadratic.linear[k] - scratch.product[k]
        gap, size = gap_of(quadratic, q, scratch.gradient)
        if gap <= tol * size:
            break
        # Below this, rounding of the gradient decides; a few rounds may still lower it.
        stalled = stalled + 1 if gap >= 0.5 * least else 0
        least = min(least, gap)
        if stalled >= 3 and gap <= 1e-12 * size:
            break
        pair_sweeps(quadratic, q, scratch.gradient)
        steps += solve_points_in_use(quadratic, q, scratch)
    return gap, steps


@compiled
def normalise(quadratic, q):
    """Sums of one, without what rounding adds up to."""
    for b in range(quadratic.start.size - 1):
        mass = 0.0
        for at in range(quadratic.start[b], quadratic.start[b + 1]):
            mass += q[quadratic.member[at]]
        for at in range(quadratic.start[b], quadratic.start[b + 1]):
            q[quadratic.member[at]] /= mass


# --- pair steps ------------------------------------------------------------------------------


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


# --- Newton steps ----------------------------------------------------------------------------


@compiled
def solve_points_in_use(quadratic, q, scratch):
    """Newton steps on a problem of these points only; returns how many were taken."""
    used = list_used(quadratic, q, scratch)
    newton, weights = scratch.newton, scratch.weights[:used]
    inside = local_quadratic(
        scratch.gram, scratch.weights[:used], scratch.block[:used], scratch.start, scratch.member,
        quadratic.mass_cost,
    )  # fmt: skip
    part = local_newton(
        newton.gradient[:used], newton.direction[:used], newton.product[:used], newton.mass,
        newton.step, newton.base, newton.free, newton.listed, newton.listed_base, newton.rows,
        newton.factor, newton.x,
    )  # fmt: skip
    newton.rows[0] = 0
    steps = 0
    for _ in range(used + 1):
        steps += 1
        if newton_step(inside, weights, part):
            break
    for r in range(used):
        q[scratch.of[r]] = weights[r]
    return steps


@compiled
def list_used(quadratic, q, scratch):
    """Copy what concerns the points with positive weight, block by block; returns their number."""
    of, used = scratch.of, 0
    for b in range(quadratic.start.size - 1):
        scratch.start[b] = used
        for at in range(quadratic.start[b], quadratic.start[b + 1]):
            k = quadratic.member[at]
            if q[k] > 0.0:
                of[used] = k
                scratch.block[used] = b
                scratch.weights[used] = q[k]
                scratch.newton.gradient[used] = scratch.gradient[k]
                used += 1
    scratch.start[quadratic.start.size - 1] = used
    for r in range(used):
        row, full = scratch.gram[r], quadratic.gram[of[r]]
        for c in range(used):
            row[c] = full[of[c]]
    return used
