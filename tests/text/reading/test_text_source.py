"""Text arrives whole, in bounded blocks, from wherever it is; faults are named by file and line."""

import contextlib
import gzip
import io
import pickle
import sys
from itertools import pairwise
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taut.text.reading import FormatError, source
from taut.text.reading.source import paragraphs, text_blocks

BLOCK_SIZES = st.sampled_from([1, 2, 7, 64, 1 << 17])


def read(where, encoding="utf-8", block_size=1 << 17) -> str:
    with patch.object(source, "BLOCK_BYTES", block_size):
        return "".join(block.text for block in text_blocks(where, encoding))


class Pieces:
    """A pipe: each read gives what has come."""

    def __init__(self, *pieces: bytes):
        self.pieces = list(pieces)

    def read(self, size: int) -> bytes:
        assert size == 0, "a read that waits for a full block"
        return b""

    def read1(self, size: int) -> bytes:
        return self.pieces.pop(0) if self.pieces else b""


# ---- where text comes from


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_paths_and_open_files_give_the_same_text(tmp_path, pack):
    path = tmp_path / "text"  # its name says nothing about gzip
    path.write_bytes(pack("größer\r\nals\n".encode()))
    assert read(path) == read(str(path)) == "größer\nals\n"
    with open(path, "rb") as file:
        assert read(file) == "größer\nals\n"
        assert not file.closed
    with open(path, "rb", buffering=0) as file:
        assert read(file) == "größer\nals\n"


def test_a_text_file_decodes_itself(tmp_path):
    path = tmp_path / "text"
    path.write_bytes("größer".encode("cp1252"))
    with open(path, encoding="cp1252") as file:
        assert read(file) == "größer\n"
    assert read(io.StringIO("größer"), encoding="latin-1") == "größer\n"
    with (
        open(path, encoding="utf-8") as file,
        pytest.raises(FormatError, match=r"line 1: .*open the file with the encoding it has"),
    ):
        read(file)


def test_standard_input_is_a_dash(monkeypatch):
    stdin = io.TextIOWrapper(io.BytesIO(b"He\n\xff"), encoding="ascii")
    monkeypatch.setattr(sys, "stdin", stdin)
    with pytest.raises(FormatError, match="standard input, line 2: byte 0xff is not UTF-8"):
        read("-")
    assert not stdin.closed


def test_latin_1_takes_every_byte():
    assert (
        read(io.BytesIO(bytes(range(14, 256))), "latin-1")
        == bytes(range(14, 256)).decode("latin-1") + "\n"
    )


def test_the_byte_order_mark_of_utf_8_is_not_text():
    assert read(io.BytesIO(b"\xef\xbb\xbfHe\n\xef\xbb\xbf")) == "He\n\ufeff\n"


@given(st.text(st.characters(exclude_categories=["Cs"])), BLOCK_SIZES, st.booleans())
def test_only_newlines_end_lines_and_blocks_do_not_matter(text, block_size, packed):
    data = text.encode("utf-8")
    expected = text.removeprefix("\ufeff")
    if not expected:
        return
    if not expected.endswith("\n"):
        expected += "\n"
    if "\r" in expected.replace("\r\n", "\n"):
        return  # refused, see below
    file = io.BytesIO(gzip.compress(data) if packed else data)
    assert read(file, block_size=block_size) == expected.replace("\r\n", "\n")


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
@pytest.mark.parametrize(
    ("data", "line"),
    [(b"a b\rc d\r", 1), (b"a b\nc\rd\n", 2), (b"a\r\r\n", 1), (b"a\r\nb\n\rc", 3)],
)
def test_lone_carriage_returns_are_refused(data, line, encoding):
    for packed in (data, gzip.compress(data)):
        with pytest.raises(
            FormatError, match=f"line {line}: a carriage return without a line feed"
        ):
            read(io.BytesIO(packed), encoding, block_size=2)
    assert read(io.BytesIO(b"one\r\ntwo\r"), encoding) == "one\ntwo\n"  # the end is a line's, too


def test_a_large_file_of_an_old_mac_is_one_line_and_known_all_the_same(monkeypatch):
    monkeypatch.setattr(source, "LONGEST_LINE", 64)
    with pytest.raises(FormatError, match="line 1: a carriage return without a line feed"):
        read(io.BytesIO(b"word\r" * 100), block_size=16)


