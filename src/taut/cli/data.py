"""Labelled files of all formats, as what encoders and the label codec want.

A template makes features of columns, other models take attributes as they are. Column files hold
columns, attribute files attributes; JSON lines hold either, depending on who asks.
"""

import re
from argparse import Namespace
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from taut.chain_model import ChainModel
from taut.cli.parser import ENCODINGS, FORMATS
from taut.model_file import ModelFileError
from taut.text.attributes import Attributes
from taut.text.columns import Column, Columns, ColumnsBuilder
from taut.text.dicts import attributes_of
from taut.text.extract import TemplateEncoder
from taut.text.numbering import Numbering
from taut.text.reading import FormatError, JsonBlock, json_blocks, read_attributes, read_columns

Text = Columns | Attributes


class Labelled(NamedTuple):
    text: Text
    labels: Column
    weights: np.ndarray | None = None  # of sequences; None if all are 1


@dataclass(frozen=True)
class Layout:
    """How a file is to be read; the model file keeps it, so that other files are read alike."""

    format: str = "columns"
    encoding: str = "utf-8"
    separator: str | None = None
    comment: str | None = None
    label_column: int = -1
    n_columns: int = 0  # of the training file; 0 if not known

    def changed(self, options: Namespace) -> "Layout":
        """With what the command line says otherwise."""
        names = ("format", "encoding", "separator", "comment", "label_column")
        given = {name: getattr(options, name) for name in names}
        layout = replace(self, **{k: value for k, value in given.items() if value is not None})
        if layout.format != "columns":
            for name in ("separator", "comment", "label_column"):
                if given[name] is not None:
                    raise ValueError(
                        f"--{name.replace('_', '-')} is for columns, but the format is "
                        f"{layout.format}; leave it out, or say --format columns"
                    )
        if given["label_column"] is not None:
            layout = replace(layout, n_columns=0)  # it is there, whatever was in training
        return layout


def guessed_format(path: str) -> str:
    """
    >>> guessed_format("train.jsonl.gz"), guessed_format("train.txt")
    ('jsonl', 'columns')
    """
    return "jsonl" if re.search(r"\.jsonl(\.gz)?$", path, re.IGNORECASE) else "columns"


def layout_of(model: ChainModel, header: dict[str, Any]) -> Layout:
    """As in training; what a model from Python does not say follows from its encoder."""
    if model.encoder is None:
        raise ValueError(
            "the model was trained on matrices of numbers, not on text; use taut.load in Python"
        )
    kept = header.get("options")
    kept = kept if isinstance(kept, dict) else {}
    by_encoder = "columns" if isinstance(model.encoder, TemplateEncoder) else "attributes"
    layout = Layout(
        kept.get("format", by_encoder),
        kept.get("encoding", "utf-8"),
        kept.get("separator"),
        kept.get("comment"),
        kept.get("label_column", -1),
        kept.get("n_columns", 0),
    )
    # The file may say anything.
    texts, numbers = (layout.separator, layout.comment), (layout.label_column, layout.n_columns)
    if (
        layout.format not in FORMATS
        or layout.encoding not in ENCODINGS
        or not all(text is None or isinstance(text, str) for text in texts)
        or not all(type(number) is int for number in numbers)
    ):
        raise ModelFileError(f"the model file says its text is read in an unknown way: {layout}")
    return layout


def wants_columns(model: ChainModel) -> bool:
    return isinstance(model.encoder, TemplateEncoder)


def read_labelled(path: str, layout: Layout, as_columns: bool | None) -> tuple[Labelled, Layout]:
    """A whole file, and its layout with what was not known before: the number of columns.

    ``as_columns`` is what the encoder wants; None leaves it to the data.
    """
    if layout.format == "jsonl":
        return _read_json(path, layout, as_columns), layout
    if layout.format == "attributes":
        _check_kind(as_columns, False, "attribute files")
        data = read_attributes(path, encoding=layout.encoding)
        assert data.labels is not None
        return Labelled(data.attributes, data.labels, _unless_all_one(data.weights)), layout
    _check_kind(as_columns, True, "columns")
    columns = read_columns(
        path, encoding=layout.encoding, separator=layout.separator, comment=layout.comment
    )
    text, labels, layout = _split(columns, layout, path)
    return Labelled(text, labels), layout


def _check_kind(wanted: bool | None, given: bool, what: str) -> None:
    if wanted is not None and wanted != given:
        needed = "columns, by a template" if wanted else "attributes"
        raise ValueError(
            f"the model makes its features of {needed}, and cannot read {what}; see --format"
        )


def _split(columns: Columns, layout: Layout, path: str) -> tuple[Columns, Column, Layout]:
    """Features and labels."""
    width, number = len(columns.columns), layout.label_column
    if layout.n_columns > width or not -width <= number < width:
        raise ValueError(
            f"{path}: there are {width} columns, but the labels should be in column {number} "
            f"(counted from 0); say where they are by --label-column"
        )
    if width == 1:
        raise ValueError(f"{path}: there is one column only; labels and something else are needed")
    text, labels = columns.without(number)
    return text, labels, replace(layout, label_column=number % width, n_columns=width)


def _unless_all_one(weights: np.ndarray) -> np.ndarray | None:
    return None if np.all(weights == 1.0) else weights


# --- JSON lines -----------------------------------------------------------------------------------


def _read_json(path: str, layout: Layout, as_columns: bool | None) -> Labelled:
    labels, label_codes, weights = Numbering(), [], []

    def parts() -> Iterator[Text]:
        for block in json_blocks(path, encoding=layout.encoding):
            for i, given in enumerate(block.labels):
                if given is None:
                    raise block.error(i, 'there are no "labels"; every line needs them here')
            label_codes.append(labels.number(chain.from_iterable(block.labels)))  # type: ignore[arg-type]
            weights.extend(block.weights)
            # A string alone is a word; lists of strings are attributes unless columns are wanted.
            is_column = block.kind == "strings" if as_columns is None else as_columns
            yield json_text(block, is_column)

    text = _joined(parts())
    column = Column(np.concatenate(label_codes), labels.values)
    return Labelled(text, column, _unless_all_one(np.array(weights)))


def json_text(block: JsonBlock, as_columns: bool) -> Text:
    """The tokens of a block as columns or as attributes."""
    if as_columns:
        return _json_columns(block)
    try:
        return attributes_of(block.tokens, "tokens")
    except (TypeError, ValueError):
        for i, tokens in enumerate(block.tokens):  # which line was it?
            try:
                attributes_of([tokens], "tokens")
            except (TypeError, ValueError) as error:
                raise block.error(i, str(error).replace("tokens[0]", "tokens", 1)) from None
        raise


def _json_columns(block: JsonBlock) -> Columns:
    if block.kind == "features":
        raise block.error(
            0, "the tokens are objects; a template makes features of strings or lists of strings"
        )
    if block.kind == "rows":
        width = len(block.tokens[0][0])
        for i, tokens in enumerate(block.tokens):
            for t, row in enumerate(tokens):
                if len(row) != width:
                    raise block.error(i, f"tokens[{t}] has {len(row)} columns, not {width}")
    return Columns.from_sentences(block.tokens)


def _joined(parts: Iterable[Text]) -> Text:
    """One text of several; only numbers and distinct strings are kept of each."""
    collected, numberings = [], []
    for part in parts:
        values = [part.names] if isinstance(part, Attributes) else [c.values for c in part.columns]
        numberings = numberings or [Numbering() for _ in values]
    raise NotImplementedError
