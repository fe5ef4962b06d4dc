"""JSON lines as columns or as attributes, a block at a time: no more is kept than numbers and
distinct strings."""

from itertools import chain

import numpy as np

from taut.cli.labelled import AttributesBuilder, Labelled, Places
from taut.cli.text_files import name_of
from taut.text.attributes import Attributes
from taut.text.columns import Column, Columns, ColumnsBuilder
from taut.text.dicts import attributes_of
from taut.text.numbering import Numbering
from taut.text.reading import JsonBlock, json_blocks


def read_json(path: str, encoding: str, as_columns: bool | None) -> Labelled:
    """A whole file.

    Left to the data (None), a string alone is a word in a column, and a list of strings are
    attributes.
    """
    labels, codes, weights, lines = Numbering(), [], [np.zeros(0)], []
    text: ColumnsBuilder | AttributesBuilder | None = None
    for block in json_blocks(path, encoding=encoding):
        codes.append(labels.number(chain.from_iterable(_labels(block))))
        weights.append(np.array(block.weights))
        lines.append(np.repeat(block.line_numbers, list(map(len, block.tokens))))
        if as_columns is None:
            as_columns = block.kind == "strings"
        text = text or (ColumnsBuilder() if as_columns else AttributesBuilder())
        if isinstance(text, ColumnsBuilder):
            _check_rows(block, len(text.numbering))
            text.add(block.tokens)
        else:
            text.add(_attributes(block))
    assert text is not None  # the reader refuses a file without sequences
    given = np.concatenate(weights)
    column = Column(np.concatenate(codes), labels.values)
    places = Places([name_of(path)], np.array([len(column.codes)]), np.concatenate(lines))
    return Labelled(text.build(), column, None if all_ones(given) else given, places)


def json_text(block: JsonBlock, as_columns: bool) -> Columns | Attributes:
    """The tokens of one block."""
    if not as_columns:
        return _attributes(block)
    _check_rows(block, 0)
    return Columns.from_sentences(block.tokens)


def all_ones(weights: np.ndarray) -> bool:
    return bool(np.all(weights == 1.0))


def _labels(block: JsonBlock) -> list[list[str]]:
    for i, labels in enumerate(block.labels):
        if labels is None:
            raise block.error(i, 'there are no "labels"; here every line needs them')
    return block.labels  # type: ignore[return-value]


def _check_rows(block: JsonBlock, width: int) -> None:
    """Columns are as many in every token; ``width`` is 0 if that is not known yet."""
    if block.kind == "features":
        raise block.error(
            0, "the tokens are objects; a template makes features of strings or lists of strings"
        )
    if block.kind == "rows":
        width = width or len(block.tokens[0][0])
        if width == 0:
            raise block.error(0, "tokens[0] is an empty list; a template needs a string at least")
        for i, tokens in enumerate(block.tokens):
            for t, row in enumerate(tokens):
                if len(row) != width:
                    raise block.error(
                        i, f"tokens[{t}] has {len(row)} strings, but the first token has {width}"
                    )


def _attributes(block: JsonBlock) -> Attributes:
    try:
        return attributes_of(block.tokens, "tokens")
    except (TypeError, ValueError):
        for i, tokens in enumerate(block.tokens):  # which line was it?
            try:
                attributes_of([tokens], "tokens")
            except (TypeError, ValueError) as error:
                raise block.error(i, str(error).replace("tokens[0]", "tokens", 1)) from None
        raise
