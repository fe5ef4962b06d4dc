"""Which steps between labels have weights, where not all have: those that training saw.

Of the pairs of 500 labels a few in a hundred ever follow each other in text. A chain with *sparse
steps* has a weight for each of these pairs, and every other step scores zero: it is neither
forbidden nor learned. *Step attributes* (observation bigrams) make the score of a step depend on
the text: each of them has weights for the pairs it was seen with.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from taut._compile import Integers, Labels, by_reference
from taut.inference.pairs import Pairs, new_pairs, no_pairs
from taut.structures.rows import Rows, as_rows


@by_reference
class Steps(NamedTuple):
    """Made by ``seen_steps`` and ``new_steps``; ``no_steps`` stands for all pairs."""

    pairs: Pairs
    rows: Rows  # of the nodes: attributes of the step that leads there; no columns if none
    weights: Integers  # (attributes + 1,) weights of attribute a: weights[a] to weights[a+1]
    of_pair: Labels  # the pair each weight is for, rising for each attribute

    @property
    def is_sparse(steps) -> bool:
        return steps.pairs.begin.size > 0

    @property
    def n_pairs(steps) -> int:
        return steps.pairs.target.size

    @property
    def n_attributes(steps) -> int:
        return max(steps.weights.size - 1, 0)

    @property
    def n_weights(steps) -> int:
        return steps.n_pairs + steps.of_pair.size

    def of_nodes(steps, attributes: Any, n_nodes: int) -> "Steps":
        """The same weights, for the attributes of other nodes; None where there are no weights."""
        rows = empty_rows(n_nodes) if attributes is None else as_rows(sparse.csr_array(attributes))
        if (rows.n_rows, rows.n_features) != (n_nodes, steps.n_attributes):
            raise ValueError(
                f"there are {rows.n_features} step attributes of {rows.n_rows} positions; "
                f"{steps.n_attributes} of {n_nodes} are expected"
            )
        return steps._replace(rows=rows)

    def of_no_nodes(steps) -> "Steps":
        """The weights alone."""
        return steps._replace(rows=empty_rows(0, steps.n_attributes))

    def followed_by(steps, more: "Steps") -> "Steps":
        """The nodes of these and then others, under the weights of these."""
        if (steps.is_sparse, steps.n_attributes) != (more.is_sparse, more.n_attributes):
            raise ValueError(
                f"examples with {more.n_attributes} step attributes and "
                f"{'some' if more.is_sparse else 'all'} pairs of labels cannot be added to those "
                f"with {steps.n_attributes} and {'some' if steps.is_sparse else 'all'}; build both "
                "alike"
            )
        return steps._replace(rows=steps.rows.followed_by(more.rows))

    def most_touched(steps, pointer: np.ndarray) -> tuple[int, int]:
        """Bounds the weights that the steps of one example have, and the rows they are in."""
        if not steps.n_attributes:
            return steps.n_pairs, 1
        total = np.append(0, np.cumsum(np.diff(steps.weights)[steps.rows.indices]))
        entries = steps.rows.indptr[pointer]
        of_attributes = int(np.diff(total[entries]).max(initial=0))
        return steps.n_pairs + of_attributes, 1 + int(np.diff(entries).max(initial=0))

    def arrays(steps, n_nodes: int) -> tuple[np.ndarray, ...]:
        """All that says what they are, for the first nodes; nothing if all pairs have weights."""
        if not steps.is_sparse:
            return ()
        rows = steps.rows.of_first(n_nodes) if steps.n_attributes else ()
        return *steps.pairs, steps.weights, steps.of_pair, *rows


def empty_rows(n_nodes: int, n_features: int = 0) -> Rows:
    return as_rows(sparse.csr_array((n_nodes, n_features)))


def no_steps() -> Steps:
    """All pairs of labels have weights, in a matrix."""
    return Steps(no_pairs(), empty_rows(0), np.zeros(0, np.int64), np.zeros(0, np.int32))


def new_steps(
    codes: np.ndarray,
    n_states: int,
    rows: Rows | None = None,
    counts: np.ndarray | None = None,
    of_pair: np.ndarray | None = None,
) -> Steps:
    """Weights for pairs numbered source * n_states + target, rising, and for attributes: each has
    ``counts`` of them, for the pairs ``of_pair``."""
    attributes = [] if counts is None else [0, *np.cumsum(counts)]
    return Steps(
        pairs=new_pairs(codes, n_states),
        rows=empty_rows(0, max(len(attributes) - 1, 0)) if rows is None else rows,
        weights=np.array(attributes, np.int64),
        of_pair=np.zeros(0, np.int32) if of_pair is None else of_pair.astype(np.int32),
    )


def seen_steps(
    truth: np.ndarray,
    pointer: np.ndarray,
    n_states: int,
    attributes: Any = None,
    known: np.ndarray | None = None,
    only_seen: bool = True,
) -> Steps:
    """Weights for the pairs of labels that follow each other in ``truth``, or for all pairs.

    ``attributes`` is a CSR matrix with a row for every node: attributes of the step that leads to
    it. They have weights for the pairs they are seen with. ``known`` says which labels count.
    """
    later = np.ones(len(truth), bool)
    later[pointer[:-1]] = False
    if known is not None:
        later &= known
        later[1:] &= known[:-1]
    node = np.flatnonzero(later)
    codes = truth[node - 1].astype(np.int64) * n_states + truth[node]
    pairs = np.unique(codes) if only_seen else np.arange(n_states**2)
    if attributes is None:
        return new_steps(pairs, n_states)
    rows = as_rows(sparse.csr_array(attributes))
    if rows.n_rows != len(truth):
        raise ValueError(f"step attributes of {rows.n_rows} positions for {len(truth)} nodes")
    per_node = np.diff(rows.indptr)
    number = np.zeros(len(truth), np.int64)
    number[node] = np.searchsorted(pairs, codes)
    seen = rows.indices.astype(np.int64) * len(pairs) + np.repeat(number, per_node)
    seen = np.unique(seen[np.repeat(later, per_node)])
    of_attribute, of_pair = np.divmod(seen, max(len(pairs), 1))
    counts = np.bincount(of_attribute, minlength=rows.n_features)
    return new_steps(pairs, n_states, rows, counts, of_pair)
