"""Labelled files of all formats, as what encoders and the label codec want.

A template makes features of columns, other models take attributes as they are. Column files hold
columns, attribute files attributes; JSON lines hold either, depending on who asks.
"""

import os
import re
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from taut.chain.packed_encoder import Encoder
from taut.cli.json_data import all_ones, read_json
from taut.cli.labelled import Labelled, Places, joined
from taut.cli.options import ENCODINGS, FORMATS
from taut.cli.text_files import name_of, name_of_all
from taut.files.model_file import ModelFileError
from taut.labels import few
from taut.text.attributes import Attributes
from taut.text.columns import Column, Columns
from taut.text.extract import TemplateEncoder
from taut.text.reading import read_attributes, read_columns_and_lines, read_conllu
from taut.text.reading.source import text_blocks


@dataclass(frozen=True)
class Layout:
    """How a file is to be read; the model file keeps it, so that other files are read alike."""

    format: str = "columns"
    encoding: str = "utf-8"
    separator: str | None = None
    comment: str | None = None
    label_column: int | None = None  # None: the last, if there are labels
    n_columns: int = 0  # of the training file, by which labels are known to be there; 0: not known
    label: str | None = None  # of CoNLL-U: what is learned

    def changed(self, options: Namespace) -> "Layout":
        """With what the command line says otherwise."""
        names = ("format", "encoding", "separator", "comment", "label_column", "label")
        given = {name: getattr(options, name) for name in names}
        layout = replace(self, **{k: value for k, value in given.items() if value is not None})
        if layout.format != "columns":
            for name in ("separator", "comment", "label_column"):
                if given[name] is not None:
                    raise ValueError(
                        f"--{name.replace('_', '-')} is for columns, but the format is "
                        f"{layout.format}; leave it out, or say --format columns"
                    )
        _check_label(layout, given["label"])
        if given["label_column"] is not None:
            layout = replace(layout, n_columns=0)  # labels are there, however many columns
        return layout


def _check_label(layout: Layout, given: str | None) -> None:
    if layout.format != "conllu":
        if given is not None:
            raise ValueError(
                f"--label is for CoNLL-U, but the format is {layout.format}; leave it out, or say "
                "--format conllu"
            )
    elif layout.label is None:
        raise ValueError(
            "--format conllu needs --label: upos, xpos, feats, upos+feats, deprel or misc:KEY"
        )
    elif layout.encoding != "utf-8":
        raise ValueError("CoNLL-U is UTF-8; leave out --encoding")


def guessed_format(files: Sequence[str]) -> str:
    """By their names, which must not disagree.

    >>> guessed_format(["a.conllu", "b.conllu.gz"])
    'conllu'
    """
    formats = [_format_of_name(path) for path in files]
    for path, found in zip(files, formats, strict=True):
        if found != formats[0]:
            raise ValueError(
                f"{name_of(path)} is read as {found}, by its name, but {name_of(files[0])} as "
                f"{formats[0]}; give files of one format, or say which it is by --format"
            )
    return formats[0]


def _format_of_name(path: str) -> str:
    """
    >>> [_format_of_name(name) for name in ("train.jsonl.gz", "train.crfsuite", "train")]
    ['jsonl', 'attributes', 'columns']
    """
    known = re.search(r"\.(jsonl|crfsuite|conllu)(\.txt)?(\.gz)?$", path, re.IGNORECASE)
    if known is None:
        return "columns"
    return {"crfsuite": "attributes"}.get(known[1].lower(), known[1].lower())


def looks_like_attributes(path: str, encoding: str) -> bool:
    """Whether a file that is not named so seems to be CRFsuite's, by its first lines.

    Tabs separate, and half of the fields or more after the first are like ``w=the`` or
    ``length:3``. Labels may be like that, too, but they stand beside words, which are more various;
    an attribute file begins with labels, which are less.
    """
    if not os.path.isfile(path):
        return False  # what was read of a pipe could not be read again
    lines = next(text_blocks(path, encoding)).lines()[:200]
    rows = [line.split("\t") for line in lines if line.strip()]
    fields = [field for row in rows for field in row[1:]]
    alike = sum(bool(re.match(r"[^=:]+[=:].", field)) for field in fields)
    if not alike or alike < len(fields) / 2:
        return False
    first = {row[0] for row in rows}
    places = range(1, max(map(len, rows)))
    return any(len({row[k] for row in rows if len(row) > k}) > len(first) for k in places)


def layout_of(encoder: Encoder | None, header: dict[str, Any]) -> Layout:
    """As in training; what a model from Python does not say follows from its encoder."""
    if encoder is None:
        raise ValueError(
            "the model was trained on matrices of numbers, not on text; use taut.load in Python"
        )
    kept = header["options"]
    by_encoder = "columns" if isinstance(encoder, TemplateEncoder) else "attributes"
    layout = Layout(
        kept.get("format", by_encoder),
        kept.get("encoding", "utf-8"),
        kept.get("separator"),
        kept.get("comment"),
        kept.get("label_column"),
        kept.get("n_columns", 0),
        kept.get("label"),
    )
    # The file may say anything.
    if (
        layout.format not in FORMATS
        or layout.encoding not in ENCODINGS
        or not isinstance(layout.separator, str | None)
        or not isinstance(layout.comment, str | None)
        or not isinstance(layout.label_column, int | None)
        or not isinstance(layout.n_columns, int)
        or not isinstance(layout.label, str | None)
    ):
        raise ModelFileError(f"the model file says its text is read in an unknown way: {layout}")
    return layout


