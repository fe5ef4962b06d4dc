"""Tables over three or more nodes of a graph, as people give them, checked."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

FEWEST = 3


class StackedTables(NamedTuple):
    """The tables of all graphs, one after the other; nodes are numbered within their graph."""

    nodes: list[list[np.ndarray]]  # of every graph, of each of its tables
    type: np.ndarray | None
    rows: Any  # None without features

    @property
    def per_graph(self) -> np.ndarray:
        return np.array([len(of_graph) for of_graph in self.nodes], np.int64)

    @property
    def n_features(self) -> int:
        return 0 if self.rows is None else int(self.rows.shape[1])

    def without(self, keep: np.ndarray, lengths: np.ndarray) -> "StackedTables":
        """Those all of whose nodes are kept, in the graphs of which nodes are left."""
        kept, nodes, first = [], [], 0
        for of_graph, length in zip(self.nodes, lengths, strict=True):
            here = keep[first : first + length]
            stay = [bool(here[some].all()) for some in of_graph]
            number = np.cumsum(here) - 1
            if here.any():
                nodes.append([number[some] for some, s in zip(of_graph, stay, strict=True) if s])
            kept += stay
            first += length
        chosen = np.array(kept, bool)
        return StackedTables(
            nodes,
            None if self.type is None else self.type[chosen],
            None if self.rows is None else self.rows[chosen],
        )


def checked_tables(tables: Any, n_nodes: int, place: str) -> list[np.ndarray]:
    """The nodes of each table of one graph.

    >>> checked_tables([[0, 1, 2], [2, 3, 4]], 5, "graphs[0]")
    [array([0, 1, 2]), array([2, 3, 4])]
    >>> checked_tables([[0, 1]], 5, "graphs[0]")
    Traceback (most recent call last):
    ValueError: tables[0] of graphs[0] has 2 nodes; tables are over three or more, edges over two
    """
    if tables is None:
        return []
    if not isinstance(tables, Sequence | np.ndarray) or isinstance(tables, str):
        raise TypeError(
            f"the tables of {place} are a {type(tables).__name__}; a list of lists of nodes is "
            "expected"
        )
    return [_checked(nodes, n_nodes, f"tables[{j}] of {place}") for j, nodes in enumerate(tables)]


def _checked(nodes: Any, n_nodes: int, place: str) -> np.ndarray:
    try:
        numbers = np.asarray(nodes)
    except ValueError:
        raise ValueError(f"{place} is ragged; a list of nodes is expected") from None
    if numbers.ndim != 1 or (numbers.size and numbers.dtype.kind not in "iu"):
        raise ValueError(f"{place} is {nodes!r}; a list of nodes, which are integers, is expected")
    if len(numbers) < FEWEST:
        raise ValueError(
            f"{place} has {len(numbers)} nodes; tables are over three or more, edges over two"
        )
    wrong = numbers[(numbers < 0) | (numbers >= n_nodes)]
    if wrong.size:
        raise ValueError(
            f"{place} has node {wrong[0]}, but the {n_nodes} nodes are numbered 0 to {n_nodes - 1}"
        )
    if len(np.unique(numbers)) < len(numbers):
        raise ValueError(f"{place} lists a node twice: {numbers.tolist()}; list it once")
    return numbers.astype(np.int64)
