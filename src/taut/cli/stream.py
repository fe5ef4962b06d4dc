"""Text to be labelled, as it comes in, and the lines that answer it."""

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from taut.cli.data import Layout, check_kind
from taut.cli.json_data import json_text
from taut.cli.text_files import name_of
from taut.text.attributes import Attributes
from taut.text.columns import Column, Columns
from taut.text.reading import (
    AttributeBlock,
    ColumnBlock,
    ConlluBlock,
    JsonBlock,
    append_column,
    attribute_blocks,
    column_blocks,
    conllu_blocks,
    json_blocks,
    with_comments,
    with_labels,
)
from taut.text.reading.attribute_files import WITHOUT_TABS, is_without_tabs
from taut.text.reading.source import FormatError

NO_LABELLING = "_"
DIGITS = 10  # of probabilities in JSON: the last ones depend on the order of a sum


class Ranked(NamedTuple):
    """One of the most probable labellings of a sequence."""

    labels: list[str]
    probability: float


class Found(NamedTuple):
    """What a model says of the tokens of a piece."""

    labels: list[str]
    probabilities: list[float] | None = None  # of these labels
    nbest: list[list[Ranked]] | None = None  # of every sequence; fewer where no more are possible
    n_wanted: int = 0  # labellings of each sequence


class Piece(NamedTuple):
    """Whole sequences, as many as have arrived."""

    text: Columns | Attributes
    lines: np.ndarray  # the line of the file that each token is in, from 1
    answer: Callable[[Found], list[str]]  # the lines to write
    forced: Column | None = None  # labels to keep


def pieces(
    source: str,
    layout: Layout,
    as_columns: bool,
    *,
    labelled: bool = True,
    forced_column: int | None = None,
) -> Iterator[Piece]:
    """``as_columns`` is what the model wants, ``labelled`` whether attribute files have labels."""
    if forced_column is not None and layout.format != "columns":
        raise ValueError(f"--forced-column is for columns, but the format is {layout.format}")
    if layout.format == "columns":
        check_kind(as_columns, True, "columns")
        return _column_pieces(source, layout, forced_column)
    if layout.format == "conllu":
        check_kind(as_columns, True, "CoNLL-U")
        return _conllu_pieces(source, layout)
    if layout.format == "attributes":
        check_kind(as_columns, False, "attribute files")
        return _attribute_pieces(source, layout, labelled)
    return _json_pieces(source, layout, as_columns)


# --- columns --------------------------------------------------------------------------------------


def _column_pieces(source: str, layout: Layout, forced_column: int | None) -> Iterator[Piece]:
    blocks = column_blocks(
        source, encoding=layout.encoding, separator=layout.separator, comment=layout.comment
    )
    before = 1
    for block in blocks:
        forced = None
        if forced_column is not None and block.columns.columns:
            _check_column(block.columns, forced_column, source, "--forced-column")
            forced = block.columns.columns[forced_column]
        yield Piece(
            _without_labels(block.columns, layout, source),
            before + block.token_lines,
            partial(_columns_answer, block, layout.separator),
            forced,
        )
        before += len(block.lines)


def _without_labels(text: Columns, layout: Layout, source: str) -> Columns:
    """The columns of features: a file without labels is narrower than that of training."""
    number, width = layout.label_column, len(text.columns)
    if number is None or not width or width < layout.n_columns:
        return text
    _check_column(text, number, source, "--label-column")
    return text.without(number)[0]


def _check_column(text: Columns, number: int, source: str, option: str) -> None:
    width = len(text.columns)
    if not -width <= number < width:
        raise ValueError(
            f"{name_of(source)}: there are {width} columns; {option} {number} is none of them "
            "(they are counted from 0, or from the end by negative numbers)"
        )


def _columns_answer(block: ColumnBlock, separator: str | None, found: Found) -> list[str]:
    """The label, its probability, and two columns for each of the most probable labellings."""
    lines: Sequence[str] = block.lines
    for column in (found.labels, *_more_columns(found)):
        lines = append_column(lines, block.token_lines, column, separator)
    return list(lines)


