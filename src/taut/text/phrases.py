"""Gazetteers: which tokens are part of a known phrase, found from the left, the longest first.

The phrases become a tree of words, which is walked from each token that begins one: time grows with
the tokens, whatever the number of phrases.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

MOST_WORDS = 100  # of a phrase
Function = Callable[[str], str | None]


class Tree(NamedTuple):
    words: dict[str, int]
    begins: np.ndarray  # (n_words,) bool: whether a phrase begins with the word
    children: dict[tuple[int, int], int]  # by node and word
    labels: dict[int, int]  # of the nodes where a phrase ends


class Phrases:
    """
    >>> cities = Phrases.from_lines(["York", "New York\\tcity"])
    >>> words = ["in", "New", "York", "York"]
    >>> codes = cities.mark(cities.tree((), ()), words, np.arange(4), np.array([3, 2, 1, 0]))
    >>> [cities.names[code] if code >= 0 else None for code in codes]
    [None, 'B-city', 'I-city', 'B']
    """

    def __init__(self, types: dict[tuple[str, ...], str]):
        self.types = types  # of each phrase
        self._labels = {kind: k for k, kind in enumerate(dict.fromkeys(types.values()))}
        self.names = [
            f"{position}-{kind}" if kind else position for kind in self._labels for position in "BI"
        ]
        self._trees: dict[Hashable, Tree] = {}

    @classmethod
    def from_lines(cls, lines: Iterable[str]) -> "Phrases":
        """A phrase a line, then, if it has one, a tab and its type."""
        types: dict[tuple[str, ...], str] = {}
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            phrase, _, kind = (part.strip() for part in line.partition("\t"))
            words = tuple(phrase.split())
            if not 1 <= len(words) <= MOST_WORDS:
                raise ValueError(
                    f"line {number}: a phrase of {len(words)} words; 1 to {MOST_WORDS} are "
                    "expected, then perhaps a tab and a type"
                )
            # One that has several types has them all.
            known = {*types.get(words, "").split("+"), kind} - {""}
            types[words] = "+".join(sorted(known))
        return cls(types)

    def lines(self) -> list[str]:
        """What ``from_lines`` reads."""
        return [" ".join(words) + f"\t{kind}" * bool(kind) for words, kind in self.types.items()]

    def mark(
        self, tree: Tree, values: Sequence[str | None], codes: np.ndarray, after: np.ndarray
    ) -> np.ndarray:
        """Which of the ``names`` each token has, -1 for none; ``after`` counts those behind it."""
        known = (-1 if value is None else tree.words.get(value, -1) for value in values)
        numbers = np.fromiter(known, np.int64)
        words = numbers[codes] if len(numbers) else np.zeros(0, np.int64)
        marks = np.full(len(words), -1, np.int32)
        begins = np.append(tree.begins, False)[words]  # the last is for words of no phrase
        plain, free = words.tolist(), 0
        for t in np.flatnonzero(begins).tolist():
            if t < free:
                continue
            label, end = _longest(tree, plain[t : t + min(int(after[t]) + 1, MOST_WORDS)])
            if end:
                marks[t] = 2 * label
                marks[t + 1 : t + end] = 2 * label + 1
                free = t + end
        return marks

    def tree(self, key: Hashable, functions: Sequence[Function]) -> Tree:
        """Of the phrases after all functions were applied to their words; ``key`` names these."""
        if key not in self._trees:
            self._trees[key] = self._tree(functions)
        return self._trees[key]

    def _tree(self, functions: Sequence[Function]) -> Tree:
        words: dict[str, int] = {}
        children: dict[tuple[int, int], int] = {}
        labels: dict[int, int] = {}
        for phrase, kind in self.types.items():
            node = 0
            for word in phrase:
                value: str | None = word
                for function in functions:
                    value = None if value is None else function(value)
                if value is None:
                    break
                step = (node, words.setdefault(value, len(words)))
                node = children.setdefault(step, len(children) + 1)
            else:
                labels.setdefault(node, self._labels[kind])
        begins = np.zeros(len(words), bool)
        begins[[word for node, word in children if node == 0]] = True
        return Tree(words, begins, children, labels)


def _longest(tree: Tree, words: list[int]) -> tuple[int, int]:
    """The label and length of the longest phrase that the words begin with; 0 if there is none."""
    node, label, end = 0, -1, 0
    for length, word in enumerate(words, start=1):
        after = tree.children.get((node, word))
        if after is None:
            break
        node = after
        if node in tree.labels:
            label, end = tree.labels[node], length
    return label, end
