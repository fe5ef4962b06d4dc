"""The attributes of a sequence, as CRFsuite has them: a name and a number each."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from taut.text.attributes import Attributes
from taut.text.dicts import named_values
from taut.text.numbering import Numbering


class ItemSequence:
    """The items of one sequence, made once for several uses; see :mod:`taut.text.dicts`.

    >>> ItemSequence([{"foo": 1, "bar": 0}, {"foo": 1.5, "baz": 2}])
    <ItemSequence of size 2>
    >>> ItemSequence([["foo"], {"bar": {"baz": 1}}]).items()
    [{'foo': 1.0}, {'bar:baz': 1.0}]
    """

    def __init__(self, pyseq: Iterable[Any]):
        if isinstance(pyseq, str | bytes):
            raise ValueError(f"{pyseq!r} is no sequence of items; give a list of dicts or lists")
        self.tokens: list[tuple[list[str], list[float]]]
        if isinstance(pyseq, ItemSequence):
            self.tokens = pyseq.tokens
            return
        self.tokens = []
        for t, item in enumerate(pyseq):
            if isinstance(item, str | bytes):
                raise ValueError(
                    f"item {t} is {item!r}; a dict or a list of attribute names is expected: put "
                    "the name in a list"
                )
            try:
                self.tokens.append(named_values(item))
            except (TypeError, ValueError) as error:
                kind = TypeError if isinstance(error, TypeError) else ValueError
                raise kind(f"item {t}: {error}") from None

    def items(self) -> list[dict[str, float]]:
        """A dict {attribute: number} for each item."""
        return [dict(zip(names, values, strict=True)) for names, values in self.tokens]

    def summed(self) -> list[dict[str, float]]:
        """The same with the values added up that an item has for one attribute."""
        found = []
        for names, values in self.tokens:
            total = dict.fromkeys(names, 0.0)
            for name, value in zip(names, values, strict=True):
                total[name] += value
            found.append(total)
        return found

    def __len__(self) -> int:
        return len(self.tokens)

    def __repr__(self) -> str:
        return f"<ItemSequence of size {len(self)}>"


class Instance(NamedTuple):
    items: ItemSequence
    labels: list[str]
    group: int


def numbered(sequences: Sequence[ItemSequence]) -> Attributes:
    """The attributes of many sequences in numbers."""
    numbering = Numbering()
    tokens = [token for sequence in sequences for token in sequence.tokens]
    codes = numbering.number(name for names, _ in tokens for name in names)
    values = np.array([value for _, numbers in tokens for value in numbers], np.float64)
    counts = [len(names) for names, _ in tokens]
    indptr = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.int64)
    lengths = np.array([len(sequence) for sequence in sequences], np.int64)
    return Attributes(lengths, indptr, codes, values, numbering.values)
