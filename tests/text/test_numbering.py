"""Numbers for strings are those a dict would give."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taut.text.numbering import Numbering

strings = st.lists(st.text("abé", max_size=2), max_size=12)


@given(strings, strings, strings)
def test_strings_count_up_as_they_first_appear(first, second, wanted):
    numbering = Numbering(first)
    numbers = numbering.number(second)
    expected = list(dict.fromkeys(first + second))
    assert numbering.values == expected
    assert len(numbering) == len(expected)
    assert numbers.tolist() == [expected.index(value) for value in second]
    found = numbering.find(iter(wanted))
    assert found.tolist() == [expected.index(v) if v in expected else -1 for v in wanted]
    assert numbering.values == expected, "looking must not add"
    assert numbers.dtype == found.dtype == np.int32


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda n: pickle.loads(pickle.dumps(n))]
)
def test_a_copy_counts_on_by_itself(copied):
    numbering = Numbering(["a", "b"])
    other = copied(numbering)
    assert other.number(["c", "b"]).tolist() == [2, 1]
    assert numbering.values == ["a", "b"]
    assert numbering.number(["d"]).tolist() == [2]


def test_a_value_that_cannot_be_numbered_leaves_no_gap():
    numbering = Numbering(["a"])
    with pytest.raises(TypeError):
        numbering.number([["not hashable"]])
    assert numbering.number(["b"]).tolist() == [1]
