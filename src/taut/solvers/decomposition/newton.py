"""Newton steps of the master problem: exact on the points in use.

A base point in each block (the one with most weight; the apex of a cone) takes what the others
give. That leaves f free directions e_k - e_base and a Cholesky factorisation of their Gram matrix.
Where it meets a direction that depends on those before it, the objective is linear along a
combination, and the step follows that until a weight is zero: so the points in use become
independent, at most dim many. Otherwise each block goes as far toward the solution as its weights
stay positive, or all go together, whichever gains more. A step either takes a point out of use or
reaches the solution. Rows of the factor before the first one that changed are used again.
"""

from typing import NamedTuple

import numpy as np

from taut._compile import Integers, Matrix, Vector, by_reference, compiled
from taut.solvers.decomposition.quadratic import APEX, add_multiple, inner, times_hessian

# A direction whose pivot is this small a part of its squared length depends on those before.
DEPENDENT = 1e-13
SMALLEST = 1e-200  # step of a block: one divides by it


@by_reference
class Newton(NamedTuple):
    """The gradient at m points, and memory."""

    gradient: Vector  # (m,)
    direction: Vector  # (m,) of the weights
    product: Vector  # (m,) Hessian times direction
    mass: Vector  # (n_blocks,) sums of the direction
    step: Vector  # (n_blocks,)
    base: Integers  # (n_blocks,)
    free: Integers  # (m,) points that are no base
    listed: Integers  # (m,) ``free`` when the factor was made
    listed_base: Integers  # (m,) and the bases then
    rows: Integers  # (1,) rows of the factor that are there
    factor: Matrix  # (m, m) lower triangle
    x: Vector  # (m,) along the free directions


def new_newton(gradient: np.ndarray, n_blocks: int) -> Newton:
    m = len(gradient)
    return Newton(
        gradient=gradient,
        direction=np.zeros(m),
        product=np.zeros(m),
        mass=np.zeros(n_blocks),
        step=np.zeros(n_blocks),
        base=np.zeros(n_blocks, np.int64),
        free=np.zeros(m, np.int64),
        listed=np.zeros(m, np.int64),
        listed_base=np.zeros(m, np.int64),
        rows=np.zeros(1, np.int64),
        factor=np.empty((m, m)),  # few rows of it are ever touched
        x=np.zeros(m),
    )


@compiled
def newton_steps(quadratic, q, newton):
    """Steps until the points are solved; returns how many."""
    steps = 1
    while not newton_step(quadratic, q, newton) and steps <= q.size:
        steps += 1
    return steps


@compiled
def newton_step(quadratic, q, newton):
    """One step on the points with positive weight; returns whether they are solved by it."""
    count = list_free(quadratic, q, newton)
    if count == 0:
        return True
    factor, x = newton.factor, newton.x
    good = factorise(quadratic, newton, count)
    if good < count:
        # A combination without curvature, but for rounding: up it, or down where it is level, one
        # comes to the end of a simplex. (In a cone it keeps the mass.)
        for r in range(good):
            x[r] = -factor[good, r]
        solve_upper(factor, x, good)
        x[good] = 1.0
        slope = 0.0
        for r in range(good + 1):
            slope += x[r] * slope_of(quadratic, newton, r)
        if slope < 0.0:
            for r in range(good + 1):
                x[r] = -x[r]
        spread(quadratic, newton, good + 1)
        move(quadratic, q, newton, room(q, newton.direction))
        return False
    for r in range(count):
        x[r] = slope_of(quadratic, newton, r)
    solve_lower(factor, x, count)
    solve_upper(factor, x, count)
    spread(quadratic, newton, count)
    return go_toward(quadratic, q, newton)


@compiled
def list_free(quadratic, q, newton):
    """Choose the bases; list the other points in use. Returns their number."""
    is_cone = quadratic.mass_cost.size > 0
    count = 0
    for b in range(quadratic.start.size - 1):
        base = APEX
        if not is_cone:
            for at in range(quadratic.start[b], quadratic.start[b + 1]):
                k = quadratic.member[at]
                if base == APEX or q[k] > q[base]:
                    base = k
            # As long as it will do, the base stays: its rows of the factor can be used again.
            before = newton.base[b]
            if newton.rows[0] > 0 and before != APEX and q[before] > 0.1 * q[base]:
                base = before
        newton.base[b] = base
        for at in range(quadratic.start[b], quadratic.start[b + 1]):
            k = quadratic.member[at]
            if k != base and q[k] > 0.0:
                newton.free[count] = k
                count += 1
    return count


