"""Where the path begins (Osokin et al. 2016, algorithm 6).

For infinite lambda w = clip(0), and the best dual point has all weight on the labellings y_i that
the oracle answers there. With psi = 1/n sum_i s_i psi_i(y_i) and theta_i = max_y -<psi, psi_i(y)>,
the gap of this dual point at a finite lambda is at most (|psi|^2 + 1/n sum_i s_i theta_i) / lambda:
so the first lambda is that number divided by the gap wanted. With bounds, the weights are psi
clipped, which is right for bounds in {0, -inf, inf}; for others the number is a first guess, and
the walk goes back to a larger lambda if its first piece turns out too long.
"""

from typing import NamedTuple

import numpy as np

from taut._compile import compiled, in_mode
from taut.accumulator import clear, squared_norm
from taut.path.breakpoint import Breakpoint
from taut.problem import (
    add_corner,
    add_loss,
    advance,
    argmax,
    begin_change,
    forget,
    label_loss,
    project,
    scores,
)
from taut.solvers.corners import has_room, insert
from taut.solvers.corrective import remember_products
from taut.solvers.run import Run, with_more_room
from taut.solvers.state import ORACLE_CALLS

# Beside weights so large the loss is nothing: the oracle then answers max_y -<w, psi_i(y)>.
BESIDE_LOSS = 1e9
# The path ends at C = so many times mean loss / mean |psi|^2, if the user does not say where: an
# example alone would satisfy its margin with a thousandth of that. ("scale" is about 12.)
MOST_FITTED = 1000.0


class Start(NamedTuple):
    limit: Breakpoint  # at infinite lambda
    slope: float  # the gap at lambda is at most slope / lambda
    lam_min: float  # a good place to end


def begin(run: Run) -> Start:
    """Move all blocks to the oracle's answers at clip(0); the run has no C yet that means much."""
    best, norms = np.zeros(run.n), np.zeros(run.n)
    jump_all(run, best, norms)
    state, importance, n = run.state, run.importance, run.n
    loss = float(importance @ state.ell) / n
    w = state.w
    limit = Breakpoint(
        np.inf,
        0.0,
        float(importance @ best) / n,
        loss,
        norm=float(w @ w),
        product=0.0,
        distance=0.0,
    )
    run.C = 1.0 / n
    run.rebuild()
    psi, weights = state.v, state.w
    steepness = float(psi @ weights)
    theta = 0.0
    if steepness > 0:
        large = BESIDE_LOSS * loss / steepness
        run.oracle.run(large * weights, state.mu)
        state.count[ORACLE_CALLS] += n
        theta = float(importance @ run.oracle.best) / (large * n)
    mean_norm = float(importance @ norms) / n
    return Start(limit, steepness + theta, mean_norm / (MOST_FITTED * n * loss))


def jump_all(run: Run, best: np.ndarray, norms: np.ndarray) -> None:
    """Move all blocks that ``best`` has room for; counts the oracle calls."""
    done, solver = -1, run.solver
    while done < len(best):
        done = in_mode(jump, run.problem)(
            run.problem, run.state, solver.keeps_corners, solver.keeps_gram, solver.slots,
            max(done, 0), best, norms,
        )  # fmt: skip
        if done < len(best):
            run.state = with_more_room(run.state)
    run.state.count[ORACLE_CALLS] += len(best)


@compiled
def jump(problem, state, keeps_corners, keeps_gram, cache_size, first, best, norms):
    """mu_i <- e(oracle's answer), from the truth; returns the first block there was no room for."""
    corners = state.corners
    for i in range(first, best.size):
        if keeps_corners and not has_room(corners, state.y.size, state.scratch.slot.size):
            return i
        scores(problem, state.w, i, state.work)
        add_loss(problem, i, state.work)
        best[i] = argmax(problem, state.w, i, state.work, state.y)
        state.ell[i] = label_loss(problem, i, state.y)
        begin_change(problem, i, state.mu, -1.0, state.work)
        add_corner(problem, i, state.y, 1.0, state.work)
        project(problem, i, state.work, 1.0, state.delta)
        norms[i] = squared_norm(state.delta)
        clear(state.delta)
        advance(problem, i, state.mu, 1.0, state.work)
        if keeps_corners:
            slot, is_new = insert(problem, corners, i, state.y, state.ell[i], cache_size, 0)
            if keeps_gram and is_new:
                remember_products(problem, state, i, slot)
            truth = corners.head[i]
            while corners.rank[truth] != 0:
                truth = corners.following[truth]
            corners.alpha[truth] = corners.before[truth] = 0.0
            corners.alpha[slot] = corners.before[slot] = 1.0
        else:
            forget(problem, i, state.y)
    return best.size
