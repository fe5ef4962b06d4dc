"""Attributes by integer codes are those a plain loop over tokens gives, word for word."""

import copy
import pickle
import re
import time
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from taut.datasets import load_conll2000
from taut.text import compiled_loops, extract
from taut.text.columns import Columns
from taut.text.extract import TemplateEncoder
from taut.text.template import parse_template, read_template

# --- the reference: what the documentation says, one token at a time ----------------------------

SIGNS = [(str.isupper, "X"), (str.islower, "x"), (str.isdigit, "0")]


def shape(value):
    return "".join(next((sign for is_, sign in SIGNS if is_(c)), c) for c in value)


TRANSFORMED = {
    "lower": str.lower,
    "shape": shape,
    "brief": lambda value: re.sub(r"(.)\1+", r"\1", shape(value)),
    "digits": lambda value: "".join("0" if c.isdigit() else c for c in value),
    "length": lambda value: str(len(value)),
}


def term_value(term, sentence, t):
    """A term is ("column", offset, [(transform, size), ...]), the innermost first."""
    column, offset, transforms = term
    if not 0 <= t + offset < len(sentence):
        return None
    value = sentence[t + offset][{"w": 0, "pos": 1, "2": 2}[column]]
    for name, size in transforms:
        if name in TRANSFORMED:
            value = TRANSFORMED[name](value)
        elif len(value) < size:
            return None
        else:
            value = value[:size] if name == "prefix" else value[len(value) - size :]
    return value


def written(term):
    if isinstance(term, str):
        return term
    column, offset, transforms = term
    text = f"{column}[{offset}]"
    for name, size in transforms:
        text = f"{name}({text},{size})" if size else f"{name}({text})"
    return text


def attribute(feature, sentence, t):
    """The attribute a feature gives token t; None if it gives none."""
    if ("BOS" in feature and t > 0) or ("EOS" in feature and t < len(sentence) - 1):
        return None
    name = "|".join(f"__{term}__" if isinstance(term, str) else written(term) for term in feature)
    values = [term_value(term, sentence, t) for term in feature if not isinstance(term, str)]
    if None in values:
        return None
    return f"{name}={'|'.join(values)}" if values else name


def attributes(features, sentences):
    """Of each token of all sentences, by feature."""
    return [
        [attribute(feature, sentence, t) for feature in features]
        for sentence in sentences
        for t in range(len(sentence))
    ]


def known_attributes(features, sentences, min_freq=1):
    """Feature by feature, in order of first appearance."""
    rows = attributes(features, sentences)
    known = []
    for f in range(len(features)):
        counts = Counter(row[f] for row in rows if row[f] is not None)
        known += [name for name, count in counts.items() if count >= min_freq]
    return known


# --- random texts and templates -----------------------------------------------------------------

words = st.text("aB1é-İß²", min_size=1, max_size=5)
rows = st.tuples(words, st.sampled_from(["N", "V"]), st.text("xY", min_size=1, max_size=2))
texts = st.lists(
    st.lists(rows, min_size=1, max_size=2) | st.lists(rows, min_size=3, max_size=8),
    min_size=1,
    max_size=5,
)

TRANSFORMS = [*((name, 0) for name in sorted(TRANSFORMED)), ("prefix", 2), ("suffix", 2)]
affixes = st.tuples(st.sampled_from(["prefix", "suffix"]), st.integers(1, 4))
terms = st.tuples(
    st.sampled_from(["w", "w", "pos", "2"]),
    st.sampled_from([0, 0, 0, -1, 1, -2, 3]),
    st.just([]) | st.lists(st.sampled_from(TRANSFORMS) | affixes, max_size=3),
)
conjunctions = (
    terms.map(lambda term: [term])
    | st.lists(terms, min_size=2, max_size=4)
    | st.lists(terms | st.sampled_from(["BOS", "EOS"]), min_size=1, max_size=3)
)
features_of_a_template = st.lists(
    conjunctions, min_size=1, max_size=6, unique_by=lambda f: "|".join(map(written, f))
)


