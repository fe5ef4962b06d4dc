"""Numbers for integer codes are those a dict would give."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taut.text import compiled_loops
from taut.text.codes import CodeTable, number_codes

LARGEST = 2**62
# Few distinct codes repeat; multiples of a power of two agree in all low bits.
codes_of_a_text = st.lists(
    st.integers(-3, 12)
    | st.sampled_from([0, 1, LARGEST - 1, LARGEST, 2**63 - 1, -1, -(2**63)])
    | st.builds(lambda k, shift: k << shift, st.integers(0, 7), st.integers(0, 59))
    | st.integers(-(2**63), 2**63 - 1),
    max_size=60,
).map(lambda values: np.array(values, np.int64))

# Every code meets every other in slot 0 or so; the highest bits decide; an ordinary one.
MULTIPLIERS = [1, 2**63 + 1, 0x9E3779B97F4A7C15]


def ranks(codes):
    """The dict: rank by first appearance; negative codes have none."""
    rank = {}
    for code in codes.tolist():
        if code >= 0:
            rank.setdefault(code, len(rank))
    return rank


def check_numbers(codes):
    rank = ranks(codes)
    keys, counts, ids = number_codes(codes)
    assert keys.tolist() == list(rank)
    assert counts.tolist() == [int(np.sum(codes == key)) for key in rank]
    assert ids.tolist() == [rank.get(code, -1) for code in codes.tolist()]
    assert (keys.dtype, counts.dtype, ids.dtype) == (np.int64, np.int64, np.int32)


def check_search(known, wanted):
    rank = ranks(known)
    table = CodeTable(np.array(list(rank), np.int64))
    assert len(table) == len(rank)
    for codes in (wanted, known):
        found = table.find(codes)
        assert found.tolist() == [rank.get(code, -1) for code in codes.tolist()]
        assert found.dtype == np.int32


@given(codes_of_a_text)
def test_codes_are_numbered_as_a_dict_would(codes):
    check_numbers(codes)


@given(codes_of_a_text, codes_of_a_text)
def test_codes_are_found_as_a_dict_would(known, wanted):
    check_search(known, wanted)


@pytest.mark.parametrize("multiplier", MULTIPLIERS)
@given(codes_of_a_text, codes_of_a_text)
def test_results_do_not_depend_on_the_multiplier(multiplier, known, wanted):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiled_loops, "_MULTIPLIER", np.uint64(multiplier))
        check_numbers(known)
        check_search(known, wanted)


@given(codes_of_a_text, codes_of_a_text)
def test_the_interpreted_source_does_the_same(known, wanted):
    with pytest.MonkeyPatch.context() as patch, np.errstate(over="ignore"):  # products wrap around
        for name in ("_first_slot", "_number", "_insert", "_find"):
            patch.setattr(compiled_loops, name, getattr(compiled_loops, name).py_func)
        check_numbers(known)
        check_search(known, wanted)


def test_no_thread_searches_a_table_that_another_is_filling(monkeypatch):
    fill, filling, go_on = compiled_loops._insert, threading.Event(), threading.Event()

    def interrupted(keys, slots):
        if not filling.is_set():
            filling.set()
            go_on.wait(60)
        fill(keys, slots)

    monkeypatch.setattr(compiled_loops, "_insert", interrupted)
    table = CodeTable(np.array([7, 5]))
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(table.find, np.array([5, 6]))
        assert filling.wait(60)
        second = table.find(np.array([5, 6]))
        go_on.set()
    assert second.tolist() == first.result().tolist() == [1, -1]


@pytest.mark.parametrize("shift", [0, 20, 40])
def test_many_codes(shift):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 20_000, 50_000) << shift
    keys, counts, ids = number_codes(codes)
    assert np.array_equal(keys[ids], codes)
    assert np.array_equal(np.bincount(ids), counts)
    assert len(np.unique(keys)) == len(keys)
    assert np.array_equal(CodeTable(keys).find(codes), ids)


def test_arguments_are_left_alone():
    codes = np.array([5, 3, 5, -1])
    keys = np.array([3, 9])
    table = CodeTable(keys)
    keys[0] = 5
    number_codes(codes)
    assert table.find(codes).tolist() == [-1, 0, -1, -1]
    assert codes.tolist() == [5, 3, 5, -1]


def test_any_layout_and_integer_type():
    codes = np.array([[7, 0], [5, 0], [7, 0]], np.int32)[:, 0]
    keys, _, ids = number_codes(codes)
    assert (keys.tolist(), ids.tolist()) == ([7, 5], [0, 1, 0])
    assert CodeTable(keys).find(codes).tolist() == [0, 1, 0]
