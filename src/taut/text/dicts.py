"""Attributes from Python objects, with the meaning they have in sklearn-crfsuite.

A token is a dict, a list (tuple, set) of attribute names, or one name:

========================= =================================
``{"word": "the"}``       attribute ``word:the``, value 1
``{"is_title": True}``    ``is_title``, value 1 (0 if false)
``{"length": 3}``         ``length``, value 3
``{"next": {...}}``       as the inner dict, ``next:`` put before each name
``{"suffix": ["e", "he"]}`` ``suffix:e`` and ``suffix:he``, value 1
``["a", "b"]``            ``a`` and ``b``, value 1
========================= =================================

Names and values are numbered by loops that run in C, a block of tokens at a time; an attribute's
text is built once per distinct attribute, not once per token.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain, compress
from numbers import Real
from typing import Any

import numpy as np

from taut.text.attributes import Attributes
from taut.text.codes import number_codes
from taut.text.numbering import Numbering

BLOCK = 20_000  # tokens
NUMBERS = {bool, int, float}
NO_VALUE = (1 << 31) - 1  # in place of the number of a string value: the name alone
DEEPEST = 50


def holds_attributes(X: Any) -> bool:
    """Whether this is sequences of dicts, lists of strings or strings, and not of numbers."""
    if isinstance(X, str | bytes | np.ndarray | Mapping) or not isinstance(X, Sequence):
        return False
    for sequence in X:
        if isinstance(sequence, np.ndarray) or not isinstance(sequence, Sequence):
            return False
        for token in sequence:
            if isinstance(token, Mapping | str | set | frozenset):
                return True
            if not isinstance(token, list | tuple):
                return False
            for name in token:
                return isinstance(name, str)
    return False


def attributes_of(X: Sequence[Sequence[Any]], name: str = "X") -> Attributes:
    """Number the attributes of sequences of tokens.

    >>> text = attributes_of([[{"w": "the", "n": 3.0}, {"w": "cat"}]])
    >>> text.names, text.codes, text.data
    (['w:the', 'n', 'w:cat'], array([0, 1, 2], dtype=int32), array([1., 3., 1.]))
    """
    builder = _Builder(name)
    first, waiting = 0, 0
    for i, sequence in enumerate(X):
        if isinstance(sequence, str | bytes | Mapping) or not isinstance(sequence, Collection):
            raise TypeError(
                f"{name}[{i}] is a {type(sequence).__name__}; a list of tokens is expected, each a "
                "dict or a list of attribute names"
            )
        waiting += len(sequence)
        if waiting >= BLOCK:
            builder.add(X[first : i + 1], first)
            first, waiting = i + 1, 0
    builder.add(X[first:], first)
    return builder.build()


class _Builder:
    def __init__(self, place: str):
        self.place = place
        self.names, self.values = Numbering(), Numbering()
        self.lengths: list[np.ndarray] = []
        self.counts: list[np.ndarray] = []
        self.codes: list[np.ndarray] = []  # number of the name and of its string value, in one
        self.data: list[np.ndarray] = []

    def add(self, sequences: Sequence[Sequence[Any]], first: int) -> None:
        """``first`` is the number of the first sequence, for error messages."""
        tokens = list(chain.from_iterable(sequences))
        names: Sequence[Any]
        values: Sequence[Any] | None
        kinds = set(map(type, tokens))
        if kinds <= {dict}:
            counts = list(map(len, tokens))
            names = list(chain.from_iterable(tokens))
            values = list(chain.from_iterable(map(dict.values, tokens)))
            plain = set(map(type, names)) <= {str} and set(map(type, values)) <= {str, *NUMBERS}
        elif kinds <= {list, tuple}:
            counts = list(map(len, tokens))
            names, values = list(chain.from_iterable(tokens)), None
            plain = set(map(type, names)) <= {str}
        else:
            plain = False
        if not plain:
            counts, names, values = self._flat(sequences, first)
        self.lengths.append(np.fromiter(map(len, sequences), np.int64))
        self.counts.append(np.array(counts, np.int64))
        self._number(names, values, first)

    def _number(self, names: Sequence[str], values: Sequence[Any] | None, first: int) -> None:
        codes = self.names.number(names).astype(np.int64) << 31
        data = np.ones(len(codes))
        if values is None:
            codes += NO_VALUE
        elif set(map(type, values)) <= {str}:
            codes += self.values.number(values)
        else:
            is_text = np.fromiter((type(value) is str for value in values), bool, len(codes))
            codes[is_text] += self.values.number(compress(values, is_text))
            codes[~is_text] += NO_VALUE
            numbers = np.fromiter(compress(values, ~is_text), np.float64)
            if not np.isfinite(numbers).all():
                self._refuse_number(names, values, first)
            data[~is_text] = numbers
        self.codes.append(codes)
        self.data.append(data)

    def _refuse_number(self, names: Sequence[str], values: Sequence[Any], first: int) -> None:
        """NaN or infinity: find the token."""
        bad = next(
            k for k, v in enumerate(values) if not isinstance(v, str) and not math.isfinite(v)
        )
        token = int(np.searchsorted(np.cumsum(self.counts[-1]), bad, "right"))
        ends = np.cumsum(self.lengths[-1])
        i = int(np.searchsorted(ends, token, "right"))
        position = token - int(ends[i] - self.lengths[-1][i])
        raise ValueError(
            f"{self.place}[{first + i}][{position}]: {names[bad]!r} is {values[bad]}; replace it "
            "or leave it out"
        )

    def _flat(
        self, sequences: Sequence[Sequence[Any]], first: int
    ) -> tuple[list[int], list[str], list[Any]]:
        """The careful way: any mixture, nested, with an error that names the token."""
        counts: list[int] = []
        names: list[str] = []
        values: list[Any] = []
        for i, sequence in enumerate(sequences):
            for t, token in enumerate(sequence):
                before = len(names)
                try:
                    for name, value in _items(token):
                        names.append(name)
                        values.append(value)
                except (TypeError, ValueError) as error:
                    place = f"{self.place}[{first + i}][{t}]"
                    raise type(error)(f"{place}: {error}") from None
                counts.append(len(names) - before)
        return counts, names, values

    def build(self) -> Attributes:
        codes = np.concatenate(self.codes)
        keys, _, ids = number_codes(codes)
        names, values = self.names.values, self.values.values
        texts = [
            names[key >> 31] if (key & NO_VALUE) == NO_VALUE
            else f"{names[key >> 31]}:{values[key & NO_VALUE]}"
            for key in keys.tolist()
        ]  # fmt: skip
        # {"a": "b"} and {"a:b": 1} are the same attribute.
        numbering = Numbering()
        merged = numbering.number(texts)
        counts = np.concatenate(self.counts)
        return Attributes(
            np.concatenate(self.lengths),
            np.concatenate([[0], np.cumsum(counts)]),
            merged[ids] if len(numbering) < len(texts) else ids,
            np.concatenate(self.data),
            numbering.values,
        )


def _items(token: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(token, str):
        yield str(token), 1.0
    elif isinstance(token, Mapping):
        yield from _mapping_items(token, "", 0)
    elif isinstance(token, list | tuple | set | frozenset):
        yield from _listed_items(token, "")
    else:
        raise TypeError(
            f"a token is a {type(token).__name__}; a dict or a list of attribute names is expected"
        )


def _mapping_items(token: Mapping, prefix: str, depth: int) -> Iterator[tuple[str, Any]]:
    if depth > DEEPEST:
        raise ValueError(f"dicts are nested more than {DEEPEST} deep")
    for name, value in token.items():
        if not isinstance(name, str):
            raise TypeError(f"the attribute name {name!r} is not a string")
        name = prefix + name
        if isinstance(value, str):
            yield f"{name}:{value}", 1.0
        elif isinstance(value, Real | np.bool_):
            yield name, float(value)
        elif isinstance(value, Mapping):
            yield from _mapping_items(value, f"{name}:", depth + 1)
        elif isinstance(value, list | tuple | set | frozenset):
            yield from _listed_items(value, f"{name}:")
        else:
            raise TypeError(
                f"{name!r} is {value!r}; a string, a number, true or false, or a dict or list of "
                "such is expected"
            )


def _listed_items(names: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    # A set has no order of its own; one that is the same in every process makes runs repeatable.
    for name in sorted(names, key=str) if isinstance(names, set | frozenset) else names:
        if not isinstance(name, str):
            raise TypeError(f"{name!r} in a list of attributes is not a string")
        yield prefix + name, 1.0
