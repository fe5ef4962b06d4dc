"""From the tokens of a sequence, dicts or lists of strings, to the numbers of their attributes.

What a token means is said in :mod:`taut.text.dicts`. There, whole corpora are numbered block by
block; here it is one sequence at a time, as quickly as Python can. Tables give the number of an
attribute as four bytes, or none for an attribute that the model does not know. So what happens to a
token is a few loops that run in C, ``b"".join(map(...))``, and a table grows only by attributes
of the model, whatever it is asked. Numbers other than 0 and 1, lists within dicts and whatever else
is unusual raise :class:`_Unusual`, and the sequence goes the way of corpora.
"""

from collections.abc import Mapping, Sequence, Set
from operator import getitem
from typing import Any, NamedTuple

import numpy as np

from taut.text.dicts import token_items

NONE = b""


class Numbered(NamedTuple):
    """Attributes of the tokens, one after the other; ``data`` is None where all values are 1."""

    counts: np.ndarray  # (n_tokens,) of each
    ids: np.ndarray  # int32
    data: np.ndarray | None


class _Unusual(Exception):
    """Not for the quick way."""


class _Names(dict):
    """The attributes of the model by name, and nothing for others."""

    def __missing__(self, name: Any) -> bytes:
        if isinstance(name, str):
            return NONE
        raise _Unusual


class _Keys(dict):
    """What the keys of a dict mean, behind a prefix."""

    def __init__(self, names: _Names, prefix: str):
        super().__init__()
        self.names, self.prefix = names, prefix

    def __missing__(self, key: Any) -> "_Values":
        if type(key) is not str:
            raise _Unusual
        return _Values(self, key)


class _Values(dict):
    """What the values of a key mean; kept by its dict's keys once the model knows one of them."""

    def __init__(self, keys: _Keys, key: str):
        super().__init__({False: NONE})
        self.keys_, self.key, self.prefix = keys, key, f"{keys.prefix}{key}:"

    def __missing__(self, value: Any) -> bytes:
        names = self.keys_.names
        if isinstance(value, str):
            found = names[self.prefix + value]
        elif value is True or (type(value) in (int, float) and value == 1):
            found = names[self.prefix[:-1]]
        else:
            raise _Unusual
        if found:
            self[value] = found
            self.keys_.setdefault(self.key, self)
        return found


class _Nested:
    """In the place of a key's values where these are dicts."""

    def __init__(self, keys: _Keys, key: str):
        self.inner = _Keys(keys.names, f"{keys.prefix}{key}:")
        self.values = _Values(keys, key)
        self.table = self.inner.__getitem__

    def __getitem__(self, value: Any) -> bytes:
        if type(value) is not dict:
            return self.values[value]
        try:  # as in _numbers_of: a call less, of which there are dozens
            return NONE.join(map(getitem, map(self.table, value), value.values()))
        except TypeError:
            return _numbers_of(value, self.inner)


def _numbers_of(token: dict, keys: _Keys) -> bytes:
    try:
        return NONE.join(map(getitem, map(keys.__getitem__, token), token.values()))
    except TypeError:  # a value that cannot be looked up: a dict or a list
        return NONE.join([_number_of(key, value, keys) for key, value in token.items()])


def _number_of(key: Any, value: Any, keys: _Keys) -> bytes:
    table = keys[key]
    if type(value) is not dict:
        try:
            return table[value]
        except TypeError:
            raise _Unusual from None
    if isinstance(table, _Nested):
        return table[value]
    nested = _Nested(keys, key)
    found = nested[value]
    if found:  # so a key is kept only if the model knows it
        keys[key] = nested
    return found


class ItemReader:
    """Knows the attributes of a model."""

    def __init__(self, names: Sequence[str]):
        numbers = np.arange(len(names), dtype=np.int32).tobytes()
        self._names = _Names(
            zip(names, [numbers[at : at + 4] for at in range(0, len(numbers), 4)], strict=True)
        )
        self._keys = _Keys(self._names, "")

    def read(self, sequences: Sequence[Sequence[Any]]) -> Numbered:
        """The attributes of all their tokens that the model knows."""
        try:
            return self._plain(sequences)
        except _Unusual:
            if len(sequences) == 1:
                return self._careful(sequences[0], "items")
            return self._one_by_one(sequences)

    def _plain(self, sequences: Sequence[Sequence[Any]]) -> Numbered:
        keys = self._keys
        tokens = [
            _numbers_of(token, keys) if type(token) is dict else self._token(token)
            for sequence in sequences
            for token in sequence
        ]
        counts = np.fromiter(map(len, tokens), np.int64, len(tokens)) // 4
        return Numbered(counts, np.frombuffer(NONE.join(tokens), np.int32), None)

    def _token(self, token: Any) -> bytes:
        kind = type(token)
        if kind is list or kind is tuple:
            try:
                return NONE.join(map(self._names.__getitem__, token))
            except TypeError:
                raise _Unusual from None
        if kind is str:
            return self._names[token]
        raise _Unusual

    def _one_by_one(self, sequences: Sequence[Sequence[Any]]) -> Numbered:
        """Those without anything unusual are still read quickly."""
        parts = []
        for i, sequence in enumerate(sequences):
            try:
                parts.append(self._plain([sequence]))
            except _Unusual:
                parts.append(self._careful(sequence, f"sequences[{i}]"))
        data = [np.ones(len(part.ids)) if part.data is None else part.data for part in parts]
        counts, ids = (np.concatenate([part[field] for part in parts]) for field in (0, 1))
        return Numbered(counts, ids, np.concatenate(data))

    def _careful(self, sequence: Sequence[Any], place: str) -> Numbered:
        counts: list[int] = []
        ids: list[bytes] = []
        data: list[float] = []
        for t, token in enumerate(sequence):
            before = len(ids)
            for name, value in token_items(token, f"{place}[{t}]"):
                found = self._names[name]
                if found:
                    ids.append(found)
                    data.append(value)
            counts.append(len(ids) - before)
        numbers = np.frombuffer(NONE.join(ids), np.int32)
        return Numbered(np.array(counts, np.int64), numbers, np.array(data))


def is_items(token: Any) -> bool:
    """Whether this may be a token of attributes."""
    return isinstance(token, Mapping | str | list | tuple | Set)
