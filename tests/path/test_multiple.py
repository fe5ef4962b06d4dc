"""Which multiple of a dual point to take to another lambda: the one with the largest dual value."""

import numpy as np
import pytest
from path_reference import BOUNDS
from taut_reference import chain_pair, multiclass_pair

from taut.path.path_kinds import best_multiple
from taut.solvers import BCFW
from taut.solvers.objective import Objective

PAIRS = {
    "weighted multiclass": multiclass_pair(7, 3, n_features=2, weighted=True, seed=2),
    "chain": chain_pair([3, 1, 2, 3], 2, n_features=2, seed=3),
}


@pytest.mark.parametrize("box", BOUNDS)
@pytest.mark.parametrize("which", PAIRS)
def test_the_multiple_maximises_the_dual_value(which, box):
    problem, reference = PAIRS[which]
    bounds = BOUNDS[box](problem.dim)
    truth = problem.dual_array(problem.new_dual())
    run = BCFW().start(problem, Objective(2.0, bounds=bounds, seed=1, n_threads=1))
    seen = []
    for _ in range(5):
        run.advance(problem.n)
        mu = problem.dual_array(run.state.mu)
        for C in (0.02, 0.5, 2.0, 5.0, 300.0):

            def dual(c, mu=mu, C=C):
                return reference.dual(c * mu + (1 - c) * truth, C, bounds)

            best = best_multiple(run, 1 / (C * problem.n))
            assert 0 <= best <= 1
            # Concave: on a grid nothing is larger, but for rounding of values of order one.
            assert dual(best) >= max(dual(c) for c in np.linspace(0, 1, 41)) - 1e-12
            seen.append(best)
    if box == "free":  # all kinds of multiples were seen
        assert max(seen) == 1
        assert min(seen) < 0.5


def test_at_the_truth_every_multiple_is_the_same():
    problem, _ = PAIRS["chain"]
    run = BCFW().start(problem, Objective(2.0, bounds=None, seed=1, n_threads=1))
    assert 0 <= best_multiple(run, 0.1) <= 1
    change = run.state.v.copy()
    run.change_C(3.0, best_multiple(run, 0.1))
    np.testing.assert_array_equal(run.state.v, change)
