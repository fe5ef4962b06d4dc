"""JSON lines are taken as they are meant or refused by name and line."""

import io
import json
import math
from itertools import chain
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taut.text.reading import FormatError, json_blocks, source
from taut.text.reading.json_lines import DEEPEST_TOKEN

BLOCK_SIZES = st.sampled_from([1, 7, 64, 1 << 17])
PIECES = st.lists(
    st.sampled_from(
        (
            b"{",
            b"}",
            b"[",
            b"]",
            b",",
            b":",
            b'"',
            b'"tokens":',
            b'"labels":',
            b'"weight":',
            b'"a"',
            b"1",
            b"-1",
            b"2.5",
            b"NaN",
            b"1e999",
            b"null",
            b"true",
            b"\n",
            b" ",
            b"\\",
            b"\\ud800",
            b"\xff",
            b"\xc3\xa4",
            b"\x00",
            b"[" * 5000,
            b'{"a":' * 3000,
            b'{"tokens": ["a"]}\n',
            b'{"tokens": [{"a": 1}], "labels": ["B"]}\n',
        )
    ),
    max_size=30,
).map(b"".join)


def read(data: bytes | str, block_size: int = 1 << 17):
    """All blocks, joined: kind, tokens, labels, weights, objects, line numbers."""
    file = io.StringIO(data) if isinstance(data, str) else io.BytesIO(data)
    with patch.object(source, "BLOCK_BYTES", block_size):
        blocks = list(json_blocks(file))
    assert len({block.kind for block in blocks}) == 1
    lists = [list(chain.from_iterable(block[k] for block in blocks)) for k in range(2, 7)]
    return [blocks[0].kind, *lists]


@given(PIECES | st.binary(), BLOCK_SIZES)
def test_any_bytes_are_read_the_same_in_all_blocks_or_refused(data, block_size):
    try:
        result = read(data)
    except FormatError:
        with pytest.raises(FormatError):
            read(data, block_size)
        return
    assert read(data, block_size) == result
    _, tokens, labels, weights, _, _ = result
    for sequence, sequence_labels, weight in zip(tokens, labels, weights, strict=True):
        assert len(sequence) > 0
        assert sequence_labels is None or len(sequence_labels) == len(sequence)
        assert 0 <= weight < math.inf


TEXT = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.integers() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
TOKENS = {
    "strings": TEXT,
    "rows": st.lists(TEXT, max_size=3),
    "features": st.dictionaries(TEXT, VALUES, max_size=3),
}


@st.composite
def sequences(draw, kind: str):
    tokens = draw(st.lists(TOKENS[kind], min_size=1, max_size=4))
    sequence = {"tokens": tokens}
    if draw(st.booleans()):
        sequence["labels"] = draw(st.lists(TEXT, min_size=len(tokens), max_size=len(tokens)))
    if draw(st.booleans()):
        sequence["weight"] = draw(st.floats(0, 1e300) | st.integers(0, 10))
    return sequence


@given(st.data(), st.sampled_from(sorted(TOKENS)), st.booleans(), BLOCK_SIZES)
def test_what_is_written_is_read(data, kind, ascii_only, block_size):
    written = data.draw(st.lists(sequences(kind), min_size=1, max_size=4))
    text = "\n\n".join(json.dumps(sequence, ensure_ascii=ascii_only) for sequence in written)
    found, tokens, labels, weights, objects, lines = read(text.encode(), block_size)
    assert found == kind
    assert objects == written
    assert tokens == [sequence["tokens"] for sequence in written]
    assert labels == [sequence.get("labels") for sequence in written]
    assert weights == [sequence.get("weight", 1.0) for sequence in written]
    assert lines == [1 + 2 * i for i in range(len(written))]


def test_a_sequence_is_served_with_the_end_of_its_line():
    class Pipe(io.BytesIO):
        def read1(self, size=-1):
            return self.readline()

    file = Pipe(b'{"tokens": ["a"]}\n{"tokens": ["b"]}\n')
    assert next(json_blocks(file)).tokens == [["a"]]
    assert file.read() == b'{"tokens": ["b"]}\n'


def nested(depth: int) -> str:
    """One token of ``depth`` objects within each other."""
    return '{"tokens": [' + '{"a": ' * depth + "1" + "}" * depth + "]}"


