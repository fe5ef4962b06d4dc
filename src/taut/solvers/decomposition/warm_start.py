"""Where a decomposition run starts, if not at the origin: from an earlier solution's points."""

from typing import Any

import numpy as np

from taut.solvers.decomposition.state import DecompositionState
from taut.solvers.solution import describe
from taut.solvers.state import State
from taut.solvers.warm_start import (
    check_has_state,
    check_keep,
    check_same_objective,
    earlier_examples,
)


def continue_from(run: Any, earlier: Any, keep: str) -> None:
    """Take over an earlier run's points and weights; new examples start at the truth.

    Points do not depend on C: with another one, the first master problem weighs them anew. The
    dual point of a block-coordinate run becomes the retained point of every simplex.
    """
    check_keep(keep)
    check_has_state(earlier)
    check_same_objective(run, earlier)
    n_before = earlier_examples(run, earlier)
    if isinstance(earlier.state, DecompositionState):
        _take_points(run, earlier, n_before)
    elif isinstance(earlier.state, State):
        _take_dual_point(run, earlier, n_before)
    else:
        raise _cannot(run, earlier)
    points = run.state.points
    if keep == "primal" and earlier.C < run.C and not run.is_cone:
        points.move_toward_origin(earlier.C / run.C)
    run.rebuild()


def _cannot(run: Any, earlier: Any) -> ValueError:
    return ValueError(
        f"{describe(run.solver)} cannot start from the points of the earlier run, "
        f"{describe(earlier.solver)}; warm-start with the same solver, or start cold"
    )


def _take_points(run: Any, earlier: Any, n_before: int) -> None:
    before, now = earlier.state, run.state
    if earlier.solver.is_product != run.solver.is_product:
        raise _cannot(run, earlier)
    if not run.solver.is_product and n_before < run.n:
        raise ValueError(
            "warm_start: a plane is a sum over all examples, so those of fewer examples say "
            'nothing about these; start cold, or use simplexes="product" (slacks="n")'
        )
    now.points.take(before.points)
    if not run.is_cone:
        now.points.add_origins(np.arange(n_before, now.points.n_blocks))


def _take_dual_point(run: Any, earlier: Any, n_before: int) -> None:
    """Every example's marginals, as one point: it stands in for the origin."""
    problem, points = run.problem, run.state.points
    loss = np.zeros(run.n)
    loss[:n_before] = run.importance[:n_before] * earlier.state.ell
    points.keep(np.zeros(len(points), bool))
    if run.solver.is_product:
        mu = problem.new_dual()
        problem.copy_dual(earlier.state.mu, mu)
        rows, _ = run.maker.rows(np.arange(run.n), mu)
        points.add(rows, loss, np.arange(run.n), retained=True)
    else:
        row = earlier.state.v[None] / earlier.C
        points.add(row, loss.sum()[None], np.zeros(1, np.int64), retained=True)
