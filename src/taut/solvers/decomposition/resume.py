"""What a checkpoint of a decomposition run holds, and how the run goes on from it."""

from typing import Any

import numpy as np
from scipy import sparse

from taut.solvers.best import Best
from taut.solvers.checkpoint import checked_arrays, flattened
from taut.solvers.corners import are_sound
from taut.solvers.decomposition.points import Points
from taut.solvers.resume import Damaged

PER_POINT = ("loss", "block", "weight", "retained", "idle")


def saved_arrays(run: Any) -> dict[str, np.ndarray]:
    state, points = run.state, run.state.points
    arrays = {f"points.{name}": getattr(points, name) for name in PER_POINT}
    if points.is_sparse:
        rows = points.rows
        parts = {"data": rows.data, "indices": rows.indices.astype(np.int64), "indptr": rows.indptr}
        arrays |= {f"points.{name}": value for name, value in parts.items()}
        arrays["points.indptr"] = arrays["points.indptr"].astype(np.int64)
    else:
        arrays["points.rows"] = points.rows
    if points.keeps_gram:  # computed anew, it would round differently
        arrays["points.gram"] = points.gram()[: len(points), : len(points)].ravel()
    arrays |= {"v": state.v, "gaps": state.gaps, "last_cut": state.last_cut, "count": state.count}
    if run.cache is not None:
        arrays |= dict(flattened(run.cache.corners, frozenset(), "cache."))
        arrays["time"] = np.array([run.cache.time])
    return arrays | run.saved_oracle()


def resume(run: Any, arrays: dict[str, np.ndarray], best: Best, damaged: Damaged) -> None:
    state = run.state
    current = saved_arrays(run)
    checked_arrays(current, arrays, damaged, growing=("points.", "cache."))
    _restore_points(state.points, arrays, damaged, is_cone=run.is_cone)
    if run.cache is not None:
        corners = run.cache.corners
        corners = corners._replace(**{name: arrays[f"cache.{name}"] for name in corners._fields})
        if not are_sound(corners, run.lengths, run.problem.n_states):
            raise damaged("the remembered labellings are inconsistent")
        run.cache.corners, run.cache.time = corners, int(arrays["time"][0])
    for name in ("gaps", "last_cut", "count"):
        getattr(state, name)[...] = arrays[name]
    stored = arrays["v"]
    run.rebuild()
    if not np.allclose(stored, state.v, rtol=1e-6, atol=1e-9 * (1.0 + np.abs(stored).max())):
        raise damaged("weights and points do not belong together")
    _recertify(run, best, damaged)
    state.v[:] = stored  # now: certifying rebuilds it
    run.clip()
    run.restore_oracle(arrays)


def _recertify(run: Any, best: Best, damaged: Damaged) -> None:
    """What the file says was proved is proved again, from what it holds."""
    then = run.primal_of(best.w)
    slack = getattr(run.problem, "slack", lambda: 0.0)()
    if not np.isclose(then, best.primal, rtol=1e-9, atol=2.0 * slack):
        raise damaged("its best weights do not have the objective it says")
    count, gaps = run.state.count.copy(), run.state.gaps.copy()
    now = run.certify()
    run.oracle_is_fresh = False
    run.state.count[:], run.state.gaps[:] = count, gaps
    wrong = best.contradiction(min(now.primal, then), slack)
    if wrong:
        raise damaged(wrong)


def _restore_points(
    points: Points, arrays: dict[str, np.ndarray], damaged: Damaged, *, is_cone: bool
) -> None:
    saved = {name: arrays[f"points.{name}"] for name in PER_POINT}
    count = len(saved["loss"])
    if any(value.shape != (count,) for value in saved.values()):
        raise damaged("the points have arrays of different lengths")
    block, weight = saved["block"], saved["weight"]
    if count and not (block.min() >= 0 and block.max() < points.n_blocks):
        raise damaged("a point belongs to no example")
    sums = np.bincount(block, weights=weight, minlength=points.n_blocks)
    if (weight < 0).any() or not (is_cone or np.allclose(sums, 1.0, rtol=0, atol=1e-9)):
        raise damaged("the points' weights do not sum to one")
    if points.is_sparse:
        parts = [arrays[f"points.{name}"] for name in ("data", "indices", "indptr")]
        try:
            rows = sparse.csr_array(tuple(parts), shape=(count, points.dim))
            rows.check_format(full_check=True)
        except ValueError as error:
            raise damaged(f"the rows of the points: {error}") from error
    else:
        rows = arrays["points.rows"]
        if rows.shape != (count, points.dim):
            raise damaged(f"array points.rows has shape {rows.shape}")
    points.restore(rows, **saved)
    if points.keeps_gram:
        computed, stored = points.gram()[:count, :count], arrays["points.gram"]
        rounding = 1e-9 * (1.0 + np.abs(computed).max(initial=0.0))
        if stored.size != count**2 or not np.allclose(
            computed.ravel(), stored, rtol=0, atol=rounding
        ):
            raise damaged("rows and inner products of the points do not belong together")
        computed[...] = stored.reshape(count, count)
