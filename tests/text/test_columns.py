"""Columns: numbers in place of strings, and nothing that is not a table of strings."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taut.text.columns import Columns, ColumnsBuilder

tables = st.integers(1, 3).flatmap(
    lambda width: st.lists(
        st.lists(st.tuples(*[st.text("ab", max_size=2)] * width), max_size=4), max_size=5
    )
)


def sentences_of(text):
    """Back to rows of strings."""
    columns = [[column.values[code] for code in column.codes] for column in text.columns]
    rows = iter(zip(*columns, strict=True))
    return [[next(rows) for _ in range(length)] for length in text.lengths]


@given(tables)
def test_nothing_is_lost(sentences):
    text = Columns.from_sentences(sentences)
    assert sentences_of(text) == sentences
    assert text.n_tokens == sum(map(len, sentences))
    for column in text.columns:
        assert column.codes.dtype == np.int32
        # Distinct, in order of first appearance.
        _, first = np.unique(column.codes, return_index=True)
        assert column.values == [column.values[column.codes[k]] for k in np.sort(first)]
        assert len(set(column.values)) == len(column.values)


@given(tables, st.integers(0, 5))
def test_blocks_are_joined(sentences, cut):
    builder = ColumnsBuilder()
    builder.add(sentences[:cut])
    builder.add(sentences[cut:])
    assert sentences_of(builder.build()) == sentences


def test_a_token_may_be_a_string():
    text = Columns.from_sentences([["a", "b"], ["a"]])
    assert sentences_of(text) == [[("a",), ("b",)], [("a",)]]


def test_rows_may_be_lists_and_fields_numpy_strings():
    text = Columns.from_sentences([[["a", np.str_("b")], ("c", "d")]])
    assert sentences_of(text) == [[("a", "b"), ("c", "d")]]


def test_a_column_taken_out():
    text = Columns.from_sentences([[("He", "PRP", "B-NP")]])
    rest, label = text.without(-1)
    assert [column.values for column in rest.columns] == [["He"], ["PRP"]]
    assert label.values == ["B-NP"]
    assert text.without(0)[1].values == ["He"]
    assert len(text.columns) == 3


@pytest.mark.parametrize(
    ("sentences", "place", "width"),
    [
        ([[("a", "b")], [("c", "d"), ("e",)]], r"X\[1\]\[1\] is \('e',\)", 2),
        # As many fields as three rows of two: the columns would be mixed up.
        ([[("a", "b"), ("c",), ("d", "e", "f")]], r"X\[0\]\[1\] is \('c',\)", 2),
        ([[("a", "b"), "cd"]], r"X\[0\]\[1\] is 'cd'", 2),
        ([["a", ("b",)]], r"X\[0\]\[0\] is 'a'", 1),
        ([[("a", 1)]], r"X\[0\]\[0\] is \('a', 1\)", 2),
        ([[("a", None)]], r"X\[0\]\[0\] is \('a', None\)", 2),
        ([[("a", b"b")]], r"X\[0\]\[0\] is \('a', b'b'\)", 2),
        ([[3]], r"X\[0\]\[0\] is 3", 1),
        ([[None]], r"X\[0\]\[0\] is None", 1),
        ([[()]], r"X\[0\]\[0\] is \(\)", 1),
        ([[{"w": "a"}]], r"X\[0\]\[0\] is {'w': 'a'}", 1),
        ([[{"a"}]], r"X\[0\]\[0\] is {'a'}", 1),
        ([[b"ab"]], r"X\[0\]\[0\] is b'ab'", 1),
    ],
)
def test_what_is_no_table_is_refused(sentences, place, width):
    with pytest.raises(TypeError, match=f"{place}; .*rows of {width} strings"):
        Columns.from_sentences(sentences)


def test_a_sentence_is_not_taken_apart_into_letters():
    with pytest.raises(TypeError, match=r"text\[1\] is a string; .*split it"):
        Columns.from_sentences([["He", "ran"], "He ran"], "text")


def test_blocks_have_the_same_width():
    builder = ColumnsBuilder()
    builder.add([[("a", "b")]])
    with pytest.raises(TypeError, match=r"X\[1\]\[0\] is 'c'; .*rows of 2 strings"):
        builder.add([["c"]])
