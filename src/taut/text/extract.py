"""From columns and a template to a sparse matrix, without building a string per token.

A column is an array of numbers, one per token. What a transform does to a word is done once per
distinct word and looked up. A feature's attribute at a token is one number, written with the
numbers of its terms as digits: for ``w[-1]|w[0]``, ``code[t] = number of words * w[t-1] + w[t]``.
Distinct codes are then counted up (:mod:`taut.text.codes`). Where the digits would not fit in 63
bits, those joined so far are counted up first, which makes them short again.

In templates of CRF++ and Wapiti what is outside the sentence has a value, too, and features whose
texts are the same share their attributes: their values are numbered together, and so are their
codes.
"""

import itertools
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from taut.arrays.lengths import checked_lengths
from taut.text.attribute_matrix import AttributeRows, assemble, vector_block
from taut.text.codes import CodeTable, number_codes
from taut.text.columns import Column, Columns
from taut.text.derived import Coded, Place, derive, derived_of, join_term, places_of
from taut.text.numbering import Numbering, check_codes
from taut.text.template_parts import Feature, Template, Term, is_vector
from taut.text.word_files import Vectors

if TYPE_CHECKING:
    from scipy import sparse

MOST_CODES = 2**62


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

    def __init__(self, template: Template, min_freq: int = 1, *, of_steps: bool = False):
        self.template = template
        self.min_freq = min_freq
        self.of_steps = of_steps
        features = template.step_features if of_steps else template.features
        self.features = [f for f in features if not any(map(is_vector, f.terms))]
        self.vectors = [f for f in features if any(map(is_vector, f.terms))]  # after the features
        # The same for the steps into tokens; the first of a sentence has none.
        self.steps: TemplateEncoder | None = None
        if template.step_features and not of_steps:
            self.steps = TemplateEncoder(template, min_freq, of_steps=True)
        columns = [derived_of(term) for feature in self.features for term in feature.terms]
        self.derived = list(dict.fromkeys(columns))
        # Which of the values each derived column has; those of foreign templates share theirs.
        families = [derived.outside or derived for derived in self.derived]
        of_families = list(dict.fromkeys(families))
        self.n_values = len(of_families)
        self._values_of = [of_families.index(family) for family in families]
        self.groups = _groups(self.features)  # features that share their attributes
        self.values: list[Numbering] = []  # of derived columns, as in training
        # Of each group; the last one numbers its attributes, others shorten long codes.
        self.tables: list[list[CodeTable]] = []
        self.kept: list[np.ndarray] = []  # which numbers of each vector are attributes

    @property
    def n_attributes(self) -> int:
        return int(self._first()[-1]) + sum(map(len, self.kept))

    def _first(self) -> np.ndarray:
        """The number of each group's first attribute, and of all attributes."""
        return np.cumsum([0, *(len(tables[-1]) for tables in self.tables)])

    # --- learning and finding -------------------------------------------------------------------

    def fit_transform(self, text: Columns) -> "sparse.csr_array":
        text = self._checked(text)
        self.values = [Numbering() for _ in range(self.n_values)]
        self.tables = [[] for _ in self.groups]
        self.kept = [np.arange(self.vectors_of(feature).size) for feature in self.vectors]

        def learn_value(k: int, values: list[str]) -> np.ndarray:
            return self.values[k].number(values)

        def learn(g: int, stage: int, codes: np.ndarray) -> np.ndarray:
            keys, _, ids = number_codes(codes)
            self.tables[g].append(CodeTable(keys))
            return ids

        def learn_attributes(g: int, stage: int, codes: np.ndarray) -> np.ndarray:
            keys, counts, ids = number_codes(codes)
            if self.min_freq > 1:
                frequent = counts >= self.min_freq
                rank = np.append(np.where(frequent, np.cumsum(frequent) - 1, -1), -1)
                keys, ids = keys[frequent], rank[ids].astype(np.int32)  # ids of -1 stay -1
            self.tables[g].append(CodeTable(keys))
            return ids

        return self._rows(text, learn_value, learn, learn_attributes).matrix()

    def transform(self, text: Columns) -> "sparse.csr_array":
        """The attributes known from training; others are left out."""
        return self.rows(text).matrix()

    def rows(self, text: Columns) -> AttributeRows:
        """The same, as arrays."""
        text = self._checked(text)

        def find_value(k: int, values: list[str]) -> np.ndarray:
            return self.values[k].find(values)

        def find(g: int, stage: int, codes: np.ndarray) -> np.ndarray:
            return self.tables[g][stage].find(codes)

        return self._rows(text, find_value, find, find)

    def _rows(
        self, text: Columns, number_value: Callable, shorten: Callable, number: Callable
    ) -> AttributeRows:
        place, files = places_of(text.lengths), self.template.files
        coded = [
            derive(text.columns[d.column], d, partial(number_value, k), place, files)
            for k, d in zip(self._values_of, self.derived, strict=True)
        ]
        ids = np.empty((len(self.features), text.n_tokens), np.int32)
        for g, group in enumerate(self.groups):
            total = self._codes(group, coded, place, partial(shorten, g))
            numbers = number(g, self._plan(group).count(True), total.ravel())
            for f, row in zip(group, numbers.reshape(total.shape), strict=True):
                ids[f] = row
        first, group_of = self._first(), np.empty(len(self.features), np.intp)
        for g, group in enumerate(self.groups):
            group_of[group] = g
        # Where features share them, a token may have an attribute more than once, in any order.
        each_once = len(self.groups) == len(self.features)
        rows = assemble(ids, first[group_of], int(first[-1]), each_once)
        for v in range(len(self.vectors)):
            rows = rows.beside(self._block(v, text, place))
        return rows

    def _block(self, v: int, text: Columns, place: Place) -> AttributeRows:
        """The numbers of the vectors of all tokens."""
        (term,), vectors = self.vectors[v].terms, self.vectors_of(self.vectors[v])
        column, derived = text.columns[term.column], derived_of(term)
        coded = derive(column, derived, vectors.find, place, self.template.files)
        rows = np.zeros(text.n_tokens, np.int64)
        self._start(rows, self.vectors[v], place)
        join_term(rows[None], [(term, coded)], len(vectors.words), place)
        return vector_block(rows, vectors.values, self.kept[v])

    def vectors_of(self, feature: Feature) -> Vectors:
        """Those of a feature that is a vector."""
        vectors = self.template.files["vector", feature.terms[0].transforms[-1].pattern]
        assert isinstance(vectors, Vectors)
        return vectors

    def _start(self, total: np.ndarray, feature: Feature, place: Place) -> None:
        """Codes without a digit yet become -1 where the feature gives nothing whatever the text."""
        if self.of_steps:
            total[place.before == 0] = -1
        if "BOS" in feature.boundaries:
            total[place.before > 0] = -1
        if "EOS" in feature.boundaries:
            total[place.after > 0] = -1

    def _codes(
        self, group: list[int], coded: list[Coded], place: Place, shorten: Callable
    ) -> np.ndarray:
        """A number for each feature of the group and token that tells the attributes apart.

        It is -1 where there is none.
        """
        totals = np.zeros((len(group), place.before.size), np.int64)
        for total, f in zip(totals, group, strict=True):
            self._start(total, self.features[f], place)
        stage = 0
        for j, is_long in enumerate(self._plan(group)):
            if is_long:
                totals = shorten(stage, totals.ravel()).astype(np.int64).reshape(totals.shape)
                stage += 1
            terms = [self.features[f].terms[j] for f in group]
            of_terms = [(term, coded[self.derived.index(derived_of(term))]) for term in terms]
            join_term(totals, of_terms, self._size(terms[0]), place)
        return totals

    def _numbering_of(self, term: Term) -> int:
        return self._values_of[self.derived.index(derived_of(term))]

    def _size(self, term: Term) -> int:
        return max(len(self.values[self._numbering_of(term)]), 1)

    def _plan(self, group: list[int]) -> list[bool]:
        """Before which terms the code must be shortened to have room for another digit.

        A shortened code is below 2^31, because there are no more tokens. Features of a group have
        the same sizes.
        """
        plan: list[bool] = []
        reach = 1
        for size in map(self._size, self.features[group[0]].terms):
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
        names = [
            name
            for group, tables in zip(self.groups, self.tables, strict=True)
            for name in self._names_of(group, tables, values)
        ]
        for feature, kept in zip(self.vectors, self.kept, strict=True):
            names += [f"{feature.name}:{number}" for number in kept.tolist()]
        return names

    def _names_of(
        self, group: list[int], tables: list[CodeTable], values: list[list[str]]
    ) -> list[str]:
        feature = self.features[group[0]]
        rest, stage = tables[-1].keys, len(tables) - 1
        parts: list[list[str]] = []
        for term, is_long in zip(feature.terms[::-1], self._plan(group)[::-1], strict=True):
            of_term = values[self._numbering_of(term)]
            rest, digits = np.divmod(rest, self._size(term))
            parts.insert(0, [of_term[digit] for digit in digits.tolist()])
            if is_long:
                stage -= 1
                rest = tables[stage].keys[rest]
        if feature.texts is not None:
            first, *others = ([text] * len(tables[-1]) for text in feature.texts)
            between = itertools.chain.from_iterable(zip(parts, others, strict=True))
            return ["".join(pieces) for pieces in zip(first, *between, strict=True)]
        if not parts:
            return [feature.name] * len(tables[-1])
        prefix = f"{feature.name}="
        return [prefix + "|".join(value) for value in zip(*parts, strict=True)]

    def check(self) -> None:
        """Refuse tables that do not belong to the template (those of a damaged file)."""
        for group, tables in zip(self.groups, self.tables, strict=True):
            feature, plan = self.features[group[0]], self._plan(group)
            if len(tables) != plan.count(True) + 1:
                raise ValueError(f"the attributes of {feature.name} are not complete")
            reach, stage = 1, 0
            for term, is_long in zip(feature.terms, plan, strict=True):
                if is_long:
                    self._check_keys(feature, tables[stage], reach)
                    reach, stage = len(tables[stage]), stage + 1
                reach *= len(self.values[self._numbering_of(term)])  # 0, where it has no values
            self._check_keys(feature, tables[-1], reach)
        for feature, kept in zip(self.vectors, self.kept, strict=True):
            inside = np.all((kept >= 0) & (kept < self.vectors_of(feature).size))
            if kept.ndim != 1 or not inside or np.any(np.diff(kept) <= 0):
                raise ValueError(f"the numbers of {feature.name} are not in order")

    def _check_keys(self, feature: Feature, table: CodeTable, reach: int) -> None:
        if table.keys.ndim != 1:
            raise ValueError(f"the attributes of {feature.name} are not in a row")
        keys = np.sort(table.keys)
        if keys.size and (keys[0] < 0 or keys[-1] >= reach):
            raise ValueError(f"an attribute of {feature.name} has parts that do not exist")
        if np.any(keys[1:] == keys[:-1]):
            raise ValueError(f"an attribute of {feature.name} is there twice")

    def set_attributes(self, found: list[list[tuple[str, ...]]]) -> None:
        """Those of each group, as the values of its terms, instead of those of training text."""
        self.values = [Numbering() for _ in range(self.n_values)]
        digits = []
        for group, attributes in zip(self.groups, found, strict=True):
            terms = self.features[group[0]].terms
            columns = [[values[j] for values in attributes] for j in range(len(terms))]
            numberings = [self.values[self._numbering_of(term)] for term in terms]
            digits.append(
                [each.number(column) for each, column in zip(numberings, columns, strict=True)]
            )
        self.tables = []
        for group, attributes, of_terms in zip(self.groups, found, digits, strict=True):
            tables, total = [], np.zeros(len(attributes), np.int64)
            terms, plan = self.features[group[0]].terms, self._plan(group)
            for term, is_long, digit in zip(terms, plan, of_terms, strict=True):
                if is_long:
                    keys, total = np.unique(total, return_inverse=True)
                    tables.append(CodeTable(keys))
                total = total * self._size(term) + digit
            self.tables.append([*tables, CodeTable(total)])
        self.kept = [np.arange(self.vectors_of(feature).size) for feature in self.vectors]
        self.check()

    def keep(self, wanted: np.ndarray) -> None:
        """Forget the attributes that are not wanted (a flag for each)."""
        sizes = [*(len(tables[-1]) for tables in self.tables), *map(len, self.kept)]
        parts = np.split(wanted, np.cumsum(sizes)[:-1])
        n_tables = len(self.tables)
        self.tables = [
            [*shortening, CodeTable(last.keys[flags])]
            for (*shortening, last), flags in zip(self.tables, parts[:n_tables], strict=True)
        ]
        self.kept = [k[flags] for k, flags in zip(self.kept, parts[n_tables:], strict=True)]


def _groups(features: list[Feature]) -> list[list[int]]:
    """Features by the attributes they share: most have their own."""
    groups: dict[object, list[int]] = {}
    for f, feature in enumerate(features):
        groups.setdefault(f if feature.texts is None else feature.texts, []).append(f)
    return list(groups.values())
