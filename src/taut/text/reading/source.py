"""Text from a path, standard input or an open file, in blocks of whole lines.

Memory holds one block at a time, whatever the size of the file and however far gzip packed it. A
pipe is served as its data come: a block never waits for more than the end of a line. Only ``\\n``
and ``\\r\\n`` end a line; a ``\\r`` alone, which ended the lines of old Macs, is refused, and the
other line separators of Unicode are characters like any other. Every fault is reported with its
file and line.
"""

import os
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import IO, Any, NamedTuple, TypeAlias

from taut.spelling import OptionError, in_python

Source: TypeAlias = str | os.PathLike[str] | IO[bytes] | IO[str]

# Larger blocks are no faster, and their strings leave the processor's cache.
BLOCK_BYTES = 1 << 17
# Must not be less than a block: lines within one are not measured.
LONGEST_LINE = 1 << 24

# What separates words; the line end is the block's own.
BLANKS = " \t"

LONE_RETURN = (
    "a carriage return without a line feed, as in files of old Macs; make line feeds of them (tr "
    "'\\r' '\\n'), or delete them (tr -d '\\r')"
)

GZIP_MAGIC = b"\x1f\x8b"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class FormatError(OptionError):
    """A file does not follow its format, at a line counted from 1.

    >>> raise FormatError("train.txt", 3, "2 columns, but line 1 has 3")
    Traceback (most recent call last):
    taut.text.reading.source.FormatError: train.txt, line 3: 2 columns, but line 1 has 3
    """

    def __init__(self, path: str, line: int, problem: str):
        super().__init__(f"{path}, line {line}: {problem}")
        self.path = path
        self.line = line
        self.problem = in_python(problem)

    def __reduce__(self) -> tuple[type["FormatError"], tuple[str, int, str]]:
        return FormatError, (self.path, self.line, self.problem)


class Problem(Exception):
    """What is wrong, raised where the line is not known."""


class TextBlock(NamedTuple):
    """Whole lines, each ending in ``\\n``."""

    path: str
    line: int  # the number of the first line, from 1
    text: str

    def lines(self) -> list[str]:
        return self.text[:-1].split("\n")

    def error(self, index: int, problem: str) -> FormatError:
        """The error for a fault in the block's line ``index``, from 0."""
        return FormatError(self.path, self.line + index, problem)


def text_blocks(source: Source, encoding: str = "utf-8") -> Iterator[TextBlock]:
    """The lines of a file, packed by gzip or not, in blocks as they arrive.

    Parameters
    ----------
    source : path, "-" or open file
        ``"-"`` is standard input. An open file is read to its end and left open; if it was opened
        as text it decodes itself, and ``encoding`` is not used.
    encoding : {"utf-8", "latin-1"}
        UTF-8 may begin with a byte order mark.

    Raises
    ------
    FormatError
        For an empty file, bytes that are not text, damaged gzip data, carriage returns that are
        not part of a line end, or a line of more than 16 MB.

    Examples
    --------
    >>> import io
    >>> for block in text_blocks(io.BytesIO(b"one\\r\\ntwo\\nthr")):
    ...     print(block)
    TextBlock(path='<stream>', line=1, text='one\\ntwo\\n')
    TextBlock(path='<stream>', line=3, text='thr\\n')
    """
    if encoding not in ("utf-8", "latin-1"):
        raise ValueError(f"encoding must be 'utf-8' or 'latin-1', not {encoding!r}")
    with _opened(source) as (path, file):
        if isinstance(file.read(0), str):
            encoding = "utf-8"  # as _chunks gives it
        line, is_empty = 1, True
        try:
            for data in _whole_lines(_unpacked(_chunks(file))):
                if is_empty and encoding == "utf-8":
                    data = data.removeprefix(BYTE_ORDER_MARK)
                if data:
                    is_empty = False
                    yield _decoded(path, line, data, encoding)
                    line += data.count(b"\n")
        except zlib.error as error:
            raise FormatError(path, line, f"damaged gzip data ({error})") from error
        except UnicodeError as error:
            problem = f"{error}; open the file with the encoding it has"
            raise FormatError(path, line, problem) from error
        except Problem as error:
            raise FormatError(path, line, str(error)) from error
        if is_empty:
            raise FormatError(path, 1, "the file is empty")


def shown(value: Any, limit: int = 60) -> str:
    """A value for an error message, cut if it is long."""
    text = repr(value)
    return text if len(text) <= limit else text[:limit] + "..."


