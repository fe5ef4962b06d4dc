"""The master problem: a small concave quadratic program over a product of simplexes or cones.

    maximise  <linear, q> - 1/2 q' gram q - 1/2 sum_b mass_cost_b (sum_{k in b} q_k)^2,    q >= 0

Every point k belongs to one block b. In a *simplex* the weights of a block sum to one and there is
no mass cost; in a *cone* the sum is free and its cost positive. A cone is treated as a simplex with
one more point, its apex: at zero, with all the weight one could ask for.

Two kinds of ascent steps alternate. A *pair step* moves weight inside one block from the worst
point in use to the best, as far as it pays: it brings points in and takes them out, at O(m) a step.
A *Newton step* solves the problem on the points in use exactly. Weights are eliminated by a base
point in each block (the one with most weight; the apex), which leaves f free directions and a
Cholesky factorisation of their Gram matrix. Where that meets a direction that depends on those
before it, the objective is linear along a combination, and the step follows it until a weight is
zero: so the points in use become independent, at most dim many. Otherwise each block goes as far
toward the solution as its weights stay positive. When no block had to stop short, the points in use
are solved to rounding, and if no point out of use has a larger gradient, so is the master.

This is the projected Newton idea of Bertsekas (1982), which Yu & Rousu recommend, with a ratio test
in place of its projection arc: the arc needs many evaluations where many weights vanish at once,
while here a factorisation removes up to one point per block.
"""

from typing import NamedTuple

import numpy as np

from taut._compile import compiled

# A direction whose pivot is this small a part of its squared length depends on those before.
DEPENDENT = 1e-11
# Pair steps sweep the blocks until they gain less than this part of what the first sweep gained.
FADING = 0.1
MOST_SWEEPS = 10
MOST_ROUNDS = 200
SMALLEST = 1e-200  # step of a block: one divides by it
APEX = -1


class Scratch(NamedTuple):
    """Memory of a solve; ``factor`` is the largest, (m, m)."""

    gradient: np.ndarray  # (m,)
    direction: np.ndarray  # (m,) of the weights
    product: np.ndarray  # (m,) Hessian times direction
    base: np.ndarray  # (n_blocks,)
    mass: np.ndarray  # (n_blocks,) sum of weights, of directions
    free: np.ndarray  # (m,) points in use that are no base
    factor: np.ndarray  # (m, m) lower triangle
    solution: np.ndarray  # (m,)


class Master(NamedTuple):
    gram: np.ndarray  # (>= m, >= m)
    linear: np.ndarray  # (m,)
    block: np.ndarray  # (m,) of each point
    start: np.ndarray  # (n_blocks + 1,) where a block's points begin in ``member``
    member: np.ndarray  # (m,)
    mass_cost: np.ndarray  # (n_blocks,), or empty: simplexes


class MasterResult(NamedTuple):
    weights: np.ndarray
    gap: float  # the objective can be improved by at most this
    iterations: int  # factorisations


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
    master = new_master(gram, linear, blocks, mass_cost)
    scratch = new_scratch(len(linear), len(master.start) - 1)
    gap, iterations = maximise(master, weights, scratch, tol)
    return MasterResult(weights, gap, iterations)


def new_master(
    gram: np.ndarray, linear: np.ndarray, blocks: np.ndarray, mass_cost: np.ndarray | None
) -> Master:
    n_blocks = int(blocks.max(initial=-1)) + 1 if mass_cost is None else len(mass_cost)
    start = np.concatenate([[0], np.cumsum(np.bincount(blocks, minlength=n_blocks))])
    return Master(
        gram,
        linear,
        blocks.astype(np.int64),
        start.astype(np.int64),
        np.argsort(blocks, kind="stable").astype(np.int64),
        np.zeros(0) if mass_cost is None else np.asarray(mass_cost, np.float64),
    )


def new_scratch(m: int, n_blocks: int) -> Scratch:
    return Scratch(
        gradient=np.zeros(m),
        direction=np.zeros(m),
        product=np.zeros(m),
        base=np.zeros(n_blocks, np.int64),
        mass=np.zeros(n_blocks),
        free=np.zeros(m, np.int64),
        factor=np.zeros((m, m)),
        solution=np.zeros(m),
    )


@compiled
def maximise(master, q, scratch, tol):
    """(gap, number of factorisations); see ``solve_master``."""
    factorisations = 0
    least, stalled = np.inf, 0
    for _ in range(MOST_ROUNDS):
        if master.mass_cost.size == 0:
            normalise(master, q)
        find_gradient(master, q, scratch)
        gap, size = gap_of(master, q, scratch.gradient)
        if gap <= tol * size:
            break
        # Below this, rounding of the gradient decides; a few rounds may still lower it.
        stalled = stalled + 1 if gap >= 0.5 * least else 0
        least = min(least, gap)
        if stalled >= 3 and gap <= 1e-12 * size:
            break
        pair_sweeps(master, q, scratch)
        for _ in range(q.size + 1):
            factorisations += 1
            if newton_step(master, q, scratch):
                break
    return gap, factorisations