def _more_columns(found: Found) -> list[list[str]]:
    """What stands after the labels, of all tokens.

    A labelling's probability stands beside each of its labels; where a sequence has fewer
    labellings than were asked for, there is NO_LABELLING with probability 0.
    """
    columns = [] if found.probabilities is None else [_rounded(found.probabilities)]
    for rank in range(found.n_wanted):
        labels: list[str] = []
        probabilities: list[str] = []
        for labellings in found.nbest or []:
            length = len(labellings[0].labels)
            none = Ranked([NO_LABELLING] * length, 0.0)
            ranked = labellings[rank] if rank < len(labellings) else none
            labels += ranked.labels
            probabilities += _rounded([ranked.probability]) * length
        columns += [labels, probabilities]
    return columns


def _rounded(probabilities: list[float]) -> list[str]:
    return [f"{probability:.4g}" for probability in probabilities]


# --- CoNLL-U --------------------------------------------------------------------------------------


def check_target(layout: Layout, learned: str | None) -> None:
    """Labels are written only where the model has learned them."""
    if layout.format == "conllu" and learned is not None and layout.label != learned:
        raise ValueError(
            f"the model was trained on {learned}; --label {layout.label} would write its labels "
            "there"
        )


def _conllu_pieces(source: str, layout: Layout) -> Iterator[Piece]:
    assert layout.label is not None
    before = 1
    for block in conllu_blocks(source, layout.label):
        answer = partial(_conllu_answer, block, layout.label)
        yield Piece(block.words, before + block.word_lines, answer)
        before += len(block.lines)


def _conllu_answer(block: ConlluBlock, label: str, found: Found) -> list[str]:
    rounded = None if found.probabilities is None else _rounded(found.probabilities)
    lines = with_labels(block.lines, block.word_lines, label, found.labels, rounded)
    if found.nbest is None:
        return lines
    comments = [
        [
            "\t".join([f"# nbest {rank} = {ranked.probability:.4g}", *ranked.labels])
            for rank, ranked in enumerate(labellings, 1)
        ]
        for labellings in found.nbest
    ]
    return with_comments(lines, block.word_lines, block.words.lengths, comments)


# --- attributes -----------------------------------------------------------------------------------


def _attribute_pieces(source: str, layout: Layout, labelled: bool) -> Iterator[Piece]:
    before = 1
    for block in attribute_blocks(source, encoding=layout.encoding, labelled=labelled):
        if is_without_tabs(block.data):
            raise FormatError(name_of(source), before + int(block.token_lines[0]), WITHOUT_TABS)
        answer = partial(_attributes_answer, block)
        yield Piece(block.data.attributes, before + block.token_lines, answer)
        before += len(block.lines)


def _attributes_answer(block: AttributeBlock, found: Found) -> list[str]:
    """Labels, and what else was asked for; an empty line after each sequence."""
    columns = [found.labels, *_more_columns(found)]
    rows = ["\t".join(row) for row in zip(*columns, strict=True)]
    lines, at = [], 0
    for length in block.data.attributes.lengths.tolist():
        lines += [*rows[at : at + length], ""]
        at += length
    return lines


# --- JSON lines -----------------------------------------------------------------------------------


def _json_pieces(source: str, layout: Layout, as_columns: bool) -> Iterator[Piece]:
    for block in json_blocks(source, encoding=layout.encoding):
        text = json_text(block, as_columns)
        lines = np.repeat(block.line_numbers, text.lengths)
        yield Piece(text, lines, partial(_json_answer, block, layout.encoding != "utf-8"))


def _json_answer(block: JsonBlock, ascii_only: bool, found: Found) -> list[str]:
    lines, at = [], 0
    for i, sequence in enumerate(block.objects):
        own = slice(at, at + len(sequence["tokens"]))
        answered = {**sequence, "labels": found.labels[own]}
        if found.probabilities is not None:
            answered["probabilities"] = list(map(_shortened, found.probabilities[own]))
        if found.nbest is not None:
            answered["nbest"] = [
                {"labels": ranked.labels, "probability": _shortened(ranked.probability)}
                for ranked in found.nbest[i]
            ]
        lines.append(json.dumps(answered, ensure_ascii=ascii_only))
        at = own.stop
    return lines


def _shortened(probability: float) -> float:
    return float(f"{probability:.{DIGITS}g}")
