"""The best corner and the nearest point of { 0 ≤ p ≤ 1, low ≤ Σ p ≤ high }."""

import math
from itertools import product

import clarabel
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from taut.inference.counts import best_count, check_counts, project_count

# Sums of at most 12 numbers of at most 1, each rounded a few times.
SUM_ERROR = 1e-14


@st.composite
def limits(draw, size):
    low, high = sorted(draw(st.tuples(st.integers(0, size), st.integers(0, size))))
    return low, high


@st.composite
def count_problems(draw, numbers):
    """Numbers, equal ones among them, and bounds on how many may be chosen."""
    values = draw(st.lists(numbers, min_size=1, max_size=12))
    return np.array(values, float), *draw(limits(len(values)))


near = st.floats(-2.0, 3.0) | st.sampled_from([-1.0, 0.0, 0.25, 0.5, 1.0, 1.5])
far = near.map(lambda value: 1e6 + value) | st.floats(-1e6, 1e6)
any_numbers = near | far


def corners(size, low, high):
    every = np.array(list(product([0, 1], repeat=size)))
    return every[(every.sum(axis=1) >= low) & (every.sum(axis=1) <= high)]


def chosen_by_oracle(gain, low, high):
    chosen = np.full(len(gain), 7.0)
    value = best_count(gain, low, high, np.zeros(len(gain), np.int32), chosen)
    return value, chosen


def projection(target, low, high):
    out = np.full(len(target), np.nan)
    project_count(target, low, high, out)
    return out


# --- the best corner -----------------------------------------------------------------------------


@given(count_problems(st.integers(-3, 3) | any_numbers))
def test_the_oracle_finds_the_best_of_all_corners(problem):
    gain, low, high = problem
    value, chosen = chosen_by_oracle(gain, low, high)
    assert set(chosen) <= {0.0, 1.0}
    assert low <= chosen.sum() <= high
    rounding = 12 * np.finfo(float).eps * abs(gain).sum()
    assert value == pytest.approx(gain @ chosen, rel=0.0, abs=rounding)
    assert value == pytest.approx((corners(len(gain), low, high) @ gain).max(), abs=rounding)


@given(count_problems(st.integers(-1, 1)))
def test_of_equal_gains_the_first_are_chosen_and_none_without_need(problem):
    gain, low, high = problem
    order = np.argsort(-gain, kind="stable")
    number = np.clip(np.sum(gain > 0), low, high)
    _, chosen = chosen_by_oracle(gain, low, high)
    np.testing.assert_array_equal(np.sort(order[:number]), np.flatnonzero(chosen))


def test_a_node_that_must_not_be_chosen_is_chosen_only_without_alternative():
    gain = np.array([-np.inf, -5.0, -np.inf])
    assert chosen_by_oracle(gain, 1, 3)[0] == -5.0
    assert chosen_by_oracle(gain, 2, 3)[0] == -np.inf


def test_the_oracle_is_right_on_large_factors():
    """Against a sort: a heap of a thousand elements has ten levels."""
    gain = np.random.default_rng(0).normal(size=1000)
    for low, high in [(0, 37), (0, 400), (600, 1000), (999, 1000), (1000, 1000), (0, 0)]:
        number = np.clip(np.sum(gain > 0), low, high)
        best = np.sort(gain)[::-1][:number].sum()
        assert chosen_by_oracle(gain, low, high)[0] == pytest.approx(best, abs=1e-10)


# --- the projection ------------------------------------------------------------------------------


@given(count_problems(any_numbers))
def test_projections_lie_in_the_polytope(problem):
    target, low, high = problem
    p = projection(target, low, high)
    assert (p >= 0.0).all()
    assert (p <= 1.0).all()
    assert low - SUM_ERROR <= p.sum() <= high + SUM_ERROR


@given(count_problems(any_numbers))
def test_no_corner_is_on_the_far_side_of_a_projection(problem):
    """⟨target − p, corner − p⟩ ≤ 0 for all corners: that p is the nearest point of their hull."""
    target, low, high = problem
    p = projection(target, low, high)
    slope = target - p
    # The sum's error shifts corner − p, its rounding error is relative to the slope.
    rounding = 4 * SUM_ERROR * (1.0 + abs(slope).sum())
    value, _ = chosen_by_oracle(slope, low, high)
    assert value - slope @ p <= rounding