@compiled
def normalise(master, q):
    """Sums of one, without what rounding adds up to."""
    for b in range(master.start.size - 1):
        mass = 0.0
        for at in range(master.start[b], master.start[b + 1]):
            mass += q[master.member[at]]
        for at in range(master.start[b], master.start[b + 1]):
            q[master.member[at]] /= mass


# --- objective -------------------------------------------------------------------------------


@compiled(fastmath=True)
def add_multiple(row, factor, target):
    for j in range(target.size):
        target[j] += factor * row[j]


@compiled(fastmath=True)
def inner(a, b, count):
    total = 0.0
    for j in range(count):
        total += a[j] * b[j]
    return total


@compiled
def times_hessian(master, q, mass, product):
    """product = (gram + mass costs) q."""
    product[:] = 0.0
    mass[:] = 0.0
    for k in range(q.size):
        if q[k] != 0.0:
            add_multiple(master.gram[k], q[k], product)
            mass[master.block[k]] += q[k]
    if master.mass_cost.size > 0:
        for k in range(q.size):
            b = master.block[k]
            product[k] += master.mass_cost[b] * mass[b]


@compiled
def find_gradient(master, q, scratch):
    times_hessian(master, q, scratch.mass, scratch.product)
    for k in range(q.size):
        scratch.gradient[k] = master.linear[k] - scratch.product[k]


@compiled
def gap_of(master, q, gradient):
    """What can still be gained, at most; and the size of the terms that it is the difference of."""
    gap, size = 0.0, 0.0
    is_cone = master.mass_cost.size > 0
    for b in range(master.start.size - 1):
        best = 0.0 if is_cone else -np.inf
        mean, mass, largest = 0.0, 0.0, 0.0
        for at in range(master.start[b], master.start[b + 1]):
            k = master.member[at]
            best = max(best, gradient[k])
            mean += q[k] * gradient[k]
            mass += q[k]
            largest = max(largest, abs(master.linear[k]))
        if master.start[b] == master.start[b + 1]:
            continue
        gap += best * mass - mean
        size += largest * (mass if mass > 0.0 else 1.0)
        if is_cone:
            # More mass would gain best * more - mass_cost / 2 more^2.
            gap += 0.5 * best * best / master.mass_cost[b]
    return gap, size


# --- pair steps ------------------------------------------------------------------------------


@compiled
def pair_sweeps(master, q, scratch):
    """Pair steps in every block, as long as sweeps gain much."""
    first = 0.0
    for count in range(MOST_SWEEPS):
        gained = 0.0
        for b in range(master.start.size - 1):
            gained += pair_step(master, q, scratch.gradient, b)
        if count == 0:
            first = gained
        if gained <= FADING * first:
            break


@compiled
def pair_step(master, q, gradient, b):
    """Move weight from the worst point in use to the best; returns what the objective gained."""
    is_cone = master.mass_cost.size > 0
    best, worst = APEX, APEX
    high, low = -np.inf, np.inf
    if is_cone:
        high = low = 0.0
    for at in range(master.start[b], master.start[b + 1]):
        k = master.member[at]
        if gradient[k] > high:
            best, high = k, gradient[k]
        if q[k] > 0.0 and gradient[k] < low:
            worst, low = k, gradient[k]
    if best == worst or not high > low:
        return 0.0
    gram = master.gram
    curvature = 0.0
    if best != APEX:
        curvature += gram[best, best]
    if worst != APEX:
        curvature += gram[worst, worst]
    if best != APEX and worst != APEX:
        curvature -= 2.0 * gram[best, worst]
    elif is_cone:
        curvature += master.mass_cost[b]
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
        for at in range(master.start[b], master.start[b + 1]):
            gradient[master.member[at]] -= master.mass_cost[b] * more
    return step * (high - low) - 0.5 * curvature * step * step


# --- Newton steps ----------------------------------------------------------------------------


@compiled
def list_free(master, q, scratch):
    """Choose the bases; list the other points in use. Returns their number."""
    is_cone = master.mass_cost.size > 0
    count = 0
    for b in range(master.start.size - 1):
        base = APEX
        if not is_cone:
            for at in range(master.start[b], master.start[b + 1]):
                k = master.member[at]
                if base == APEX or q[k] > q[base]:
                    base = k
        scratch.base[b] = base
        for at in range(master.start[b], master.start[b + 1]):
            k = master.member[at]
            if k != base and q[k] > 0.0:
                scratch.free[count] = k
                count += 1
    return count


@compiled(inline=True)
def reduced(master, base, k, other):
    """An entry of the Hessian in the free directions e_k - e_base(k)."""
    gram, b, c = master.gram, master.block[k], master.block[other]
    value = gram[k, other]
    if base[b] != APEX:
        value -= gram[base[b], other]
    if base[c] != APEX:
        value -= gram[base[c], k]
        if base[b] != APEX:
            value += gram[base[b], base[c]]
    if b == c and master.mass_cost.size > 0:
        value += master.mass_cost[b]
    return value


