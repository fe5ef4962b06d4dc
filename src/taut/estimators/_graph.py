"""What GraphSVM and GraphCRF share: graphs to problems and back."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from taut.decode import decode
from taut.estimators._base import StructuredEstimator
from taut.estimators._node_labels import NodeLabels
from taut.estimators._table_kinds import numbered_tables, table_kinds
from taut.graphs import StackedGraphs, place_of, stack_graphs, without_nodes
from taut.labels import check_labels, is_labelled
from taut.losses import checked_weights
from taut.prepared import Prepared
from taut.solvers import Solution
from taut.structures.graphs import GraphModel, GraphProblem, graph_problem

MOST_ABSENT = 10_000  # types of edges; a part of the data may lack some


class GraphEstimator(StructuredEstimator):
    """Training and prediction; subclasses have the options and say what a mistake costs.

    Beside those of :class:`StructuredEstimator` they store pairwise, unary, attractive, inference,
    missing_label, bias and rho.
    """

    _labels: NodeLabels
    _graph_model: GraphModel

    @abstractmethod
    def _costs(
        self, truth: np.ndarray, node_type: np.ndarray | None, node_labels: NodeLabels
    ) -> np.ndarray:
        """(node types, K, K) cost of mistakes; the arguments are of nodes that have a label."""

    def _is_normalized(self) -> bool:
        """Whether the loss of a graph is divided by its weight."""
        return False

    def _solver_options(self) -> dict[str, Any]:
        return {"rho": self.rho}

    # --- training ------------------------------------------------------------------------------

    def fit(self, graphs: Any, labels: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Train on graphs, each a tuple (node_features, edges[, edge_features]) or a
        :class:`taut.Graph`, and a list of labels for the nodes of each."""
        return self._fit(self.prepare(graphs, labels, sample_weight))

    def prepare(self, graphs: Any, labels: Any, sample_weight: ArrayLike | None = None) -> Prepared:
        return self._stated(stack_graphs(graphs), labels, sample_weight)

    def _stated(
        self,
        stacked: StackedGraphs,
        labels: Any,
        sample_weight: ArrayLike | None,
        crf: Callable[[GraphProblem, np.ndarray], Any] | None = None,
    ) -> Prepared:
        """The problem of these graphs, without nodes that have no label.

        They stay where ``crf`` makes the CRF of a problem, given which of its nodes have a label.
        """
        earlier = self._earlier()
        check_labels(labels, stacked.lengths, "graphs", "labels", "graphs")
        weights = checked_weights(sample_weight, len(stacked.lengths))
        known = self._known(labels)
        if crf is None:
            stacked, left = without_nodes(stacked, known)
            weights = None if weights is None else weights[left]
            labelled = np.ones(stacked.rows.shape[0], bool)
        else:
            labelled = known
        types = None if stacked.node_type is None else stacked.node_type[labelled]
        n_types = 1 if stacked.node_type is None else int(stacked.node_type.max()) + 1
        node_labels = NodeLabels(labels, known, types, n_types)
        node_labels.check_several(self.missing_label)
        if earlier is not None and not node_labels.same_classes(self._labels):
            raise ValueError("warm_start: the labels differ from those of the last fit")
        model = self._model_of(stacked, node_labels)
        truth = np.zeros(len(labelled), np.int32)
        truth[labelled] = node_labels.encode(labels, known, types)
        problem = graph_problem(
            model,
            stacked.rows,
            stacked.lengths,
            truth,
            stacked.ends,
            stacked.n_edges,
            edge_rows=stacked.edge_rows,
            node_type=stacked.node_type,
            edge_type=_edge_types(stacked, model),
            cost=self._costs(truth[labelled], types, node_labels),
            node_weight=stacked.node_weight,
            normalize=self._is_normalized(),
            tables=numbered_tables(stacked, model),
            table_rows=None if stacked.tables is None else stacked.tables.rows,
            importance=weights,
            inference=self._training_inference(),
            accuracy=self._oracle_accuracy(),
        )

        def complete(solution: Solution) -> None:
            self._store(solution)
            self._labels, self._graph_model = node_labels, model
            self.classes_ = node_labels.classes
            self.n_features_in_ = model.n_features
            self.inference_ = solution.inference if crf is None else "sum-product"
            self.coef_, self.intercept_, self.edge_coef_ = (
                parts[0] if len(parts) == 1 else parts for parts in model.weights(solution.w)
            )
            tables = model.table_weights(solution.w)
            self.table_coef_ = tables[0] if len(tables) == 1 else tables

        posed = self._formulated(problem) if crf is None else crf(problem, labelled)
        return self._prepared(posed, complete, earlier)

    def _known(self, labels: Any) -> np.ndarray:
        """Which nodes have a label."""
        known = is_labelled(labels, self.missing_label)
        if not known.any():
            raise ValueError(
                f"no node has a label: None and missing_label={self.missing_label!r} mean that "
                "there is none"
            )
        return known

    def _model_of(self, stacked: StackedGraphs, node_labels: NodeLabels) -> GraphModel:
        joins = _joins(stacked)
        self._check_comparable(joins, node_labels)
        return GraphModel(
            states=tuple(len(codec.classes) for codec in node_labels.codecs),
            joins=joins,
            n_features=stacked.rows.shape[1],
            n_edge_features=stacked.n_edge_features,
            unary=self.unary,
            pairwise=self.pairwise,
            bias=self.bias,
            attractive=self.attractive,
            by_feature=sparse.issparse(stacked.rows),
            tables=table_kinds(stacked, MOST_ABSENT),
            n_table_features=stacked.n_table_features,
        )

    def _check_comparable(self, joins: Any, node_labels: NodeLabels) -> None:
        """Tables that compare labels make sense only between node types with the same ones."""
        kinds = self.pairwise if isinstance(self.pairwise, list | tuple) else [self.pairwise]
        for number, (u, v) in enumerate(joins):
            kind = kinds[min(number, len(kinds) - 1)]
            first, second = (node_labels.codecs[t].number for t in (u, v))
            if isinstance(kind, str) and kind != "full" and first != second:
                raise ValueError(
                    f"pairwise={kind!r} compares labels, but edge type {number} joins node types "
                    f"{u} and {v}, whose labels are {list(first)} and {list(second)}; use "
                    '"full" for it: pairwise is a list with one value per edge type'
                )

    # --- prediction ----------------------------------------------------------------------------

    def predict(self, graphs: Any, *, inference: str | None = None) -> list:
        """The best labels of every graph's nodes.

        ``inference`` overrides the estimator's own; relaxed solutions are rounded.
        """
        check_is_fitted(self)
        stacked = stack_graphs(graphs)
        problem = self._problem_to_predict(
            stacked, self.inference if inference is None else inference
        )
        numbers = decode(problem, self.w_, self._n_threads())
        return self._labels.decode(numbers, stacked)

    def _problem_to_predict(
        self, stacked: StackedGraphs, inference: str, truth: np.ndarray | None = None
    ) -> GraphProblem:
        model, tables = self._graph_model, stacked.tables
        absent = ["edge"] * (len(stacked.ends) == 0)
        absent += ["table"] * (tables is None or not tables.per_graph.any())
        for what, found, fitted in (
            ("node", stacked.rows.shape[1], model.n_features),
            ("edge", stacked.n_edge_features, model.n_edge_features),
            ("table", stacked.n_table_features, model.n_table_features),
        ):
            # Graphs without any edge have no features of edges.
            if found != fitted and what not in absent:
                given = f"{found} features per {what}" if found else f"no {what} features"
                raise ValueError(
                    f"graphs have {given}, the model was fitted with {fitted or 'none'}"
                )
        edge_rows = stacked.edge_rows
        if edge_rows is None and model.n_edge_features:
            edge_rows = np.zeros((0, model.n_edge_features))
        table_rows = None if tables is None or "table" in absent else tables.rows
        return graph_problem(
            model,
            stacked.rows,
            stacked.lengths,
            truth,
            stacked.ends,
            stacked.n_edges,
            edge_rows=edge_rows,
            node_type=self._labels.checked_types(stacked),
            edge_type=_edge_types(stacked, model),
            tables=numbered_tables(stacked, model),
            table_rows=table_rows,
            inference=inference,
        )

    def score(self, graphs: Any, labels: Any) -> float:
        """The fraction of labelled nodes whose label is predicted."""
        stacked = stack_graphs(graphs)
        check_labels(labels, stacked.lengths, "graphs", "labels", "graphs")
        right = total = 0
        for predicted, true in zip(self.predict(graphs), labels, strict=True):
            for ours, theirs in zip(predicted, true, strict=True):
                if theirs is not None and theirs != self.missing_label:
                    total += 1
                    right += bool(ours == theirs)
        if total == 0:
            raise ValueError("no node has a label, so there is nothing to score")
        return right / total


