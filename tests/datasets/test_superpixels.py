"""Which superpixels touch, and how alike they are."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from taut.datasets._superpixels import chi_squared, contrast_features, touching

maps = arrays(np.int32, st.tuples(st.integers(1, 6), st.integers(1, 6)), elements=st.integers(0, 4))
histograms = arrays(np.float64, (5, 4), elements=st.floats(0, 1)).map(
    lambda counts: (
        (counts + (counts.sum(axis=1, keepdims=True) == 0))
        / (counts + (counts.sum(axis=1, keepdims=True) == 0)).sum(axis=1, keepdims=True)
    )
)


@given(superpixels=maps)
def test_superpixels_touch_that_share_a_side(superpixels):
    height, width = superpixels.shape
    expected = set()
    for i, j in np.ndindex(height, width):
        for other in ((i + 1, j), (i, j + 1)):
            if other[0] < height and other[1] < width and superpixels[other] != superpixels[i, j]:
                pair = int(superpixels[i, j]), int(superpixels[other])
                expected.add((min(pair), max(pair)))
    found = touching(superpixels)
    assert found.dtype == np.int32
    assert [tuple(edge) for edge in found.tolist()] == sorted(expected)


@given(p=histograms, q=histograms)
def test_chi_squared_is_a_symmetric_distance_up_to_one(p, q):
    d = chi_squared(p, q)
    assert (d >= 0).all()
    assert (d <= 1 + 1e-12).all()  # sums of at most eight numbers up to 1, rounded
    np.testing.assert_array_equal(d, chi_squared(q, p))
    np.testing.assert_array_equal(chi_squared(p, p), 0)


def test_chi_squared_of_histograms_without_a_common_bin_is_one():
    assert chi_squared(np.array([[0.5, 0.5, 0, 0]]), np.array([[0, 0, 0.25, 0.75]])) == 1


def test_contrast_features_are_the_constant_and_the_exponentials():
    features = np.array([[1.0, 0.0, 7.0, 1.0], [0.0, 1.0, 8.0, 1.0], [1.0, 0.0, 9.0, 1.0]])
    edges = np.array([[0, 1], [0, 2]], dtype=np.int32)
    found = contrast_features(features, edges, [slice(0, 2), slice(3, 4)], [0.5, 2.0])
    expected = [[1, np.exp(-0.5), np.exp(-2.0), 1, 1], [1, 1, 1, 1, 1]]
    np.testing.assert_array_equal(found, expected)


def test_contrast_features_of_no_edges():
    found = contrast_features(np.ones((1, 2)), np.zeros((0, 2), dtype=np.int32), [slice(0, 2)], [1])
    assert found.shape == (0, 2)
