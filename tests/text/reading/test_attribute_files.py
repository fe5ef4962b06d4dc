"""Attribute files are read as CRFsuite documents them, whatever the bytes and the blocks."""

import gzip
import io
import tracemalloc
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from taut.text.reading import FormatError, attribute_blocks, read_attributes, source

BLOCK_SIZES = st.sampled_from([1, 7, 64, 1 << 17])
PIECES = st.lists(
    st.sampled_from(
        (
            b"a",
            b"b",
            b" ",
            b"\t",
            b"\t\t",
            b"\n",
            b"\n",
            b"\n\n",
            b"\r\n",
            b":",
            b"\\",
            b"\\:",
            b":1",
            b":-2.5e1",
            b":1e999",
            b":nan",
            b":1_0",
            b":\xd9\xa1",
            b"@",
            b"\n@weight:2\n",
            b"@weight:0.5\t",
            b"@weight",
            b"@weight:-1\n",
            b"\xc3\xa4",
            b"\xff",
            b"\x00",
            b"B\ta\tb:2\n",
            b"I\tc\n",
        )
    ),
    max_size=30,
).map(b"".join)


def tokens(data):
    """All sequences as lists of (label, [(name, value), ...]), and their weights."""
    attributes, labels, weights = data.attributes, data.labels, data.weights
    result, t = [], 0
    for length in attributes.lengths.tolist():
        sequence = []
        for _ in range(length):
            entries = range(attributes.indptr[t], attributes.indptr[t + 1])
            label = None if labels is None else labels.values[labels.codes[t]]
            pairs = [(attributes.names[attributes.codes[e]], attributes.data[e]) for e in entries]
            sequence.append((label, pairs))
            t += 1
        result.append(sequence)
    return result, weights.tolist()


def check_sound(data):
    attributes, labels, weights, lines = data
    assert len(lines) == attributes.lengths.sum()
    assert (np.diff(lines) > 0).all()
    n_tokens = attributes.lengths.sum()
    assert attributes.lengths.dtype == attributes.indptr.dtype == np.int64
    assert attributes.codes.dtype == np.int32
    assert attributes.data.dtype == weights.dtype == np.float64
    assert np.all(attributes.lengths > 0)
    assert len(attributes.indptr) == n_tokens + 1
    assert attributes.indptr[-1] == len(attributes.codes) == len(attributes.data)
    assert np.all(np.isfinite(attributes.data))
    assert len(weights) == len(attributes.lengths)
    assert np.all(np.isfinite(weights))
    assert np.all(weights >= 0)
    assert set(attributes.codes.tolist()) == set(range(len(attributes.names)))
    if labels is not None:
        assert len(labels.codes) == n_tokens


# ---- laws


@example(data=b"@weight:2\n\nB\ta\n", labelled=True, block_size=1)
@example(data=b"B\ta\n@weight:2", labelled=True, block_size=1)
@given(PIECES | st.binary(), st.booleans(), BLOCK_SIZES)
def test_any_bytes_are_read_the_same_in_all_blocks_or_refused(data, labelled, block_size):
    def read():
        return read_attributes(io.BytesIO(data), labelled=labelled)

    try:
        whole = read()
    except FormatError:
        with patch.object(source, "BLOCK_BYTES", block_size), pytest.raises(FormatError):
            read()
        return
    check_sound(whole)
    with patch.object(source, "BLOCK_BYTES", block_size):
        assert tokens(read()) == tokens(whole)
        blocks = list(attribute_blocks(io.BytesIO(data), labelled=labelled))
    parts = [tokens(block.data) for block in blocks]
    assert [sequence for part, _ in parts for sequence in part] == tokens(whole)[0]
    assert [weight for _, part in parts for weight in part] == tokens(whole)[1]
    assert all(len(block.token_lines) == block.data.attributes.lengths.sum() for block in blocks)


def escaped(name: str) -> str:
    return name.replace("\\", "\\\\").replace(":", "\\:")


NAMES = st.text(
    st.sampled_from("ab:\\@=# \u3000") | st.characters(exclude_categories=["Cs"]), min_size=1
).filter(
    lambda name: not set(name) & set("\t\n\r") and name.strip(" ") and name[0] not in "@\ufeff"
)
ATTRIBUTES = st.lists(
    st.tuples(NAMES, st.floats(allow_nan=False, allow_infinity=False)), min_size=1
)
SEQUENCES = st.lists(
    st.tuples(st.floats(0, 1e300), st.lists(st.tuples(NAMES, ATTRIBUTES), min_size=1, max_size=4)),
    min_size=1,
    max_size=5,
)


@given(SEQUENCES, st.booleans(), st.booleans(), BLOCK_SIZES)
def test_what_is_written_is_read(sequences, labelled, alone, block_size):
    text = ""
    for weight, items in sequences:
        text += f"@weight:{weight!r}" + ("\n" if alone else "\t")
        for label, pairs in items:
            fields = [escaped(name) + (f":{v!r}" if v != 1 else "") for name, v in pairs]
            text += "\t".join([escaped(label)] * labelled + fields) + "\n"
        text += "\n"
    with patch.object(source, "BLOCK_BYTES", block_size):
        data = read_attributes(io.StringIO(text), labelled=labelled)
    expected = [[(label if labelled else None, pairs) for label, pairs in s] for _, s in sequences]
    assert tokens(data) == (expected, [weight for weight, _ in sequences])