def _joins(stacked: StackedGraphs) -> tuple[tuple[int, int], ...]:
    """Which node types each edge type joins, from the first edge of each."""
    _check_edge_types(stacked)
    if stacked.node_type is None:
        n_edge_types = 1 if stacked.edge_type is None else int(stacked.edge_type.max(initial=0)) + 1
        return ((0, 0),) * n_edge_types
    pairs = _end_types(stacked)
    if stacked.edge_type is None:
        # Without types of their own, edges are as different as the nodes they join.
        return tuple((int(u), int(v)) for u, v in np.unique(pairs, axis=0)) or ((0, 0),)
    found, first = np.unique(stacked.edge_type, return_index=True)
    joins = [(0, 0)] * (int(found.max(initial=0)) + 1)
    for kind, e in zip(found, first, strict=True):
        joins[kind] = (int(pairs[e, 0]), int(pairs[e, 1]))
    return tuple(joins)


def _check_edge_types(stacked: StackedGraphs) -> None:
    """Every type up to the largest has weights, so it must not be any number."""
    types, m = stacked.edge_type, len(stacked.ends)
    if types is not None and types.max(initial=0) >= max(m, MOST_ABSENT):
        e = int(types.argmax())
        raise ValueError(
            f"{place_of(e, stacked.n_edges, 'edge')} is of type {types[e]}, and there are {m} "
            "edges; number the types from 0"
        )


def _end_types(stacked: StackedGraphs) -> np.ndarray:
    """(m, 2) types of the nodes that each edge joins."""
    assert stacked.node_type is not None
    first = np.cumsum(stacked.lengths) - stacked.lengths
    graph = np.repeat(np.arange(len(stacked.lengths)), stacked.n_edges)
    return stacked.node_type[first[graph][:, None] + stacked.ends]


def _edge_types(stacked: StackedGraphs, model: GraphModel) -> np.ndarray | None:
    if stacked.edge_type is not None or stacked.node_type is None:
        return stacked.edge_type
    number = {pair: kind for kind, pair in enumerate(model.joins)}
    pairs = _end_types(stacked).tolist()
    unknown = next((e for e, pair in enumerate(pairs) if tuple(pair) not in number), None)
    if unknown is not None:
        u, v = pairs[unknown]
        raise ValueError(
            f"{place_of(unknown, stacked.n_edges, 'edge')} joins node types {u} and {v}, in that "
            "order; no edge did in training"
        )
    return np.array([number[tuple(pair)] for pair in pairs], np.int32)