@compiled
def factorise(master, scratch, count):
    """Cholesky, row by row; returns the first free direction that depends on those before it, or
    ``count``. That row then holds the products with the rows before, and its pivot."""
    factor, free, base = scratch.factor, scratch.free, scratch.base
    for r in range(count):
        row = factor[r]
        for c in range(r):
            above = factor[c]
            value = reduced(master, base, free[r], free[c])
            row[c] = (value - inner(row, above, c)) / above[c]
        length = reduced(master, base, free[r], free[r])
        pivot = length - inner(row, row, r)
        if not pivot > DEPENDENT * length:
            row[r] = max(pivot, 0.0)
            return r
        row[r] = np.sqrt(pivot)
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
def spread(master, scratch, count):
    """The direction of all weights from that of the free ones in ``solution``."""
    direction, base = scratch.direction, scratch.base
    direction[:] = 0.0
    for r in range(count):
        k = scratch.free[r]
        direction[k] = scratch.solution[r]
        b = base[master.block[k]]
        if b != APEX:
            direction[b] -= scratch.solution[r]


@compiled
def slope_of(scratch, master, r):
    """Derivative along the r-th free direction."""
    k = scratch.free[r]
    b = scratch.base[master.block[k]]
    return scratch.gradient[k] - (scratch.gradient[b] if b != APEX else 0.0)


@compiled
def newton_step(master, q, scratch):
    """One step on the points in use; returns whether they are solved by it."""
    count = list_free(master, q, scratch)
    if count == 0:
        return True
    factor, x = scratch.factor, scratch.solution
    good = factorise(master, scratch, count)
    if good < count:
        # The combination along which the objective has (nearly) no curvature.
        slope, curvature = slope_of(scratch, master, good), factor[good, good]
        for r in range(good):
            x[r] = -factor[good, r]
        solve_upper(factor, x, good)
        x[good] = 1.0
        for r in range(good):
            slope += x[r] * slope_of(scratch, master, r)
        if slope < 0.0:
            slope = -slope
            for r in range(good + 1):
                x[r] = -x[r]
        spread(master, scratch, good + 1)
        most = room(q, scratch.direction)
        if most == np.inf:  # against rounding only: a flat direction leaves a simplex, or a cone
            for r in range(good + 1):
                x[r] = -x[r]
            spread(master, scratch, good + 1)
            most = room(q, scratch.direction)
        step = min(slope / curvature, most) if curvature > 0.0 and slope > 0.0 else most
        if step < most and slope <= 1e-13 * abs(scratch.gradient[scratch.free[good]]):
            step = most  # nothing to gain either way: leave the point with fewer in use
        move(master, q, scratch, step)
        return False
    for r in range(count):
        x[r] = slope_of(scratch, master, r)
    solve_lower(factor, x, count)
    solve_upper(factor, x, count)
    spread(master, scratch, count)
    return go_toward(master, q, scratch)


@compiled
def room(q, direction):
    """The largest step that keeps all weights from being negative."""
    most = np.inf
    for k in range(q.size):
        if direction[k] < 0.0:
            most = min(most, -q[k] / direction[k])
    return most


@compiled
def move(master, q, scratch, step):
    """q += step * direction, with exact zeros where a weight ends; the gradient follows."""
    direction = scratch.direction
    times_hessian(master, direction, scratch.mass, scratch.product)
    add_multiple(scratch.product, -step, scratch.gradient)
    for k in range(q.size):
        if direction[k] < 0.0 and q[k] <= -step * direction[k] * (1.0 + 1e-15):
            q[k] = 0.0
        else:
            q[k] += step * direction[k]


@compiled
def go_toward(master, q, scratch):
    """Move toward the solution on the points in use; returns whether it was reached."""
    direction, gradient = scratch.direction, scratch.gradient
    most = room(q, direction)
    if most >= 1.0:
        move(master, q, scratch, 1.0)
        return True
    # All blocks by one step, along which Newton's slope equals its curvature ...
    slope = inner(gradient, direction, q.size)
    together = slope * most * (1.0 - 0.5 * most)
    # ... or every block as far as it can.
    for b in range(master.start.size - 1):
        step = 1.0
        for at in range(master.start[b], master.start[b + 1]):
            k = master.member[at]
            if direction[k] < 0.0:
                step = min(step, max(-q[k] / direction[k], SMALLEST))
        if step < 1.0:
            for at in range(master.start[b], master.start[b + 1]):
                k = master.member[at]
                direction[k] = max(step * direction[k], -q[k])
                scratch.solution[k] = step
        else:
            for at in range(master.start[b], master.start[b + 1]):
                scratch.solution[master.member[at]] = 1.0
    times_hessian(master, direction, scratch.mass, scratch.product)
    slope = inner(gradient, direction, q.size)
    curvature = inner(scratch.product, direction, q.size)
    step = min(slope / curvature, 1.0) if curvature > 0.0 else 1.0
    if slope > 0.0 and step * slope - 0.5 * step * step * curvature >= together:
        move(master, q, scratch, step)
        return False
    for k in range(q.size):
        direction[k] /= scratch.solution[k]
    move(master, q, scratch, most)
    return False