@given(count_problems(any_numbers))
def test_a_projection_projects_to_itself(problem):
    target, low, high = problem
    p = projection(target, low, high)
    np.testing.assert_allclose(projection(p, low, high), p, rtol=0.0, atol=SUM_ERROR)
    project_count(target, low, high, target)
    np.testing.assert_array_equal(target, p, err_msg="in place")


@given(count_problems(near), st.sampled_from([1e3, 2.0**40, -(2.0**40)]))
def test_a_binding_sum_does_not_see_a_common_shift(problem, shift):
    """Targets are multiples of 1/256: the shift itself rounds nothing."""
    target, low, _ = problem
    target = np.round(256 * target) / 256
    moved = projection(target + shift, low, low)
    np.testing.assert_allclose(moved, projection(target, low, low), rtol=0.0, atol=SUM_ERROR)


@pytest.mark.parametrize("size", [1, 2, 5, 12])
def test_only_one_point_has_the_least_or_the_largest_sum(size):
    target = np.random.default_rng(size).normal(size=size)
    np.testing.assert_array_equal(projection(target, 0, 0), np.zeros(size))
    np.testing.assert_array_equal(projection(target, size, size), np.ones(size))
    np.testing.assert_array_equal(projection(target, 0, size), np.clip(target, 0.0, 1.0))


@pytest.mark.parametrize("spread", [1.0, 1e3, 1e6])
def test_the_sum_is_kept_by_large_factors_too(spread):
    """A thousand roundings of numbers up to one: 1e-13, if none of them is systematic."""
    target = np.random.default_rng(0).normal(0.5, spread, 1000)
    for goal in (1, 250, 999):
        p = projection(target, goal, goal)
        assert math.fsum(p) == pytest.approx(goal, rel=0.0, abs=1e-13)


def projection_by_clarabel(target, low, high):
    size = len(target)
    rows = np.vstack([-np.eye(size), np.eye(size), -np.ones(size), np.ones(size)])
    right = np.concatenate([np.zeros(size), np.ones(size), [-low, high]])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    # clarabel stops at a gap of 1e-10 in 1/2 |p - target|^2, which is strongly convex.
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    found = clarabel.DefaultSolver(
        sparse.eye(size, format="csc"),
        -target,
        sparse.csc_matrix(rows),
        right,
        [clarabel.NonnegativeConeT(len(right))],
        settings,
    ).solve()
    assert str(found.status) == "Solved"
    return np.array(found.x)


@pytest.mark.parametrize("size", range(1, 13))
def test_a_generic_solver_finds_the_same_projections(size):
    rng = np.random.default_rng(size)
    for _ in range(5):
        target = rng.normal(0.5, 1.0, size)
        low, high = np.sort(rng.integers(0, size + 1, 2))
        # A gap of 1e-10 in a strongly convex objective is a distance of about 1e-5.
        np.testing.assert_allclose(
            projection(target, low, high),
            projection_by_clarabel(target, low, high),
            rtol=0.0,
            atol=2e-5,
        )


# --- bad counts ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "message"),
    [
        (([0, 9], 0, 1), "over node 9, but the nodes are 0 to 3"),
        (([-1], 0, 1), "over node -1"),
        (([0, 0], 0, 1), "twice"),
        (([0, 3], 0, 1), "node 3, which has 3 states"),
        (([0, 1], 2, 1), "wants 2 to 1 of 2 nodes"),
        (([0, 1], -1, 1), "wants -1 to 1"),
        (([0, 1], 3, 3), "wants 3 to 3 of 2 nodes"),
        (([0, 1], 0.5, 1), "wants 0.5 to 1"),
        (([0.0, 1.0], 0, 1), "must be integers"),
        (([], 1, 1), "of 0 nodes"),
    ],
)
def test_counts_that_cannot_be_are_refused(count, message):
    with pytest.raises(ValueError, match=r"counts\[1\].*" + message):
        check_counts([([0, 1, 2], 0, 5), count], np.array([2, 2, 2, 3]))
