"""A model's weights as a tagger wants them, and the scores of labels under them."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from taut.chain.stored import StoredChain
from taut.tagger.items import Numbered

# A model with so many numbers has them in a matrix, too, from which rows are taken at once.
MOST_IN_A_MATRIX = 4_000_000
ROWS_AT_ONCE = 2_000  # few enough for the processor's cache


@dataclass(frozen=True)
class Weights:
    """Attribute a has the weights ``begin[a]`` to ``begin[a + 1]``."""

    n_labels: int
    begin: np.ndarray
    label: np.ndarray
    value: np.ndarray
    at_all: np.ndarray  # (K,) the biases
    at_first: np.ndarray  # (K,) and what is added to them at the first position
    at_last: np.ndarray

    def scores(self, read: Numbered) -> np.ndarray:
        """(tokens, K) of labels by their attributes alone."""
        K, n = self.n_labels, len(read.counts)
        matrix = self._matrix
        if matrix is not None and len(read.ids):
            return self._by_rows(matrix, read)
        first = self.begin[read.ids]
        sizes = self.begin[1:][read.ids] - first
        ends = sizes.cumsum()
        # The places of all weights: runs of numbers, each from its ``first`` on.
        places = np.arange(ends[-1] if len(ends) else 0)
        places += (first - ends + sizes).repeat(sizes)
        token = (np.arange(n) * K).repeat(read.counts).repeat(sizes)
        value = self.value[places]
        if read.data is not None:
            value = value * read.data.repeat(sizes)
        found = np.bincount(token + self.label[places], value, n * K)
        return found.astype(np.float64, copy=False).reshape(n, K)  # of nothing it is whole numbers

    def _by_rows(self, matrix: np.ndarray, read: Numbered) -> np.ndarray:
        counts, n = read.counts, len(read.counts)
        if np.count_nonzero(counts) < n:  # tokens that nothing is known of
            filled = np.flatnonzero(counts)
            found = np.zeros((n, self.n_labels))
            found[filled] = self._by_rows(matrix, read._replace(counts=counts[filled]))
            return found
        ends = counts.cumsum()
        if ends[-1] > ROWS_AT_ONCE and n > 1:
            half = n // 2
            at = ends[half - 1]
            data = (None, None) if read.data is None else (read.data[:at], read.data[at:])
            parts = (
                Numbered(counts[:half], read.ids[:at], data[0]),
                Numbered(counts[half:], read.ids[at:], data[1]),
            )
            return np.concatenate([self._by_rows(matrix, part) for part in parts])
        rows = matrix.take(read.ids, 0)
        if read.data is not None:
            rows *= read.data[:, None]
        found = np.add.reduceat(rows, ends - counts, 0)
        return found

    @cached_property
    def _matrix(self) -> np.ndarray | None:
        n_attributes = len(self.begin) - 1
        if n_attributes * self.n_labels > MOST_IN_A_MATRIX:
            return None
        matrix = np.zeros((n_attributes, self.n_labels))
        matrix[np.arange(n_attributes).repeat(np.diff(self.begin)), self.label] = self.value
        return matrix


class StepTables(NamedTuple):
    """Scores of steps."""

    shared: np.ndarray  # (K, K): of all steps
    by_feature: np.ndarray  # (F, K, K): times the features of a step, if steps have such
    attribute_begin: np.ndarray  # (A + 1,) of attributes of steps, as in ``Weights``
    attribute_pair: np.ndarray  # source * K + target
    attribute_value: np.ndarray


def weights_of(stored: StoredChain) -> Weights:
    K, other = len(stored.labels.classes), stored.other
    nodes = stored.node_weights
    if stored.is_dense:
        counts, label, value = np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
    else:
        counts = np.zeros(stored.n_features, np.int64)
        counts[nodes.attribute] = nodes.counts
        label, value = nodes.label, nodes.value.astype(np.float64)
    groups = other[: (stored.has_bias + 2 * stored.has_boundary) * K].reshape(-1, K)
    none = np.zeros(K)
    return Weights(
        K,
        np.concatenate([[0], np.cumsum(counts)]),
        label,
        value,
        groups[0] if stored.has_bias else none,
        groups[-2] if stored.has_boundary else none,
        groups[-1] if stored.has_boundary else none,
    )


def step_tables_of(stored: StoredChain) -> StepTables:
    K = len(stored.labels.classes)
    weights = stored.other[(stored.has_bias + 2 * stored.has_boundary) * K :]
    nothing = np.zeros(1, np.int64), np.zeros(0, np.int64), np.zeros(0)
    if stored.pairs is not None:
        pair, counts, of_pair = stored.pairs
        shared = np.zeros(K * K)
        shared[pair] = weights[: len(pair)]
        of_attributes = (
            np.concatenate([[0], np.cumsum(counts)]),
            pair[of_pair],
            weights[len(pair) :],
        )
        return StepTables(shared.reshape(K, K), np.zeros((0, K, K)), *of_attributes)
    tables = weights.reshape(-1, K, K)
    if stored.n_step_features:
        return StepTables(np.zeros((K, K)), tables, *nothing)
    return StepTables(tables[0], np.zeros((0, K, K)), *nothing)
