"""Structured SVMs for graphs with a label at every node: trees, grids, superpixels."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from taut.estimators._graph import GraphEstimator
from taut.estimators._node_labels import NodeLabels

LOSSES = ("hamming-sum", "hamming")


class GraphSVM(GraphEstimator):
    """Structured SVM for graphs whose nodes are to be labelled.

    Parameters not listed are those of :class:`taut.ChainSVM`.

    Parameters
    ----------
    C : float
        Weight of the loss against the regulariser. The loss is a sum over nodes: for graphs of
        hundreds of nodes begin with 0.001, larger values take long.
    pairwise : {"potts", "full", "symmetric", "associative"}, array, or a list of them
        How the score of an edge depends on the labels of its ends: one number for a disagreement,
        one for every pair of labels, one for every unordered pair, one for agreeing on each label,
        or tables (n_basis, K, K) of your own. A list has one for each edge type.
    unary : {"full", "binary"}, array, or a list of them
        Weights for every label, or for two labels one set of them with signs -1 and +1.
    attractive : bool
        Keep the weights of edges non-negative, so that agreement is never punished: then two labels
        are inferred exactly by minimum cut. Needs edge features that are not negative and
        ``pairwise`` "potts" or "associative".
    inference : str
        "auto" chooses by the graphs (see ``inference_``); or "max-sum", "exhaustive", "graph-cut",
        "expansion" (prediction only), "roof-duality", "message-passing", "lp".
    loss : {"hamming-sum", "hamming"} or (K, K) array
        Number of wrong nodes, their fraction in each graph, or the cost of answering
        ``classes_[column]`` where ``classes_[row]`` is right. Weighted by the graphs' node weights.
    class_weight : dict, "balanced" or None
        Multiplies the cost of mistakes on a label.
    missing_label : label
        Nodes with this label (default -1) or None have no label: they and their edges are left out
        of training. If -1 is a class of yours, set this to None.
    bias : bool
        Give every label a bias.
    formulation : {"margin", "slack"}
        As for :class:`taut.ChainSVM`; "slack" needs forests, or few labellings.
    solver : str or solver object
        "auto" and those of :class:`taut.ChainSVM` ask inference for the best labelling of a graph
        at a time. "soft-bcfw", "soft-sdca" (edges agree with their nodes softly),
        "augmented-lagrangian" and "idal" (exactly, in the limit) use no inference: they step from
        node to edge to node, and solve the LP relaxation.
        Graphs with ``tables`` (:class:`taut.Graph`: scores of three or more nodes together) are for
        these four; "auto" is "augmented-lagrangian" then, and prediction is an integer program.
    rho : float
        Of solvers without inference: what disagreement may be; small values enforce consistency.

    Attributes
    ----------
    classes_ : labels, or a list with those of each node type
    inference_ : the method of inference that training used; "none" without
    solution_ : the certificate; of the LP relaxation where ``inference_`` relaxes
    coef_, intercept_, edge_coef_ : weights by node type (n_basis, features), (n_basis,) and edge
        type (edge features, n_basis); not in a list if there is one type only
    table_coef_ : likewise weights by type of table (table features, labels of the first node, of
        the second, ...); an empty list without tables
    w_, n_iter_, n_features_in_

    Examples
    --------
    >>> from taut import GraphSVM
    >>> x, edges = np.array([[1.0], [0.9], [-1.0], [-0.8]]), [[0, 1], [1, 2], [2, 3], [3, 0]]
    >>> clf = GraphSVM(C=10, random_state=0).fit([(x, edges)], [["sky", "sky", "sea", "sea"]])
    >>> clf.predict([(x[::-1], edges)])
    [['sea', 'sea', 'sky', 'sky']]
    >>> clf.inference_
    'exhaustive'
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        pairwise: Any = "potts",
        unary: Any = "full",
        attractive: bool = False,
        inference: str = "auto",
        loss: str | ArrayLike = "hamming-sum",
        class_weight: dict | str | None = None,
        missing_label: Any = -1,
        bias: bool = True,
        formulation: str = "margin",
        slack_penalty: str = "linear",
        solver: Any = "auto",
        rho: float = 1.0,
        averaging: bool = False,
        tol: float = 1e-3,
        max_passes: float = 1000,
        time_limit: float | None = None,
        cpu_limit: float | None = None,
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
        self.pairwise = pairwise
        self.unary = unary
        self.attractive = attractive
        self.inference = inference
        self.loss = loss
        self.class_weight = class_weight
        self.missing_label = missing_label
        self.bias = bias
        self.formulation = formulation
        self.slack_penalty = slack_penalty
        self.solver = solver
        self.rho = rho
        self.averaging = averaging
        self.tol = tol
        self.max_passes = max_passes
        self.time_limit = time_limit
        self.cpu_limit = cpu_limit
        self.bounds = bounds
        self.callback = callback
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.checkpoint_seconds = checkpoint_seconds
        self.resume = resume
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _is_normalized(self) -> bool:
        if isinstance(self.loss, str) and self.loss not in LOSSES:
            raise ValueError(f"loss={self.loss!r}; expected one of {LOSSES} or a cost matrix")
        return isinstance(self.loss, str) and self.loss == "hamming"

    def _costs(
        self, truth: np.ndarray, node_type: np.ndarray | None, node_labels: NodeLabels
    ) -> np.ndarray:
        given = None if isinstance(self.loss, str) else self.loss
        return node_labels.costs(truth, node_type, self.class_weight, given)
