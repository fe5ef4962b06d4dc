"""From sequences, as people have them, to the scores of their labels and steps."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from taut.chain.stored import StoredChain
from taut.constraints import closed_table
from taut.tagger.items import ItemReader, Numbered
from taut.tagger.ties import exact_scores
from taut.tagger.weights import Weights, step_tables_of, weights_of
from taut.text.attribute_matrix import AttributeRows
from taut.text.columns import Columns
from taut.text.extract import TemplateEncoder
from taut.text.schemes import transitions


class Asked(NamedTuple):
    """Some sequences under a model; minus infinity where a label or a step is forbidden."""

    lengths: np.ndarray
    ends: np.ndarray
    read: Any  # Numbered, or rows of numbers
    theta: np.ndarray  # (positions, K)
    pair: np.ndarray  # (1, K, K), or for each position the step that leads there
    has_own_steps: bool  # the latter
    forced: np.ndarray | None  # label numbers, -1 where any will do

    def place(self, i: int) -> slice:
        return slice(int(self.ends[i] - self.lengths[i]), int(self.ends[i]))

    def pair_of(self, i: int) -> np.ndarray:
        """(1, K, K), or one for each step of the sequence."""
        if not self.has_own_steps:
            return self.pair
        place = self.place(i)
        return self.pair[place.start + 1 : place.stop]

    def score(self, i: int, labels: np.ndarray) -> float:
        pair, steps = self.pair_of(i), np.arange(len(labels) - 1)
        score = self.theta[self.place(i)][np.arange(len(labels)), labels].sum()
        which = steps if self.has_own_steps else 0
        return float(score + pair[which, labels[:-1], labels[1:]].sum())


class Asking:
    """Knows how a model's sequences are read, and what its labels score."""

    def __init__(self, stored: StoredChain):
        self.stored = stored
        self.weights, self.tables = weights_of(stored), step_tables_of(stored)
        self.labels: list[Any] = stored.labels.classes.tolist()
        self.template = stored.encoder if isinstance(stored.encoder, TemplateEncoder) else None
        self.closed = np.zeros((0, len(self.labels)))
        if stored.scheme is not None:
            self.closed = closed_table(transitions(self.labels, stored.scheme), len(self.labels))
        self.pair = self.tables.shared
        if self.closed.size:
            self.pair = self.pair + self.closed[: len(self.pair)]

    @cached_property
    def items(self) -> ItemReader | None:
        """Of models of attributes; made for who asks about tokens, not for text that was read."""
        if self.stored.encoder is None or self.template is not None:
            return None
        return ItemReader(self.stored.encoder.names())

    def __call__(
        self, sequences: Sequence[Any], forced: Sequence[Any] | None, exact: bool = False
    ) -> Asked:
        """``exact`` sums scores as compiled code does, which takes longer."""
        if any(isinstance(x, str) for x in sequences):
            raise TypeError("items is a string; a list of tokens is expected: split it")
        lengths = np.fromiter(map(len, sequences), np.int64, len(sequences))
        read, steps = self._read(sequences)
        numbers = None if forced is None else self.numbers(forced, lengths, "forced")
        return self._asked(lengths, read, steps, numbers, exact)

    def of_text(self, text: Any, forced: np.ndarray | None = None, exact: bool = False) -> Asked:
        """The same of text that the model's encoder can read; ``forced`` are label numbers."""
        return self._asked(text.lengths, *self._read_text(text), forced, exact)

    def _asked(
        self,
        lengths: np.ndarray,
        read: Any,
        steps: Numbered | None,
        numbers: np.ndarray | None,
        exact: bool,
    ) -> Asked:
        if not isinstance(read, Numbered):
            theta = read @ self.stored.node_weights
        elif exact:
            theta = exact_scores(self.weights, self.rows_of(read))
        else:
            theta = self.weights.scores(read)
        ends = lengths.cumsum()
        first, last = (ends - lengths)[lengths > 0], ends[lengths > 0] - 1
        add_ends(self.weights, theta, first, last)
        if self.closed.size:
            theta[first] += self.closed[-2]
            theta[last] += self.closed[-1]
        if numbers is not None:
            held = np.flatnonzero(numbers >= 0)
            kept = theta[held, numbers[held]]
            theta[held] = -np.inf
            theta[held, numbers[held]] = kept
        pair = self.pair[None] if steps is None else self._steps(steps)
        return Asked(lengths, ends, read, theta, pair, steps is not None, numbers)

    def exact_theta(self, asked: Asked, i: int) -> np.ndarray:
        """The scores of one sequence, summed as compiled code does."""
        place = asked.place(i)
        theta: np.ndarray = asked.theta[place]
        if not isinstance(asked.read, Numbered):
            return theta
        rows = self.rows_of(asked.read)
        begin, end = rows.indptr[place.start], rows.indptr[place.stop]
        of_sequence = AttributeRows(
            rows.indptr[place.start : place.stop + 1] - begin,
            rows.indices[begin:end],
            rows.data[begin:end],
            rows.n_attributes,
            False,
        )
        exact = exact_scores(self.weights, of_sequence)
        add_ends(self.weights, exact, np.array([0]), np.array([len(exact) - 1]))
        return np.where(np.isneginf(theta), theta, exact)

    def _read(self, sequences: Sequence[Any]) -> tuple[Any, Numbered | None]:
        """Attributes of all positions (or rows of numbers), and attributes of steps."""
        if self.items is not None:
            return self.items.read(sequences), None
        if self.template is None:
            return self._numbers_of_rows(sequences), None
        return self._read_text(Columns.from_sentences(sequences, "items"))

    def _read_text(self, text: Any) -> tuple[Numbered, Numbered | None]:
        encoder: Any = self.stored.encoder
        steps = None if self.template is None else self.template.steps
        of_steps = None if steps is None else _numbered(steps.rows(text))
        return _numbered(encoder.rows(text)), of_steps

    def _numbers_of_rows(self, sequences: Sequence[Any]) -> Any:
        parts = [x.toarray() if hasattr(x, "toarray") else np.asarray(x) for x in sequences]
        n_features = self.stored.n_features
        for part in parts:
            if part.ndim != 2 or part.shape[1] != n_features or part.dtype.kind not in "fiub":
                raise ValueError(
                    f"items have shape {part.shape} and type {part.dtype}; the model was fitted "
                    f"with rows of {n_features} numbers"
                )
        rows = np.concatenate(parts).astype(np.float64)
        if not np.isfinite(rows).all():
            raise ValueError("items hold a number that is not finite; replace or leave it out")
        if self.stored.is_dense:
            return rows
        token, attribute = rows.nonzero()
        counts = np.bincount(token, minlength=len(rows))
        return Numbered(counts, attribute.astype(np.int32), rows[token, attribute])

    def _steps(self, steps: Numbered) -> np.ndarray:
        """For each position the scores of the step that leads there."""
        tables, K = self.tables, len(self.labels)
        pair = np.repeat(self.pair[None], len(steps.counts), axis=0)
        flat = pair.reshape(len(pair), K * K)
        of_position = np.split(steps.ids, steps.counts.cumsum()[:-1])
        for scores, attributes in zip(flat, of_position, strict=False):
            for a in attributes.tolist():
                own = slice(tables.attribute_begin[a], tables.attribute_begin[a + 1])
                scores[tables.attribute_pair[own]] += tables.attribute_value[own]
        return pair

    def rows_of(self, read: Numbered) -> AttributeRows:
        data = np.ones(len(read.ids)) if read.data is None else read.data
        indptr = np.concatenate([[0], read.counts.cumsum()])
        return AttributeRows(indptr, read.ids, data, self.stored.n_features, False)

    def numbers(self, labels: Sequence[Any], lengths: np.ndarray, name: str) -> np.ndarray:
        """Label numbers of all positions, -1 where a label is None."""
        if len(labels) != len(lengths):
            raise ValueError(f"{name} has {len(labels)} sequences; expected {len(lengths)}")
        known, numbers = self.stored.labels.number, []
        for part, length in zip(labels, lengths.tolist(), strict=True):
            part = [None] * length if part is None else part
            if len(part) != length:
                raise ValueError(f"{name} has {len(part)} labels for {length} positions")
            for t, label in enumerate(part):
                if label is not None and label not in known:
                    raise ValueError(
                        f"{name}[{t}] is {label!r}, which is not one of the labels {self.labels}"
                    )
                numbers.append(-1 if label is None else known[label])
        return np.array(numbers, np.int64)


def add_ends(weights: Weights, theta: np.ndarray, first: Any, last: Any) -> None:
    """Add what labels score whatever the attributes: anywhere, at first and at last."""
    theta += weights.at_all
    theta[first] += weights.at_first
    theta[last] += weights.at_last


def _numbered(rows: AttributeRows) -> Numbered:
    data = None if (rows.data == 1.0).all() else rows.data
    return Numbered(np.diff(rows.indptr), rows.indices, data)
