"""What a checkpoint of a run with an oracle holds, and how the run goes on from it."""

from collections.abc import Callable
from typing import Any

import numpy as np

from taut.solvers.best import Best
from taut.solvers.bounds import placed
from taut.solvers.certificate import Point, certify
from taut.solvers.checkpoint import check_order, checked_arrays, flattened
from taut.solvers.corners import are_sound, are_weights, new_scratch
from taut.solvers.sampling import set_all_gaps
from taut.solvers.state import L1

# Scratch memory, and arrays that follow from the rest.
LEFT_OUT = frozenset(
    ["w", "lower", "upper", "delta", "direct", "plane", "work", "y", "y_away", "mu", "scratch"]
)
Damaged = Callable[[str], ValueError]


def saved_arrays(run: Any) -> dict[str, np.ndarray]:
    arrays = dict(flattened(run.state, LEFT_OUT))
    arrays["mu"] = run.problem.dual_array(run.state.mu)
    return arrays | run.saved_oracle()


def resume(run: Any, arrays: dict[str, np.ndarray], best: Best, damaged: Damaged) -> None:
    restore(run, arrays, damaged)
    _recertify(run, best, damaged)
    run.restore_oracle(arrays)


def restore(run: Any, arrays: dict[str, np.ndarray], damaged: Damaged) -> None:
    """Put saved arrays into the run; compiled code trusts them, so each is checked."""
    checked_arrays(run.saved_oracle(), arrays, damaged, growing="")
    _restore(run, arrays, damaged)
    check_weights(run, damaged)
    run.restore_oracle(arrays)


def oracle_memory(problem: Any) -> np.ndarray:
    """What the oracle carries from call to call, where it does."""
    return getattr(problem, "memory", np.zeros(0))


def _restore(run: Any, arrays: dict[str, np.ndarray], damaged: Damaged) -> None:
    state, problem = run.state, run.problem
    current = dict(flattened(state, LEFT_OUT))
    checked_arrays(current, arrays, damaged, growing="corners.")
    if (
        arrays["corners.used"].shape != state.corners.used.shape
    ):  # of all corners, it alone is fixed
        raise damaged("array corners.used")
    corners = state.corners._replace(
        **{name: arrays[f"corners.{name}"] for name in state.corners._fields}
    )
    keeps = run.solver
    if keeps.keeps_corners and not (
        are_sound(corners, run.lengths, problem.n_states)
        and (corners.gram.size > 0) == keeps.keeps_gram
        and (not keeps.keeps_alpha or are_weights(corners, run.n))
    ):
        raise damaged("the active sets are inconsistent")
    check_order(arrays, damaged)
    try:
        problem.copy_dual(arrays["mu"], state.mu)
    except (KeyError, ValueError, IndexError) as error:
        raise damaged(f"array mu: {error}") from error
    for name, array in current.items():
        if not name.startswith(("corners.", "sampler.kind", "sampler.tree")):
            array[...] = arrays[name]
    state.total[L1] = run.l1
    leaves = state.sampler.tree.size // 2
    set_all_gaps(state.sampler.tree, arrays["sampler.tree"][leaves : leaves + run.n])
    run.state = state._replace(corners=corners, scratch=new_scratch(2 * int(corners.used[3]) + 32))
    if state.lower.size:
        state.w[:] = placed(state.v, state.lower, state.upper, run.l1)


def _recertify(run: Any, best: Best, damaged: Damaged) -> None:
    """What the file says was proved is proved again, from what it holds."""
    state = run.state
    loss = float(run.importance @ state.ell)
    last = Point(state.w, state.v, loss, state.mu)
    kept = Point(best.w, best.w, 0.0, state.mu)
    now = certify(run.oracle, run.importance, last, run.C, run.l1)
    then = certify(run.oracle, run.importance, kept, run.C, run.l1)
    # An approximate oracle proves another bound each time, within its accuracy.
    slack = getattr(run.problem, "slack", lambda: 0.0)()
    if not np.isclose(then.primal, best.primal, rtol=1e-9, atol=2.0 * slack):
        raise damaged("its best weights do not have the objective it says")
    # The gap follows from the dual point alone, the dual value from its stored losses.
    if not np.isclose(now.block_gaps.sum(), now.gap, rtol=1e-6, atol=1e-9):
        raise damaged("losses and dual point do not belong together")
    wrong = best.contradiction(min(now.primal, then.primal), slack)
    if wrong:
        raise damaged(wrong)


def check_weights(run: Any, damaged: Damaged) -> None:
    """The stored weights are those of the dual point, but for rounding, which is kept."""
    state = run.state
    stored = state.v.copy()
    run.rebuild()
    if not np.allclose(stored, state.v, rtol=1e-6, atol=1e-9 * (1.0 + np.abs(stored).max())):
        raise damaged("weights and dual point do not belong together")
    state.v[:] = stored
    if state.lower.size:
        state.w[:] = placed(state.v, state.lower, state.upper, run.l1)
