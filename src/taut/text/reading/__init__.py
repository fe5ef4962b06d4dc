"""Reading text, whole or as streams: columns, CoNLL-U, CRFsuite's attribute files, JSON lines."""

from taut.text.reading.attribute_files import (
    AttributeBlock,
    LabelledAttributes,
    attribute_blocks,
    read_attributes,
)
from taut.text.reading.column_files import (
    ColumnBlock,
    append_column,
    column_blocks,
    read_columns,
    read_columns_and_lines,
)
from taut.text.reading.conllu import (
    ConlluBlock,
    ConlluText,
    conllu_blocks,
    read_conllu,
    with_comments,
    with_labels,
)
from taut.text.reading.json_lines import JsonBlock, json_blocks
from taut.text.reading.source import FormatError, Source

__all__ = [
    "AttributeBlock",
    "ColumnBlock",
    "ConlluBlock",
    "ConlluText",
    "FormatError",
    "JsonBlock",
    "LabelledAttributes",
    "Source",
    "append_column",
    "attribute_blocks",
    "column_blocks",
    "conllu_blocks",
    "json_blocks",
    "read_attributes",
    "read_columns",
    "read_columns_and_lines",
    "read_conllu",
    "with_comments",
    "with_labels",
]
