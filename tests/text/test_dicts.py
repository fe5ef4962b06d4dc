"""Attributes from Python objects mean what they mean in sklearn-crfsuite."""

import enum
import gc
import sys
import weakref
from collections import Counter, OrderedDict, defaultdict, deque
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from types import MappingProxyType

import numpy as np
import pycrfsuite
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from taut.text import dicts
from taut.text.attributes import AttributeEncoder
from taut.text.dicts import attributes_of, holds_attributes


def pairs(X):
    """Name and value of each attribute, token by token, in order."""
    text = attributes_of(X)
    assert len(set(text.names)) == len(text.names)
    assert text.lengths.tolist() == [len(sequence) for sequence in X]
    ends = text.indptr
    return [
        [(text.names[c], v) for c, v in zip(text.codes[a:b], text.data[a:b], strict=True)]
        for a, b in pairwise(ends)
    ]


def token_pairs(token):
    [found] = pairs([[token]])
    return found


class Colour(str, enum.Enum):  # noqa: UP042 - its str() is not its text
    RED = "red"


# --- the same as pycrfsuite ---------------------------------------------------------------------

AS_THERE = [
    ({"word": "the"}, {"word:the": 1}),
    ({"is_title": True, "is_upper": False}, {"is_title": 1, "is_upper": 0}),
    ({"length": 3, "share": -0.25}, {"length": 3, "share": -0.25}),
    ({"next": {"word": "cat", "is_title": False}}, {"next:word:cat": 1, "next:is_title": 0}),
    ({"a": {"b": {"c": 2, "d": ["e", "f"]}}}, {"a:b:c": 2, "a:b:d:e": 1, "a:b:d:f": 1}),
    ({"suffix": ["e", "he"]}, {"suffix:e": 1, "suffix:he": 1}),
    ({"suffix": {"e", "he"}}, {"suffix:e": 1, "suffix:he": 1}),
    ({"a": "", "": "a"}, {"a:": 1, ":a": 1}),
    ({"a": "b:c"}, {"a:b:c": 1}),
    ({"a": {}, "b": [], "c": set()}, {}),
    ({}, {}),
    ([], {}),
    (["a", "b"], {"a": 1, "b": 1}),
    (("a", "b"), {"a": 1, "b": 1}),
    ({"a", "b"}, {"a": 1, "b": 1}),
    ({"mot": "été €"}, {"mot:été €": 1}),
    ({"a": np.float32(0.5), "b": np.int64(3), "c": np.True_}, {"a": 0.5, "b": 3, "c": 1}),
    ({"a": np.str_("x")}, {"a:x": 1}),
    ({"a": Colour.RED}, {"a:red": 1}),
    ({Colour.RED: 1}, {"red": 1}),
    ([np.str_("x"), Colour.RED], {"x": 1, "red": 1}),
    ({"a": Fraction(1, 2), "b": Decimal("0.25")}, {"a": 0.5, "b": 0.25}),
    (OrderedDict(a="x", b=1), {"a:x": 1, "b": 1}),
    (defaultdict(int, a=2), {"a": 2}),
    (Counter("aab"), {"a": 2, "b": 1}),
    ({"a": OrderedDict(b=1)}, {"a:b": 1}),
]


@pytest.mark.parametrize(("token", "expected"), AS_THERE)
def test_a_token_means_what_it_means_to_pycrfsuite(token, expected):
    assert dict(token_pairs(token)) == expected
    assert pycrfsuite.ItemSequence([token]).items() == [expected]


