"""The accumulator is a vector: pushing, cancelling and clearing obey its arithmetic."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taut.arrays.accumulator import (
    DENSE,
    add_to,
    clear,
    dense_accumulator,
    keeps_rows,
    list_entries,
    new_accumulator,
    push,
    row_accumulator,
    row_place,
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


# --- rows ----------------------------------------------------------------------------------------

ROWS = {0: 2, 2: 3, 5: 1}  # where they begin, and how long they are
row_pushes = st.lists(
    st.sampled_from(sorted(ROWS)).flatmap(
        lambda start: st.tuples(
            st.just(start),
            st.lists(st.integers(-3, 3).map(float), min_size=ROWS[start], max_size=ROWS[start]),
        )
    ),
    min_size=1,
    max_size=15,
)


def filled_by_rows(parts, dense=False):
    delta = dense_accumulator(np.zeros(DIM)) if dense else row_accumulator(DIM, DIM, len(ROWS))
    if not dense:
        delta.value[:] = 99.0  # what earlier rows left behind
    assert keeps_rows(delta)
    for start, amounts in parts:
        at = row_place(delta, start, len(amounts))
        delta.value[at : at + len(amounts)] += amounts
    return delta


@given(row_pushes, st.booleans())
def test_rows_add_up(parts, dense):
    delta, expected = filled_by_rows(parts, dense), np.zeros(DIM)
    for start, amounts in parts:
        expected[start : start + len(amounts)] += amounts
    w = np.zeros(DIM)
    add_to(delta, 1.0, w)
    np.testing.assert_array_equal(w, expected)  # integers add exactly
    assert squared_norm(delta) == expected @ expected
    clear(delta)
    assert not delta.place.any()
    assert squared_norm(delta) == 0.0
    # Nothing of it is left in what comes next.
    at = row_place(delta, 2, 3)
    assert not delta.value[at : at + 3].any()


@given(row_pushes)
def test_entries_of_rows_are_listed_in_the_order_of_their_values(parts):
    delta = filled_by_rows(parts)
    list_entries(delta)
    starts = list(dict.fromkeys(start for start, _ in parts))
    expected = [start + j for start in starts for j in range(ROWS[start])]
    assert delta.touched[: delta.count[0]].tolist() == expected
    w = np.zeros(DIM)
    w[delta.touched[: delta.count[0]]] = delta.value[: delta.count[0]]
    again = np.zeros(DIM)
    add_to(delta, 1.0, again)
    np.testing.assert_array_equal(w, again)


def test_a_row_of_a_dense_accumulator_is_where_it_is():
    delta = filled([(2, 1.0)], dense=True)
    assert row_place(delta, 2, 3) == 2
    assert delta.value.tolist() == [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]


def test_an_accumulator_of_entries_keeps_no_rows():
    assert not keeps_rows(filled([(2, 1.0)]))