def test_tokens_may_be_nested_to_a_limit():
    assert read(nested(DEEPEST_TOKEN))[0] == "features"
    with pytest.raises(FormatError, match="line 1: a token has more than 20 lists or objects"):
        read(nested(DEEPEST_TOKEN + 1))
    with pytest.raises(FormatError, match="line 1: lists or objects within each other, too deep"):
        read(nested(100_000))


def test_other_keys_are_kept_without_a_meaning():
    line = {"id": 3, "tokens": ["a"], "source": {"file": "x", "lines": [[1, 2], []]}}
    [block] = json_blocks(io.StringIO(f"\n{json.dumps(line)}\n\n"))
    assert block.objects == [line]
    assert (block.tokens, block.labels, block.weights) == ([["a"]], [None], [1.0])


def test_brackets_in_strings_are_not_nesting():
    assert read('{"tokens": ["' + "[" * 1000 + '"]}')[1] == [["[" * 1000]]


def test_an_error_can_be_raised_for_a_sequence_later():
    [block] = json_blocks(io.StringIO('\n{"tokens": ["a"]}\n\n{"tokens": ["b"]}\n\n'))
    assert str(block.error(1, "no label")) == "<stream>, line 4: no label"


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"tokens": ["a"]', "not JSON: Expecting ',' delimiter at character 17"),
        ('["a"]', 'expected an object with "tokens"'),
        ('{"labels": ["a"]}', 'expected an object with "tokens"'),
        ('{"tokens": ["a"], "id": ' + "[" * 30 + "]" * 30 + "}", "the value of 'id' has more than"),
        ('{"tokens": ["a"], "id": 1, "id": 2}', "the key 'id' occurs twice in one object"),
        ('{"tokens": ["a"], "tokens": ["b"]}', "the key 'tokens' occurs twice in one object"),
        ('{"tokens": [{"a": 1, "b": 2, "a": 3}]}', "the key 'a' occurs twice"),
        ('{"tokens": [{"a": NaN}]}', "'NaN' is not a finite number"),
        ('{"tokens": [{"a": -Infinity}]}', "'-Infinity' is not a finite number"),
        ('{"tokens": [{"a": 1e999}]}', "'1e999' is not a finite number"),
        ('{"tokens": [{"a": ' + "9" * 309 + "}]}", "is not a finite number"),
        ('{"tokens": [{"a": ' + "9" * 9999 + "}]}", "is not a finite number"),
        ('{"tokens": []}', "tokens is []; expected a list with at least one token"),
        ('{"tokens": "a"}', "tokens is 'a'; expected a list"),
        ('{"tokens": ["a", {"b": 1}]}', "must be all objects, all lists of strings or all strings"),
        ('{"tokens": [1]}', "must be all objects, all lists of strings or all strings"),
        ('{"tokens": [["a"], ["b", 1]]}', "token 1 is ['b', 1]; expected a list of strings"),
        ('{"tokens": ["a"], "labels": ["B", "I"]}', "2 labels for 1 tokens; expected as many"),
        ('{"tokens": ["a"], "labels": [1]}', "labels is [1]; expected a list of strings"),
        ('{"tokens": ["a"], "labels": null}', "labels is None; expected a list of strings"),
        ('{"tokens": ["a"], "labels": ' + "[" * 900 + "]" * 900 + "}", ""),
        ('{"tokens": ["a"], "weight": -1}', "weight is -1; expected a number that is not negative"),
        ('{"tokens": ["a"], "weight": true}', "weight is True; expected a number"),
        ('{"tokens": ["\\ud800"]}', "half of a surrogate pair, which is no text"),
        ('{"tokens": [{"a": 1}]}', "the tokens are features, but strings in the lines before; one"),
    ],
)
def test_each_fault_is_located(line, problem):
    for block_size in (1, 1 << 17):
        with pytest.raises(FormatError) as caught:
            read('{"tokens": ["a"]}\n\n' + line, block_size)
        assert caught.value.line == 3
        assert problem in caught.value.problem


def test_a_file_of_blank_lines_has_no_sequence():
    with pytest.raises(FormatError, match="line 1: no sequence in the whole file"):
        read("\n \t\n")