# Without the zero character, at which C takes a string to end.
texts = st.text("ab:é", max_size=3) | st.text(st.characters(codec="utf-8", exclude_characters="\0"))
numbers = st.booleans() | st.integers(-(10**18), 10**18) | st.floats(allow_nan=False, width=32)
finite = numbers.filter(lambda value: np.isfinite(float(value)))
values = st.recursive(
    texts | finite | st.lists(texts, max_size=3) | st.sets(texts, max_size=3),
    lambda inner: st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
items = st.dictionaries(texts, values, max_size=4) | st.lists(texts, max_size=4) | st.sets(texts)
plain_items = st.dictionaries(texts, texts | finite, max_size=4)
documents = st.lists(st.lists(items, max_size=3), max_size=4) | st.lists(
    st.lists(plain_items, max_size=3), max_size=4
)


@given(documents)
def test_any_tokens_mean_what_they_mean_to_pycrfsuite(X):
    # Of a repeated attribute, pycrfsuite shows the last value.
    expected = [item for sequence in X for item in pycrfsuite.ItemSequence(sequence).items()]
    assert [dict(found) for found in pairs(X)] == expected


# --- more than pycrfsuite takes -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("token", "same_as"),
    [
        ("abc", ["abc"]),  # there: the attributes a, b and c
        (Colour.RED, ["red"]),
        (frozenset("ab"), ["a", "b"]),
        ({"a": ("x", "y")}, {"a": ["x", "y"]}),
        ({"a": frozenset("x")}, {"a": ["x"]}),
        (MappingProxyType({"a": "x"}), {"a": "x"}),
        ({"a": MappingProxyType({"b": 2})}, {"a": {"b": 2}}),
    ],
)
def test_kinds_that_pycrfsuite_refuses_or_takes_apart(token, same_as):
    assert token_pairs(token) == token_pairs(same_as)


@pytest.mark.parametrize(
    ("token", "same_as"),
    [
        ({"a": "größe".encode()}, {"a": "größe"}),
        ({b"a": {b"b": b"c"}}, {"a": {"b": "c"}}),
        ([b"a", "b"], ["a", "b"]),
        ({"a": [b"x"]}, {"a": ["x"]}),
        ({"b": 1, "a": 2}.keys(), ["b", "a"]),
        ({"n": {"b": 1}.keys()}, {"n": ["b"]}),
    ],
)
def test_bytes_are_utf_8_and_keys_a_list(token, same_as):
    assert attributes_of([[token]]).names == attributes_of([[same_as]]).names
    assert holds_attributes([[token]])


@pytest.mark.parametrize(
    ("token", "error", "message"),
    [
        ({"a": float("nan")}, ValueError, "'a' is nan; replace it"),
        ({"a": float("inf")}, ValueError, "'a' is inf; replace it"),
        ({"a": np.float32("-inf")}, ValueError, "'a' is -inf; replace it"),
        ({"a": Decimal("nan")}, ValueError, "'a' is nan"),
        ({"a": Decimal("snan")}, ValueError, "NaN"),
        ({"a": 10**400}, ValueError, "'a' is inf"),
        ({"a": {"b": float("nan")}}, ValueError, "'a:b' is nan"),
        ({"a": None}, TypeError, "'a' is None; a string, a number"),
        ({"a": b"\xff"}, ValueError, r"b'.xff' is not UTF-8; decode it"),
        ({"a": 1j}, TypeError, "'a' is 1j; a string"),
        ({"a": np.zeros(2)}, TypeError, r"'a' is array\(\[0\., 0\.\]\); a string"),
        ({"a": np.array(1.0)}, TypeError, "'a' is array"),
        ({"a": {"b": {"c": None}}}, TypeError, "'a:b:c' is None"),
        ({1: "x"}, TypeError, "the attribute name 1 is not a string"),
        ({b"\xff": "x"}, ValueError, r"b'.xff' is not UTF-8"),
        ({None: 1}, TypeError, "the attribute name None is not a string"),
        ({"a": {2: 1}}, TypeError, "the attribute name 2 is not a string"),
        ({"a": ["x", 1]}, TypeError, "1 in a list of attributes is not a string"),
        ({"a": [["x"]]}, TypeError, r"\['x'\] in a list of attributes is not a string"),
        ({"a": [{"b": 1}]}, TypeError, r"{'b': 1} in a list of attributes is not a string"),
        (["a", None], TypeError, "None in a list of attributes is not a string"),
        ([1.0, 2.0], TypeError, "1.0 in a list of attributes is not a string"),
        ([b"a\xff"], ValueError, r"b'a.xff' is not UTF-8"),
        ({("x",)}, TypeError, r"\('x',\) in a list of attributes"),
        (None, TypeError, "a token is a NoneType; a dict or a list"),
        (3.0, TypeError, "a token is a float"),
        (b"abc", TypeError, "a token is a bytes"),
        (np.zeros(2), TypeError, "a token is a ndarray"),
        (np.array(["a"]), TypeError, "a token is a ndarray"),
    ],
)
@pytest.mark.parametrize("block", [1, 3, 5000])
def test_what_is_refused_is_named_with_its_place(token, error, message, block, monkeypatch):
    monkeypatch.setattr(dicts, "BLOCK", block)
    good = {"w": "x", "n": 1}
    X = [[good], [good, good], [], [good, token, good], [good]]
    with pytest.raises(error, match=rf"^X\[3\]\[1\]: .*{message}"):
        attributes_of(X)
    with pytest.raises(error, match=rf"^document\[0\]\[0\]: .*{message}"):
        attributes_of([[token]], name="document")


