"""Options, as people of Python and of the command line write them.

A text that is for both marks the options it names, as an assignment where the value matters: "lower
‹tol›", "give another path, or ‹resume=False› to start anew".
"""

import re
import shlex
from enum import Enum
from typing import Self

MARKED = re.compile("‹([a-zA-Z_]+)(?:=([^›]*))?›")
# Where an option of the command line is not called as in Python.
OTHERWISE = {"labelled=False": "--unlabelled"}


def in_python(text: str) -> str:
    """
    >>> in_python("raise ‹max_passes›, or say ‹resume=False›")
    'raise max_passes, or say resume=False'
    """
    return MARKED.sub(lambda found: found[0][1:-1], text)


def in_command(text: str) -> str:
    """
    >>> in_command('raise ‹max_passes›, or say ‹resume=False›; ‹encoding="latin-1"›')
    'raise --max-passes, or say no --resume; --encoding latin-1'
    """

    def option(found: re.Match[str]) -> str:
        if found[0][1:-1] in OTHERWISE:
            return OTHERWISE[found[0][1:-1]]
        name, value = "--" + found[1].replace("_", "-"), found[2]
        if value is None or value == "True":
            return name
        return f"no {name}" if value == "False" else f"{name} {shlex.quote(value.strip(chr(34)))}"

    return MARKED.sub(option, text)


class OptionError(ValueError):
    """An error whose remedy is an option, marked in the text that it is made of."""

    def __init__(self, marked: str):
        super().__init__(in_python(marked))
        self.marked = marked


class OptionText(Enum):
    """Texts that name options: ``value`` is for Python, ``marked`` can be spelled."""

    marked: str

    def __new__(cls, marked: str) -> Self:
        member = object.__new__(cls)
        member._value_ = in_python(marked)
        member.marked = marked
        return member
