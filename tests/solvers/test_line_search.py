"""The step is the exact maximiser of the dual along the direction, also under box constraints."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

from taut.arrays.accumulator import dense_accumulator, new_accumulator, push
from taut.solvers.block_state import Box, bounded_step


@st.composite
def searches(draw, finite=True):
    """A direction, a point, a box and the gain at step 0."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    dim = draw(st.integers(1, 8))
    direction = rng.normal(size=dim) * (rng.random(dim) < 0.8)
    v = rng.normal(size=dim)
    lower = rng.uniform(-1.5, 0.3, dim)
    upper = lower + rng.uniform(0.0, 1.5, dim)
    if not finite:
        lower[:], upper[:] = -np.inf, np.inf
    scale, gain = rng.uniform(0.1, 3.0), rng.uniform(0.01, 2.0)
    most = draw(st.sampled_from([0.05, 1.0, 30.0]))
    dense = draw(st.booleans())
    return direction, v, lower, upper, scale, gain, most, dense


def step_of(direction, v, lower, upper, scale, gain, most, dense):
    delta = dense_accumulator(np.zeros(v.size)) if dense else new_accumulator(v.size, v.size)
    for entry in np.flatnonzero(direction):
        push(delta, entry, direction[entry])
    w = np.clip(v, lower, upper)
    return bounded_step(delta, Box(v, w, lower, upper, 0.0), scale, gain, most)


def derivative(step, direction, v, lower, upper, scale, gain, *_):
    """Of the dual along the direction: gain - <w(0) - w(step), direction>."""
    now, then = np.clip(v, lower, upper), np.clip(v - scale * step * direction, lower, upper)
    return gain + (then - now) @ direction


@given(searches())
def test_the_step_is_where_the_derivative_changes_sign(search):
    step, most = step_of(*search), search[6]
    assert 0.0 <= step <= most
    if derivative(most, *search) >= 0.0:
        assert step == most
    else:
        # The derivative falls with slope at most scale |d|^2; rounding of the step moves it so far.
        rounding = 1e-14 * (1.0 + search[5] + search[4] * most * (search[0] @ search[0]))
        assert abs(derivative(step, *search)) <= rounding


@given(searches())
def test_no_numeric_search_does_better(search):
    step, most = step_of(*search), search[6]
    if derivative(most, *search) < -1e-9:
        root = brentq(derivative, 0.0, most, args=search, xtol=1e-14)
        # Where the derivative is flat only its value matters.
        assert abs(derivative(step, *search)) <= abs(derivative(root, *search)) + 1e-12


@given(searches(finite=False))
def test_an_infinite_box_gives_newtons_step(search):
    direction, _, _, _, scale, gain, most, _ = search
    curvature = scale * (direction @ direction)
    expected = min(gain / curvature, most) if curvature > 0 else most
    assert step_of(*search) == pytest.approx(expected, rel=1e-13)


def test_fully_clipped_weights_let_the_step_run_to_its_cap():
    """Every weight is and stays at its bound: the dual is linear along the direction."""
    direction, v = np.array([1.0, 2.0]), np.array([-5.0, -5.0])
    zero = np.zeros(2)
    assert step_of(direction, v, zero, zero + 1.0, 1.0, 0.3, 1.0, False) == 1.0
