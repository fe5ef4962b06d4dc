"""Where the path begins, and with which dual point it goes on at another lambda.

**Beginning** (Osokin et al. 2016, algorithm 6). For infinite lambda w = clip(0), and the best dual
point has all weight on the labellings y_i that the oracle answers there. With
psi = 1/n sum_i s_i psi_i(y_i) and theta_i = max_y -<psi, psi_i(y)>, the gap of this dual point at a
finite lambda is at most (|psi|^2 + 1/n sum_i s_i theta_i) / lambda: so the first lambda is that
number divided by the gap wanted. With bounds, the weights are psi clipped, which is right for
bounds in {0, -inf, inf}; for others the number is a first guess, and the walk goes back to a larger
lambda if its first piece turns out too long.

**Going on.** To keep the dual point scales the weights up, which is right where the loss decides
(large lambda); to keep the weights shrinks the dual point toward the truth, which is right where
margins hold. The best multiple c in [0, 1] maximises the dual value c loss - lambda h(c psi /
lambda), where psi is the dual point's v without the factor 1/lambda: a line search that asks no
oracle.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq

from taut._compile import Problem, compiled, in_mode
from taut.arrays.accumulator import clear, squared_norm
from taut.path.pieces import Breakpoint
from taut.problem import add_corner, begin_change, project, true_label
from taut.solvers.block_solver import BlockRun
from taut.solvers.block_state import ORACLE_CALLS
from taut.solvers.sampling import Order, set_all_gaps

# With a C of almost nothing w stays at clip(0), and every block step goes all the way.
ALMOST_NOTHING = 1e-150
# Beside weights so large the loss is nothing: the oracle then answers max_y -<w, psi_i(y)>.
BESIDE_LOSS = 1e9
# The path ends at C = so many times mean loss / mean |psi|^2, if the user does not say where: an
# example alone would satisfy its margin with a thousandth of that. ("scale" is about 12.)
MOST_FITTED = 1000.0


def between(lam_a: float, lam_b: float) -> float:
    """Halfway in log lambda; on the way from infinity, a good deal larger."""
    return math.sqrt(lam_a * lam_b) if math.isfinite(lam_a) else 8.0 * lam_b


class Start(NamedTuple):
    limit: Breakpoint  # at infinite lambda
    slope: float  # the gap at lambda is at most slope / lambda
    lam_min: float  # a good place to end


def begin(run: BlockRun, scale: float) -> Start:
    """Move all blocks of a run that is at the truth to the oracle's answers at clip(0).

    ``scale`` is the objective at w = 0.
    """
    at_zero = run.state.w.copy()
    hinge = _jump(run)
    state, importance, n = run.state, run.importance, run.n
    limit = Breakpoint(
        lam=np.inf,
        gap=0.0,
        hinge=hinge,
        loss=float(importance @ state.ell) / n,
        norm=float(at_zero @ at_zero),
        product=0.0,
        distance=0.0,
    )
    run.C = 1.0 / n
    run.rebuild()
    psi = state.v
    direction = psi if np.any(at_zero) else state.w
    steepness = float(psi @ direction)
    theta = 0.0
    if steepness > 0:
        large = BESIDE_LOSS * scale / steepness
        run.oracle.run(large * direction, state.mu)
        state.count[ORACLE_CALLS] += n
        theta = float(importance @ run.oracle.best) / (large * n)
    norms = np.zeros(n)
    in_mode(squared_norms, run.problem)(run.problem, state, norms)
    # An example of weight s has a step of C s: its square, so that C halves where weights double.
    mean_norm = float(importance**2 @ norms) / n
    # Without features w = clip(0) everywhere, and any place to end is as good as another.
    lam_min = mean_norm / (MOST_FITTED * n * scale) if mean_norm > 0 else 1.0
    return Start(limit, steepness + theta, lam_min)


def _jump(run: BlockRun) -> float:
    """A pass over all blocks in order; returns the hinge, the sum of the gaps that it saw."""
    sampler = run.state.sampler
    order = int(sampler.kind[0])
    sampler.kind[0] = Order.CYCLIC
    set_all_gaps(sampler.tree, np.full(run.n, np.inf))  # nothing in a cache promises as much
    run.C = ALMOST_NOTHING
    run.visit(run.n)
    sampler.kind[0] = order
    return float(sampler.tree[1])


def best_multiple(run: Any, lam: float) -> float:
    state = run.state
    loss = float(run.importance @ state.ell) / run.n
    psi = state.v / (run.C * run.n)
    if not state.lower.size:
        norm = float(psi @ psi)
        return min(1.0, lam * loss / norm) if norm > 0 else 1.0

    def slope(c: float) -> float:
        return loss - float(psi @ np.clip(c / lam * psi, state.lower, state.upper))

    if slope(1.0) >= 0.0:
        return 1.0
    return float(brentq(slope, 0.0, 1.0)) if slope(0.0) > 0.0 else 0.0


@compiled
def squared_norms(problem: Problem, state, norms):
    """|Psi_i (mu_i - truth_i)|^2 of every block."""
    for i in range(norms.size):
        true_label(problem, i, state.y)
        begin_change(problem, i, state.mu, 1.0, state.work)
        add_corner(problem, i, state.y, -1.0, state.work)
        project(problem, i, state.work, 1.0, state.delta)
        norms[i] = squared_norm(state.delta)
        clear(state.delta)
