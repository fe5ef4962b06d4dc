"""Cost matrices."""

import numpy as np
import pytest

from taut.losses import cost_matrix

TRUTH = np.array([0, 0, 0, 1])


def test_hamming_is_the_default():
    np.testing.assert_array_equal(cost_matrix(TRUTH, "ab"), [[0, 1], [1, 0]])


def test_class_weights_are_rows():
    np.testing.assert_array_equal(cost_matrix(TRUTH, "abc", {"b": 3})[1], [3, 0, 3])
    np.testing.assert_array_equal(cost_matrix(TRUTH, "abc", {"b": 3})[0], [0, 1, 1])


def test_balanced_weights_give_every_class_the_same_share():
    cost = cost_matrix(TRUTH, "ab", "balanced")
    assert cost[0, 1] * 3 == cost[1, 0] * 1
    assert cost[TRUTH].sum() == len(TRUTH)
    # A label that does not occur changes nothing for the others.
    np.testing.assert_array_equal(cost_matrix(TRUTH, "abc", "balanced")[:2, :2], cost)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"class_weight": "even"}, "class_weight='even'; expected \"balanced\""),
        ({"class_weight": {"z": 1}}, "class_weight names 'z'"),
        ({"class_weight": {"a": -1}}, "must be finite and not negative"),
        ({"cost": np.eye(3)}, r"has shape \(3, 3\); with 2 labels it must be \(2, 2\)"),
        ({"cost": np.eye(2)}, "the cost of label number 0 for itself is 1.0"),
        ({"cost": [[0, -1], [1, 0]]}, "must be finite and not negative"),
        ({"cost": [[0, 1], [1, 0]], "class_weight": "balanced"}, "multiply the rows"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(ValueError, match=message):
        cost_matrix(TRUTH, "ab", **options)
