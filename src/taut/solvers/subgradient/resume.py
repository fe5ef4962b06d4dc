"""What a checkpoint of a subgradient run holds, and how the run goes on from it."""

from typing import Any

import numpy as np

from taut.solvers.best import Best
from taut.solvers.checkpoint import check_order, checked_arrays, flattened
from taut.solvers.resume import Damaged, check_weights
from taut.solvers.subgradient.warm_start import place_weights

# Scratch memory, and arrays that follow from the rest.
LEFT_OUT = frozenset(["w", "lower", "upper", "mu", "delta", "direct", "pull", "work", "y", "truth"])


def _kept(run: Any) -> dict[str, np.ndarray]:
    """Polyak's v has the rounding of its steps; Pegasos computes it afresh."""
    arrays = dict(flattened(run.state, LEFT_OUT))
    if not run.solver.is_polyak:
        del arrays["v"]
    return arrays


def saved_arrays(run: Any) -> dict[str, np.ndarray]:
    mu = run.problem.dual_array(run.state.mu)
    return {**_kept(run), "mu": mu, **run.saved_oracle()}


def resume(run: Any, arrays: dict[str, np.ndarray], best: Best, damaged: Damaged) -> None:
    """The run goes on bit for bit; what was proved before is proved again from its points."""
    state, problem = run.state, run.problem
    current = _kept(run)
    checked_arrays({**current, **run.saved_oracle()}, arrays, damaged, growing="")
    check_order(arrays, damaged)
    if min(arrays[name].min(initial=0) for name in ("mass", "mean_mass")) < 0:
        raise damaged("a mass is negative")
    try:
        problem.copy_dual(arrays["mu"], state.mu)
    except (KeyError, ValueError, IndexError) as error:
        raise damaged(f"array mu: {error}") from error
    for name, array in current.items():
        if name != "sampler.kind":
            array[...] = arrays[name]
    if run.solver.is_polyak:
        check_weights(run, damaged)
    else:
        place_weights(run)
    _recertify(run, best, damaged)
    run.restore_oracle(arrays)


def _recertify(run: Any, best: Best, damaged: Damaged) -> None:
    state, slack = run.state, getattr(run.problem, "slack", lambda: 0.0)()
    primal = run.objective(best.w)
    # An approximate oracle proves another bound each time, within its accuracy.
    if not np.isclose(primal, best.primal, rtol=1e-9, atol=2.0 * slack):
        raise damaged("its best weights do not have the objective it says")
    points = run.dual_points()
    # The dual point's mean value at w follows from itself, and from its stored losses.
    point, asked = points[0][0], run.pass_at(state.w)
    means = run.importance @ asked.mean, point.loss - (point.v @ state.w) / run.C
    if not np.isclose(*means, rtol=1e-6, atol=1e-9 * run.n):
        raise damaged("losses and dual point do not belong together")
    wrong = best.contradiction(min(primal, run.objective(state.w)), slack)
    if wrong:
        raise damaged(wrong)
