"""What a template can do to a value: text in, text out, or nothing if the text is too short."""

import itertools
from collections.abc import Callable
from typing import NamedTuple


class Transform(NamedTuple):
    """
    >>> Transform("suffix", 3).apply("walking")
    'ing'
    """

    name: str
    size: int = 0  # of a prefix or suffix

    def apply(self, value: str) -> str | None:
        return TRANSFORMS[self.name](value, self.size)


def _sign(character: str) -> str:
    if character.isupper():
        return "X"
    if character.islower():
        return "x"
    return "0" if character.isdigit() else character


def _shape(value: str) -> str:
    return "".join(map(_sign, value))


TRANSFORMS: dict[str, Callable[[str, int], str | None]] = {
    "lower": lambda value, _: value.lower(),
    "prefix": lambda value, size: value[:size] if len(value) >= size else None,
    "suffix": lambda value, size: value[-size:] if len(value) >= size else None,
    "shape": lambda value, _: _shape(value),
    "brief": lambda value, _: "".join(sign for sign, _run in itertools.groupby(_shape(value))),
    "digits": lambda value, _: "".join("0" if c.isdigit() else c for c in value),
    "length": lambda value, _: str(len(value)),
}
SIZED = ("prefix", "suffix")
LONGEST_AFFIX = 20
