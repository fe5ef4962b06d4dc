"""From columns and a template to a sparse matrix, without building a string per token.

A column is an array of numbers, one per token. What a transform does to a word is done once per
distinct word and looked up. A feature's attribute at a token is one number, written with the
numbers of its terms as digits: for ``w[-1]|w[0]``, ``code[t] = number of words * w[t-1] + w[t]``.
Distinct codes are then counted up (:mod:`taut.text.codes`). Where the digits would not fit in 63
bits, those joined so far are counted up first, which makes them short again.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import sparse

from taut._compile import compiled
from taut.arrays.sequences import checked_lengths
from taut.text.attributes import small_index
from taut.text.codes import CodeTable, number_codes
from taut.text.columns import Column, Columns
from taut.text.numbering import Numbering, check_codes
from taut.text.template import Feature, Template, Term, Transform

MOST_CODES = 2**62


class Derived(NamedTuple):
    """A column as the template sees it."""

    column: int
    transforms: tuple[Transform, ...]


class Place(NamedTuple):
    """Where each token stands in its sentence."""

    before: np.ndarray  # (n_tokens,) int32: tokens before it
    after: np.ndarray


@compiled
def _join(total, size, codes, offset, before, after):
    """Append a digit: that of the token ``offset`` away, -1 if there is none."""
    for t in range(total.size):
        if total[t] < 0 or before[t] + offset < 0 or offset > after[t]:
            total[t] = -1
        else:
            digit = codes[t + offset]
            total[t] = total[t] * size + digit if digit >= 0 else -1


@compiled
def _count(ids, indptr):
    """indptr[t + 1] = number of attributes of the tokens up to t."""
    for t in range(ids.shape[1]):
        present = 0
        for f in range(ids.shape[0]):
            present += ids[f, t] >= 0
        indptr[t + 1] = indptr[t] + present


@compiled
def _fill(ids, first, indices):
    """The attributes of all tokens; those of a token rise, because features come in order."""
    at = 0
    for t in range(ids.shape[1]):
        for f in range(ids.shape[0]):
            if ids[f, t] >= 0:
                indices[at] = first[f] + ids[f, t]
                at += 1


class TemplateEncoder:
    """Learns the attributes of training text, and finds them again in other text.

    >>> from taut.text.template import read_template
    >>> encoder = TemplateEncoder(read_template("w[0]; w[-1]|w[0]"))
    >>> text = Columns.from_sentences([["a", "b", "a"], ["b"]])
    >>> encoder.fit_transform(text).toarray().astype(int)
    array([[1, 0, 0, 0],
           [0, 1, 1, 0],
           [1, 0, 0, 1],
           [0, 1, 0, 0]])
    >>> encoder.names()
    ['w[0]=a', 'w[0]=b', 'w[-1]|w[0]=a|b', 'w[-1]|w[0]=b|a']
    """

    def __init__(self, template: Template, min_freq: int = 1):
        self.template = template
        self.min_freq = min_freq
        columns = [
            Derived(term.column, term.transforms)
            for feature in template.features
            for term in feature.terms
        ]
        self.derived = list(dict.fromkeys(columns))
        self.values: list[Numbering] = []  # of each derived column, as in training
        # Of each feature; the last one numbers its attributes, others shorten long codes.
        self.tables: list[list[CodeTable]] = []

    @property
    def n_attributes(self) -> int:
        return int(self._first()[-1])

    def _first(self) -> np.ndarray:
        """The number of each feature's first attribute, and of all attributes."""
        return np.cumsum([0, *(len(tables[-1]) for tables in self.tables)])

    # --- learning and finding -------------------------------------------------------------------

    def fit_transform(self, text: Columns) -> sparse.csr_array:
        text = self._checked(text)
        self.values = [Numbering() for _ in self.derived]
        self.tables = [[] for _ in self.template.features]

        def learn_value(k: int, values: list[str]) -> np.ndarray:
            return self.values[k].number(values)

        def learn(f: int, stage: int, codes: np.ndarray) -> np.ndarray:
            keys, _, ids = number_codes(codes)
            self.tables[f].append(CodeTable(keys))
            return ids

        def learn_attributes(f: int, stage: int, codes: np.ndarray) -> np.ndarray:
            keys, counts, ids = number_codes(codes)
            if self.min_freq > 1:
                frequent = counts >= self.min_freq
                rank = np.append(np.where(frequent, np.cumsum(frequent) - 1, -1), -1)
                keys, ids = keys[frequent], rank[ids].astype(np.int32)  # ids of -1 stay -1
            self.tables[f].append(CodeTable(keys))
            return ids

        return self._matrix(text, learn_value, learn, learn_attributes)

    def transform(self, text: Columns) -> sparse.csr_array:
        """The attributes known from training; others are left out."""
        text = self._checked(text)

        def find_value(k: int, values: list[str]) -> np.ndarray:
            return self.values[k].find(values)

        def find(f: int, stage: int, codes: np.ndarray) -> np.ndarray:
            return self.tables[f][stage].find(codes)

        return self._matrix(text, find_value, find, find)

    def _matrix(
        self, text: Columns, number_value: Callable, shorten: Callable, number: Callable
    ) -> sparse.csr_array:
        place = _places(text.lengths)
        codes = [
            _derive(text.columns[column], transforms, lambda values, k=k: number_value(k, values))
            for k, (column, transforms) in enumerate(self.derived)
        ]
        ids = np.empty((len(self.template.features), text.n_tokens), np.int32)
        for f, feature in enumerate(self.template.features):
            total = self._codes(feature, codes, place, lambda stage, c, f=f: shorten(f, stage, c))
            stages = self._plan(feature).count(True)
            ids[f] = number(f, stages, total)
        return _assemble(ids, self._first())

    def _codes(
        self, feature: Feature, codes: list[np.ndarray], place: Place, shorten: Callable
    ) -> np.ndarray:
        """One number per token that tells the feature's attributes apart; -1 for none."""
        total = np.zeros(place.before.size, np.int64)
        if "BOS" in feature.boundaries:
            total[place.before > 0] = -1
        if "EOS" in feature.boundaries:
            total[place.after > 0] = -1
        stage = 0
        for term, is_long in zip(feature.terms, self._plan(feature), strict=True):
            if is_long:
                total = shorten(stage, total).astype(np.int64)
                stage += 1
            k = self._derived_of(term)
            _join(total, self._size(k), codes[k], term.offset, *place)
        return total

    def _derived_of(self, term: Term) -> int:
        return self.derived.index(Derived(term.column, term.transforms))

    def _size(self, k: int) -> int:
        return max(len(self.values[k]), 1)

    def _plan(self, feature: Feature) -> list[bool]:
        """Before which terms the code must be shortened to have room for another digit.

        A shortened code is below 2^31, because there are no more tokens.
        """
        plan, reach = [], 1
        for term in feature.terms:
            size = self._size(self._derived_of(term))
            plan.append(reach * size > MOST_CODES)
            reach = (2**31 if plan[-1] else reach) * size
        return plan

    def _checked(self, text: Columns) -> Columns:
        needed, given = self.template.n_columns, len(text.columns)
        if text.n_tokens == 0:  # then nobody can know how many columns it has
            return text._replace(columns=(Column(np.zeros(0, np.int32), []),) * needed)
        if given < needed:
            raise ValueError(
                f"the template uses column {needed - 1} (counted from 0; the named ones are "
                f"{', '.join(self.template.columns)}) but the text has {given} beside the label; "
                "choose another template, or add the column"
            )
        for number, column in enumerate(text.columns[:needed]):
            checked_lengths(text.lengths, len(column.codes), f"tokens in column {number}")
            check_codes(column.codes, len(column.values), f"column {number}", "values")
        return text

    # --- what the model file and people want to know --------------------------------------------

    def names(self) -> list[str]:
        """The attributes as text, in order of their numbers."""
        values = [numbering.values for numbering in self.values]
        return [
            name
            for feature, tables in zip(self.template.features, self.tables, strict=True)
            for name in self._names_of(feature, tables, values)
        ]

    def _names_of(
        self, feature: Feature, tables: list[CodeTable], values: list[list[str]]
    ) -> list[str]:
        rest, stage = tables[-1].keys, len(tables) - 1
        parts: list[list[str]] = []
        for term, is_long in zip(feature.terms[::-1], self._plan(feature)[::-1], strict=True):
            k = self._derived_of(term)
            rest, digits = np.divmod(rest, self._size(k))
            parts.insert(0, [values[k][digit] for digit in digits.tolist()])
            if is_long:
                stage -= 1
                rest = tables[stage].keys[rest]
        if not parts:
            return [feature.name] * len(tables[-1])
        prefix = f"{feature.name}="
        return [prefix + "|".join(value) for value in zip(*parts, strict=True)]

    def check(self) -> None:
        """Refuse tables that do not belong to the template (those of a damaged file)."""
        for feature, tables in zip(self.template.features, self.tables, strict=True):
            plan = self._plan(feature)
            if len(tables) != plan.count(True) + 1:
                raise ValueError(f"the attributes of {feature.name} are not complete")
            reach, stage = 1, 0
            for term, is_long in zip(feature.terms, plan, strict=True):
                if is_long:
                    self._check_keys(feature, tables[stage], reach)
                    reach, stage = len(tables[stage]), stage + 1
                reach *= len(self.values[self._derived_of(term)])  # nothing, where it has no values
            self._check_keys(feature, tables[-1], reach)

    def _check_keys(self, feature: Feature, table: CodeTable, reach: int) -> None:
        if table.keys.ndim != 1:
            raise ValueError(f"the attributes of {feature.name} are not in a row")
        keys = np.sort(table.keys)
        if keys.size and (keys[0] < 0 or keys[-1] >= reach):
            raise ValueError(f"an attribute of {feature.name} has parts that do not exist")
        if np.any(keys[1:] == keys[:-1]):
            raise ValueError(f"an attribute of {feature.name} is there twice")

    def keep(self, wanted: np.ndarray) -> None:
        """Forget the attributes that are not wanted (a flag for each)."""
        parts = np.split(wanted, self._first()[1:-1])
        self.tables = [
            [*shortening, CodeTable(last.keys[kept])]
            for (*shortening, last), kept in zip(self.tables, parts, strict=True)
        ]


def _places(lengths: np.ndarray) -> Place:
    before = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    after = np.repeat(lengths, lengths) - 1 - before
    return Place(before.astype(np.int32), after.astype(np.int32))


def _derive(column: Column, transforms: tuple[Transform, ...], number: Callable) -> np.ndarray:
    """The column's numbers after its distinct values were transformed; -1 where nothing is left."""
    values: list[str | None] = list(column.values)
    for transform in transforms:
        values = [None if value is None else transform.apply(value) for value in values]
    table = np.full(len(values), -1, np.int32)
    left = np.array([value is not None for value in values], bool)
    table[left] = number([value for value in values if value is not None])
    return table[column.codes] if len(table) else np.zeros(0, np.int32)


def _assemble(ids: np.ndarray, first: np.ndarray) -> sparse.csr_array:
    indptr = np.zeros(ids.shape[1] + 1, np.int64)
    _count(ids, indptr)
    indices = np.empty(indptr[-1], np.int32)
    _fill(ids, first.astype(np.int32), indices)
    matrix = sparse.csr_array(
        (np.ones(len(indices)), indices, small_index(indptr)), (ids.shape[1], int(first[-1]))
    )
    matrix.has_canonical_format = True  # sorted and without repetition, by construction
    return matrix