@pytest.mark.parametrize(
    ("sequence", "kind"),
    [
        ("the cat", "str"),
        (b"the cat", "bytes"),
        ({"w": "the"}, "dict"),
        ({"the", "cat"}, "set"),
        (np.zeros((2, 3)), "ndarray"),
        (np.array(["the", "cat"]), "ndarray"),
        (np.array(0.0), "ndarray"),
        (None, "NoneType"),
        (3, "int"),
        (iter([{"w": "the"}]), "list_iterator"),
    ],
)
def test_a_sequence_is_a_list_of_tokens(sequence, kind):
    with pytest.raises(TypeError, match=rf"^X\[1\] is a {kind}; a list of tokens is expected"):
        attributes_of([[{"a": 1}], sequence])


def test_a_dict_within_itself_is_refused():
    endless = {}
    endless["a"] = endless
    with pytest.raises(ValueError, match=r"X\[0\]\[0\]: dicts are nested more than 50 deep"):
        attributes_of([[endless]])


# --- laws ---------------------------------------------------------------------------------------


@given(documents, st.sampled_from([1, 3]))
def test_the_size_of_blocks_does_not_matter(X, block):
    expected = attributes_of(X)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dicts, "BLOCK", block)
        found = attributes_of(X)
    assert found.names == expected.names
    for field in ("lengths", "indptr", "codes", "data"):
        assert np.array_equal(getattr(found, field), getattr(expected, field))
        assert getattr(found, field).dtype == getattr(expected, field).dtype


@given(documents)
def test_the_quick_way_and_the_careful_way_agree(X):
    quick = attributes_of(X)
    # One token of another kind, at the end, sends all tokens of the block the careful way.
    careful = attributes_of([*X, [MappingProxyType({})]])
    assert careful.names == quick.names
    assert np.array_equal(careful.codes, quick.codes)
    assert np.array_equal(careful.data, quick.data)
    assert careful.indptr[:-1].tolist() == quick.indptr.tolist()


def test_two_ways_to_write_one_attribute():
    text = attributes_of([[{"a": "b"}, {"a:b": 1}, ["a:b"], {"a": ["b"]}, {"a": {"b": 1}}]])
    assert text.names == ["a:b"]
    assert text.codes.tolist() == [0] * 5


def test_one_and_true_are_numbers_and_the_text_one_is_not():
    X = [[{"a": 1}, {"a": True}, {"a": 1.0}, {"a": "1"}, {"a": "True"}, {"a": 0}, {"a": False}]]
    expected = [("a", 1), ("a", 1), ("a", 1), ("a:1", 1), ("a:True", 1), ("a", 0), ("a", 0)]
    assert [pair for found in pairs(X) for pair in found] == expected


def test_repeated_attributes_add_up_in_the_matrix():
    text = attributes_of([[["a", "b", "a"], {"a": 2.5, "b": "c", "b:c": 3}]])
    encoder = AttributeEncoder()
    matrix = encoder.fit_transform(text).toarray()
    assert encoder.names() == ["a", "b", "b:c"]
    assert matrix.tolist() == [[2, 1, 0], [2.5, 0, 4]]


def test_unseen_attributes_are_ignored():
    encoder = AttributeEncoder()
    encoder.fit_transform(attributes_of([[{"w": "the", "n": 2}]]))
    matrix = encoder.transform(attributes_of([[{"w": "cat", "n": 3, "x": 1}, {"w": "the"}]]))
    assert matrix.toarray().tolist() == [[0, 3], [1, 0]]


