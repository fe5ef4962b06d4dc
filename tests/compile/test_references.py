"""Compiled code reads a named tuple by reference as Python reads it by name."""

import copy
import gc
import pickle
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import pytest

from taut._compile import (
    Cube,
    Flags,
    Integers,
    LabelMatrix,
    Labels,
    Matrix,
    Shorts,
    Singles,
    Vector,
    both_modes,
    by_reference,
    compiled,
)
from taut._compile.modes import PLAIN
from taut._compile.references import words_of

by_value_too = pytest.mark.skipif(PLAIN, reason="plain numba hands named tuples on by value")


@by_reference
class Inner(NamedTuple):
    a: Vector
    k: int


@by_reference
class Outer(NamedTuple):
    scale: float
    table: Matrix
    inner: Inner
    solid: Cube
    ends: LabelMatrix
    numbers: Integers
    labels: Labels
    short: Shorts
    single: Singles
    flags: Flags
    yes: bool
    no: bool
    negative: int


def outer(**fields) -> Outer:
    rng = np.random.default_rng(0)
    return Outer(
        scale=-0.375,
        table=rng.normal(size=(3, 4)),
        inner=Inner(rng.normal(size=5), 7),
        solid=rng.normal(size=(2, 3, 4)),
        ends=np.arange(6, dtype=np.int32).reshape(3, 2),
        numbers=np.array([-(2**62), 3]),
        labels=np.array([-5, 6], np.int32),
        short=np.array([-1, 32767], np.int16),
        single=np.array([0.5, -0.25], np.float32),
        flags=np.array([True, False, True]),
        yes=True,
        no=False,
        negative=-(2**63),
    )._replace(**fields)


@both_modes
def part(inner, j):
    return inner.a[j] * inner.k


@compiled
def read(x, out):
    out[0] = x.scale
    out[1] = x.table[2, 1] + 10 * x.table.shape[0] + 100 * x.table.shape[1]
    out[2] = part(x.inner, 3) + x.inner.a.size
    out[3] = x.solid[1, 2, 3] + x.solid.size
    out[4] = x.ends[2, 1] + x.ends[0, 1]
    out[5] = x.numbers[0]
    out[6] = x.labels[0] + x.labels[-1]
    out[7] = x.short[0] + 2.0 * x.short[1]
    out[8] = x.single[1]
    out[9] = 1.0 if x.flags[0] and not x.flags[1] else 0.0
    out[10] = 1.0 if x.yes and not x.no else 0.0
    out[11] = x.negative
    out[12] = x.solid[1].sum() + x.table[1:, 0].sum()


def test_every_kind_of_field_is_read_as_python_reads_it():
    values, expected, found = outer(), np.zeros(13), np.zeros(13)
    read.py_func(values, expected)
    read(values, found)
    np.testing.assert_allclose(found, expected, rtol=1e-15)
    assert expected[9] == expected[10] == 1.0


@compiled
def write(x):
    x.inner.a[0] = 4.0
    x.flags[1] = True
    x.table[0, :] = -1.0


def test_what_compiled_code_writes_arrives_in_the_arrays():
    values = outer()
    write(values)
    assert values.inner.a[0] == 4.0
    assert values.flags.all()
    assert (values.table[0] == -1.0).all()


@compiled
def total(x):
    return x.inner.a.sum() + x.table.sum()


def test_values_that_change_between_calls_are_seen():
    values = outer(table=np.zeros((0, 4)))
    before = total(values)
    values.inner.a[:] += 1.0
    assert total(values) == pytest.approx(before + 5.0)
    assert total(values._replace(inner=Inner(np.zeros(0), 1))) == 0.0


def test_a_subclass_is_read_like_its_class():
    class Sub(Outer):
        pass

    assert total(Sub(*outer())) == total(outer())


def test_read_only_arrays_need_no_other_machine_code():
    values = outer()
    values.inner.a.flags.writeable = False
    assert total(values) == pytest.approx(values.inner.a.sum() + values.table.sum())


@by_value_too
@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("table", np.zeros((3, 4), np.float32), "a float32 array of 2 dimensions"),
        ("table", np.zeros(3), "a float64 array of 1 dimensions"),
        ("table", np.zeros((4, 3)).T, "a non-contiguous float64 array"),
        ("labels", np.zeros(3, np.int64), "a int64 array"),
        ("labels", [1, 2], "a list"),
        ("negative", 2.5, "2.5"),
        ("negative", 2**64, str(2**64)),
        ("scale", "one", "'one'"),
        ("scale", None, "None"),
    ],
)
def test_what_does_not_fit_its_annotation_is_refused_by_name(field, value, said):
    with pytest.raises(TypeError, match=rf"Outer\.{field} must be .* not {said}"):
        total(outer(**{field: value}))


@by_value_too
def test_an_annotation_that_says_no_type_is_refused_by_name():
    @by_reference
    class Vague(NamedTuple):
        a: np.ndarray

    with pytest.raises(TypeError, match=r"Vague\.a is annotated .*; *use|Vague\.a is annotated"):
        words_of(Vague(np.zeros(2)))


@by_value_too
def test_words_are_written_once_and_go_with_their_named_tuple():
    values = outer()
    total(values)
    words, array = words_of(values), weakref.ref(values.table)
    total(values)
    assert words_of(values) is words
    assert words_of(values._replace(negative=1)) is not words
    gc.disable()
    try:
        del values, words
        assert array() is None
    finally:
        gc.enable()


@by_value_too
def test_a_copy_has_words_of_its_own():
    values = outer()
    expected = total(values)
    for other in (copy.copy(values), copy.deepcopy(values), pickle.loads(pickle.dumps(values))):
        assert type(other) is Outer
        assert vars(other) == {}
        assert total(other) == expected


@by_value_too
def test_a_named_tuple_still_cannot_be_changed():
    values = outer()
    for name in ("scale", "other"):
        with pytest.raises(AttributeError):
            setattr(values, name, 1.0)


@by_value_too
def test_threads_share_the_words():
    for _ in range(20):
        values = outer()
        with ThreadPoolExecutor(4) as pool:
            assert len({id(words) for words in pool.map(words_of, [values] * 16)}) == 1


def test_any_integer_and_any_float_are_taken():
    @compiled
    def sum_of(x, j):
        return x[j] + j

    x = np.array([1.0, 2.0])
    assert [sum_of(x, j) for j in (1, np.int32(1), np.int64(1), np.uint8(1))] == [3.0] * 4


@by_value_too
def test_arrays_that_may_only_be_read_are_arrays():
    @compiled
    def first_of(x, values):
        return x[0] + values.inner.a[0]

    x, values = np.array([2.0, 3.0]), outer()
    expected = first_of(x, values)
    x.flags.writeable = values.inner.a.flags.writeable = False
    assert first_of(x, values) == expected
    assert len(first_of.units) == 1
