"""What a checkpoint of a run without inference holds, and how the run goes on from it."""

from typing import Any

import numpy as np

from taut.graph_training.lower_bound import loss_of
from taut.graph_training.state import LENGTH, RHO, add_features
from taut.solvers.best import Best
from taut.solvers.checkpoint import check_order, checked_arrays, flattened
from taut.solvers.resume import Damaged, check_weights
from taut.solvers.sampling import set_all_gaps

# Scratch memory, and arrays that follow from the rest.
LEFT_OUT = frozenset({"w", "lower", "upper", "scratch"})
# Rounding of a long run; a distribution's sum is off by no more.
ROUNDING = 1e-9


def saved_arrays(run: Any) -> dict[str, np.ndarray]:
    best = run.witness.best
    witness = {f"witness.{name}": value for name, value in best._asdict().items()}
    return dict(flattened(run.state, LEFT_OUT)) | witness


def resume(run: Any, arrays: dict[str, np.ndarray], best: Best, damaged: Damaged) -> None:
    """The run goes on bit for bit; what was proved before is proved again from its point."""
    state, factors = run.state, run.factors
    current = dict(flattened(state, LEFT_OUT))
    checked_arrays(saved_arrays(run), arrays, damaged, growing="")
    check_order(arrays, damaged)
    places = {"node": factors.node_at, "edge": factors.edge_at}
    places |= {f"witness.{name}": at for name, at in places.items()}
    for name, at in places.items():
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
    _recertify(run, best, damaged)
    # Certifying computes them afresh; their rounding is part of the run.
    state.v[:], state.delta[:] = v, delta
    _restore_witness(run, arrays, damaged)
    if state.lower.size:
        np.clip(v, state.lower, state.upper, out=state.w)
    tree = state.sampler.tree
    leaves, blocks = tree.size // 2, len(state.sampler.permutation)
    set_all_gaps(tree, arrays["sampler.tree"][leaves : leaves + blocks])


def _recertify(run: Any, best: Best, damaged: Damaged) -> None:
    """Bounds of earlier messages cannot be proved again; those of the present ones can."""
    now = run.certify()
    wrong = best.contradiction(min(now.primal, run.upper_bound(best.w)))
    if not wrong and not now.dual <= best.primal + ROUNDING * (1.0 + abs(best.primal)):
        wrong = f"it claims an objective, {best.primal}, below a lower bound, {now.dual}"
    if wrong:
        raise damaged(wrong)


def _restore_witness(run: Any, arrays: dict[str, np.ndarray], damaged: Damaged) -> None:
    """The consistent point that proves the lower bound, if its numbers belong together."""
    best, view = run.witness.best, run.view
    for name, value in best._asdict().items():
        value[...] = arrays[f"witness.{name}"]
    v = np.zeros(len(best.v))
    add_features(view, best.node, best.edge, v)
    scale = 1.0 + np.abs(v).max(initial=0.0)
    if not (
        np.allclose(best.v, v, rtol=1e-6, atol=ROUNDING * scale)
        and np.isclose(best.loss[0], loss_of(view, best.node), rtol=1e-6, atol=ROUNDING)
    ):
        raise damaged("weights and loss of the witness do not belong to its marginals")


def _check_counts(chosen: np.ndarray, factors: Any, damaged: Damaged) -> None:
    outside = chosen.min(initial=0.0) < -ROUNDING or chosen.max(initial=0.0) > 1.0 + ROUNDING
    factor = np.repeat(np.arange(len(factors.low)), np.diff(factors.count_at))
    sums = np.bincount(factor, chosen, minlength=len(factors.low))
    slack = ROUNDING * (1.0 + sums)
    if outside or np.any(sums < factors.low - slack) or np.any(sums > factors.high + slack):
        raise damaged("array chosen does not satisfy the count factors")
