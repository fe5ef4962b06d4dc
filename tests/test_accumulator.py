"""The accumulator is a vector: pushing, cancelling and clearing obey its arithmetic."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taut.accumulator import (
    DENSE,
    add_to,
    clear,
    dense_accumulator,
    new_accumulator,
    push,
    squared_norm,
)

DIM = 6
pushes = st.lists(
    st.tuples(st.integers(0, DIM - 1), st.integers(-3, 3).map(float)), min_size=1, max_size=30
)


def filled(entries, dense=False):
    delta = dense_accumulator(np.zeros(DIM)) if dense else new_accumulator(DIM, DIM)
    for entry, amount in entries:
        push(delta, entry, amount)
    return delta


def expected_sum(entries):
    total = np.zeros(DIM)
    for entry, amount in entries:
        total[entry] += amount
    return total


@given(pushes)
def test_pushes_add_up(entries):
    w = np.zeros(DIM)
    add_to(filled(entries), 1.0, w)
    np.testing.assert_array_equal(w, expected_sum(entries))  # integers add exactly


@given(pushes)
def test_every_entry_is_listed_once_however_often_it_cancels(entries):
    delta = filled(entries)
    listed = delta.touched[: delta.count[0]].tolist()
    assert len(set(listed)) == len(listed) <= DIM
    assert set(listed) == {entry for entry, _ in entries}


@given(pushes, st.booleans())
def test_norm_and_sum_are_those_of_the_vector(entries, dense):
    delta, vector = filled(entries, dense), expected_sum(entries)
    assert squared_norm(delta) == pytest.approx(vector @ vector, abs=1e-12)
    w = np.arange(float(DIM))
    add_to(delta, -0.5, w)
    np.testing.assert_allclose(w, np.arange(DIM) - 0.5 * vector, rtol=0, atol=1e-12)


@given(pushes, st.booleans())
def test_clear_leaves_nothing_behind(entries, dense):
    delta = filled(entries, dense)
    clear(delta)
    assert not delta.place.any()
    assert squared_norm(delta) == 0.0
    push(delta, 2, 1.5)
    assert squared_norm(delta) == 2.25


def test_a_dense_accumulator_lists_nothing():
    delta = filled([(1, 2.0), (3, 4.0)], dense=True)
    assert delta.count[0] == DENSE
    assert delta.value.tolist() == [0.0, 2.0, 0.0, 4.0, 0.0, 0.0]
