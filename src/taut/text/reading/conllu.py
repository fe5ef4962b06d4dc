"""CoNLL-U, the format of Universal Dependencies: ten columns, apart by tabs, for every word.

Words are the lines numbered 1, 2, 3 and so on. Lines of several words (``1-2``), of words that are
left out (``1.1``) and comments are no tokens, but stay where they are when labels are written.

What is to be learned is named so:

    upos, xpos, feats, deprel    the column of that name
    upos+feats                   both, joined by "+"
    misc:KEY                     the value of KEY in the last column; O where it has none
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from taut.text.columns import Column, Columns
from taut.text.numbering import Numbering
from taut.text.reading.column_files import sequence_lengths
from taut.text.reading.source import FormatError, Source, TextBlock, paragraphs, text_blocks

COLUMNS = (
    "id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc"
)  # fmt: skip
PLACE = {name: place for place, name in enumerate(COLUMNS)}
MISC = PLACE["misc"]
TARGETS = ("upos", "xpos", "feats", "deprel")
JOINT = "upos+feats"
UNSPECIFIED, OUTSIDE = "_", "O"
_NOT_A_WORD = re.compile(r"\d+(-\d+|\.\d+)", re.ASCII)
_WORD = re.compile(r"\d+", re.ASCII)
_MISC_KEY = re.compile(r"misc:([^|=\s]+)")


class ConlluText(NamedTuple):
    """A whole CoNLL-U file."""

    words: Columns  # one column: forms
    labels: Column
    lines: np.ndarray  # (n_words,) int64: the line of each word, from 1


class ConlluBlock(NamedTuple):
    """Whole sentences of a CoNLL-U file, and the lines they were read from."""

    words: Columns  # one column: forms
    labels: list[str]  # of all words
    lines: list[str]  # all of them, comments and blank lines too
    word_lines: np.ndarray  # (n_words,) int64: in which of the lines each word is


def checked_target(label: str) -> str:
    """
    >>> checked_target("misc:NER")
    'misc:NER'
    >>> checked_target("pos")
    Traceback (most recent call last):
    ValueError: label='pos'; expected upos, xpos, feats, deprel, upos+feats or misc:KEY
    """
    if label == "misc:P":
        raise ValueError("label='misc:P' is where probabilities go; take another key")
    if label in (*TARGETS, JOINT) or _MISC_KEY.fullmatch(label):
        return label
    raise ValueError(f"label={label!r}; expected {', '.join(TARGETS)}, {JOINT} or misc:KEY")


def read_conllu(source: Source, label: str) -> ConlluText:
    """The forms of all words, as a column, and what is to be learned of them.

    >>> import io
    >>> line = "1\\tHe\\the\\tPRON\\tPRP\\tCase=Nom\\t2\\tnsubj\\t_\\tNER=B-PER\\n"
    >>> for label in ("xpos", "upos+feats", "misc:NER"):
    ...     read_conllu(io.StringIO(line), label).labels.values
    ['PRP']
    ['PRON+Case=Nom']
    ['B-PER']
    """
    lengths, forms, labels = [], Numbering(), Numbering()
    codes: list[np.ndarray] = []
    numbers: list[np.ndarray] = []
    lines: list[np.ndarray] = []
    path, before = "standard input", 1
    for block in conllu_blocks(source, label):
        lengths.append(block.words.lengths)
        column = block.words.columns[0]
        codes.append(forms.number(column.values)[column.codes])
        numbers.append(labels.number(block.labels))
        lines.append(before + block.word_lines)
        before += len(block.lines)
        path = source if isinstance(source, str) and source != "-" else path
    if not any(map(len, codes)):
        raise FormatError(path, 1, "no word in the whole file, only blank lines and comments")
    if label.startswith("misc:") and labels.values == [OUTSIDE]:
        key = label.removeprefix("misc:")
        raise FormatError(path, 1, f"no word of the file has the key {key!r} in its last column")
    words = Columns(np.concatenate(lengths), (Column(np.concatenate(codes), forms.values),))
    known = Column(np.concatenate(numbers), labels.values)
    return ConlluText(words, known, np.concatenate(lines))


def conllu_blocks(source: Source, label: str) -> Iterator[ConlluBlock]:
    """The same as a stream, with the lines, to write labels into them by :func:`with_labels`."""
    checked_target(label)
    for block in paragraphs(text_blocks(source)):
        yield _parsed(block, label)


def _parsed(block: TextBlock, label: str) -> ConlluBlock:
    lines = block.lines()
    is_word, is_end = np.zeros(len(lines), bool), np.zeros(len(lines), bool)
    forms, labels = [], []
    for i, line in enumerate(lines):
        if not line.strip():
            is_end[i] = True
            continue
        if line.startswith("#"):
            continue
        fields = line.split("\t")
        if len(fields) != len(COLUMNS):
            raise block.error(
                i,
                f"{len(fields)} column{'s' * (len(fields) != 1)}, apart by tabs; CoNLL-U has "
                f"{len(COLUMNS)}",
            )
        if not _WORD.fullmatch(fields[0]):
            if not _NOT_A_WORD.fullmatch(fields[0]):
                raise block.error(i, f"{fields[0]!r} is no number of a word, such as 3, 3-4 or 3.1")
            continue
        is_word[i] = True
        forms.append(fields[PLACE["form"]])
        labels.append(_label_of(fields, label))
    numbering = Numbering()
    words = Columns(
        sequence_lengths(is_word, is_end),
        (Column(numbering.number(forms), numbering.values),),
    )
    return ConlluBlock(words, labels, lines, np.flatnonzero(is_word))


def _label_of(fields: list[str], label: str) -> str:
    if label == JOINT:
        return f"{fields[PLACE['upos']]}+{fields[PLACE['feats']]}"
    if label in PLACE:
        return fields[PLACE[label]]
    key = label.removeprefix("misc:") + "="
    return next((p[len(key) :] for p in fields[MISC].split("|") if p.startswith(key)), OUTSIDE)


def with_labels(
    lines: Sequence[str],
    word_lines: np.ndarray,
    label: str,
    found: Sequence[str],
    probabilities: Sequence[str] | None = None,
) -> list[str]:
    """The lines with these labels where they belong; probabilities go to the last column, as P.

    >>> line = "1\\tHe\\the\\t_\\t_\\tCase=Acc\\t_\\t_\\t_\\tSpaceAfter=No\\n".strip()
    >>> [answer] = with_labels([line], np.array([0]), "upos+feats", ["PRON+Case=Nom"], ["0.98"])
    >>> answer.split("\\t")[3:]
    ['PRON', '_', 'Case=Nom', '_', '_', '_', 'SpaceAfter=No|P=0.98']
    """
    result = list(lines)
    for at, i in enumerate(word_lines.tolist()):
        fields = result[i].split("\t")
        if label == JOINT:
            fields[PLACE["upos"]], _, feats = found[at].partition("+")
            fields[PLACE["feats"]] = feats or UNSPECIFIED
        elif label in PLACE:
            fields[PLACE[label]] = found[at]
        else:
            _set_in_misc(fields, label.removeprefix("misc:"), found[at])
        if probabilities is not None:
            _set_in_misc(fields, "P", probabilities[at])
        result[i] = "\t".join(fields)
    return result


def with_comments(
    lines: Sequence[str],
    word_lines: np.ndarray,
    lengths: np.ndarray,
    comments: Sequence[Sequence[str]],
) -> list[str]:
    """The lines with comments of each sentence, after those that it has.

    >>> lines = ["# text = ao", "1-2 ao", "1 a", "2 o", ""]
    >>> with_comments(lines, np.array([2, 3]), np.array([2]), [["# new"]])[:3]
    ['# text = ao', '# new', '1-2 ao']
    """
    result: list[str] = []
    copied = 0
    first_words = word_lines[np.cumsum(lengths) - lengths]
    for first, of_sentence in zip(first_words.tolist(), comments, strict=True):
        while first and lines[first - 1].strip() and not lines[first - 1].startswith("#"):
            first -= 1  # the first word may be a part of several, whose line comes before
        result += [*lines[copied:first], *of_sentence]
        copied = first
    return [*result, *lines[copied:]]


def _set_in_misc(fields: list[str], key: str, value: str) -> None:
    """The value in place of the one that is there; none for what is outside of everything."""
    parts = [p for p in fields[MISC].split("|") if p != UNSPECIFIED and not p.startswith(key + "=")]
    parts += [f"{key}={value}"] * (value != OUTSIDE)
    fields[MISC] = "|".join(parts) or UNSPECIFIED
