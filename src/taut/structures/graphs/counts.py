"""Count factors: of a set of nodes with two states, between ``low`` and ``high`` are in state 1.

"At most k labels" is (0, k), "exactly one of these" is (1, 1), "at least one" is (1, size). A node
belongs to at most one such factor: a point that violates them can then be repaired factor by
factor, which is what the lower bound of a certificate rests on.
"""

from collections.abc import Sequence

import numpy as np

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
    for i, of_graph in enumerate(factors):
        here = slice(pointer[i], pointer[i + 1])
        given = None if truth is None else np.asarray(truth[here])
        _check(of_graph, i, states[here], given)
        for nodes, fewest, most in of_graph:
            sizes.append(len(nodes))
            members.append(np.asarray(nodes, np.int32))
            low.append(fewest)
            high.append(most)
    return Counts(
        pointer=np.cumsum(sizes).astype(np.int64),
        member=np.concatenate(members),
        low=np.array(low, np.int32),
        high=np.array(high, np.int32),
        start=np.cumsum([0, *map(len, factors)]).astype(np.int64),
    )


def _check(
    factors: Sequence[CountFactor], i: int, states: np.ndarray, truth: np.ndarray | None
) -> None:
    seen: set[int] = set()
    for number, (nodes, low, high) in enumerate(factors):
        name = f"count factor {number} of graph {i}"
        members = np.asarray(nodes)
        if members.ndim != 1 or members.size == 0 or members.dtype.kind not in "iu":
            raise ValueError(f"{name} is over {nodes!r}; a list of node numbers is expected")
        wrong = members[(members < 0) | (members >= len(states))]
        if wrong.size:
            raise ValueError(f"{name} has node {wrong[0]}, its nodes are 0 to {len(states) - 1}")
        if np.any(states[members] != 2):
            node = members[states[members] != 2][0]
            raise ValueError(
                f"{name} counts nodes in state 1 of two, but node {node} has {states[node]} states"
            )
        repeated = [int(node) for node in members if node in seen]
        if repeated or len(set(members.tolist())) < len(members):
            raise ValueError(
                f"{name} has a node that is counted already; a node belongs to at most one factor"
            )
        seen.update(members.tolist())
        if not 0 <= low <= high <= len(members):
            raise ValueError(
                f"{name} allows {low} to {high} of {len(members)} nodes; expected 0 <= low <= "
                "high <= the number of nodes"
            )
        if truth is not None and not low <= truth[members].sum() <= high:
            raise ValueError(
                f"{name} allows {low} to {high} nodes in state 1, but the truth of that graph has "
                f"{truth[members].sum()}; the training labels must satisfy the constraint"
            )