def encoder_of(features, min_freq=1):
    text = "\n".join("|".join(map(written, feature)) for feature in features)
    return TemplateEncoder(parse_template(text), min_freq)


def named_rows(matrix, names):
    """The names of each token's attributes; checks the matrix on the way."""
    assert isinstance(matrix, sparse.csr_array)
    assert matrix.shape[1] == len(names)
    assert np.all(matrix.data == 1.0)
    ends = matrix.indptr
    per_token = [matrix.indices[ends[t] : ends[t + 1]] for t in range(matrix.shape[0])]
    assert all(np.all(np.diff(indices) > 0) for indices in per_token)
    return [[names[k] for k in indices] for indices in per_token]


def present(rows, known):
    known = set(known)
    return [[name for name in row if name in known] for row in rows]


def same(a, b):
    return a.shape == b.shape and (a != b).nnz == 0


# --- laws ---------------------------------------------------------------------------------------


@given(features_of_a_template, texts, texts, st.integers(1, 3))
def test_attributes_are_those_of_the_plain_loop(features, train, test, min_freq):
    encoder = encoder_of(features, min_freq)
    matrix = encoder.fit_transform(Columns.from_sentences(train))
    known = known_attributes(features, train, min_freq)
    assert encoder.names() == known
    assert encoder.n_attributes == len(known)
    assert named_rows(matrix, known) == present(attributes(features, train), known)

    assert same(encoder.transform(Columns.from_sentences(train)), matrix)
    unseen = encoder.transform(Columns.from_sentences(test))
    assert named_rows(unseen, known) == present(attributes(features, test), known)
    assert encoder.names() == known, "looking must not learn"


@given(features_of_a_template, texts, texts, st.sampled_from([1, 5, 40]))
def test_short_codes_give_the_same(features, train, test, most):
    plain, short = encoder_of(features), encoder_of(features)
    train, test = Columns.from_sentences(train), Columns.from_sentences(test)
    expected = plain.fit_transform(train), plain.transform(test)
    names = plain.names()
    passing_one = [
        any(plain._size(term) > 1 for term in feature.terms) for feature in plain.template.features
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(extract, "MOST_CODES", most)
        assert same(short.fit_transform(train), expected[0])
        assert same(short.transform(train), expected[0])
        assert same(short.transform(test), expected[1])
        assert short.names() == names
        short.check()
    if most == 1:
        assert [len(tables) > 1 for tables in short.tables] == passing_one


def test_every_transform_of_every_transform():
    words = [
        "a",
        "ab",
        "abc",
        "The",
        "U.S.",
        "1995",
        "McDonald-8",
        "aaBBB--11",
        "ÉÖß",
        "İx",
        "東京",
    ]
    chains = [[], *([t] for t in TRANSFORMS), *([t, u] for t in TRANSFORMS for u in TRANSFORMS)]
    features = [[("w", 0, chain)] for chain in chains]
    sentences = [[(word, "N", "x") for word in words]]
    encoder = encoder_of(features)
    matrix = encoder.fit_transform(Columns.from_sentences(sentences))
    known = known_attributes(features, sentences)
    assert encoder.names() == known
    assert named_rows(matrix, known) == present(attributes(features, sentences), known)


def test_codes_beyond_63_bits():
    # Ten terms of about 4,000 words each: 120 bits, which takes three shortenings.
    rng = np.random.default_rng(0)
    sentences = [[(f"w{k}", "N", "x") for k in rng.integers(0, 5000, 40)] for _ in range(200)]
    feature = [("w", offset, []) for offset in range(-5, 5)]
    encoder = encoder_of([feature, [("w", 0, [])]])
    matrix = encoder.fit_transform(Columns.from_sentences(sentences))
    assert [len(tables) for tables in encoder.tables] == [4, 1]
    known = known_attributes([feature, [("w", 0, [])]], sentences)
    assert encoder.names() == known
    rows = attributes([feature, [("w", 0, [])]], sentences)
    assert named_rows(matrix, known) == present(rows, known)
    assert same(encoder.transform(Columns.from_sentences(sentences)), matrix)
    encoder.check()


@given(features_of_a_template, texts, texts, st.data())
def test_what_is_not_kept_is_forgotten(features, train, test, data):
    encoder = encoder_of(features)
    encoder.fit_transform(Columns.from_sentences(train))
    names, before = encoder.names(), encoder.transform(Columns.from_sentences(test))
    n = len(names)
    wanted = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)), bool)
    encoder.keep(wanted)
    assert encoder.names() == [name for name, flag in zip(names, wanted, strict=True) if flag]
    assert encoder.n_attributes == wanted.sum()
    assert same(encoder.transform(Columns.from_sentences(test)), before[:, wanted])


