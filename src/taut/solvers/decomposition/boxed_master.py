"""The master problem under box constraints on the weights, where it is not quadratic.

    maximise  <linear, q> - 1/2 sum_b mass_cost_b mass_b^2 - phi(v),    v = rest + rows' q
    phi(v) = <v, w> - 1/2 |w|^2,    w = clip(v, lower, upper)

phi is quadratic in the entries of v inside the box and linear in those outside, so the objective is
piecewise quadratic with a continuous gradient. Each iteration maximises the quadratic that holds at
the current point, a plain master problem whose Gram matrix counts the entries inside, and searches
the line to its solution. When a full step ends in the piece where it began, it is exact. Where the
search stops early, because entries came back into the box, the next model counts all entries: that
is a lower bound everywhere, and always makes progress.
"""

import numpy as np

from taut.arrays.accumulator import dense_accumulator
from taut.solvers.block_state import Box, bounded_step
from taut.solvers.decomposition.master import MasterResult, solve_master
from taut.solvers.decomposition.points import Rows, dense
from taut.solvers.decomposition.quadratic import Quadratic, gap_of, new_quadratic

MOST_ITERATIONS = 200
ROUNDING = 1e-14  # of what the gap is a difference of
SHORT = 0.5  # a step that says the model was wrong


def solve_boxed_master(
    rows: Rows,
    gram: np.ndarray,
    linear: np.ndarray,
    blocks: np.ndarray,
    weights: np.ndarray,
    *,
    rest: np.ndarray,
    bounds: tuple[np.ndarray, np.ndarray],
    mass_cost: np.ndarray | None = None,
) -> MasterResult:
    """Like ``solve_master``; ``gram`` is that of the rows, ``rest`` what else v is made of."""
    m, (lower, upper) = len(linear), bounds
    master = new_quadratic(gram, linear, blocks, mass_cost)
    # The mass of a cone is one more entry of v, outside of no box.
    root = np.zeros(0) if mass_cost is None else np.sqrt(mass_cost)
    lower_too = np.concatenate([lower, np.full(root.size, -np.inf)])
    upper_too = np.concatenate([upper, np.full(root.size, np.inf)])

    def image(q: np.ndarray) -> np.ndarray:
        mass = root * np.bincount(blocks, weights=q, minlength=root.size) if root.size else root
        return np.concatenate([rows.T @ q, mass])

    beginning = np.concatenate([rest, np.zeros(root.size)])
    total, short = 0, False
    v = beginning + image(weights)
    for _ in range(MOST_ITERATIONS):
        w = np.clip(v, lower_too, upper_too)
        by_rows = linear - rows @ w[: rest.size]
        gradient = by_rows.copy()
        if root.size:
            gradient -= (root * w[rest.size :])[blocks]
        gap, size = gap_of(master, weights, gradient)
        if gap <= ROUNDING * size:
            break
        outside = np.flatnonzero((v[: rest.size] < lower) | (v[: rest.size] > upper))
        model = gram if short else without_entries(gram, rows, outside)
        target = weights.copy()
        found = solve_master(
            model, by_rows + model[:m, :m] @ weights, blocks, target, mass_cost=mass_cost
        )
        total += found.iterations
        way = image(target - weights)
        gain = slope(master, gradient, target - weights)
        if gain <= 0.0:
            break
        box = Box(v, w, lower_too, upper_too, 0.0)
        step = bounded_step(dense_accumulator(-way), box, 1.0, gain, 1.0)
        short = not short and step < SHORT
        weights += step * (target - weights)
        if step == 1.0:
            weights[:] = target
        v = beginning + image(weights)
    return MasterResult(weights, gap, total)


def slope(master: Quadratic, gradient: np.ndarray, direction: np.ndarray) -> float:
    """<gradient, direction>, without what is equal in a simplex and multiplies a sum of zero."""
    if master.mass_cost.size:
        return float(gradient @ direction)
    largest = np.full(len(master.start) - 1, -np.inf)
    np.maximum.at(largest, master.block, gradient)
    return float((gradient - largest[master.block]) @ direction)


def without_entries(gram: np.ndarray, rows: Rows, outside: np.ndarray) -> np.ndarray:
    """The Gram matrix of the rows without some entries, from whichever are fewer."""
    if not outside.size:
        return gram
    dim = rows.shape[1]
    if 2 * outside.size <= dim:
        part = rows[:, outside]
        m = part.shape[0]
        return gram[:m, :m] - dense(part @ part.T)
    inside = np.ones(dim, bool)
    inside[outside] = False
    part = rows[:, np.flatnonzero(inside)]
    return np.ascontiguousarray(dense(part @ part.T))
