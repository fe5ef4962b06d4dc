"""DLPW against the definitions: its bounds are bounds, and it goes where it should.

Optima by clarabel are exact to 1e-9 relative, so bounds may cross them by that much.
"""

import numpy as np
import pytest
from factor_problems import (
    PROBLEMS,
    bounds_of,
    factor_reference,
    hard_optimum,
    messages_of,
    point_of,
)
from hypothesis import given
from hypothesis import strategies as st

from papers.meshi.dlpw import DLPW
from papers.meshi.edge_messages import fit_messages, fit_softly, log_sum_exp
from taut.graph_training import IDAL, AugmentedLagrangian
from taut.graph_training.factor_solver import FactorRun
from taut.graph_training.factor_state import SCALE
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


@pytest.mark.parametrize("smoothing", [0.0, 0.01])
@pytest.mark.parametrize("which", [TREES, LOOPS, POTTS])
def test_the_upper_bound_of_dlpw_falls_toward_the_hard_optimum(which, smoothing):
    """Smoothed, as far as epsilon times the sum of log(states); both to a fortieth of the start."""
    solution = train(which, DLPW(smoothing=smoothing, sweeps=3, check_every=100), max_passes=800)
    best = hard_optimum(which, C).value
    assert_brackets(solution, best)
    blocks = [one.blocks() for one in factor_reference(which, C).examples]
    logs = [sum(np.log(at.stop - at.start) for _, at in of_one) for of_one in blocks]
    slack = smoothing * factor_reference(which, C).mean(logs)
    start = solution.history.iterate_primal[0] - best
    assert solution.primal - best <= slack + start / 40
    assert solution.history.iterate_dual[-1] >= best - slack - start / 10


@pytest.mark.parametrize("rate", [0.5, 1.0, 2.5])
@pytest.mark.parametrize("box", [None, BOX], ids=["no box", "box"])
def test_the_weights_are_those_of_the_mean_marginals(rate, box):
    """v = C n sum_i share_i s_i Psi_i (truth_i - mean_i); with Pegasos's rate shares are 1/n."""
    run = new_run(LOOPS, DLPW(rate=rate, smoothing=0.1), box)
    F, state = factor_reference(LOOPS, C), run.state
    run.advance(3 * run.blocks)
    scale = state.total[SCALE]
    shares = scale * state.share
    assert shares.sum() == pytest.approx(1.0)
    if rate == 1.0:
        np.testing.assert_allclose(shares, 1.0 / run.n)
    mean = point_of(F, state)
    v = sum(
        C * F.n * share * s * (one.psi @ (one.truth - x))
        for share, s, one, x in zip(shares, F.s, F.examples, mean, strict=True)
    )
    np.testing.assert_allclose(scale * state.v, v, atol=1e-12)
    np.testing.assert_allclose(state.w, np.clip(v, *(box or (-np.inf, np.inf))), atol=1e-12)


def test_certifying_leaves_weights_and_messages_of_dlpw_alone():
    run = new_run(LOOPS, DLPW(rate=2.0))
    run.advance(2 * run.blocks)
    w, delta = run.state.w.copy(), run.state.delta.copy()
    certificate = run.certify()
    np.testing.assert_array_equal(run.state.w, w)
    np.testing.assert_array_equal(run.state.delta, delta)
    F = factor_reference(LOOPS, C)
    assert certificate.primal == pytest.approx(F.hard_primal(w, messages_of(F, delta)))
    assert np.isnan(certificate.soft_gap)


def test_a_sweep_never_raises_the_bound_of_given_weights():
    """C is so small that the weights stay: what falls, falls by the messages."""
    problem = PROBLEMS[LOOPS]
    for smoothing in (0.0, 1e-6):
        run = FactorRun(
            problem, DLPW(smoothing=smoothing), Objective(1e-12, bounds=None, seed=0, n_threads=1)
        )
        run.compile()
        before = run.certify().primal
        for _ in range(5):
            run.advance(run.blocks)
            after = run.certify().primal
            assert after <= before + 1e-4 * (smoothing > 0) + 1e-9
            before = after


def tables(n):
    numbers = st.floats(-3.0, 3.0)
    return st.lists(numbers, min_size=n, max_size=n).map(np.array)


@given(tables(6), tables(5), tables(5), tables(5), st.sampled_from([0.0, 0.3]))
def test_no_other_messages_of_an_edge_are_better(table, messages, hat, change, smoothing):
    """Both ends at once without smoothing; with it the second end, given the first."""
    without = hat - messages

    def value(messages):
        after = without + messages
        edge = table - np.add.outer(messages[:2], messages[2:]).ravel()
        parts = after[:2], after[2:], edge
        if smoothing:
            return sum(log_sum_exp(part, smoothing) for part in parts)
        return sum(part.max() for part in parts)

    fitted, after = messages.copy(), hat.copy()
    if smoothing:
        fit_softly(table, fitted, after[:2], after[2:], smoothing, np.zeros(3))
        change[:2] = 0.0
    else:
        fit_messages(table, fitted, after[:2], after[2:])
    np.testing.assert_allclose(after, without + fitted, atol=1e-12)
    assert value(fitted) <= value(messages) + 1e-12
    assert value(fitted) <= value(fitted + change) + 1e-12


def test_a_start_from_a_solved_problem_is_solved():
    earlier = train(LOOPS, AugmentedLagrangian(), tol=1e-5)
    solution = train(LOOPS, DLPW(), warm_start=earlier, tol=2e-5, max_passes=50)
    assert solution.status == Status.CONVERGED


def test_dlpw_hands_its_messages_on():
    earlier = train(LOOPS, DLPW(sweeps=3), max_passes=200, tol=0.0)
    solution = train(LOOPS, IDAL(), warm_start=earlier, max_passes=0)
    cold = train(LOOPS, IDAL(), max_passes=0)
    best = hard_optimum(LOOPS, C).value
    assert solution.primal - best < 0.2 * (cold.primal - best)


def test_a_resumed_run_goes_on_bit_for_bit(tmp_path):
    path, solver = tmp_path / "checkpoint.npz", DLPW(check_every=5)
    whole = train(LOOPS, solver, tol=0.0, max_passes=20)
    train(LOOPS, solver, tol=0.0, max_passes=10, checkpoint=path)
    resumed = train(LOOPS, solver, tol=0.0, max_passes=20, checkpoint=path, resume=True)
    np.testing.assert_array_equal(resumed.state.v, whole.state.v)
    np.testing.assert_array_equal(resumed.state.delta, whole.state.delta)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(rate=0.0), "rate=0.0; a positive number"),
        (dict(rate="fast"), "rate='fast'; a positive number"),
        (dict(smoothing=-1.0), "smoothing=-1.0; a number"),
        (dict(sweeps=0), "sweeps=0; how often"),
        (dict(temperature=0.5), "smoothing=0.5"),
        (dict(order="uniform"), "order='uniform'; DLPW goes from example to example"),
    ],
    ids=["rate zero", "rate in words", "smoothing", "sweeps", "temperature", "order"],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        DLPW(**options)


def test_dlpw_refuses_count_factors():
    with pytest.raises(ValueError, match="DLPW has messages of edges only, and there are"):
        train(COUNTS, DLPW())


def test_required_bounds_hold_for_dlpw():
    """Attractive edges: their weights are not negative."""
    solution = train(POTTS, DLPW(), max_passes=50)
    lower, _ = bounds_of(POTTS)
    assert (solution.w >= lower).all()
