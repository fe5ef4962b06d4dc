"""What a checkpoint of a run without inference holds, and how the run goes on from it."""

from typing import Any

import numpy as np

from taut.solvers.best import Best
from taut.solvers.checkpoint import check_order, checked_arrays, flattened
from taut.solvers.factorwise.state import LENGTH, RHO
from taut.solvers.resume import Damaged, check_weights
from taut.solvers.sampling import set_all_gaps

# Scratch memory, and arrays that follow from the rest.
LEFT_OUT = frozenset({"w", "lower", "upper", "scratch"})
# Rounding of a long run; a distribution's sum is off by no more.
ROUNDING = 1e-9


def saved_arrays(run: Any) -> dict[str, np.ndarray]:
    return dict(flattened(run.state, LEFT_OUT))


def resume(run: Any, arrays: dict[str, np.ndarray], best: Best, damaged: Damaged) -> None:
    """The run goes on bit for bit; what was proved before is proved again from its point."""
    state, factors = run.state, run.factors
    current = dict(flattened(state, LEFT_OUT))
    checked_arrays(current, arrays, damaged, growing="")
    check_order(arrays, damaged)
    for name, at in (("node", factors.node_at), ("edge", factors.edge_at)):
        marginals = arrays[name]
        sums = np.add.reduceat(marginals, at[:-1]) if len(at) > 1 else np.ones(0)
        if marginals.min(initial=0.0) < -ROUNDING or np.any(abs(sums - 1.0) > ROUNDING):
            raise damaged(f"array {name} does not hold distributions")
    _check_counts(arrays["chosen"], factors, damaged)
    total = arrays["total"]
    if not (total[RHO] > 0 and 0 < total[LENGTH] <= 1):
        raise damaged("a penalty or a step length that no run has")
    for name, array in current.items():
        if not name.startswith(("sampler.kind", "sampler.tree")):
            array[...] = arrays[name]
    v, delta = state.v.copy(), state.delta.copy()
    check_weights(run, damaged)
    rounding = 1e-9 * (1.0 + np.abs(delta).max(initial=0.0))
    if not np.allclose(delta, state.delta, rtol=1e-6, atol=rounding):
        raise damaged("messages and dual point do not belong together")
    _recertify(run, best)
    # Certifying computes them afresh; their rounding is part of the run.
    state.v[:], state.delta[:] = v, delta
    if state.lower.size:
        np.clip(v, state.lower, state.upper, out=state.w)
    tree = state.sampler.tree
    leaves, blocks = tree.size // 2, len(state.sampler.permutation)
    set_all_gaps(tree, arrays["sampler.tree"][leaves : leaves + blocks])


def _recertify(run: Any, best: Best) -> None:
    """The best weights get the bound that the present messages prove of them.

    Unless they were chosen by a score, the present weights take their place if theirs is lower.
    """
    now = run.certify()
    then = run.upper_bound(best.w)
    best.primal, best.dual, best.lowest = then, now.dual, min(now.primal, then)
    if best.score == -np.inf and now.primal <= then:
        best.w, best.primal, best.returned = run.state.w.copy(), now.primal, "last"


def _check_counts(chosen: np.ndarray, factors: Any, damaged: Damaged) -> None:
    outside = chosen.min(initial=0.0) < -ROUNDING or chosen.max(initial=0.0) > 1.0 + ROUNDING
    factor = np.repeat(np.arange(len(factors.low)), np.diff(factors.count_at))
    sums = np.bincount(factor, chosen, minlength=len(factors.low))
    slack = ROUNDING * (1.0 + sums)
    if outside or np.any(sums < factors.low - slack) or np.any(sums > factors.high + slack):
        raise damaged("array chosen does not satisfy the count factors")