def wants_columns(encoder: Encoder | None) -> bool:
    return isinstance(encoder, TemplateEncoder)


def read_labelled(
    files: Sequence[str], layout: Layout, as_columns: bool | None
) -> tuple[Labelled, Layout]:
    """Whole files, as if they were one, and their layout with what was not known before: the number
    of columns.

    ``as_columns`` is what the encoder wants; None leaves it to the data.
    """
    parts, layouts = [], []
    for path in files:
        part, own = _read_file(path, layout, as_columns)
        parts.append(part)
        layouts.append(own)
        _check_alike(parts[0].text, part.text, files[0], path)
    return joined(parts), layouts[0]


def _check_alike(first: Columns | Attributes, other: Columns | Attributes, *paths: str) -> None:
    """What is trained on together has the same columns, or none."""
    one, two = map(name_of, paths)
    if isinstance(first, Columns) and isinstance(other, Columns):
        given, wanted = len(other.columns), len(first.columns)
        if given != wanted:
            raise ValueError(
                f"{two}: there are {given + 1} columns, but {one} has {wanted + 1}; files that are "
                "read together need the same columns"
            )
    elif isinstance(first, Columns) != isinstance(other, Columns):
        kinds = ["words" if isinstance(text, Columns) else "features" for text in (other, first)]
        raise ValueError(
            f"{two}: the tokens are {kinds[0]}, but those of {one} are {kinds[1]}; files that are "
            "read together need tokens of one kind"
        )


def _read_file(path: str, layout: Layout, as_columns: bool | None) -> tuple[Labelled, Layout]:
    if layout.format == "jsonl":
        return read_json(path, layout.encoding, as_columns), layout
    if layout.format == "attributes":
        check_kind(as_columns, False, "attribute files")
        data = read_attributes(path, encoding=layout.encoding)
        assert data.labels is not None
        weights = None if all_ones(data.weights) else data.weights
        return Labelled(data.attributes, data.labels, weights, _places(path, data.lines)), layout
    check_kind(as_columns, True, "columns")
    if layout.format == "conllu":
        assert layout.label is not None
        bank = read_conllu(path, layout.label)
        return Labelled(bank.words, bank.labels, None, _places(path, bank.lines)), layout
    columns, lines = read_columns_and_lines(
        path, encoding=layout.encoding, separator=layout.separator, comment=layout.comment
    )
    text, labels, layout = _split(columns, layout, path)
    return Labelled(text, labels, None, _places(path, lines)), layout


def _places(path: str, lines: np.ndarray) -> Places:
    return Places([name_of(path)], np.array([len(lines)]), lines)


# What may be wrong where labels are not what they should be.
LABEL_OPTIONS = {"columns": "--label-column", "conllu": "--label"}


def check_known(labels: Column, classes: list[str], files: Sequence[str], layout: Layout) -> None:
    """Text of whose labels the model knows none was not read as it was meant."""
    if set(labels.values).isdisjoint(classes):
        option = LABEL_OPTIONS.get(layout.format, "--format")
        raise ValueError(
            f"none of the labels in {name_of_all(files)} (such as {labels.values[0]!r}) is known "
            f"to the model ({few(classes)}); see {option}"
        )


def numbers_of(labels: Column, classes: list[str]) -> np.ndarray:
    """Those of the model, -1 for labels that it does not know."""
    number = {name: k for k, name in enumerate(classes)}
    return np.array([number.get(value, -1) for value in labels.values], np.int32)[labels.codes]


def check_width(text: Columns | Attributes, encoder: Any, name: str) -> None:
    """The encoder would say so, too, but knows no file, and of a template to be chosen."""
    if not isinstance(encoder, TemplateEncoder) or not isinstance(text, Columns):
        return
    needed, given = encoder.template.n_columns, len(text.columns)
    if len(text.lengths) and given < needed:
        raise ValueError(
            f"{name}: there {'is' if given == 1 else 'are'} {given} "
            f"column{'s' * (given != 1)} (labels not counted), but the model's template needs "
            f"{needed}"
        )


def check_kind(wanted: bool | None, given: bool, what: str) -> None:
    if wanted is not None and wanted != given:
        needed = "columns, by a template" if wanted else "attributes"
        raise ValueError(
            f"the model makes its features of {needed}, and cannot read {what}; see --format"
        )


def _split(columns: Columns, layout: Layout, path: str) -> tuple[Columns, Column, Layout]:
    """Features and labels."""
    width = len(columns.columns)
    number = -1 if layout.label_column is None else layout.label_column
    if layout.n_columns > width or not -width <= number < width:
        raise ValueError(
            f"{name_of(path)}: there are {width} columns, but the labels should be in "
            f"column {number} (counted from 0); say where they are by --label-column"
        )
    if width == 1:
        raise ValueError(
            f"{name_of(path)}: there is one column only; labels and something else are needed"
        )
    text, labels = columns.without(number)
    return text, labels, replace(layout, label_column=number % width, n_columns=width)
