"""The distance transform finds what a search over all positions finds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taut.inference.distance_transform import (
    distance_transform,
    new_transform_work,
    transform_line,
)


def cost(spring, displacement):
    curvature, slope, offset = spring
    d = displacement - offset
    return curvature * d * d + slope * d


def values_by_search(score, across, down):
    """(H, W, H, W): the score of every place (last two) for every position (first two)."""
    height, width = score.shape
    y, x = np.arange(height), np.arange(width)
    vertical = cost(down, y[None, :] - y[:, None])
    horizontal = cost(across, x[None, :] - x[:, None])
    return score - vertical[:, None, :, None] - horizontal[None, :, None, :]


def transform(score, across, down):
    """Values, and the rows and columns of the places that attain them."""
    height, width = score.shape
    value = np.full(score.shape, np.nan)
    row, column = np.full((2, *score.shape), -1, np.int32)
    work = new_transform_work(height, width)
    distance_transform(score, across, down, work, value, row, column)
    return value, row, column[row, np.arange(width)]


def rounding(score, across, down):
    """A few units in the last place of the largest number that is added up."""
    largest = np.abs(score[np.isfinite(score)]).max(initial=1.0)
    for size, spring in zip(score.shape, (down, across), strict=True):
        curvature, slope, offset = spring
        far = size + abs(offset)
        largest = max(largest, curvature * far * far + abs(slope) * far)
    return 50 * np.finfo(float).eps * largest


# Whole numbers tie often; curvatures are none, nearly none, ordinary, and enough to stay put.
SCORES = st.one_of(
    st.integers(-3, 3).map(float),
    st.floats(-1e6, 1e6),
    st.just(-np.inf),
)
SPRINGS = st.tuples(
    st.sampled_from([0.0, 1e-300, 1e-12, 0.01, 0.5, 1.0, 1e4]) | st.floats(0, 10),
    st.integers(-2, 2).map(float) | st.floats(-100, 100),
    st.integers(-3, 3).map(float) | st.floats(-20, 20),
)


@st.composite
def grids(draw):
    height, width = draw(st.integers(1, 5)), draw(st.integers(1, 11))
    scores = draw(st.lists(SCORES, min_size=height * width, max_size=height * width))
    return np.array(scores).reshape(height, width)


@given(score=grids(), across=SPRINGS, down=SPRINGS)
def test_the_values_are_those_of_a_search(score, across, down):
    value, row, column = transform(score, across, down)
    every = values_by_search(score, across, down)
    best = every.max(axis=(2, 3))
    tolerance = rounding(score, across, down)
    possible = np.isfinite(best)
    assert np.array_equal(np.isfinite(value), possible)
    np.testing.assert_allclose(value[possible], best[possible], rtol=0, atol=tolerance)
    # The places named are places of that value, on the grid.
    y, x = np.indices(score.shape)
    attained = every[y, x, row, column]
    np.testing.assert_allclose(attained[possible], best[possible], rtol=0, atol=tolerance)


@given(
    score=st.lists(SCORES, min_size=1, max_size=40).map(np.array),
    spring=SPRINGS,
    shift=st.integers(-5, 5),
)
def test_an_offset_is_a_shift_of_the_line(score, spring, shift):
    """Reading the envelope at q + o + shift is reading it at q' = q + shift."""
    curvature, slope, offset = spring
    size = len(score)
    work = new_transform_work(1, size + 10)

    def line(score, offset):
        value, place = np.full(len(score), np.nan), np.full(len(score), -1, np.int32)
        transform_line(score, (curvature, slope, offset), work, value, place)
        return value

    wide = np.full(size + 10, -np.inf)
    wide[5 : 5 + size] = score
    shifted, plain = line(score, offset + shift), line(wide, offset)[5 + shift : 5 + shift + size]
    np.testing.assert_allclose(
        shifted, plain, rtol=0, atol=2 * rounding(wide[None], spring, (0.0, 0.0, 0.0))
    )


def test_without_cost_every_position_sees_the_highest_score():
    score = np.random.default_rng(0).normal(size=(9, 13))
    value, row, column = transform(score, (0.0, 0.0, 3.5), (0.0, 0.0, -1.0))
    assert np.all(value == score.max())
    assert np.all(score[row, column] == score.max())


def test_a_stiff_spring_leaves_everything_where_it_is():
    score = np.random.default_rng(1).normal(size=(17, 20))
    value, row, column = transform(score, (1e3, 0.0, 0.0), (1e3, 0.0, 0.0))
    np.testing.assert_array_equal(value, score)
    np.testing.assert_array_equal(row, np.indices(score.shape)[0])
    np.testing.assert_array_equal(column, np.indices(score.shape)[1])


def test_a_forbidden_grid_has_no_place():
    value, row, column = transform(np.full((3, 4), -np.inf), (1.0, 2.0, 0.5), (0.0, -1.0, 0.5))
    assert np.all(value == -np.inf)
    assert np.all((row >= 0) & (row < 3) & (column >= 0) & (column < 4))


@pytest.mark.parametrize("width", [7, 8, 9, 64, 100])
def test_grids_wider_than_a_block_of_columns(width):
    score = np.random.default_rng(width).normal(size=(12, width)) * 10
    across, down = (0.03, -0.4, 2.3), (0.2, 0.7, -1.6)
    value, *_ = transform(score, across, down)
    best = values_by_search(score, across, down).max(axis=(2, 3))
    np.testing.assert_allclose(value, best, rtol=0, atol=rounding(score, across, down))
