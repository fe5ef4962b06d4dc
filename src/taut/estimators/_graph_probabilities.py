"""What a trained CRF tells of graphs: labels, marginals, the n best labellings, samples."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from taut.chain.crf_options import check_crf_options
from taut.estimators._forest_posterior import first_cycle, forests, log_likelihoods
from taut.estimators._graph import GraphEstimator
from taut.graphs import StackedGraphs, stack_graphs
from taut.inference.marginals import graph_marginals
from taut.inference.methods import Method
from taut.labels import check_labels, is_labelled
from taut.posterior import posterior
from taut.solvers.checks import is_count
from taut.structures.graphs import GraphProblem
from taut.structures.graphs.compute import sizes


class GraphProbabilities(GraphEstimator):
    """Prediction; subclasses train. They also store temperature, loss_augmented, class_weight and
    decoding."""

    def _check_options(self) -> None:
        check_crf_options(self, "GraphSVM")

    def predict(self, graphs: Any, *, inference: str | None = None) -> list:
        """The best labels of every graph's nodes, as ``decoding`` says.

        ``inference`` overrides the estimator's own; relaxed solutions are rounded.
        """
        check_is_fitted(self)
        self._check_options()
        if self.decoding == "viterbi":
            return super().predict(graphs, inference=inference)
        stacked = stack_graphs(graphs)
        numbers = [rows.argmax(axis=1) for rows in self._marginals(stacked)]
        return self._labels.decode(np.concatenate(numbers), stacked)

    def predict_marginals(self, graphs: Any) -> list[np.ndarray]:
        """Of every graph an array (nodes, labels): how probable each label is at each node.

        On chains, trees and forests these are exact, those of exp(score / temperature). A model
        that was trained exactly, on forests, has no others. On graphs with cycles they are the
        relaxed model's own: they add up to one and agree along edges, but
        belong to no distribution over labellings, and improbable labels get exactly 0. The columns
        are ``classes_``; with several node types, those of the node's type, then zeros.
        """
        check_is_fitted(self)
        self._check_options()
        return self._marginals(stack_graphs(graphs))

    def predict_proba(self, graphs: Any) -> list[np.ndarray]:
        """The same as ``predict_marginals``, by scikit-learn's name."""
        return self.predict_marginals(graphs)

    def predict_nbest(self, graphs: Any, n: int) -> list[list[tuple[Any, float]]]:
        """Of every graph the ``n`` most probable labellings, each with its probability.

        There are fewer where no more are possible. For forests only.
        """
        stacked, problem = self._forests(graphs, n)
        found = [forest.best(n) for forest in forests(problem, self.w_, self.temperature)]
        labels = self._labelled([labels for labels, _ in found], stacked)
        return [
            list(zip(some, probabilities.tolist(), strict=True))
            for some, (_, probabilities) in zip(labels, found, strict=True)
        ]

    def sample(self, graphs: Any, n: int = 1, *, random_state: Any = None) -> list[list[Any]]:
        """Of every graph ``n`` labellings, drawn with their probabilities. For forests only."""
        stacked, problem = self._forests(graphs, n)
        random = check_random_state(random_state)
        drawn = [forest.drawn(n, random) for forest in forests(problem, self.w_, self.temperature)]
        return self._labelled(drawn, stacked)

    def log_likelihood(self, graphs: Any, labels: Any) -> np.ndarray:
        """log p(labels) of every graph; missing labels are summed over. For forests only.

        Minus infinity where a label was not seen in training.
        """
        check_is_fitted(self)
        stacked = stack_graphs(graphs)
        check_labels(labels, stacked.lengths, "graphs", "labels", "graphs")
        known = is_labelled(labels, self.missing_label)
        types = self._labels.checked_types(stacked)
        truth = np.zeros(len(known), np.int32)
        truth[known] = self._labels.encode(labels, known, None if types is None else types[known])
        unseen = np.logical_or.reduceat(truth < 0, np.cumsum(stacked.lengths) - stacked.lengths)
        _, problem = self._forests(graphs, 1, np.maximum(truth, 0))
        found = log_likelihoods(problem, self.w_, self.temperature, known, self._n_threads())
        return np.where(unseen, -np.inf, found)

    def _marginals(self, stacked: StackedGraphs) -> list[np.ndarray]:
        if self.inference_ == "sum-product":
            _check_forests(stacked, 'marginals of this model; solver="idal" trains one for cycles')
        problem = self._problem_to_predict(stacked, "auto")
        if problem.method == Method.MAX_SUM:
            node, _ = posterior(problem, self.w_, self.temperature, self._n_threads())
            return np.split(node, problem.pointer[1:-1])
        arrays, work = problem.arrays, problem.new_work()
        local, found = work.local, []
        for i in range(problem.n):
            first, n, start, m = (int(size) for size in sizes(arrays, i))
            problem.scores(self.w_, i, work)
            marginals = graph_marginals(
                local.theta[:n],
                arrays.nodes.states[first : first + n],
                arrays.edges.ends[start : start + m],
                local.pair[:m],
                temperature=self.temperature,
            )
            found.append(marginals.node)
        return found

    def _forests(
        self, graphs: Any, n: int, truth: np.ndarray | None = None
    ) -> tuple[StackedGraphs, GraphProblem]:
        """Graphs of which everything is exact, and n labellings are asked for."""
        check_is_fitted(self)
        self._check_options()
        if not is_count(n):
            raise ValueError(f"n={n!r}; a whole number of labellings, at least 1")
        stacked = stack_graphs(graphs)
        _check_forests(stacked, "probabilities of labellings")
        return stacked, self._problem_to_predict(stacked, "max-sum", truth)

    def _labelled(self, numbers: list[np.ndarray], stacked: StackedGraphs) -> list[list[Any]]:
        """Labellings (n, nodes) of every graph in the user's labels."""
        counts = np.array([len(some) for some in numbers])
        types = stacked.node_type
        if types is not None:
            parts = np.split(types, np.cumsum(stacked.lengths)[:-1])
            types = np.concatenate([np.tile(p, k) for p, k in zip(parts, counts, strict=True)])
        repeated = stacked._replace(lengths=np.repeat(stacked.lengths, counts), node_type=types)
        flat = self._labels.decode(np.concatenate([some.ravel() for some in numbers]), repeated)
        stop = np.cumsum(counts)
        return [flat[end - k : end] for k, end in zip(counts, stop, strict=True)]


def _check_forests(stacked: StackedGraphs, what: str) -> None:
    cycle = first_cycle(stacked)
    if cycle is not None:
        raise ValueError(
            f"the edges of graphs[{cycle}] close a cycle, and only forests have {what}"
        )
