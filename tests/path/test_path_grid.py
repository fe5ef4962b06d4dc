"""Grids: every value to its gap from any start, and what is proved between them."""

import numpy as np
import pytest
from path_reference import BOUNDS, PRECISE, tiny_cases

from taut import regularization_grid, solve
from taut.path import PathStatus
from taut.solvers import BCFW

CASES = tiny_cases()
LAMBDAS = np.array([30.0, 5.0, 1.0, 0.3, 0.1, 0.02])
WARM_STARTS = ["best", "primal", "dual", None]


@pytest.mark.parametrize("warm_start", WARM_STARTS, ids=str)
@pytest.mark.parametrize("box", BOUNDS)
@pytest.mark.parametrize("which", ["weighted multiclass", "chain"])
def test_every_value_is_solved_and_between_them_the_bound_holds(which, box, warm_start):
    case = CASES[which]
    bounds = BOUNDS[box](case.dim)
    of = case.reference(bounds)
    grid = regularization_grid(
        case.problem, lambdas=LAMBDAS, eps=0.01, warm_start=warm_start, bounds=bounds
    )
    assert grid.status is PathStatus.TO_LAM_MIN
    assert not grid.guaranteed  # between the values
    np.testing.assert_array_equal(grid.lambdas, LAMBDAS)
    assert np.all(grid.gaps <= 0.01 * grid.scale)
    assert grid.end == LAMBDAS[-1]
    for lam in [*LAMBDAS, *np.geomspace(1e3, LAMBDAS[-1], 40)]:
        excess = of.suboptimality(grid.weights(lam), lam)
        assert -PRECISE <= excess <= grid.bound(lam) + PRECISE
    np.testing.assert_allclose(grid.true_gaps(), grid.breakpoints.gap, rtol=0, atol=1e-11)


@pytest.mark.parametrize("warm_start", WARM_STARTS, ids=str)
def test_every_solver_solves_a_grid(warm_start):
    case = CASES["weighted multiclass"]
    for solver in (BCFW(), BCFW(direction="pairwise", cache=True)):
        grid = regularization_grid(
            case.problem, lambdas=LAMBDAS, eps=0.05, warm_start=warm_start, solver=solver
        )
        assert np.all(grid.gaps <= 0.05 * grid.scale)


def test_a_cold_grid_is_so_many_single_runs():
    """At each value the certified weights are those of a run that begins there."""
    case = CASES["chain"]
    solver = BCFW(direction="corrective", refresh=1)
    whole = regularization_grid(
        case.problem, lambdas=LAMBDAS, eps=0.01, warm_start=None, solver=solver, seed=5
    )
    for lam in LAMBDAS:
        alone = regularization_grid(
            case.problem, lambdas=[lam], eps=0.01, warm_start=None, solver=solver, seed=5
        )
        np.testing.assert_array_equal(whole.weights(lam), alone.weights(lam))
        solution = solve(case.problem, solver, C=1 / (lam * case.listed.n), tol=1e-9)
        assert case.reference().primal(whole.weights(lam), lam) <= solution.primal + 0.01


def test_values_are_taken_in_order_and_once():
    grid = regularization_grid(CASES["chain"].problem, lambdas=[0.5, 2.0, 0.5, 8.0])
    assert grid.lambdas.tolist() == [8.0, 2.0, 0.5]


def test_scores_along_a_grid():
    grid = regularization_grid(
        CASES["chain"].problem, lambdas=LAMBDAS, validate=lambda w: float(w @ w)
    )
    np.testing.assert_allclose(grid.scores, [w @ w for w in map(grid.weights, LAMBDAS)])
    np.testing.assert_array_equal(grid.score_lambdas, LAMBDAS)