@given(features_of_a_template, texts, texts)
def test_a_copy_in_another_process_finds_the_same(features, train, test):
    encoder = encoder_of(features)
    matrix = encoder.fit_transform(Columns.from_sentences(train))
    expected = encoder.transform(Columns.from_sentences(test))
    copies = [pickle.loads(pickle.dumps(encoder)), copy.deepcopy(encoder)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiled_loops, "_MULTIPLIER", np.uint64(12345))  # as another process has
        for other in copies:
            assert other.names() == encoder.names()
            assert same(other.transform(Columns.from_sentences(test)), expected)
            assert same(other.fit_transform(Columns.from_sentences(train)), matrix)


def test_fitting_again_forgets():
    encoder = TemplateEncoder(read_template("w[0]"))
    encoder.fit_transform(Columns.from_sentences([["a", "b"]]))
    encoder.fit_transform(Columns.from_sentences([["c"]]))
    assert encoder.names() == ["w[0]=c"]


# --- edges --------------------------------------------------------------------------------------


@pytest.mark.parametrize("sentences", [[], [[]], [[], []]])
def test_text_without_tokens(sentences):
    # A block of comments, say: it has no tokens, and hence no columns.
    empty = Columns.from_sentences(sentences)
    encoder = TemplateEncoder(read_template("chunking"))
    encoder.fit_transform(Columns.from_sentences([[("the", "DT")]]))
    assert encoder.transform(empty).shape == (0, encoder.n_attributes)
    assert encoder.fit_transform(empty).shape == (0, 0)
    assert encoder.names() == []


def test_empty_sentences_between_others_change_nothing():
    encoder = TemplateEncoder(read_template("w[-1..1]; BOS; EOS"))
    text = Columns.from_sentences([["a", "b"], ["c"]])
    with_empty = text._replace(lengths=np.array([0, 2, 0, 1, 0]))
    assert same(encoder.fit_transform(text), encoder.transform(with_empty))


def test_too_few_columns():
    encoder = TemplateEncoder(read_template("chunking"))
    with pytest.raises(ValueError, match=r"uses column 1 .*w, pos.* but the text has 1 beside"):
        encoder.fit_transform(Columns.from_sentences([["the"]]))
    encoder = TemplateEncoder(read_template("4[0]"))
    with pytest.raises(ValueError, match=r"uses column 4 .* but the text has 2"):
        encoder.fit_transform(Columns.from_sentences([[("the", "DT")]]))


