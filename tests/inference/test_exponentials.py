"""Exponentials in vector instructions are those of the library, to the last bits."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from taut.inference.exponentials import LOWEST, exponentials

SCORES = st.lists(st.floats(-800.0, 0.0), min_size=1, max_size=40)


@given(scores=SCORES, sharpness=st.floats(0.01, 2.0), top=st.floats(-100.0, 100.0))
def test_they_are_those_of_the_library(scores, sharpness, top):
    scores = np.array(scores) + top
    out = np.full(len(scores), np.nan)
    exponentials(scores, sharpness, top, out)
    x = sharpness * (scores - top)
    # The series is wrong by 2e-16, and so is each of a few roundings.
    np.testing.assert_allclose(out, np.where(x >= LOWEST, np.exp(x), 0.0), rtol=1e-15, atol=0)


def test_one_and_zero_are_exact():
    scores, out = np.array([3.0, -np.inf, 3.0 - 1e6]), np.zeros(3)
    exponentials(scores, 1.0, 3.0, out)
    assert out.tolist() == [1.0, 0.0, 0.0]


def test_interpreted_it_is_the_same_to_the_bit():
    scores = -np.random.default_rng(0).exponential(30.0, 100)
    compiled, interpreted = np.zeros(100), np.zeros(100)
    exponentials(scores, 0.7, 0.0, compiled)
    exponentials.py_func(scores, 0.7, 0.0, interpreted)
    np.testing.assert_array_equal(compiled, interpreted)