class Backwards(set):
    """A set in which other tokens come first, as they may in another process."""

    def __iter__(self):
        return iter(list(super().__iter__())[::-1])


def test_the_order_within_a_set_does_not_matter():
    words = [f"w{k}" for k in range(20)]
    forwards = attributes_of([[set(words), {"a": set(words)}]])
    backwards = attributes_of([[Backwards(words), {"a": Backwards(words)}]])
    assert forwards.names == backwards.names
    assert forwards.codes.tolist() == backwards.codes.tolist()


def test_an_ordered_dict_in_another_order_than_it_was_made():
    token = OrderedDict(a="x", b="y")
    token.move_to_end("a")
    assert token_pairs(token) == [("b:y", 1), ("a:x", 1)]


def test_without_tokens_or_attributes():
    for X in ([], [[]], [[{}]], [[[], ()]], [[], [{}], []]):
        text = attributes_of(X)
        assert text.names == []
        assert text.lengths.tolist() == [len(sequence) for sequence in X]
        assert text.indptr.tolist() == [0] * (1 + sum(map(len, X)))


def test_any_iterable_of_sequences():
    X = [[{"a": "x"}], ({"b": 1},), deque([{"a": "x"}])]
    for same in (iter(X), tuple(X), deque(X)):
        assert attributes_of(same).names == ["a:x", "b"]


# --- memory -------------------------------------------------------------------------------------


class Watched(dict):
    """A dict that can be watched."""


def test_the_users_dicts_are_not_kept():
    plain = {"w": "the", "n": 1.5}
    listed = ["a", "b"]
    watched = Watched(w="the", inner={"b": ["c"]})
    before = sys.getrefcount(plain), sys.getrefcount(listed)
    kept = [attributes_of([[token]] * 2) for token in (plain, listed, watched)]
    assert (sys.getrefcount(plain), sys.getrefcount(listed)) == before
    gone = weakref.ref(watched)
    del watched
    gc.collect()
    assert gone() is None
    assert len(kept) == 3


def test_only_arrays_and_distinct_names_are_kept():
    text = attributes_of([[{"w": "the", "n": np.float64(1)}, ["w:the"], {"a": np.str_("b")}]] * 3)
    assert {type(getattr(text, f)) for f in ("lengths", "indptr", "codes", "data")} == {np.ndarray}
    assert (text.codes.dtype, text.data.dtype) == (np.int32, np.float64)
    assert {type(name) for name in text.names} == {str}


# --- what is taken for attributes ---------------------------------------------------------------


@pytest.mark.parametrize(
    "X",
    [
        [[{"a": 1}]],
        [[{}]],
        [["a", "b"]],
        [[["a", "b"]]],
        [[("a",)]],
        ((({"a"}),),),
        [[{"a"}]],
        [[frozenset("a")]],
        [[], [{"a": 1}]],
        [[[], ["a"]]],
        [[[]], [], [(), ["a"]]],
        ([OrderedDict(a=1)],),
        [({"a": 1},)],
        [[MappingProxyType({})]],
    ],
)
def test_dicts_and_strings_are_attributes(X):
    assert holds_attributes(X)


@pytest.mark.parametrize(
    "X",
    [
        np.zeros((2, 3)),
        np.zeros((2, 3, 4)),
        np.array([["a", "b"]]),
        np.array([[{"a": 1}]], dtype=object),
        [np.zeros((2, 3))],
        [np.array(["a", "b"])],
        [[np.zeros(3)]],
        [[np.array(["a"])]],
        [[[0.5, 1.0], [2.0, 3.0]]],
        [[(1, 0)]],
        [[[np.float64(1.0)]]],
        [[[]], [[0.0]]],
        [[], [[1.0, 2.0]]],
        [[1, 2, 3]],
        [[[["a"]]]],
        sparse.csr_array(np.eye(2)),
        [sparse.csr_array(np.eye(2))],
        [[sparse.csr_array(np.eye(2))]],
        [],
        [[]],
        [[[]]],
        "abc",
        b"abc",
        [b"abc"],
        {"a": 1},
        [{"a": 1}],
        None,
        3,
        iter([[{"a": 1}]]),
    ],
)
def test_numbers_and_arrays_are_not(X):
    assert not holds_attributes(X)
