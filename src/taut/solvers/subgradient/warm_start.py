"""Starts from an earlier solution.

Polyak's rule goes on from any dual point, and new examples start at the truth. Steps of Pegasos
shrink with the number of visits: they go on from Pegasos only, on the same examples, and that
number with them. With another C, what was found counts as one pass: found at other weights, it
would otherwise outweigh for long what is found now. Averages of iterates begin anew.
"""

from typing import Any

import numpy as np

from taut._compile import in_mode
from taut.solvers.solution import Solution, describe
from taut.solvers.subgradient.options import Subgradient
from taut.solvers.subgradient.state import VISITS
from taut.solvers.subgradient.steps import follow, pegasos_scale, shrink_toward_truth
from taut.solvers.warm_start import (
    check_has_state,
    check_keep,
    check_same_objective,
    earlier_examples,
)

NONE = np.zeros(0)


def take_over(run: Any, earlier: Solution, keep: str) -> None:
    """``keep="dual"`` keeps mu, and w is scaled by C / earlier C; ``keep="primal"`` keeps w by
    moving mu toward the truth, possible when C grows.
    """
    check_keep(keep)
    check_has_state(earlier)
    check_same_objective(run, earlier)
    n_before = earlier_examples(run, earlier)
    _check_fits(run, earlier)
    before, state = earlier.state, run.state
    run.problem.copy_dual(before.mu, state.mu)
    state.ell[:n_before] = before.ell
    if state.mass.size:
        state.mass[:n_before] = before.mass
    share = min(earlier.C / run.C, 1.0) if keep == "primal" else 1.0
    if share < 1.0:
        shrink = in_mode(shrink_toward_truth, run.problem)
        shrink(run.problem, state, share, n_before)
    run.rebuild()
    if run.solver.is_polyak:
        if state.lower.size:
            np.clip(state.v, state.lower, state.upper, out=state.w)
        return
    state.visits[:] = before.visits
    state.count[VISITS] = before.count[VISITS]
    if earlier.C != run.C and before.count[VISITS] > run.n:
        share *= run.n / before.count[VISITS]
        state.visits[:] = np.minimum(before.visits, 1)
        state.count[VISITS] = run.n
    np.multiply(before.found, share, out=state.found)
    place_weights(run)


def place_weights(run: Any) -> None:
    """Pegasos' weights from the sum that it keeps."""
    state = run.state
    scale = pegasos_scale(run.C, run.n, int(state.count[VISITS]))
    follow(state.found, scale, state.lower, state.upper, state.w, NONE, 0.0)


def _check_fits(run: Any, earlier: Solution) -> None:
    ours, theirs = describe(run.solver), describe(earlier.solver)
    if not hasattr(earlier.state, "ell"):
        raise ValueError(
            f"{ours} cannot start from the earlier run, {theirs}, which keeps its dual point in "
            "another form; start cold, or from a solution of BCFW, FrankWolfe or Subgradient"
        )
    if run.solver.is_polyak:
        return
    if not isinstance(earlier.solver, Subgradient) or earlier.solver.is_polyak:
        why = f"the earlier run, {theirs}, counts none"
    elif earlier.n_examples != run.n:
        why = f"the earlier run visited {earlier.n_examples} of the {run.n} examples"
    else:
        return
    raise ValueError(
        f"{ours} takes steps that shrink with the number of visits, and {why}; start from it with "
        'Subgradient(step="polyak"), or start cold'
    )
