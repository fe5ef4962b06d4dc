"""Attributes from Python objects, with the meaning they have in sklearn-crfsuite.

A token is a dict, a list (tuple, set, ``keys()``) of attribute names, or one name; bytes are read
as UTF-8:

=========================== ===============================================
``{"word": "the"}``         attribute ``word:the``, value 1
``{"is_title": True}``      ``is_title``, value 1 (0 if false)
``{"length": 3}``           ``length``, value 3
``{"next": {...}}``         as the inner dict, ``next:`` put before each name
``{"suffix": ["e", "he"]}`` ``suffix:e`` and ``suffix:he``, value 1
``["a", "b"]``              ``a`` and ``b``, value 1
=========================== ===============================================

The values of an attribute that a token has twice add up. Refused are numbers that are not finite,
``None``, arrays, and lists of anything but strings.

Names and values are numbered by loops that run in C, a block of tokens at a time; an attribute's
text is built once per distinct attribute, not once per token.
"""

import math
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from decimal import Decimal
from itertools import chain, compress
from numbers import Real
from operator import methodcaller
from typing import Any, NamedTuple

import numpy as np

from taut.text.attributes import Attributes
from taut.text.codes import number_codes
from taut.text.numbering import Numbering

BLOCK = 5_000  # tokens
DICTS = {dict, OrderedDict, defaultdict, Counter}
NUMBERS = (int, float, np.bool_, np.integer, np.floating, Real, Decimal)
NO_VALUE = (1 << 31) - 1  # in place of the number of a string value: the name alone
DEEPEST = 50


def holds_attributes(X: Any) -> bool:
    """Whether this is sequences of dicts, lists of strings or strings, and not of numbers.

    >>> holds_attributes([[{"word": "the"}]]), holds_attributes([[[0.5, 1.0]]])
    (True, False)
    """
    if not _is_sequence(X):
        return False
    for sequence in X:
        if not isinstance(sequence, Sequence):
            return False
        for token in sequence:
            if isinstance(token, Mapping | str | Set):
                return True
            if not isinstance(token, list | tuple):
                return False
            for name in token:
                return isinstance(name, str | bytes)
    return False


def attributes_of(X: Iterable[Sequence[Any]], name: str = "X") -> Attributes:
    """Number the attributes of sequences of tokens.

    >>> text = attributes_of([[{"w": "the", "n": 3.0}, {"w": "cat"}]])
    >>> text.names, text.codes, text.data
    (['w:the', 'n', 'w:cat'], array([0, 1, 2], dtype=int32), array([1., 3., 1.]))
    """
    builder = _Builder(name)
    block: list[Sequence[Any]] = []
    waiting = 0
    for i, sequence in enumerate(X):
        if not _is_sequence(sequence):
            raise TypeError(
                f"{name}[{i}] is a {type(sequence).__name__}; a list of tokens is expected, each a "
                "dict or a list of attribute names"
            )
        block.append(sequence)
        waiting += len(sequence)
        if waiting >= BLOCK:
            builder.add(block)
            block, waiting = [], 0
    builder.add(block)
    return builder.build()


def named_values(token: Any) -> tuple[list[str], list[float]]:
    """The attributes of one token, as often as it has them.

    >>> named_values({"w": "the", "n": 3})
    (['w:the', 'n'], [1.0, 3.0])
    """
    names: list[str] = []
    values: list[Any] = []
    _add_token(token, names, values)
    texts = [
        f"{name}:{value}" if type(value) is str else name
        for name, value in zip(names, values, strict=True)
    ]
    return texts, [1.0 if type(value) is str else value for value in values]


def _is_sequence(X: Any) -> bool:
    return isinstance(X, Sequence) and not isinstance(X, str | bytes)


class _Items(NamedTuple):
    """Names and values of the tokens of a block, one after the other."""

    counts: list[int]  # how many each token has
    names: list[str]
    values: list[Any] | None  # None: all are 1


class _Values(NamedTuple):
    texts: np.ndarray  # int64: number of a string value, NO_VALUE of a number
    numbers: np.ndarray  # float64: 1 for a string


