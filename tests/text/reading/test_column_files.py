"""Columns are read as a plain reading of the format says, whatever the bytes and the blocks."""

import gzip
import io
import sys
import tracemalloc
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taut.text.reading import FormatError, append_column, column_blocks, read_columns, source
from taut.text.reading.column_files import MOST_COLUMNS, OTHER_SPACES

BLOCK_SIZES = st.sampled_from([1, 7, 64, 1 << 17])
PIECES = st.lists(
    st.sampled_from(
        (
            b"a",
            b"b c",
            b" ",
            b"\t",
            b"\n",
            b"\n",
            b"\r\n",
            b"\n\n",
            b" \n",
            b"#",
            b"# x\n",
            b"\r",
            b"-DOCSTART-",
            b"-DOCSTART- x\n",
            b"\xc3\xa4",
            b"\xc2\xa0",
            b"\xe3\x80\x80",
            b"\x0b",
            b"\x1c",
            b"\x00",
            b"\xff",
            b"\xe2\x80\xa8",
            b"\xef\xbb\xbf",
            b"\x1f\x8b",
            b"a b\n",
            b"a\tb\n",
            b"c d\n",
            b"c\td\n",
        )
    ),
    max_size=30,
).map(b"".join)
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "encoding": st.sampled_from(["utf-8", "latin-1"]),
        "separator": st.sampled_from(["\t", " ", "b", "-"]),
        "comment": st.sampled_from(["#", "# ", " ", "a"]),
    },
)


def sentences(columns):
    """Back to rows of strings."""
    rows = list(zip(*(np.array(c.values, object)[c.codes] for c in columns.columns), strict=True))
    ends = np.cumsum(columns.lengths).tolist()
    return [rows[end - length : end] for end, length in zip(ends, columns.lengths, strict=True)]


class LoneReturn(Exception):
    """Which of several faults is found first depends on the blocks."""


def plainly_read(data: bytes, encoding="utf-8", separator=None, comment=None):
    """The sentences, or the number of the line at fault."""
    text = data.decode(encoding)
    if encoding == "utf-8":
        text = text.removeprefix("\ufeff")
    result, sentence, width = [], [], None
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    if any("\r" in line for line in lines):
        raise LoneReturn
    for number, line in enumerate(lines, start=1):
        if not line.strip(" \t"):
            fields = []
        elif comment and line.startswith(comment):
            continue
        elif separator:
            fields = line.split(separator)
        else:
            fields = [field for field in line.replace("\t", " ").split(" ") if field]
        if not fields or fields[0] == "-DOCSTART-":
            result.append(sentence)
            sentence = []
            continue
        width = width or len(fields)
        if len(fields) != width:
            return number
        sentence.append(tuple(fields))
    return [sentence for sentence in [*result, sentence] if sentence] or 1


# ---- laws


@given(PIECES | st.binary(), OPTIONS, BLOCK_SIZES)
def test_any_bytes_are_read_plainly_or_refused(data, options, block_size):
    with patch.object(source, "BLOCK_BYTES", block_size):
        try:
            found = sentences(read_columns(io.BytesIO(data), **options))
        except FormatError as error:
            found = error.line
    if data.startswith(b"\x1f\x8b"):
        return  # damaged gzip data
    try:
        expected = plainly_read(data, **options)
    except (UnicodeDecodeError, LoneReturn):
        assert isinstance(found, int)
    else:
        assert found == expected


@given(PIECES | st.binary(), OPTIONS, BLOCK_SIZES)
def test_the_stream_has_the_sentences_of_the_file_and_all_its_lines(data, options, block_size):
    try:
        expected = sentences(read_columns(io.BytesIO(data), **options))
    except FormatError:
        return
    with patch.object(source, "BLOCK_BYTES", block_size):
        blocks = list(column_blocks(io.BytesIO(data), **options))
    assert [s for block in blocks for s in sentences(block.columns)] == expected
    text = data.decode(options.get("encoding", "utf-8")).replace("\r\n", "\n")
    if options.get("encoding") != "latin-1":
        text = text.removeprefix("\ufeff")
    lines = [line for block in blocks for line in block.lines]
    assert "\n".join(lines) == text.removesuffix("\n").removesuffix("\r")
    for block in blocks:
        tokens = [row for sentence in sentences(block.columns) for row in sentence]
        for i, row in zip(block.token_lines, tokens, strict=True):
            assert all(field in block.lines[i] for field in row)


NOT_SEPARATORS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters=" \t\n\r\ufeff"), min_size=1
)
ROWS = st.integers(1, 3).flatmap(
    lambda width: st.lists(
        st.lists(st.tuples(*[NOT_SEPARATORS] * width), min_size=1, max_size=4), min_size=1
    )
)


@given(ROWS, st.sampled_from([" ", "\t", " \t "]), BLOCK_SIZES, st.booleans())
def test_what_is_written_is_read(rows, separator, block_size, packed):
    text = "\n\n".join("\n".join(map(separator.join, sentence)) for sentence in rows)
    data = text.encode()
    if packed:
        data = gzip.compress(data)
    if "-DOCSTART-" in text:
        return
    with patch.object(source, "BLOCK_BYTES", block_size):
        assert sentences(read_columns(io.BytesIO(data))) == rows


def test_every_other_space_of_unicode_is_part_of_a_word():
    spaces = {chr(c) for c in range(sys.maxunicode + 1) if chr(c).isspace()}
    assert set(OTHER_SPACES) == spaces - set(" \t\n\r")
    for space in OTHER_SPACES:
        text = f"a{space}b {space} c{space}\n"
        assert sentences(read_columns(io.BytesIO(text.encode()))) == [
            [(f"a{space}b", space, f"c{space}")]
        ]