def paragraphs(blocks: Iterable[TextBlock]) -> Iterator[TextBlock]:
    """The same lines, cut only after blank lines: no sequence is in two blocks."""
    waiting: list[TextBlock] = []
    for block in blocks:
        cut = _after_last_blank_line(block.text)
        if cut:
            yield _joined([*waiting, block._replace(text=block.text[:cut])])
            line = block.line + block.text.count("\n", 0, cut)
            block = TextBlock(block.path, line, block.text[cut:])
            waiting = []
        if block.text:
            waiting.append(block)
    if waiting:
        yield _joined(waiting)


def _joined(blocks: list[TextBlock]) -> TextBlock:
    return blocks[0]._replace(text="".join(block.text for block in blocks))


def _after_last_blank_line(text: str) -> int:
    """Where the text after the last blank line begins; 0 if no line is blank."""
    end = len(text)
    while end:
        start = text.rfind("\n", 0, end - 1) + 1
        if not text[start : end - 1].strip(BLANKS):
            return end
        end = start
    return 0


@contextmanager
def _opened(source: Source) -> Iterator[tuple[str, IO[Any]]]:
    """The file with the name its errors give it; closed again if it was opened here."""
    if isinstance(source, str) and source == "-":
        if sys.stdin is None:
            raise ValueError("standard input is closed; give the path of a file, or a pipe")
        yield "standard input", getattr(sys.stdin, "buffer", sys.stdin)
    elif isinstance(source, str | os.PathLike):
        path = os.fsdecode(source)
        if not os.path.exists(path):
            raise FileNotFoundError(
                f"{path!r} does not exist; give the path of a file, or '-' for standard input"
            )
        if os.path.isdir(path):
            raise IsADirectoryError(f"{path!r} is a folder; name a file in it")
        with open(path, "rb") as file:
            yield path, file
    elif hasattr(source, "read"):
        yield str(getattr(source, "name", "<stream>")), source
    else:
        raise TypeError(
            f"the source must be a path, '-' or an open file, not {type(source).__name__}"
        )


def _chunks(file: IO[Any]) -> Iterator[bytes]:
    """The file's bytes as they arrive; of a file opened as text, its UTF-8."""
    # read would wait until a whole block has come through a pipe.
    read = getattr(file, "read1", file.read)
    while (chunk := read(BLOCK_BYTES)) or chunk is None:
        if chunk is None:
            raise BlockingIOError("the source is in non-blocking mode and has no data yet")
        yield chunk.encode("utf-8") if isinstance(chunk, str) else chunk


def _unpacked(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The same bytes; what gzip packed is known by its first two."""
    head = b""
    while len(head) < len(GZIP_MAGIC) and (chunk := next(chunks, b"")):
        head += chunk
    chunks = chain([head], chunks)
    return _inflated(chunks) if head.startswith(GZIP_MAGIC) else chunks


def _inflated(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The members of a gzip file one after the other; zlib verifies their checksums."""
    member = zlib.decompressobj(wbits=31)
    for chunk in chunks:
        while chunk:
            if member.eof:
                chunk = chunk.lstrip(b"\0")  # tapes and blocks are filled up with zeros
                if not chunk:
                    break
                member = zlib.decompressobj(wbits=31)
            yield member.decompress(chunk, BLOCK_BYTES)
            chunk = member.unused_data if member.eof else member.unconsumed_tail
    if not member.eof:
        raise Problem("the gzip data end too early: the file was cut short")


def _whole_lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes, cut after line ends, with one at the very end."""
    waiting: list[bytes] = []  # parts of a line that is not complete yet
    size = 0
    for chunk in chunks:
        first = chunk.find(b"\n")
        if size + (len(chunk) if first < 0 else first) > LONGEST_LINE:
            if b"\r" in chunk:
                raise Problem(LONE_RETURN)
            raise Problem(f"the line is longer than {LONGEST_LINE} bytes; is this a text file?")
        if first >= 0:
            cut = chunk.rfind(b"\n") + 1
            yield b"".join([*waiting, chunk[:cut]])
            chunk = chunk[cut:]
            waiting, size = [], 0
        if chunk:
            waiting.append(chunk)
            size += len(chunk)
    if waiting:
        yield b"".join([*waiting, b"\n"])


def _decoded(path: str, line: int, data: bytes, encoding: str) -> TextBlock:
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line += data.count(b"\n", 0, error.start)
        raise FormatError(
            path,
            line,
            f"byte 0x{data[error.start]:02x} is not UTF-8 here; convert the file to UTF-8, or "
            'read it with ‹encoding="latin-1"›',
        ) from error
    if "\r" in text:
        text = text.replace("\r\n", "\n")
        lone = text.find("\r")
        if lone >= 0:
            raise FormatError(path, line + text.count("\n", 0, lone), LONE_RETURN)
    return TextBlock(path, line, text)