@pytest.mark.parametrize(
    ("altered", "message"),
    [
        ({"lengths": [2, 10**7]}, r"lengths\[1\] is 10000000 but there are 5 tokens in column 0"),
        ({"lengths": [6, -1]}, r"lengths\[1\] is -1; a length is not negative"),
        ({"lengths": [2, 2]}, "the lengths add up to 4 but there are 5 tokens in column 0"),
        ({"lengths": [2.0, 3.0]}, "lengths are an array .* type float64"),
        ({"codes": [0, 1]}, r"lengths\[1\] is 3 but there are 2 tokens in column 0"),
        ({"codes": [0, 1, 2, 0, 3]}, "column 0 has the code 3, but 3 values"),
        ({"codes": [0, 1, 2, 0, -1]}, "column 0 has the code -1, but 3 values"),
        ({"codes": [0.0, 1.0, 2.0, 0.0, 1.0]}, "column 0 has codes of type float64"),
    ],
)
def test_columns_whose_numbers_do_not_fit_are_refused(altered, message):
    """Compiled code follows them: it would read what is not there."""
    text = Columns.from_sentences([["a", "b"], ["c", "a", "b"]])
    codes = np.array(altered.get("codes", text.columns[0].codes))
    column = text.columns[0]._replace(codes=codes)
    text = Columns(np.array(altered.get("lengths", text.lengths)), (column,))
    encoder = TemplateEncoder(read_template("w[0]; w[1]"))
    for method in (encoder.fit_transform, encoder.transform):
        with pytest.raises(ValueError, match=message):
            method(text)


def test_a_failed_fit_leaves_the_encoder_as_it_was():
    encoder = TemplateEncoder(read_template("w[0]|pos[0]"))
    encoder.fit_transform(Columns.from_sentences([[("the", "DT")]]))
    with pytest.raises(ValueError, match="uses column 1"):
        encoder.fit_transform(Columns.from_sentences([["the"]]))
    assert encoder.names() == ["w[0]|pos[0]=the|DT"]


def test_more_columns_than_needed_are_no_harm():
    encoder = TemplateEncoder(read_template("w[0]"))
    encoder.fit_transform(Columns.from_sentences([[("the", "DT", "B-NP")]]))
    assert encoder.names() == ["w[0]=the"]


def test_no_pattern_makes_a_tagger_search_for_ever():
    """A model file may hold any template, and somebody may tag any text with it."""
    words = ["a" * 30_000, "a" * 29_999 + "b", "b"]
    features = [f'test(w[{k}], "(a+)+(a|aa)*$")' for k in range(-3, 4)]
    encoder = TemplateEncoder(parse_template("; ".join(features)))
    start = time.process_time()
    encoder.fit_transform(Columns.from_sentences([words]))
    assert time.process_time() - start < 10
    assert 'test(w[0],"(a+)+(a|aa)*$")=true' in encoder.names()
    assert 'test(w[0],"(a+)+(a|aa)*$")=false' in encoder.names()


# --- CoNLL-2000 ---------------------------------------------------------------------------------

# CRFsuite's chunking tutorial: which columns, and the first and last offset of each window.
WINDOWS = [
    *[("w", offset, offset) for offset in range(-2, 3)],
    *[("w", -1, 0), ("w", 0, 1)],
    *[("pos", offset, offset) for offset in range(-2, 3)],
    *[("pos", offset, offset + 1) for offset in range(-2, 2)],
    *[("pos", offset, offset + 2) for offset in range(-2, 1)],
]


def tutorial_strings(sentence):
    n = len(sentence)
    columns = dict(zip(("w", "pos"), zip(*sentence, strict=True), strict=True))
    strings = [
        [
            "|".join(f"{field}[{k}]" for k in range(first, last + 1))
            + "="
            + "|".join(columns[field][t + first : t + last + 1])
            for field, first, last in WINDOWS
            if t + first >= 0 and t + last < n
        ]
        for t in range(n)
    ]
    strings[0].append("__BOS__")
    strings[-1].append("__EOS__")
    return strings


def test_the_chunking_template_gives_the_attributes_of_the_tutorial(real_data):
    sentences, _ = load_conll2000("train", real_data)
    encoder = TemplateEncoder(read_template("chunking"))
    matrix = encoder.fit_transform(Columns.from_sentences(sentences))
    names = encoder.names()
    assert len(names) == len(set(names)) == encoder.n_attributes == 335_674
    n_tokens = sum(len(sentence) for sentence in sentences[:300])
    expected = [strings for sentence in sentences[:300] for strings in tutorial_strings(sentence)]
    assert named_rows(matrix[:n_tokens], names) == expected
