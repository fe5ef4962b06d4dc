"""Reading text: column files, CRFsuite's attribute files and JSON lines, whole or as streams."""

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
)
from taut.text.reading.json_lines import JsonBlock, json_blocks
from taut.text.reading.source import FormatError, Source

__all__ = [
    "AttributeBlock",
    "ColumnBlock",
    "FormatError",
    "JsonBlock",
    "LabelledAttributes",
    "Source",
    "append_column",
    "attribute_blocks",
    "column_blocks",
    "json_blocks",
    "read_attributes",
    "read_columns",
]
