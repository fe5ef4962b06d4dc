"""What a graph model is: types, states, bases, and where its weights lie."""

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


@dataclass(frozen=True)
class GraphModel:
    """Types, states and weights of a graph model; the weights are [nodes | biases | edges]."""

    states: tuple[int, ...]  # of each node type
    joins: tuple[tuple[int, int], ...]  # the node types that each edge type joins
    n_features: int
    n_edge_features: int  # 0: the constant 1
    unary: Any = "full"  # one for all node types, or a list
    pairwise: Any = "full"  # one for all edge types, or a list
    bias: bool = True
    attractive: bool = False  # edge weights are kept non-negative
    by_feature: bool = False  # weights of one feature lie together, as sparse features want it

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
