"""Column files in the manner of CoNLL: a token per line, its columns side by side.

A blank line ends a sentence. Blocks of text are cut into fields by one call, and counted into lines
and sentences by array operations: Python does nothing per token.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import compress
from typing import NamedTuple

import numpy as np

from taut.text.columns import Columns, ColumnsBuilder
from taut.text.reading.source import (
    BLANKS,
    FormatError,
    Source,
    TextBlock,
    paragraphs,
    text_blocks,
)

# Far more than any corpus has; it keeps a file that is not of columns from filling the memory.
MOST_COLUMNS = 1000

# Begins a document in the files of CoNLL-2003.
DOCUMENT = "-DOCSTART-"

# Begins a comment in many files; but it can be a word, so comments are skipped only if asked for.
MARK = "#"
# What may be behind a wrong number of columns.
MARK_HINT = f'if lines that begin with {MARK} are comments, say ‹comment="{MARK}"›'
BLANKS_HINT = r"if fields contain blanks or are empty, give the separator, such as '\t'"

# str.split without arguments cuts at these, too; here they are characters like any other. (A
# carriage return is none: blocks of text have no lone ones.)
OTHER_SPACES = (
    "\x0b\x0c\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007"
    "\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
_FIELD = re.compile(rf"[^{BLANKS}\n]+")


class ColumnBlock(NamedTuple):
    """Whole sentences of a column file, and the lines they were read from.

    ``columns`` numbers the values of this block alone; it has no columns as long as no token has
    been read.
    """

    columns: Columns
    lines: list[str]  # all of them, comments and blank lines too, without line ends
    token_lines: np.ndarray  # (n_tokens,) int64: in which of the lines each token is


def read_columns(
    source: Source,
    *,
    encoding: str = "utf-8",
    separator: str | None = None,
    comment: str | None = None,
) -> Columns:
    """Read a whole column file; of the text, only numbers and distinct strings are kept.

    Parameters
    ----------
    source : path, "-" or open file
        Packed by gzip or not; ``"-"`` is standard input.
    encoding : {"utf-8", "latin-1"}
    separator : str, optional
        The character between two columns; then fields may be empty or contain blanks. By default
        runs of blanks and tabs separate.
    comment : str, optional
        Lines that begin with it are skipped, for instance ``"#"``.

    Returns
    -------
    Columns
        Every line has the same number of columns; lines that begin with the field ``-DOCSTART-``
        are skipped and end a sentence.

    Raises
    ------
    FormatError
        With file and line, if the file does not follow the format.

    Examples
    --------
    >>> import io
    >>> text = read_columns(io.StringIO("He PRP\\nran VBD\\n\\nHe PRP\\n"))
    >>> text.lengths.tolist(), text.columns[0].values
    ([2, 1], ['He', 'ran'])
    """
    return read_columns_and_lines(source, encoding=encoding, separator=separator, comment=comment)[
        0
    ]


def read_columns_and_lines(
    source: Source,
    *,
    encoding: str = "utf-8",
    separator: str | None = None,
    comment: str | None = None,
) -> tuple[Columns, np.ndarray]:
    """The same, and the line of each token, counted from 1: errors found later can name it."""
    parser = _Parser(separator, comment)
    builder = ColumnsBuilder()
    lines = []
    for block in paragraphs(text_blocks(source, encoding)):
        part = parser.parse(block)
        builder.add_flat(part.lengths, part.fields, parser.width)
        lines.append(block.line + part.token_lines)
    if not parser.width:
        raise FormatError(
            block.path, 1, "no token in the whole file, only blank lines and comments"
        )
    return builder.build(), np.concatenate(lines)


def column_blocks(
    source: Source,
    *,
    encoding: str = "utf-8",
    separator: str | None = None,
    comment: str | None = None,
) -> Iterator[ColumnBlock]:
    """Read a column file as a stream, to answer each sentence as soon as it has come.

    The parameters are those of :func:`read_columns`. Each block holds all sentences that are
    complete by then: from a pipe, a sentence comes after its blank line.

    Examples
    --------
    >>> import io
    >>> file = io.StringIO("# 1\\nHe PRP\\nran VBD\\n\\n")
    >>> [block] = column_blocks(file, comment="#")
    >>> append_column(block.lines, block.token_lines, ["B-NP", "B-VP"])
    ['# 1', 'He PRP B-NP', 'ran VBD B-VP', '']
    """
    parser = _Parser(separator, comment)
    for block in paragraphs(text_blocks(source, encoding)):
        part = parser.parse(block)
        builder = ColumnsBuilder()
        builder.add_flat(part.lengths, part.fields, parser.width)
        yield ColumnBlock(builder.build(), block.lines(), part.token_lines)


def append_column(
    lines: Sequence[str],
    token_lines: np.ndarray,
    labels: Sequence[str],
    separator: str | None = None,
) -> list[str]:
    """The lines with a label at the end of each that holds a token.

    Without a separator, a tab goes before the label if the line has one, else a blank.

    >>> append_column(["He\\tPRP", ""], np.array([0]), ["B-NP"])
    ['He\\tPRP\\tB-NP', '']
    """
    result = list(lines)
    for i, label in zip(token_lines.tolist(), labels, strict=True):
        line = result[i]
        result[i] = line + (separator or ("\t" if "\t" in line else " ")) + label
    return result


class _Part(NamedTuple):
    """What one block of text holds."""

    lengths: np.ndarray
    fields: list[str]  # of all tokens, row by row
    token_lines: np.ndarray


class _Parser:
    """The options, and what the first token settles for all blocks: the number of columns."""

    def __init__(self, separator: str | None, comment: str | None):
        if separator is not None and (len(separator) != 1 or separator in "\r\n"):
            raise ValueError(
                f"separator={separator!r}: it must be one character other than a line end, or "
                "None for runs of blanks and tabs"
            )
        if comment is not None and (not comment or "\n" in comment):
            raise ValueError(
                f"comment={comment!r}: it must be the beginning of a line, such as '#', or None"
            )
        self.separator = separator
        self.comment = comment
        self.width = 0  # no token yet
        self.first_line = 0
        self.first_is_marked = False

    def parse(self, block: TextBlock) -> _Part:
        text, comments = self._without_marks(block)
        words = _words_per_line(text)
        is_token = words > 0
        token_lines = np.flatnonzero(is_token)
        if self.separator is None:
            self._check_widths(block, words[is_token], token_lines)
            fields = _words(text)
        else:
            rows = list(compress(text.split("\n"), is_token))
            widths = np.array([row.count(self.separator) + 1 for row in rows], np.int64)
            self._check_widths(block, widths, token_lines)
            fields = self.separator.join(rows).split(self.separator) if rows else []
        is_end = ~is_token
        is_end[comments] = False
        return _Part(sequence_lengths(is_token, is_end), fields, token_lines)

    def _without_marks(self, block: TextBlock) -> tuple[str, list[int]]:
        """The text with comments and beginnings of documents emptied; which were comments."""
        has_comments = self.comment is not None and self.comment in block.text
        if not has_comments and DOCUMENT not in block.text:
            return block.text, []
        lines = block.lines()
        comments = [i for i, line in enumerate(lines) if self._is_comment(line)]
        for i in comments:
            lines[i] = ""
        lines = ["" if self._begins_document(line) else line for line in lines]
        return "\n".join(lines) + "\n", comments

    def _is_comment(self, line: str) -> bool:
        # A blank line ends a sentence even if comments begin with a blank.
        return bool(self.comment and line.startswith(self.comment) and line.strip(BLANKS))

    def _begins_document(self, line: str) -> bool:
        if DOCUMENT not in line:
            return False
        fields = _FIELD.findall(line) if self.separator is None else line.split(self.separator)
        return bool(fields[0] == DOCUMENT)

    def _check_widths(self, block: TextBlock, widths: np.ndarray, token_lines: np.ndarray) -> None:
        if not widths.size:
            return
        if not self.width:
            self.width = int(widths[0])
            self.first_line = block.line + int(token_lines[0])
            self.first_is_marked = block.lines()[int(token_lines[0])].startswith(MARK)
            if self.width > MOST_COLUMNS:
                raise block.error(
                    int(token_lines[0]), f"{self.width} columns; at most {MOST_COLUMNS} are read"
                )
        wrong = np.flatnonzero(widths != self.width)
        if wrong.size:
            found, line = int(widths[wrong[0]]), int(token_lines[wrong[0]])
            is_marked = self.first_is_marked or block.lines()[line].startswith(MARK)
            raise block.error(
                line,
                f"{found} column{'s' * (found != 1)}, but line {self.first_line} has {self.width}; "
                f"every token needs the same number ({MARK_HINT if is_marked else BLANKS_HINT})",
            )


def sequence_lengths(is_token: np.ndarray, is_end: np.ndarray) -> np.ndarray:
    """How many tokens each sequence has, from what the lines are; there are no empty sequences.

    >>> sequence_lengths(np.array([True, True, False, False, True]), np.array([0, 0, 1, 1, 0]))
    array([2, 1])
    """
    counts = np.bincount(np.cumsum(is_end)[is_token])
    return counts[counts > 0]


def _words(text: str) -> list[str]:
    if any(space in text for space in OTHER_SPACES):
        return _FIELD.findall(text)
    return text.split()


def _words_per_line(text: str) -> np.ndarray:
    """How many words, apart by blanks and tabs, are in each line.

    The separators are ASCII, so in UTF-8 no byte of another character looks like one.
    """
    data = np.frombuffer(text.encode("utf-8"), np.uint8)
    is_newline = data == ord("\n")
    is_apart = is_newline | (data == ord(" ")) | (data == ord("\t"))
    # A word ends before each separator that follows something else; the text ends in one.
    word_ends = np.flatnonzero(is_apart[1:] & ~is_apart[:-1]) + 1
    line_ends = np.flatnonzero(is_newline)
    return np.diff(np.searchsorted(word_ends, line_ends, side="right"), prepend=0)
