"""The loops over tokens give the same numbers with and without a compiler."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from taut.text import compiled_loops, loops, numpy_loops
from taut.text.attribute_matrix import AttributeRows, assemble
from taut.text.derived import places_of

BOTH = compiled_loops, numpy_loops
shapes = st.tuples(st.integers(0, 3), st.integers(0, 4))
lengths = st.lists(st.integers(1, 4), max_size=4).map(lambda each: np.array(each, np.int64))


def both(name, *arguments):
    """What each of them does to its own copy of the first argument."""
    results = []
    for by in BOTH:
        total = arguments[0].copy()
        getattr(by, name)(total, *arguments[1:])
        results.append(total.tolist())
    return results


@given(lengths, st.integers(-3, 3), st.randoms())
def test_joined_digits(lengths, offset, random):
    place, n = places_of(lengths), int(lengths.sum())
    total = np.array([random.randrange(-1, 9) for _ in range(n)], np.int64)
    codes = np.array([random.randrange(-1, 5) for _ in range(n)], np.int32)
    compiled, plain = both("join", total, 5, codes, offset, *place)
    assert compiled == plain


@given(lengths, st.integers(-12, 12), st.sampled_from([-1, 0, 1]), st.randoms())
def test_joined_digits_with_places_outside(lengths, offset, origin, random):
    place, n = places_of(lengths), int(lengths.sum())
    total = np.array([random.randrange(-1, 9) for _ in range(n)], np.int64)
    codes = np.array([random.randrange(-1, 5) for _ in range(n)], np.int32)
    outside = np.array([random.randrange(-1, 5) for _ in range(10)], np.int32)
    compiled, plain = both("join_anywhere", total, 5, codes, outside, offset, origin, *place)
    assert compiled == plain


@given(st.lists(st.integers(-3, 9)))
def test_numbered_codes(codes):
    codes = np.array(codes, np.int64)
    expected, found = (by.number_codes(codes) for by in BOTH)
    for left, right in zip(expected, found, strict=True):
        assert left.tolist() == right.tolist()


@given(st.lists(st.integers(0, 2**62), unique=True), st.lists(st.integers(-2, 9)))
def test_found_codes(keys, more):
    keys, codes = np.array(keys, np.int64), np.array([*keys, *more], np.int64)
    expected, found = (by.find(codes, keys, by.finder(keys)) for by in BOTH)
    assert expected.tolist() == found.tolist()
    assert found[: len(keys)].tolist() == list(range(len(keys)))


@given(arrays.arrays(np.int32, shapes, elements=st.integers(-1, 3)))
def test_assembled_attributes(ids):
    first = 10 * np.arange(len(ids))
    for left, right in zip(*(by.assemble(ids, first) for by in BOTH), strict=True):
        assert left.tolist() == right.tolist()


def test_numpy_is_used_where_numba_is_not_loaded(monkeypatch):
    assert loops.loops() is compiled_loops
    monkeypatch.delitem(loops.sys.modules, "numba")
    assert loops.loops() is numpy_loops


# --- rows as arrays and as a matrix ---


@given(lengths, st.randoms())
def test_canonical_rows_are_those_of_the_matrix(counts, random):
    n = int(counts.sum())
    indices = np.array([random.randrange(4) for _ in range(n)], np.int32)
    data = np.array([random.choice([1.0, 2.0, 0.5]) for _ in range(n)])
    rows = AttributeRows(np.concatenate([[0], np.cumsum(counts)]), indices, data, 4, False)
    canonical, matrix = rows.canonical(), rows.matrix()
    assert canonical.indptr.tolist() == matrix.indptr.tolist()
    assert canonical.indices.tolist() == matrix.indices.tolist()
    assert canonical.data == pytest.approx(matrix.data)


def test_rows_beside_each_other():
    left = assemble(np.array([[0, -1], [1, 0]], np.int32), np.array([0, 2]), 4, True)
    right = AttributeRows(np.array([0, 1, 1]), np.array([0], np.int32), np.array([7.0]), 2, True)
    assert left.beside(right).matrix().toarray().tolist() == [
        [1, 0, 0, 1, 7, 0],
        [0, 0, 1, 0, 0, 0],
    ]
