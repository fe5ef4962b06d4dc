"""Labels of nodes: some may be missing, and every node type has its own."""

from typing import Any

import numpy as np

from taut.graphs import StackedGraphs, place_of
from taut.labels import LabelCodec, chosen_parts
from taut.losses import cost_matrix


class NodeLabels:
    """Numbers for the labels of each node type, and back."""

    def __init__(
        self, labels: Any, known: np.ndarray, node_type: np.ndarray | None, n_types: int = 1
    ) -> None:
        """``known`` is of all nodes, ``node_type`` of those that have a label."""
        parts = chosen_parts(labels, known)
        self.n_types = n_types
        present = np.unique(node_type) if node_type is not None else np.arange(n_types)
        if len(present) < n_types:  # before there is anything for each of them
            absent = int(np.append(present != np.arange(len(present)), True).argmax())
            raise ValueError(f"no node of type {absent} has a label; number the types from 0")
        self.codecs = [LabelCodec(_of_type(parts, node_type, k)) for k in range(self.n_types)]

    def check_several(self, missing: Any) -> None:
        """Refuse one label only: it is the answer whatever the weights."""
        if all(len(codec.classes) == 1 for codec in self.codecs):
            label = self.codecs[0].classes.tolist()[0]
            raise ValueError(
                f"the nodes have one label only, {label!r}; there is nothing "
                f"to learn (None and missing_label={missing!r} mean that a label is not known)"
            )

    @property
    def classes(self) -> Any:
        return self.codecs[0].classes if self.n_types == 1 else [c.classes for c in self.codecs]

    def same_classes(self, other: "NodeLabels") -> bool:
        return [c.number for c in self.codecs] == [c.number for c in other.codecs]

    def encode(self, labels: Any, known: np.ndarray, node_type: np.ndarray | None) -> np.ndarray:
        parts = chosen_parts(labels, known)
        if node_type is None:
            return self.codecs[0].encode(parts)
        numbers = np.zeros(len(node_type), np.int32)
        for kind, codec in enumerate(self.codecs):
            numbers[node_type == kind] = codec.encode(_of_type(parts, node_type, kind))
        return numbers

    def costs(
        self,
        truth: np.ndarray,
        node_type: np.ndarray | None,
        class_weight: Any,
        given: Any = None,
    ) -> np.ndarray:
        """(types, K, K) what it costs to answer ``column`` where ``row`` is right."""
        if given is not None and self.n_types > 1:
            raise ValueError("a cost matrix is for one node type; these graphs have several")
        tables = [
            cost_matrix(
                truth if node_type is None else truth[node_type == kind],
                codec.classes.tolist(),
                class_weight,
                given,
            )
            for kind, codec in enumerate(self.codecs)
        ]
        width = max(len(table) for table in tables)
        costs = np.zeros((self.n_types, width, width))
        for kind, table in enumerate(tables):
            costs[kind, : len(table), : len(table)] = table
        return costs

    def checked_types(self, stacked: StackedGraphs) -> np.ndarray | None:
        """Node types of graphs to be labelled."""
        node_type = stacked.node_type
        if node_type is None and self.n_types > 1:
            raise ValueError(
                f"the model was fitted with {self.n_types} node types; give node_types"
            )
        if node_type is not None and node_type.max(initial=0) >= self.n_types:
            node = int((node_type >= self.n_types).argmax())
            raise ValueError(
                f"{place_of(node, stacked.lengths, 'node')} is of type {node_type[node]}, the "
                f"model was fitted with types 0 to {self.n_types - 1}"
            )
        return node_type

    def decode(self, numbers: np.ndarray, stacked: StackedGraphs) -> list:
        if stacked.node_type is None or self.n_types == 1:
            return self.codecs[0].decode(numbers, stacked.lengths)
        names = [codec.classes.tolist() for codec in self.codecs]
        flat = [names[kind][k] for kind, k in zip(stacked.node_type, numbers, strict=True)]
        stop = np.cumsum(stacked.lengths)
        return [flat[end - n : end] for n, end in zip(stacked.lengths, stop, strict=True)]


def _of_type(parts: list, node_type: np.ndarray | None, kind: int) -> list:
    return parts if node_type is None else chosen_parts(parts, node_type == kind)
