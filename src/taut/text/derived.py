"""Columns as a template sees them, in numbers, and codes made of such numbers as digits."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from taut.text.columns import Column
from taut.text.loops import loops
from taut.text.phrases import Phrases
from taut.text.template_parts import Term
from taut.text.transforms import OF_COLUMNS, Transform
from taut.text.word_files import WordFiles

OUTSIDE = ("-1", "-2", "-3", "-4", "-#", "+1", "+2", "+3", "+4", "+#")  # names of places there


class Derived(NamedTuple):
    """A column as the template sees it."""

    column: int
    transforms: tuple[Transform, ...]
    outside: str


class Coded(NamedTuple):
    """A derived column in numbers."""

    codes: np.ndarray  # (n_tokens,) int32, -1 for nothing
    outside: np.ndarray  # (10,) int32: of the places outside the sentence; empty: nothing is there


class Place(NamedTuple):
    """Where each token stands in its sentence."""

    before: np.ndarray  # (n_tokens,) int32: tokens before it
    after: np.ndarray


def places_of(lengths: np.ndarray) -> Place:
    before = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    after = np.repeat(lengths, lengths) - 1 - before
    return Place(before.astype(np.int32), after.astype(np.int32))


def derived_of(term: Term) -> Derived:
    return Derived(term.column, term.transforms, term.outside)


def derive(
    column: Column, derived: Derived, number: Callable, place: Place, files: WordFiles
) -> Coded:
    """The column's numbers after its distinct values were transformed; -1 where nothing is left."""
    values: list[str | None] = list(column.values)
    if derived.outside:
        values += [derived.outside + at for at in OUTSIDE]
    transforms, codes = derived.transforms, column.codes
    if transforms and transforms[-1].name in OF_COLUMNS:
        transforms = transforms[:-1]
    functions = [transform.function(files) for transform in transforms]
    for function in functions:
        values = [None if value is None else function(value) for value in values]
    if derived.transforms and derived.transforms[-1].name == "gazetteer":
        phrases = files["gazetteer", derived.transforms[-1].pattern]
        assert isinstance(phrases, Phrases)
        codes = phrases.mark(phrases.tree(transforms, functions), values, codes, place.after)
        values = [*phrases.names]
    table = np.full(len(values) + 1, -1, np.int32)  # the last is for tokens that have nothing
    left = np.array([*(value is not None for value in values), False], bool)
    table[left] = number([value for value in values if value is not None])
    return Coded(table[codes], table[len(column.values) : -1])


def join_term(totals: np.ndarray, terms: list[tuple[Term, Coded]], size: int, place: Place) -> None:
    """Append a digit to each row of codes: that of its term, in place."""
    by = loops()
    for total, (term, coded) in zip(totals, terms, strict=True):
        if term.outside:
            by.join_anywhere(total, size, *coded, term.offset, term.origin, *place)
        else:
            by.join(total, size, coded.codes, term.offset, *place)
