"""GDMM against the definitions: its bounds are bounds, and it goes where it should.

Optima by clarabel are exact to 1e-9 relative, so bounds may cross them by that much.
"""

import numpy as np
import pytest
from factor_problems import (
    PROBLEMS,
    factor_reference,
    hard_optimum,
    messages_of,
    point_of,
    problem_of,
)
from graph_reference import complete, cycle, random_reference

from papers.hu.gdmm import GDMM
from taut.graph_training import AugmentedLagrangian
from taut.graph_training.factor_solver import FactorRun
from taut.graph_training.factor_state import LENGTH
from taut.solvers import Status, solve
from taut.solvers.objective import Objective

C = 0.7
BOX = (-0.1, 0.3)
TREES, LOOPS, POTTS, COUNTS = PROBLEMS
ROUNDING = 1e-8


def train(which, solver, *, tol=1e-6, max_passes=3000, box=None, **options):
    return solve(
        PROBLEMS[which], solver, C=C, tol=tol, max_passes=max_passes, bounds=box, **options
    )


def new_run(which, solver, box=None):
    run = FactorRun(PROBLEMS[which], solver, Objective(C, bounds=box, seed=0, n_threads=1))
    run.compile()
    return run


def assert_brackets(solution, best):
    assert solution.history.iterate_primal.min() >= best - ROUNDING
    assert solution.history.iterate_dual.max() <= best + ROUNDING


@pytest.mark.parametrize("temperature", [0.0, 0.1])
@pytest.mark.parametrize("which", PROBLEMS)
def test_gdmm_closes_the_bracket_around_the_hard_optimum(which, temperature):
    solution = train(which, GDMM(temperature=temperature))
    assert solution.status == Status.CONVERGED
    assert_brackets(solution, hard_optimum(which, C, temperature).value)


def test_gdmm_closes_the_bracket_within_a_box():
    solution = train(LOOPS, GDMM(), box=BOX)
    assert solution.status == Status.CONVERGED
    assert_brackets(solution, hard_optimum(LOOPS, C, 0.0, BOX).value)
    np.testing.assert_array_equal(solution.w, np.clip(solution.w, *BOX))


def test_a_weak_penalty_does_not_make_gdmm_cycle():
    """With the direct step at its full length it does, for ever: 1,000 passes suffice without."""
    problem = problem_of(random_reference([complete(4), cycle(5), complete(5)], seed=2))
    solution = solve(problem, GDMM(rho=10.0), C=C, tol=1e-6, max_passes=4000)
    assert solution.status == Status.CONVERGED
    assert solution.state.total[LENGTH] < 1.0


@pytest.mark.parametrize("temperature", [0.0, 0.1])
def test_one_edge_of_each_example_joins_in_a_pass_and_the_others_rest(temperature):
    run = new_run(LOOPS, GDMM(temperature=temperature))
    factors, state = run.factors, run.state
    first = state.edge.copy()
    for passes in range(1, 8):
        run.advance(run.blocks)
        joined = np.add.reduceat(
            np.append(state.active, 0), np.minimum(factors.edge_start[:-1], len(state.active))
        ) * (np.diff(factors.edge_start) > 0)
        assert joined.max() <= passes
        outside = np.flatnonzero(~state.active)
        for e in outside:
            cells = slice(factors.edge_at[e], factors.edge_at[e + 1])
            messages = slice(factors.message_at[e], factors.message_at[e + 1])
            np.testing.assert_array_equal(state.edge[cells], first[cells])
            assert not state.nu[messages].any()
    assert state.active.all()


def test_the_edge_with_the_largest_gap_joins_first():
    """At the truth there is no gap; it comes from the first steps of the nodes."""
    run = new_run(LOOPS, GDMM(order="cyclic"))
    F, state = factor_reference(LOOPS, C), run.state
    run.advance(run.blocks)
    outside = ~state.active
    run.rebuild()
    gaps = F.block_gaps(state.w, messages_of(F, state.delta), point_of(F, state)).edge
    # The first example goes first, so its gaps are still those.
    last = run.factors.edge_start[1]
    expected = np.flatnonzero(outside[:last])[np.argmax(gaps[:last][outside[:last]])]
    run.advance(1)
    assert state.active[expected]
    assert np.count_nonzero(outside[:last] & state.active[:last]) == 1


def test_a_start_from_a_solved_problem_is_solved():
    earlier = train(LOOPS, AugmentedLagrangian(), tol=1e-5)
    solution = train(LOOPS, GDMM(), warm_start=earlier, tol=2e-5, max_passes=50)
    assert solution.status == Status.CONVERGED


def test_a_resumed_run_goes_on_bit_for_bit(tmp_path):
    path, solver = tmp_path / "checkpoint.npz", GDMM(check_every=5)
    whole = train(LOOPS, solver, tol=0.0, max_passes=20)
    train(LOOPS, solver, tol=0.0, max_passes=10, checkpoint=path)
    resumed = train(LOOPS, solver, tol=0.0, max_passes=20, checkpoint=path, resume=True)
    np.testing.assert_array_equal(resumed.state.v, whole.state.v)
    np.testing.assert_array_equal(resumed.state.delta, whole.state.delta)
