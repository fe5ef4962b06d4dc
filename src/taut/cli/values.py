"""What the values of options may be; anything else is wrong usage."""

import argparse
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

PICTURES = (".png", ".pdf", ".svg")


def at_least(least: float) -> Callable[[str], Any]:
    """A number that is not less; whole if the bound is."""
    return _number(type(least), lambda value: value >= least, f"from {least} on")


def above(least: float) -> Callable[[str], float]:
    return _number(float, lambda value: value > least, f"above {least:g}")


def _number(kind: type, fits: Callable[[Any], bool], which: str) -> Callable[[str], Any]:
    what = "a whole number" if kind is int else "a number"

    def parse(text: str) -> Any:
        try:
            value = kind(text)
        except ValueError:
            value = math.nan
        if not (fits(value) and math.isfinite(value) and value < 2**31):
            raise argparse.ArgumentTypeError(f"{text!r} is not {what} {which}")
        return value

    return parse


def separator(text: str) -> str:
    character = "\t" if text == r"\t" else text
    if len(character) != 1 or character in "\r\n":
        raise argparse.ArgumentTypeError(f"{text!r} is not one character; '\\t' is a tab")
    return character


def picture(text: str) -> str:
    if Path(text).suffix.lower() not in PICTURES:
        raise argparse.ArgumentTypeError(f"{text!r} does not end in {', '.join(PICTURES)}")
    return text


def target(text: str) -> str:
    from taut.text.reading.conllu import checked_target  # numpy is needed only where it is used

    try:
        return checked_target(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def class_weight(text: str) -> str | dict[str, float]:
    """
    >>> class_weight("O=1,*=2"), class_weight("A=B=0.5"), class_weight("balanced")
    ({'O': 1.0, '*': 2.0}, {'A=B': 0.5}, 'balanced')
    """
    if text == "balanced":
        return text
    weights = {}
    for part in text.split(","):
        label, _, value = part.rpartition("=")
        if not label:
            raise argparse.ArgumentTypeError(
                f"{part!r} is not LABEL=WEIGHT; such as 'O=1,*=2', or balanced"
            )
        weights[label] = at_least(0.0)(value)
    return weights