# ---- examples


def test_comments_documents_and_blank_lines():
    text = (
        "# 1\n-DOCSTART- -X- O\n\n\nHe PRP B-NP\n# 2\nran VBD B-VP\n \t\n\n"
        "No DT O\n-DOCSTART-\nX Y Z"
    )
    columns = read_columns(io.StringIO(text), comment="#")
    assert sentences(columns) == [
        [("He", "PRP", "B-NP"), ("ran", "VBD", "B-VP")],
        [("No", "DT", "O")],
        [("X", "Y", "Z")],
    ]
    assert [column.values[0] for column in columns.columns] == ["He", "PRP", "B-NP"]
    assert all(column.codes.dtype == np.int32 for column in columns.columns)
    assert columns.lengths.dtype == np.int64


def test_a_blank_line_ends_a_sentence_even_if_comments_begin_with_a_blank():
    columns = read_columns(io.StringIO("a\n x\nb\n \nc\n"), comment=" ")
    assert sentences(columns) == [[("a",), ("b",)], [("c",)]]


def test_an_exact_separator_keeps_empty_fields_and_blanks():
    columns = read_columns(io.StringIO("New York\t\tB\n\t x \t\n\na\tb\tc"), separator="\t")
    assert sentences(columns) == [[("New York", "", "B"), ("", " x ", "")], [("a", "b", "c")]]


def test_a_wrong_number_of_columns_is_located(tmp_path):
    path = tmp_path / "train.txt"
    path.write_text("\n\na b c\n\nd e\n")
    with pytest.raises(FormatError, match=r"train.txt, line 5: 2 columns, but line 3 has 3; every"):
        read_columns(path)
    path.write_text("a\tb\nc\n")
    with pytest.raises(FormatError, match=r"line 2: 1 column, but line 1 has 2; every"):
        read_columns(path, separator="\t")
    with patch.object(source, "BLOCK_BYTES", 4), pytest.raises(FormatError, match="line 2: 1 col"):
        list(column_blocks(path))


@pytest.mark.parametrize("text", ["# one two three\na B\n", "a B\n# one two three\n"])
def test_a_comment_that_was_not_announced_is_recognised(text):
    with pytest.raises(
        FormatError, match='if lines that begin with # are comments, say comment="#"'
    ):
        read_columns(io.StringIO(text))
    assert read_columns(io.StringIO(text), comment="#").lengths.tolist() == [1]


def test_a_file_without_tokens_is_refused_but_its_stream_can_be_echoed():
    text = "# 1\n\n-DOCSTART-\n"
    with pytest.raises(FormatError, match="line 1: no token in the whole file"):
        read_columns(io.StringIO(text), comment="#")
    blocks = list(column_blocks(io.StringIO(text), comment="#"))
    assert [line for block in blocks for line in block.lines] == ["# 1", "", "-DOCSTART-"]
    assert all(block.columns.n_tokens == 0 for block in blocks)


def test_a_file_that_is_not_of_columns_is_refused():
    line = "a " * (MOST_COLUMNS + 1)
    with pytest.raises(FormatError, match="line 1: 1001 columns; at most 1000 are read"):
        read_columns(io.StringIO(line))
    assert len(read_columns(io.StringIO(line[2:])).columns) == MOST_COLUMNS


@pytest.mark.parametrize("separator", ["", "\n", "\r", "||"])
def test_a_separator_is_one_character(separator):
    with pytest.raises(ValueError, match="it must be one character other than a line end"):
        read_columns(io.StringIO("a b"), separator=separator)


@pytest.mark.parametrize("comment", ["", "#\n"])
def test_a_comment_has_a_beginning(comment):
    with pytest.raises(ValueError, match="it must be the beginning of a line"):
        read_columns(io.StringIO("a b"), comment=comment)


def test_labels_are_appended_as_the_line_is_written():
    lines = ["# x\ty", "a b", "c\td e", ""]
    tokens = np.array([1, 2])
    assert append_column(lines, tokens, ["B", "I"]) == ["# x\ty", "a b B", "c\td e\tI", ""]
    assert append_column(lines, tokens, ["B", "I"], "|") == ["# x\ty", "a b|B", "c\td e|I", ""]
    with pytest.raises(ValueError, match="zip"):
        append_column(lines, tokens, ["B"])


# ---- cost


def test_memory_is_bounded_by_the_numbers_not_the_text(tmp_path):
    """15 MB of text hold 1.8 MB of numbers: 12 bytes for each of 150,000 tokens."""
    sentence = "".join(f"{word:a>60} {word:b>30} {word % 5:c>8}\n" for word in range(30)) + "\n"
    path = tmp_path / "long.gz"
    path.write_bytes(gzip.compress(sentence.encode() * 5000, 1))
    encoded = 12 * 30 * 5000
    read_columns(io.StringIO(sentence))
    tracemalloc.start()
    columns = read_columns(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert columns.n_tokens == 150_000
    # The parts and the whole they are joined to, and the strings of one block, under 3 MB.
    assert peak < 2 * encoded + 3_000_000 < len(sentence) * 5000 / 2


def test_conll2000_has_its_known_numbers(real_data):
    columns = read_columns(real_data / "conll2000" / "train.txt.gz")
    assert (len(columns.lengths), columns.n_tokens) == (8936, 211_727)
    assert [len(column.values) for column in columns.columns] == [19_122, 44, 22]
