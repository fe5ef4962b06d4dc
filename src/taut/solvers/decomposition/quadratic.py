"""A concave quadratic program over a product of simplexes or cones, and its arithmetic."""

from typing import NamedTuple

import numpy as np

from taut._compile import Integers, Matrix, Vector, by_reference, compiled

APEX = -1  # the point of a cone that is zero


@by_reference
class Quadratic(NamedTuple):
    """<linear, q> - 1/2 q' gram q - 1/2 sum_b mass_cost_b (sum_{k in b} q_k)^2, to be maximised."""

    gram: Matrix  # (>= m, >= m)
    linear: Vector  # (m,)
    block: Integers  # (m,) of each point
    start: Integers  # (n_blocks + 1,) where a block's points begin in ``member``
    member: Integers  # (m,)
    mass_cost: Vector  # (n_blocks,), or empty: simplexes


def new_quadratic(
    gram: np.ndarray, linear: np.ndarray, blocks: np.ndarray, mass_cost: np.ndarray | None
) -> Quadratic:
    n_blocks = int(blocks.max(initial=-1)) + 1 if mass_cost is None else len(mass_cost)
    start = np.concatenate([[0], np.cumsum(np.bincount(blocks, minlength=n_blocks))])
    return Quadratic(
        gram,
        linear,
        blocks.astype(np.int64),
        start.astype(np.int64),
        np.argsort(blocks, kind="stable").astype(np.int64),
        np.zeros(0) if mass_cost is None else np.asarray(mass_cost, np.float64),
    )


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
def times_hessian(quadratic, q, mass, product):
    """product = (gram + mass costs) q; ``mass`` becomes the blocks' sums of q."""
    product[:] = 0.0
    mass[:] = 0.0
    for k in range(q.size):
        if q[k] != 0.0:
            add_multiple(quadratic.gram[k], q[k], product)
            mass[quadratic.block[k]] += q[k]
    if quadratic.mass_cost.size > 0:
        for k in range(q.size):
            b = quadratic.block[k]
            product[k] += quadratic.mass_cost[b] * mass[b]


@compiled
def gap_of(quadratic, q, gradient):
    """What can still be gained, at most; and the size of the terms that it is the difference of."""
    gap, size = 0.0, 0.0
    is_cone = quadratic.mass_cost.size > 0
    for b in range(quadratic.start.size - 1):
        if quadratic.start[b] == quadratic.start[b + 1]:
            continue
        best = 0.0 if is_cone else -np.inf
        mean, mass, largest = 0.0, 0.0, 0.0
        for at in range(quadratic.start[b], quadratic.start[b + 1]):
            k = quadratic.member[at]
            best = max(best, gradient[k])
            mean += q[k] * gradient[k]
            mass += q[k]
            largest = max(largest, abs(quadratic.linear[k]))
        gap += best * mass - mean
        if is_cone:
            # More mass would gain best * more - mass_cost / 2 more^2.
            gap += 0.5 * best * best / quadratic.mass_cost[b]
            mass = mass if mass > 0.0 else largest / quadratic.mass_cost[b]
        size += largest * mass
    return gap, size
