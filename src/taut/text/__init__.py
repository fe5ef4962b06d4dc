"""Text in numbers: columns, attributes, templates, tagging schemes; readers in ``text.reading``."""

from taut.text.attributes import Attributes
from taut.text.columns import Column, Columns
from taut.text.schemes import Scheme
from taut.text.template import Template, TemplateError, read_template

__all__ = [
    "Attributes",
    "Column",
    "Columns",
    "Scheme",
    "Template",
    "TemplateError",
    "read_template",
]
