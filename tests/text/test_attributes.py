"""Named attributes in numbers: learned once, found again."""

import copy
import pickle
from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taut.text.attribute_matrix import small_index
from taut.text.attributes import AttributeEncoder, Attributes

NAMES = ["a", "b", "c", "d:é"]
tokens = st.lists(st.tuples(st.sampled_from(NAMES), st.integers(-3, 3)), max_size=5)
sequences = st.lists(st.lists(tokens, max_size=3), max_size=4)


def attributes_from(sequences):
    """Straight from the definition of the arrays; nothing is merged."""
    rows = [token for sequence in sequences for token in sequence]
    names = list(dict.fromkeys(name for token in rows for name, _ in token))
    return Attributes(
        np.array([len(sequence) for sequence in sequences], np.int64),
        np.cumsum([0, *map(len, rows)]),
        np.array([names.index(name) for token in rows for name, _ in token], np.int32),
        np.array([value for token in rows for _, value in token], np.float64),
        names,
    )


def summed(sequences, known):
    """Each token as a dict of what is known, the values of repeated attributes added up."""
    result = []
    for token in (token for sequence in sequences for token in sequence):
        total = defaultdict(float)
        for name, value in token:
            if name in known:
                total[name] += value
        result.append(dict(total))
    return result


def named(matrix, names):
    """Each token as a dict; an attribute of value 0 is there, too."""
    assert matrix.has_canonical_format
    ends = matrix.indptr
    return [
        {
            names[k]: value
            for k, value in zip(
                matrix.indices[ends[t] : ends[t + 1]],
                matrix.data[ends[t] : ends[t + 1]],
                strict=True,
            )
        }
        for t in range(matrix.shape[0])
    ]


def frequent_names(sequences, min_freq):
    counts = Counter(
        name for sequence in sequences for token in sequence for name in {n for n, _ in token}
    )
    return [name for name in attributes_from(sequences).names if counts[name] >= min_freq]


@given(sequences, sequences, st.integers(1, 3))
def test_values_add_up_and_unseen_attributes_are_left_out(train, test, min_freq):
    encoder = AttributeEncoder(min_freq)
    matrix = encoder.fit_transform(attributes_from(train))
    known = frequent_names(train, min_freq)
    assert encoder.names() == known
    assert encoder.n_attributes == matrix.shape[1] == len(known)
    assert named(matrix, known) == summed(train, known)
    assert named(encoder.transform(attributes_from(train)), known) == summed(train, known)
    assert named(encoder.transform(attributes_from(test)), known) == summed(test, known)
    assert encoder.names() == known, "looking must not learn"


@given(sequences, sequences, st.integers(1, 3))
def test_the_text_is_left_alone(train, test, min_freq):
    encoder = AttributeEncoder(min_freq)
    for sequences, use in ((train, encoder.fit_transform), (test, encoder.transform)):
        text = attributes_from(sequences)
        use(text)
        untouched = attributes_from(sequences)
        assert text.names == untouched.names
        for field in ("lengths", "indptr", "codes", "data"):
            assert np.array_equal(getattr(text, field), getattr(untouched, field))


def test_the_matrix_does_not_share_the_memory_of_the_text():
    text = attributes_from([[[("a", 5), ("b", 2)], [("b", 1), ("a", 3)]]])
    encoder = AttributeEncoder()
    for matrix in (encoder.fit_transform(text), encoder.transform(text)):
        matrix.data[:] = 0
        assert text.data.tolist() == [5, 2, 1, 3]


def test_a_token_that_repeats_an_attribute_counts_once():
    text = attributes_from([[[("a", 1), ("a", 1), ("b", 0)], [("b", 1)]]])
    encoder = AttributeEncoder(min_freq=2)
    assert encoder.fit_transform(text).toarray().tolist() == [[0.0], [1.0]]
    assert encoder.names() == ["b"]


@given(sequences, st.lists(st.booleans(), min_size=len(NAMES), max_size=len(NAMES)))
def test_what_is_not_kept_is_forgotten(train, flags):
    text = attributes_from(train)
    wanted = np.array(flags[: len(text.names)], bool)
    encoder = AttributeEncoder()
    before = encoder.fit_transform(text)
    encoder.transform(text)  # so that there is something to forget
    encoder.keep(wanted)
    assert encoder.names() == [name for name, flag in zip(text.names, wanted, strict=True) if flag]
    assert text.names == attributes_from(train).names
    assert np.array_equal(encoder.transform(text).toarray(), before[:, wanted].toarray())


def test_names_from_a_file():
    encoder = AttributeEncoder()
    encoder.fit_transform(attributes_from([[[("a", 1)]]]))
    encoder.set_names(["b", "a"])
    text = attributes_from([[[("a", 2), ("c", 3)]]])
    assert encoder.transform(text).toarray().tolist() == [[0.0, 2.0]]


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))])
def test_a_copy_finds_the_same(copied):
    encoder = AttributeEncoder()
    text = attributes_from([[[("a", 1), ("b", 2)]]])
    encoder.fit_transform(text)
    encoder.transform(text)
    assert copied(encoder).transform(text).toarray().tolist() == [[1.0, 2.0]]


@pytest.mark.parametrize("sequences", [[], [[]], [[[]]]])
def test_text_without_attributes(sequences):
    text = attributes_from(sequences)
    encoder = AttributeEncoder()
    assert encoder.fit_transform(text).shape == (sum(map(len, sequences)), 0)
    encoder.fit_transform(attributes_from([[[("a", 1)]]]))
    assert encoder.transform(text).shape == (sum(map(len, sequences)), 1)


def test_row_pointers_are_small_where_they_fit():
    largest = np.iinfo(np.int32).max
    assert small_index(np.array([0, largest])).dtype == np.int32
    assert small_index(np.array([0, largest + 1])).dtype == np.int64


@pytest.mark.parametrize(
    ("altered", "message"),
    [
        ({"indptr": [0, 10**9, 3, 3]}, r"indptr\[2\] is 3, after 1000000000"),
        ({"indptr": [0, 2, 3, 10**9]}, "indptr ends with 1000000000, but there are 3 entries"),
        ({"indptr": [0, 2, 3]}, "the lengths add up to 3 but there are 2 tokens"),
        ({"data": [1.0]}, "there are 3 codes and 1 values"),
        ({"codes": [0, 1, 2]}, "text has the code 2, but 2 names"),
        ({"codes": [0, 1, -1]}, "the code -1, but 2 names"),
        ({"lengths": [1, 10**7]}, r"lengths\[1\] is 10000000 but there are 3 tokens"),
        ({"lengths": [4, -1]}, r"lengths\[1\] is -1; a length is not negative"),
    ],
)
def test_attributes_whose_numbers_do_not_fit_are_refused(altered, message):
    """Compiled code follows them: it would read what is not there."""
    text = attributes_from([[[("a", 1), ("b", 2)]], [[("b", 1)], []]])
    encoder = AttributeEncoder()
    encoder.fit_transform(text)
    text = text._replace(**{name: np.array(value) for name, value in altered.items()})
    for method in (AttributeEncoder().fit_transform, encoder.transform):
        with pytest.raises(ValueError, match=message):
            method(text)