def test_standard_input_that_is_closed_is_no_file(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(ValueError, match="standard input is closed; give the path of a file"):
        read("-")


@given(st.lists(st.sampled_from(["a\n", "b\n", "\n", " \t\n", "\x0b\n"]), min_size=1), BLOCK_SIZES)
def test_paragraphs_are_cut_after_blank_lines_only(lines, block_size):
    with patch.object(source, "BLOCK_BYTES", block_size):
        blocks = list(paragraphs(text_blocks(io.StringIO("".join(lines)))))
    assert "".join(block.text for block in blocks) == "".join(lines)
    for block, following in pairwise(blocks):
        assert block.lines()[-1] in ("", " \t")
        assert following.line == block.line + len(block.lines())


def test_a_pipe_is_served_as_its_data_come():
    file = Pieces(b"on", b"e\ntw", b"o\n\n", b"three")
    blocks = text_blocks(file)
    assert next(blocks).text == "one\n"
    assert len(file.pieces) == 2
    assert next(blocks).text == "two\n\n"
    assert len(file.pieces) == 1


def test_a_paragraph_is_served_after_its_blank_line():
    file = Pieces(b"one\n", b"two\n", b" \t\n", b"three\n")
    blocks = paragraphs(text_blocks(file))
    assert next(blocks).text == "one\ntwo\n \t\n"
    assert len(file.pieces) == 1


def test_a_packed_pipe_is_served_as_its_data_come():
    file = Pieces(gzip.compress(b"one\n"), gzip.compress(b"two\n"))
    blocks = text_blocks(file)
    assert next(blocks).text == "one\n"
    assert len(file.pieces) == 1


# ---- gzip


@given(BLOCK_SIZES)
def test_members_and_padding_of_gzip(block_size):
    packed = gzip.compress(b"one\nt") + b"\0" * 9 + gzip.compress(b"wo\n") + b"\0" * 700
    assert read(io.BytesIO(packed), block_size=block_size) == "one\ntwo\n"


@given(st.data())
def test_damaged_gzip_is_refused_or_harmless(data):
    packed = gzip.compress(b"He PRP\nran VBD\n" * 20, mtime=0)
    position = data.draw(st.integers(2, len(packed) - 1))
    byte = data.draw(st.binary(min_size=1, max_size=1))
    damaged = packed[:position] + byte + packed[position + 1 :]
    with contextlib.suppress(FormatError):
        assert read(io.BytesIO(damaged)) == "He PRP\nran VBD\n" * 20


def test_cut_gzip_names_the_line_it_breaks_off_at():
    packed = gzip.compress(b"one\ntwo\n") + gzip.compress(b"three\n")[:-1]
    with pytest.raises(FormatError, match="line 4: the gzip data end too early"):
        read(io.BytesIO(packed))


def test_what_follows_gzip_data_must_be_gzip_data():
    with pytest.raises(FormatError, match="line 2: damaged gzip data"):
        read(io.BytesIO(gzip.compress(b"one\n") + b"more"))


# ---- faults


def test_bytes_that_are_not_utf_8_are_located(tmp_path):
    path = tmp_path / "latin.txt"
    path.write_bytes(b"one\ntwo\nf\xfcnf\n")
    for block_size in (1, 5, 1 << 17):
        with pytest.raises(FormatError) as caught:
            read(path, block_size=block_size)
        assert str(caught.value) == (
            f"{path}, line 3: byte 0xfc is not UTF-8 here; convert the file to UTF-8, or read it "
            'with encoding="latin-1"'
        )


def test_what_is_no_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere.txt' does not exist; give the path"):
        read(tmp_path / "nowhere.txt")
    with pytest.raises(IsADirectoryError, match="is a folder; name a file in it"):
        read(tmp_path)
    with pytest.raises(TypeError, match="a path, '-' or an open file, not list"):
        read(["He", "ran"])
    with pytest.raises(ValueError, match="encoding must be 'utf-8' or 'latin-1', not 'utf-16'"):
        read(tmp_path, "utf-16")


@pytest.mark.parametrize("content", [b"", gzip.compress(b"", mtime=0)])
def test_an_empty_file_is_refused(tmp_path, content):
    path = tmp_path / "empty"
    path.write_bytes(content)
    with pytest.raises(FormatError, match="empty, line 1: the file is empty"):
        read(path)


@pytest.mark.parametrize("block_size", [1, 5, 10])
def test_a_line_of_any_block_size_may_be_as_long_as_the_limit(block_size):
    with patch.object(source, "LONGEST_LINE", 10):
        assert read(io.BytesIO(b"x\n" + b"y" * 10 + b"\nz"), block_size=block_size)
        with pytest.raises(FormatError, match="line 2: the line is longer than 10 bytes"):
            read(io.BytesIO(b"x\n" + b"y" * 11 + b"\nz"), block_size=block_size)


def test_half_a_surrogate_pair_is_no_text():
    with pytest.raises(FormatError, match="surrogates not allowed"):
        read(io.StringIO("\ud800"))


def test_a_source_without_data_does_not_pass_for_its_end():
    class Waiting(Pieces):
        def read1(self, size):
            return None

    with pytest.raises(BlockingIOError, match="no data yet"):
        read(Waiting())


def test_the_error_survives_a_process_boundary():
    error = pickle.loads(pickle.dumps(FormatError("train.txt", 3, "a fault")))
    assert str(error) == "train.txt, line 3: a fault"
    assert (error.path, error.line, error.problem) == ("train.txt", 3, "a fault")