class _Builder:
    def __init__(self, place: str):
        self.place = place
        self.n_sequences = 0
        self.names, self.values = Numbering(), Numbering()
        self.lengths: list[np.ndarray] = []
        self.counts: list[np.ndarray] = []
        self.codes: list[np.ndarray] = []  # number of the name and of its string value, in one
        self.data: list[np.ndarray] = []

    def add(self, sequences: list[Sequence[Any]]) -> None:
        items = _plain_items(sequences)
        values = self._values(items) if items else None
        if items is None or values is None:
            items = self._careful_items(sequences)
            values = self._values(items)
            assert values is not None  # only strings and finite numbers are left
        self.n_sequences += len(sequences)
        self.lengths.append(np.array(list(map(len, sequences)), np.int64))
        self.counts.append(np.array(items.counts, np.int64))
        self.codes.append((self.names.number(items.names).astype(np.int64) << 31) + values.texts)
        self.data.append(values.numbers)

    def _values(self, items: _Items) -> _Values | None:
        """Look at each distinct value once (1, 1.0 and True are one); None if one is unusual."""
        if items.values is None:
            n = len(items.names)
            return _Values(np.full(n, NO_VALUE, np.int64), np.ones(n))
        numbering = Numbering()
        try:
            ids = numbering.number(items.values)
        except TypeError:  # not hashable: a list or dict
            return None
        distinct = numbering.values
        if not all(kind is str or issubclass(kind, NUMBERS) for kind in set(map(type, distinct))):
            return None
        is_text = np.array([type(value) is str for value in distinct], bool)
        numbers = np.ones(len(distinct))
        try:
            numbers[~is_text] = [float(value) for value in compress(distinct, ~is_text)]
        except (OverflowError, ValueError):
            return None
        if not np.isfinite(numbers).all():
            return None
        texts = np.full(len(distinct), NO_VALUE, np.int64)
        texts[is_text] = self.values.number(compress(distinct, is_text))
        return _Values(texts[ids], numbers[ids])

    def _careful_items(self, sequences: list[Sequence[Any]]) -> _Items:
        """Any mixture, nested, with an error that names the token."""
        counts: list[int] = []
        names: list[str] = []
        values: list[Any] = []
        for i, sequence in enumerate(sequences):
            for t, token in enumerate(sequence):
                before = len(names)
                _add_token_at(f"{self.place}[{self.n_sequences + i}][{t}]", token, names, values)
                counts.append(len(names) - before)
        return _Items(counts, names, values)

    def build(self) -> Attributes:
        names, codes = self._joined(np.concatenate(self.codes))
        counts = np.concatenate(self.counts)
        return Attributes(
            np.concatenate(self.lengths),
            np.concatenate([[0], np.cumsum(counts)]),
            codes,
            np.concatenate(self.data),
            names,
        )

    def _joined(self, codes: np.ndarray) -> tuple[list[str], np.ndarray]:
        """The attributes as text, and the number of each occurrence."""
        names, values = self.names.values, self.values.values
        if not values:
            return names, (codes >> 31).astype(np.int32)
        keys, _, ids = number_codes(codes)
        texts = [
            names[key >> 31] if (key & NO_VALUE) == NO_VALUE
            else f"{names[key >> 31]}:{values[key & NO_VALUE]}"
            for key in keys.tolist()
        ]  # fmt: skip
        # {"a": "b"} and {"a:b": 1} are the same attribute.
        attributes = Numbering()
        merged = attributes.number(texts)
        return attributes.values, merged[ids]


def _plain_items(sequences: list[Sequence[Any]]) -> _Items | None:
    """The quick way, for dicts alone or lists alone; None if there is anything else."""
    tokens = list(chain.from_iterable(sequences))
    kinds = set(map(type, tokens))
    if not (kinds <= DICTS or kinds <= {list, tuple}):
        return None
    names = list(chain.from_iterable(tokens))
    if not set(map(type, names)) <= {str}:
        return None
    values = None
    if kinds <= DICTS:
        values = list(chain.from_iterable(map(methodcaller("values"), tokens)))
    return _Items(list(map(len, tokens)), names, values)


def token_items(token: Any, place: str) -> Iterator[tuple[str, float]]:
    """The attributes of one token and their values; ``place`` is for errors.

    >>> list(token_items({"w": "the", "n": 3}, "X[0][0]"))
    [('w:the', 1.0), ('n', 3.0)]
    """
    names: list[str] = []
    values: list[Any] = []
    _add_token_at(place, token, names, values)
    for name, value in zip(names, values, strict=True):
        yield (f"{name}:{value}", 1.0) if isinstance(value, str) else (name, value)


def _add_token_at(place: str, token: Any, names: list[str], values: list[Any]) -> None:
    try:
        _add_token(token, names, values)
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{place}: {error}") from None


def _add_token(token: Any, names: list[str], values: list[Any]) -> None:
    if isinstance(token, Mapping):
        _add_mapping(token, "", 0, names, values)
    elif isinstance(token, str):
        names.append(str.__str__(token))
        values.append(1.0)
    elif isinstance(token, list | tuple | Set):
        texts = _texts(token)
        names += texts
        values += [1.0] * len(texts)
    else:
        raise TypeError(
            f"a token is a {type(token).__name__}; a dict or a list of attribute names is expected"
        )


def _add_mapping(
    token: Mapping, prefix: str, depth: int, names: list[str], values: list[Any]
) -> None:
    if depth > DEEPEST:
        raise ValueError(f"dicts are nested more than {DEEPEST} deep; give fewer levels")
    for name, value in token.items():
        if not isinstance(name, str | bytes):
            raise TypeError(f"the attribute name {name!r} is not a string; make it one")
        name = prefix + _text(name)
        if isinstance(value, str | bytes):
            names.append(name)
            values.append(_text(value))
        elif isinstance(value, list | tuple | Set):
            texts = _texts(value)
            names += [name] * len(texts)
            values += texts
        elif isinstance(value, NUMBERS):
            names.append(name)
            values.append(_finite(name, value))
        elif isinstance(value, Mapping):
            _add_mapping(value, f"{name}:", depth + 1, names, values)
        else:
            raise TypeError(
                f"{name!r} is {value!r}; a string, a number, true or false, or a dict or list of "
                "such is expected"
            )


def _finite(name: str, value: Any) -> float:
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"{name!r} is {number}; replace it or leave it out")
    return number


def _texts(found: Collection[Any]) -> list[str]:
    texts = list(found)
    if not set(map(type, texts)) <= {str}:
        texts = list(map(_text, texts))
    if isinstance(found, set | frozenset):
        texts.sort()  # an order that is the same in every process makes runs repeatable
    return texts


def _text(name: Any) -> str:
    if isinstance(name, bytes):
        try:
            return name.decode()
        except UnicodeDecodeError:
            raise ValueError(f"{name!r} is not UTF-8; decode it first") from None
    if not isinstance(name, str):
        raise TypeError(f"{name!r} in a list of attributes is not a string; make it one")
    return str.__str__(name)  # as numpy's strings and enumerations of strings mean it