@compiled(inline=True)
def reduced(quadratic, base, k, other):
    """An entry of the Hessian in the free directions e_k - e_base(k)."""
    gram, b, c = quadratic.gram, quadratic.block[k], quadratic.block[other]
    value = gram[k, other]
    if base[b] != APEX:
        value -= gram[base[b], other]
    if base[c] != APEX:
        value -= gram[base[c], k]
        if base[b] != APEX:
            value += gram[base[b], base[c]]
    if b == c and quadratic.mass_cost.size > 0:
        value += quadratic.mass_cost[b]
    return value


@compiled
def factorise(quadratic, newton, count):
    """Cholesky, row by row; returns the first free direction that depends on those before it, or
    ``count``. That row then holds the products with the rows before."""
    factor, free, base = newton.factor, newton.free, newton.base
    first = 0
    while first < min(newton.rows[0], count) and (
        newton.listed[first] == free[first]
        and newton.listed_base[first] == base[quadratic.block[free[first]]]
    ):
        first += 1
    for r in range(first, count):
        newton.listed[r] = free[r]
        newton.listed_base[r] = base[quadratic.block[free[r]]]
        row = factor[r]
        for c in range(r):
            above = factor[c]
            value = reduced(quadratic, base, free[r], free[c])
            row[c] = (value - inner(row, above, c)) / above[c]
        length = reduced(quadratic, base, free[r], free[r])
        pivot = length - inner(row, row, r)
        if not pivot > DEPENDENT * length:
            newton.rows[0] = r
            return r
        row[r] = np.sqrt(pivot)
    newton.rows[0] = count
    return count


@compiled
def solve_lower(factor, x, count):
    for r in range(count):
        x[r] = (x[r] - inner(factor[r], x, r)) / factor[r, r]


@compiled
def solve_upper(factor, x, count):
    for r in range(count - 1, -1, -1):
        x[r] /= factor[r, r]
        add_multiple(factor[r], -x[r], x[:r])


@compiled
def slope_of(quadratic, newton, r):
    """Derivative along the r-th free direction."""
    k = newton.free[r]
    base = newton.base[quadratic.block[k]]
    return newton.gradient[k] - (newton.gradient[base] if base != APEX else 0.0)


@compiled
def spread(quadratic, newton, count):
    """The direction of all weights from that of the free ones in ``x``."""
    direction = newton.direction
    direction[:] = 0.0
    for r in range(count):
        k = newton.free[r]
        direction[k] = newton.x[r]
        base = newton.base[quadratic.block[k]]
        if base != APEX:
            direction[base] -= newton.x[r]


@compiled
def room(q, direction):
    """The largest step that keeps all weights from being negative."""
    most = np.inf
    for k in range(q.size):
        if direction[k] < 0.0:
            most = min(most, -q[k] / direction[k])
    return most if most < np.inf else 0.0


@compiled
def move(quadratic, q, newton, step):
    """q += step * direction, with exact zeros where a weight ends; the gradient follows."""
    direction = newton.direction
    times_hessian(quadratic, direction, newton.mass, newton.product)
    add_multiple(newton.product, -step, newton.gradient)
    for k in range(q.size):
        if direction[k] < 0.0 and q[k] <= -step * direction[k] * (1.0 + 1e-15):
            q[k] = 0.0
        else:
            q[k] += step * direction[k]


@compiled
def go_toward(quadratic, q, newton):
    """Move toward the solution on the points in use; returns whether it was reached."""
    direction, gradient = newton.direction, newton.gradient
    most = room(q, direction)
    if most >= 1.0 or most == 0.0:
        move(quadratic, q, newton, 1.0)
        return True
    # All blocks by one step, along which Newton's slope equals its curvature ...
    slope = inner(gradient, direction, q.size)
    together = slope * most * (1.0 - 0.5 * most)
    # ... or every block as far as it can.
    for b in range(quadratic.start.size - 1):
        step = 1.0
        for at in range(quadratic.start[b], quadratic.start[b + 1]):
            k = quadratic.member[at]
            if direction[k] < 0.0:
                step = min(step, max(-q[k] / direction[k], SMALLEST))
        newton.step[b] = step
        for at in range(quadratic.start[b], quadratic.start[b + 1]):
            direction[quadratic.member[at]] *= step
    times_hessian(quadratic, direction, newton.mass, newton.product)
    slope = inner(gradient, direction, q.size)
    curvature = inner(newton.product, direction, q.size)
    if slope - 0.5 * curvature >= together:
        move(quadratic, q, newton, 1.0)
    else:
        for k in range(q.size):
            direction[k] /= newton.step[quadratic.block[k]]
        move(quadratic, q, newton, most)
    return False
