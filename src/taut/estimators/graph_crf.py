"""Conditional random fields on graphs, trained without inference."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from taut.estimators._base import Prepared
from taut.estimators._graph import GraphEstimator
from taut.estimators._node_labels import NodeLabels
from taut.graphs import StackedGraphs, stack_graphs
from taut.inference.marginals import graph_marginals
from taut.solvers.checks import is_number
from taut.structures.graphs.compute import sizes


class GraphCRF(GraphEstimator):
    """Conditional random field for graphs whose nodes are to be labelled.

    The entropy of a CRF is replaced by a quadratic one, ``sum (1 - |mu|^2)`` over the marginals of
    nodes and edges (Gini), and marginals need only agree locally; then training needs no inference
    at all (Hu and Obozinski 2018), and ends with a proved gap on graphs with cycles too.

    Parameters not listed are those of :class:`taut.GraphSVM`.

    Parameters
    ----------
    C : float
        Weight of the likelihood against the regulariser.
    temperature : float
        Weight of the entropy: how undecided the model is meant to be. With ``loss_augmented`` and
        temperature toward 0 this is :class:`taut.GraphSVM`.
    loss_augmented : bool
        Ask for a margin as well: mistakes are scored up by the number of wrong nodes.
    class_weight : dict, "balanced" or None
        Multiplies the cost of mistakes on a label; for ``loss_augmented``.
    inference : str
        Of ``predict``.
    solver : {"idal", "soft-sdca", "augmented-lagrangian", "soft-bcfw"} or solver object
        "idal" and "augmented-lagrangian" make edges agree with their nodes exactly, in the limit.
    rho : float
        Penalty parameter: small values enforce consistency early, large ones make easier steps.

    Attributes
    ----------
    classes_ : labels, or a list with those of each node type
    solution_ : the certificate, of the relaxed CRF
    coef_, intercept_, edge_coef_ : as those of :class:`taut.GraphSVM`
    w_, n_iter_, n_features_in_

    Examples
    --------
    >>> from taut import GraphCRF
    >>> x, edges = np.array([[1.0], [0.9], [-1.0], [-0.8]]), [[0, 1], [1, 2], [2, 3], [3, 0]]
    >>> crf = GraphCRF(C=10, random_state=0).fit([(x, edges)], [["sky", "sky", "sea", "sea"]])
    >>> crf.predict([(x[::-1], edges)])
    [['sea', 'sea', 'sky', 'sky']]
    >>> crf.classes_.tolist(), crf.predict_marginals([(x, edges)])[0][0].round(1).tolist()
    (['sea', 'sky'], [0.0, 1.0])
    """

    averaging = False

    def __init__(
        self,
        C: float = 1.0,
        *,
        temperature: float = 1.0,
        loss_augmented: bool = False,
        pairwise: Any = "potts",
        unary: Any = "full",
        attractive: bool = False,
        inference: str = "auto",
        class_weight: dict | str | None = None,
        missing_label: Any = -1,
        bias: bool = True,
        solver: Any = "idal",
        rho: float = 1.0,
        tol: float = 1e-3,
        max_passes: float = 10_000,
        time_limit: float | None = None,
        bounds: tuple | None = None,
        callback: Callable | None = None,
        warm_start: bool | str = False,
        checkpoint: Any = None,
        checkpoint_seconds: float = 60.0,
        resume: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: bool | None = None,
    ):
        self.C = C
        self.temperature = temperature
        self.loss_augmented = loss_augmented
        self.pairwise = pairwise
        self.unary = unary
        self.attractive = attractive
        self.inference = inference
        self.class_weight = class_weight
        self.missing_label = missing_label
        self.bias = bias
        self.solver = solver
        self.rho = rho
        self.tol = tol
        self.max_passes = max_passes
        self.time_limit = time_limit
        self.bounds = bounds
        self.callback = callback
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.checkpoint_seconds = checkpoint_seconds
        self.resume = resume
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _prepare(
        self, graphs: Any, labels: Any, sample_weight: ArrayLike | None = None
    ) -> Prepared:
        if not (is_number(self.temperature) and 0 < self.temperature < np.inf):
            raise ValueError(
                f"temperature={self.temperature!r}; a positive number is expected: at 0 a CRF is "
                "GraphSVM"
            )
        return super()._prepare(graphs, labels, sample_weight)

    def _solver_options(self) -> dict[str, Any]:
        return {"rho": self.rho, "temperature": float(self.temperature)}

    def _costs(
        self, truth: np.ndarray, stacked: StackedGraphs, node_labels: NodeLabels
    ) -> np.ndarray:
        costs = node_labels.costs(truth, stacked.node_type, self.class_weight)
        return costs if self.loss_augmented else 0.0 * costs

    def predict_marginals(self, graphs: Any) -> list[np.ndarray]:
        """Of every graph an array (nodes, labels): how probable each label is at each node.

        On chains, trees and forests these are exact, those of exp(score / temperature). On graphs
        with cycles they are the relaxed model's own: they add up to one and agree along edges, but
        belong to no distribution over labellings, and improbable labels get exactly 0. The columns
        are ``classes_``; with several node types, those of the node's type, then zeros.
        """
        check_is_fitted(self)
        stacked = stack_graphs(graphs)
        problem = self._problem_to_predict(stacked, self.inference)
        arrays, work = problem.arrays, problem.new_work()
        local, found = work.arrays.local, []
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
