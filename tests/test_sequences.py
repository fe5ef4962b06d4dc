"""Sequences: one matrix seen as a list."""

import numpy as np
import pytest
from scipy import sparse

from taut import Sequences

ROWS = np.arange(12.0).reshape(6, 2)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, sparse.coo_array])
def test_is_a_list_of_matrices(kind):
    words = Sequences(kind(ROWS), [2, 3, 1])
    assert len(words) == 3
    parts = [x.toarray() if sparse.issparse(x) else x for x in words]
    for part, expected in zip(parts, np.split(ROWS, [2, 5]), strict=True):
        np.testing.assert_array_equal(part, expected)


def test_shares_memory():
    assert np.shares_memory(Sequences(ROWS, [2, 4])[1], ROWS)


def test_indices():
    words = Sequences(ROWS, [2, 3, 1])
    np.testing.assert_array_equal(words[-1], ROWS[5:])
    np.testing.assert_array_equal(words[np.int64(1)], ROWS[2:5])
    for chosen in (words[[2, 0]], words[np.array([2, 0])], words[::-2]):
        assert isinstance(chosen, Sequences)
        assert chosen.lengths.tolist() == [1, 2]
        np.testing.assert_array_equal(chosen.rows, ROWS[[5, 0, 1]])
    assert words[np.array([True, False, True])].lengths.tolist() == [2, 1]
    assert len(words[3:]) == 0
    with pytest.raises(IndexError):
        words[3]


def test_bad_input():
    with pytest.raises(ValueError, match="the lengths add up to 5 but there are 6 rows"):
        Sequences(ROWS, [2, 3])
    with pytest.raises(ValueError, match=r"lengths\[1\] is -1; a length is not negative"):
        Sequences(ROWS, [7, -1])
    for lengths in ([2.0, 4.0], [2.5, 3.5], [True] * 6, [[2, 4]], ["2", "4"], [2, None]):
        with pytest.raises(ValueError, match=r"lengths are an array .*; one whole number per"):
            Sequences(ROWS, lengths)
    with pytest.raises(ValueError, match=r"lengths\[0\] is 9223372036854775807 but there are 6"):
        Sequences(ROWS, np.array([2**63 - 1, 2**63 - 1, 8]))  # whose sum wraps around, to 6
    with pytest.raises(ValueError, match=r"rows have shape \(3,\); a matrix is expected"):
        Sequences(np.ones(3), [3])
