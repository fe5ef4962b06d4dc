"""State bases say which parameters a model has: the tables, their packing, and what is refused."""

import numpy as np
import pytest
from graph_reference import pairwise_basis, unary_basis
from hypothesis import given
from hypothesis import strategies as st

from taut.structures.graphs.basis import packed_basis, pairwise_table, repulsion, unary_table


@pytest.mark.parametrize("kind", ["full", "symmetric", "potts", "associative"])
@pytest.mark.parametrize("states", [1, 2, 4])
def test_pairwise_tables_are_those_of_their_definition(kind, states):
    table = pairwise_table(kind, states, states, "edge type 0")
    np.testing.assert_array_equal(table, pairwise_basis(kind, states, states))


def test_the_number_of_parameters():
    count = {
        kind: len(pairwise_table(kind, 5, 5, "edge type 0"))
        for kind in ("full", "symmetric", "potts", "associative")
    }
    assert count == {"full": 25, "symmetric": 15, "potts": 1, "associative": 5}
    assert pairwise_table("full", 2, 3, "edge type 0").shape == (6, 2, 3)
    assert unary_table("full", 4, "node type 0").shape == (4, 4)
    assert unary_table("binary", 2, "node type 0").tolist() == [[-1.0, 1.0]]


def test_symmetric_tables_are_symmetric_and_cover_every_pair_once():
    table = pairwise_table("symmetric", 4, 4, "edge type 0")
    np.testing.assert_array_equal(table, table.transpose(0, 2, 1))
    np.testing.assert_array_equal(table.sum(axis=0), np.ones((4, 4)))


@st.composite
def lists_of_tables(draw):
    """Tables of several types with different numbers of states; some entries are zero."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    states = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    ndim = draw(st.sampled_from([1, 2]))
    tables = [
        rng.integers(-1, 2, (draw(st.integers(1, 3)), *[k] * ndim)).astype(float) for k in states
    ]
    return tables, max(states), ndim


@given(lists_of_tables())
def test_packing_loses_nothing(drawn):
    tables, width, ndim = drawn
    basis = packed_basis(tables, width)
    assert basis.size.tolist() == [len(table) for table in tables]
    for kind, table in enumerate(tables):
        cells = width**ndim
        unpacked = np.zeros((len(table), cells))
        for cell in range(cells):
            entries = slice(*basis.pointer[kind * cells + cell :][:2])
            unpacked[basis.number[entries], cell] = basis.value[entries]
        padded = np.zeros((len(table), *[width] * ndim))
        padded[tuple(slice(size) for size in table.shape)] = table
        np.testing.assert_array_equal(unpacked.reshape(padded.shape), padded)
    assert basis.pointer[-1] == basis.value.size == sum(np.count_nonzero(t) for t in tables)


@given(st.integers(1, 4), st.integers(0, 10**6))
def test_repulsion_is_how_far_a_table_is_from_what_expansion_moves_need(states, seed):
    """max over k, l, m of B(k, m) + B(l, k) - B(k, k) - B(l, m); 0 at l = m = k."""
    tables = np.random.default_rng(seed).integers(-3, 4, (3, states, states)).astype(float)
    expected = [
        max(
            B[k, m] + B[j, k] - B[k, k] - B[j, m]
            for k in range(states)
            for j in range(states)
            for m in range(states)
        )
        for B in tables
    ]
    assert repulsion(tables).tolist() == expected


def test_no_types_pack_into_nothing():
    basis = packed_basis([], 3)
    assert (basis.pointer.tolist(), basis.value.size, basis.size.size) == ([0], 0, 0)


def test_own_tables_are_taken_as_they_are():
    own = [[[1.0, 2.0], [3.0, 4.0]]]
    np.testing.assert_array_equal(pairwise_table(own, 2, 2, "edge type 0"), own)
    np.testing.assert_array_equal(unary_table([[1, 2, 3]], 3, "node type 0"), [[1.0, 2.0, 3.0]])
    np.testing.assert_array_equal(unary_basis("full", 3), unary_table("full", 3, "node type 0"))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: unary_table("half", 2, "node type 1"), r"unary='half'; expected one of"),
        (lambda: unary_table("binary", 3, "node type 1"), "node type 1 has 3; use"),
        (lambda: unary_table(np.ones((1, 2)), 3, "node type 1"), r"node type 1 has shape \(1, 2\)"),
        (lambda: unary_table(np.ones((0, 3)), 3, "node type 1"), r"node type 1 has shape \(0, 3\)"),
        (lambda: unary_table([[np.nan, 1]], 2, "node type 1"), "node type 1 has values that"),
        (lambda: pairwise_table("ising", 2, 2, "edge type 4"), r"pairwise='ising'; expected"),
        (lambda: pairwise_table("potts", 2, 3, "edge type 4"), "edge type 4 joins nodes with 2"),
        (lambda: pairwise_table("symmetric", 2, 3, "edge type 4"), "with 2 and 3 states"),
        (lambda: pairwise_table(np.eye(2), 2, 2, "edge type 4"), r"edge type 4 has shape \(2, 2\)"),
        (lambda: pairwise_table([[[np.inf]]], 1, 1, "edge type 4"), "edge type 4 has values"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_a_basis_is_refused_by_name(make, message):
    with pytest.raises(ValueError, match=message):
        make()
