"""What a graph model is: types, states, bases, and where its weights lie."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from taut.memory import check_memory
from taut.structures.graphs.basis import (
    ATTRACTIVE,
    packed_basis,
    pairwise_table,
    repulsion,
    table_size,
    unary_table,
)

FEWEST_MEMBERS = 3
# Joint states of a table factor: a step looks at all of them, members times.
MOST_CELLS = 64


@dataclass(frozen=True)
class GraphModel:
    """Types, states and weights of a graph model: [nodes | biases | edges | tables]."""

    states: tuple[int, ...]  # of each node type
    joins: tuple[tuple[int, int], ...]  # the node types that each edge type joins
    n_features: int
    n_edge_features: int  # 0: the constant 1
    unary: Any = "full"  # one for all node types, or a list
    pairwise: Any = "full"  # one for all edge types, or a list
    bias: bool = True
    attractive: bool = False  # edge weights are kept non-negative
    by_feature: bool = False  # weights of one feature lie together, as sparse features want it
    tables: tuple[tuple[int, ...], ...] = ()  # the node types that each kind of table joins
    n_table_features: int = 0  # 0: the constant 1

    @property
    def width(self) -> int:
        return max(self.states)

    def unary_tables(self) -> list[np.ndarray]:
        kinds = _per_type(self.unary, len(self.states), "unary")
        return [
            unary_table(kind, states, f"node type {number}")
            for number, (kind, states) in enumerate(zip(kinds, self.states, strict=True))
        ]

    def pairwise_tables(self) -> list[np.ndarray]:
        kinds = _per_type(self.pairwise, len(self.joins), "pairwise")
        self._check_memory(kinds)
        return [
            pairwise_table(kind, self.states[u], self.states[v], f"edge type {number}")
            for number, (kind, (u, v)) in enumerate(zip(kinds, self.joins, strict=True))
        ]

    def _check_memory(self, kinds: Sequence[Any]) -> None:
        """Tables are dense until they are packed, with a cell for each pair of pairs if "full"."""
        sizes = (
            table_size(kind, self.states[u], self.states[v])
            for kind, (u, v) in zip(kinds, self.joins, strict=True)
        )
        names = sorted({kind for kind in kinds if isinstance(kind, str)})
        check_memory(
            2 * sum(sizes),
            f"a table of pairwise scores ({', '.join(names)}) of {self.width} labels",
            "pairs of pairs of labels",
            'use pairwise="potts", or merge rare labels',
        )

    def layout(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Where each group of weights starts: the fields of ``Nodes`` and ``Edges`` that say so."""
        node_basis = packed_basis(self.unary_tables(), self.width)
        edge_basis = packed_basis(self.pairwise_tables(), self.width)
        size = node_basis.size.astype(np.int64)
        before = np.cumsum(size) - size
        n_node = int(size.sum()) * self.n_features
        if self.by_feature:
            node_at, feature_stride = before, np.full(len(size), size.sum())
            basis_stride = np.ones(len(size), np.int64)
        else:
            node_at, feature_stride = before * self.n_features, np.ones(len(size), np.int64)
            basis_stride = np.full(len(size), self.n_features)
        edge_at = n_node + int(size.sum()) * self.bias
        per_type = edge_basis.size * max(self.n_edge_features, 1)
        nodes = dict(
            basis=node_basis,
            at=node_at,
            feature_stride=feature_stride,
            basis_stride=basis_stride,
            bias_at=n_node + before if self.bias else np.full(len(size), -1),
            width=self.width,
        )
        edges = dict(
            basis=edge_basis,
            at=(np.cumsum(per_type) - per_type).astype(np.int64),
            weights_at=edge_at,
            n_weights=int(per_type.sum()),
            lower=np.full(int(per_type.sum()), 0.0 if self.attractive else -np.inf),
            width=self.width,
        )
        return nodes, edges

    def table_layout(self) -> dict[str, Any]:
        """The fields of ``Tables`` that say how many joint states a kind has, and its weights."""
        if not self.tables:
            return dict(cells=np.zeros(0, np.int32), at=np.zeros(0, np.int64), n_weights=0)
        cells = [self._joint_states(kind) for kind in range(len(self.tables))]
        per_kind = np.array(cells, np.int64) * max(self.n_table_features, 1)
        edges = self.layout()[1]
        before = np.cumsum(per_kind) - per_kind
        return dict(
            cells=np.array(cells, np.int32),
            at=(edges["weights_at"] + edges["n_weights"] + before).astype(np.int64),
            n_weights=int(per_kind.sum()),
        )

    def _joint_states(self, kind: int) -> int:
        types = self.tables[kind]
        name = f"tables[{kind}] of the model"
        unknown = [t for t in types if not 0 <= t < len(self.states)]
        if unknown:
            raise ValueError(
                f"{name} joins node type {unknown[0]}, the model has types 0 to "
                f"{len(self.states) - 1}"
            )
        if len(types) < FEWEST_MEMBERS:
            raise ValueError(
                f"{name} joins {len(types)} nodes; tables are for three or more, use edges for two "
                "and a node's own features for one"
            )
        cells = math.prod(self.states[t] for t in types)
        if cells > MOST_CELLS:
            states = " * ".join(str(self.states[t]) for t in types)
            raise ValueError(
                f"{name} has {cells} joint states, of nodes with {states} states; at most "
                f"{MOST_CELLS} are possible: join fewer nodes, merge states, or use edges"
            )
        return cells

    def weights(self, w: np.ndarray) -> tuple[list, list, list]:
        """Weights by type: nodes (n_basis, features), biases (n_basis,), edges (features,
        n_basis)."""
        nodes, edges = self.layout()
        coef, bias, edge_coef = [], [], []
        for kind, size in enumerate(nodes["basis"].size):
            at = nodes["at"][kind] + np.arange(size)[:, None] * nodes["basis_stride"][kind]
            coef.append(w[at + np.arange(self.n_features) * nodes["feature_stride"][kind]])
            start = nodes["bias_at"][kind]
            bias.append(w[start : start + size] if start >= 0 else np.zeros(size))
        for at, size in zip(edges["at"], edges["basis"].size, strict=True):
            count = size * max(self.n_edge_features, 1)
            start = edges["weights_at"] + at
            edge_coef.append(w[start : start + count].reshape(-1, size))
        return coef, bias, edge_coef

    def table_weights(self, w: np.ndarray) -> list[np.ndarray]:
        """Weights of each kind of table, (features, states of the first node, of the second, ...).

        >>> model = GraphModel((2,), ((0, 0),), 1, 0, "full", "potts", tables=((0, 0, 0),))
        >>> model.table_weights(np.arange(13.0))[0].shape
        (1, 2, 2, 2)
        """
        layout, rows = self.table_layout(), max(self.n_table_features, 1)
        return [
            w[at : at + rows * cells].reshape(rows, *(self.states[t] for t in types))
            for at, cells, types in zip(layout["at"], layout["cells"], self.tables, strict=True)
        ]

    def check_attractive(self) -> None:
        """Non-negative weights must make every table attractive."""
        for number, table in enumerate(self.pairwise_tables()):
            check_memory(
                2 * table.size * table.shape[1],
                f"attractive=True: the check of pairwise scores of {table.shape[1]} labels",
                "triples of labels",
                "merge rare labels, or use attractive=False",
            )
            if table.shape[1] != table.shape[2] or np.any(repulsion(table) > 0):
                raise ValueError(
                    f"attractive=True: the pairwise basis of edge type {number} is not attractive "
                    f"under every non-negative weight; use one of {ATTRACTIVE}"
                )


def _per_type(value: Any, count: int, name: str) -> Sequence[Any]:
    """One value for all types, or a list with one for each."""
    if not isinstance(value, list | tuple):
        return [value] * count
    if len(value) != count:
        raise ValueError(f"{name} lists {len(value)} values for {count} types")
    return value