# ---- examples


def test_values_escapes_and_repetitions():
    text = r"B-NP w=a\:b w=\\:2 plain x:y:-.5e1 \a\ w=\:\\ plain \: a\::b:2".replace(" ", "\t")
    data = read_attributes(io.StringIO(text))
    [[(label, pairs)]], _ = tokens(data)
    assert label == "B-NP"
    assert pairs == [
        ("w=a:b", 1.0),
        ("w=\\", 2.0),
        ("plain", 1.0),
        ("x:y", -5.0),
        ("\\a\\", 1.0),
        ("w=:\\", 1.0),
        ("plain", 1.0),
        (":", 1.0),
        ("a::b", 2.0),
    ]


def test_labels_may_hold_colons():
    data = read_attributes(io.StringIO(":\tw=\\:\n\\:\tx\nA:B\\\\\n"))
    assert data.labels.values == [":", "A:B\\"]
    assert data.labels.codes.tolist() == [0, 0, 1]
    assert data.attributes.indptr.tolist() == [0, 1, 2, 2]


def test_weights_belong_to_the_sequence_they_are_in():
    text = "B\ta\n\n@weight:2\nB\ta\n\n\nB\ta\n@weight:.5\tI\tb\n\nB\ta"
    data = read_attributes(io.StringIO(text))
    assert data.weights.tolist() == [1.0, 2.0, 0.5, 1.0]
    assert data.attributes.lengths.tolist() == [1, 1, 2, 1]


def test_without_labels_every_field_is_an_attribute():
    data = read_attributes(io.StringIO("@home\ta:2\n\tb\n@weight:3\n"), labelled=False)
    assert tokens(data) == ([[(None, [("@home", 1.0), ("a", 2.0)]), (None, [("b", 1.0)])]], [3.0])
    assert data.labels is None


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("B\ta\n\nB\tb\tw=10:30x\n", 3, "the attribute 'w=10:30x' must be a name, or a name, a"),
        ("B\ta:\n", 1, "the attribute 'a:' must be"),
        ("B\t:2\n", 1, "the attribute ':2' must be"),
        ("B\ta:inf\n", 1, "the attribute 'a:inf' must be"),
        ("B\ta:1e400\n", 1, "the attribute 'a:1e400' must be"),
        ("B\ta:1_0\n", 1, "the attribute 'a:1_0' must be"),
        ("B\ta: 1\n", 1, "the attribute 'a: 1' must be"),
        ("B\ta:٣\n", 1, "the attribute 'a:٣' must be"),
        ("B\ta:" + "9" * 99 + "\nB\tb:" + "9" * 99 + "x", 2, "'b:" + "9" * 57 + "... must be"),
        (
            "B\ta\n\tb\n",
            2,
            "the line begins with a tab: its label is missing; without labels it can",
        ),
        ("@type:2\nB\ta\n", 1, "unknown declaration '@type:2'; at the beginning of a line, @ is"),
        ("@weight\nB\ta\n", 1, "'@weight' does not give a weight; expected @weight:NUMBER"),
        ("\n@weight:-1\nB\ta\n", 2, "'@weight:-1' does not give a weight"),
        ("@weight:2\n\nB\ta\n", 1, "@weight is not in a sequence; put no blank line after it"),
        ("B\ta\n\n@weight:2\n", 3, "@weight is not in a sequence"),
        ("@weight:2\n@weight:3\nB\ta\n", 2, "a second @weight in one sequence; give one"),
        ("\n \t\n", 1, "no token in the whole file, only blank lines"),
    ],
)
def test_each_fault_is_located(text, line, problem):
    with pytest.raises(FormatError) as caught:
        read_attributes(io.StringIO(text))
    assert caught.value.line == line
    assert problem in caught.value.problem


# ---- cost


def test_blanks_in_place_of_tabs_are_recognised():
    with pytest.raises(FormatError, match="no line has a tab; label and attributes are separated"):
        read_attributes(io.StringIO("B-NP w=He p=PRP\nB-VP w=ran p=VBD\n"))
    only_labels = read_attributes(io.StringIO("B-NP\nB-VP\n"))
    assert only_labels.labels.values == ["B-NP", "B-VP"]
    blank_in_a_label = read_attributes(io.StringIO("noun phrase\tw=He\n"))
    assert blank_in_a_label.labels.values == ["noun phrase"]


def test_memory_is_bounded_by_the_numbers_even_if_all_fields_differ(tmp_path):
    """Real values make every field distinct; 2.5 MB of text hold 0.6 MB of numbers."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(5_000, 10)).tolist()
    lines = [
        "B\t" + "\t".join(f"dimension{k:0>20}:{v!r}" for k, v in enumerate(row)) for row in values
    ]
    path = tmp_path / "real.gz"
    text = "\n\n".join(lines)
    path.write_bytes(gzip.compress(text.encode(), 1))
    encoded = 50_000 * (8 + 4) + 5_000 * 8  # values and numbers, and the line of each token
    del lines
    tracemalloc.start()
    with patch.object(source, "BLOCK_BYTES", 1 << 14):
        data = read_attributes(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert data.attributes.data.tolist() == [v for row in values for v in row]
    assert len(data.attributes.names) == 10
    # The parts and the whole they are joined to, and the strings of one block, under 0.5 MB.
    assert peak < 2 * encoded + 500_000 < len(text)
