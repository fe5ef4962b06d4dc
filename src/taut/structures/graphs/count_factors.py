"""Count factors: of a set of nodes with two states, between ``low`` and ``high`` are in state 1.

"At most k labels" is (0, k), "exactly one of these" is (1, 1), "at least one" is (1, size). A node
belongs to at most one such factor: a point that violates them can then be repaired factor by
factor, which is what the lower bound of a certificate rests on.
"""

from collections.abc import Sequence

import numpy as np

from taut.inference.counts import check_counts
from taut.structures.graphs.arrays import Counts

CountFactor = tuple[Sequence[int], int, int]  # nodes within the graph, low, high


def packed_counts(
    factors: Sequence[Sequence[CountFactor]] | None,
    pointer: np.ndarray,
    states: np.ndarray,
    truth: np.ndarray | None,
) -> Counts:
    """The factors of every graph, checked."""
    n = len(pointer) - 1
    if factors is None:
        factors = [()] * n
    if len(factors) != n:
        raise ValueError(f"counts lists the factors of {len(factors)} graphs, there are {n}")
    sizes, members, low, high = [0], [np.zeros(0, np.int32)], [], []
    before = None
    for i, of_graph in enumerate(factors):
        here = slice(pointer[i], pointer[i + 1])
        # All label sets share one list, which is checked once.
        if of_graph is not before or not np.array_equal(states[here], states[: pointer[1]]):
            _check(of_graph, i, states[here])
        before = of_graph
        if truth is not None:
            _check_truth(of_graph, i, np.asarray(truth[here]))
        for nodes, fewest, most in of_graph:
            sizes.append(len(nodes))
            members.append(np.asarray(nodes, np.int32))
            low.append(fewest)
            high.append(min(most, len(nodes)))
    return Counts(
        pointer=np.cumsum(sizes).astype(np.int64),
        member=np.concatenate(members),
        low=np.array(low, np.int32),
        high=np.array(high, np.int32),
        start=np.cumsum([0, *map(len, factors)]).astype(np.int64),
    )


def _check(factors: Sequence[CountFactor], i: int, states: np.ndarray) -> None:
    try:
        check_counts(factors, states)
    except ValueError as error:
        raise ValueError(f"graph {i}: {error}") from None
    seen: set[int] = set()
    for number, (nodes, _, _) in enumerate(factors):
        again = [int(node) for node in nodes if int(node) in seen]
        if again:
            raise ValueError(
                f"graph {i}: counts[{number}] has node {again[0]}, which another one counts "
                "already; a node belongs to at most one count"
            )
        seen.update(map(int, nodes))


def _check_truth(factors: Sequence[CountFactor], i: int, truth: np.ndarray) -> None:
    for number, (nodes, low, high) in enumerate(factors):
        found = truth[list(nodes)].sum()
        if not low <= found <= high:
            raise ValueError(
                f"graph {i}: counts[{number}] allows {low} to {high} nodes in state 1, but the "
                f"truth has {found}; training labels must satisfy the counts"
            )


def counts_of(counts: Counts, i: int) -> list[tuple[np.ndarray, int, int]]:
    """The count factors (nodes, low, high) of one graph."""
    return [
        (
            counts.member[counts.pointer[f] : counts.pointer[f + 1]],
            int(counts.low[f]),
            int(counts.high[f]),
        )
        for f in range(counts.start[i], counts.start[i + 1])
    ]
