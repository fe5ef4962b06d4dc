"""Conditional random fields on graphs: exact on forests, relaxed on graphs with cycles."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from taut.choice.named import fitting_solver, is_auto, is_without_inference, named_solver
from taut.choice.registry import trains_svms
from taut.estimators._forest_posterior import first_cycle
from taut.estimators._graph_probabilities import GraphProbabilities
from taut.estimators._node_labels import NodeLabels
from taut.graphs import StackedGraphs, stack_graphs
from taut.prepared import Prepared
from taut.problem.capability import CRF
from taut.solvers import LBFGS, Solution
from taut.solvers.checks import is_number
from taut.structures.graphs import GraphProblem
from taut.structures.partly_labelled import partly_labelled
from taut.structures.smoothed import smoothed


class GraphCRF(GraphProbabilities):
    """Conditional random field for graphs whose nodes are to be labelled.

    Minimises ``lambda/2 |w|^2 + 1/n sum_i -T log p(y_i | x_i; w)`` with ``lambda = 1/(C n)`` and
    ``p(y) = exp(score(y) / T) / Z``, T the temperature. On chains, trees and forests that is exact,
    and so are all probabilities. Z of a graph with cycles cannot be computed. For training on such
    graphs the entropy of a CRF is replaced by a quadratic one, ``sum (1 - |mu|^2)`` over the
    marginals of nodes and edges (Gini), and marginals need only agree locally; then training needs
    no inference at all (Hu and Obozinski 2018). Both end with a proved gap.

    Parameters not listed are those of :class:`taut.GraphSVM`.

    Parameters
    ----------
    C : float
        Weight of the likelihood against the regulariser.
    l1 : float
        Adds ``lambda l1 |w|_1``: weights that do not earn it become exactly zero. For forests only.
    temperature : float
        Weight of the entropy: how undecided the model is meant to be. With ``loss_augmented`` and
        temperature toward 0 this is :class:`taut.GraphSVM`.
    loss_augmented : bool
        Ask for a margin as well: mistakes are scored up by the number of wrong nodes.
    class_weight : dict, "balanced" or None
        Multiplies the cost of mistakes on a label; for ``loss_augmented``.
    missing_label : label
        Nodes with this label (default -1) or None have no label. On forests it is summed over: the
        objective is then not convex, the solver is "lbfgs", and the certificate is that of the
        labels as the final weights fill them in. On graphs with cycles such nodes and their edges
        are left out of training. If -1 is a class of yours, set this to None.
    inference : str
        Of ``predict``.
    decoding : {"viterbi", "posterior"}
        What ``predict`` returns: the best labels as a whole, or the most probable label of every
        node.
    solver : str or solver object
        "auto" trains forests by "sdca" (:class:`taut.SDCA`), by "lbfgs" (:class:`taut.LBFGS`) if
        labels are missing or C is so large that the former's steps would be short, and all graphs
        by "idal" if some have cycles. "idal", "soft-sdca", "augmented-lagrangian" and "soft-bcfw"
        train the relaxed CRF; the first and the third make edges agree with their nodes exactly,
        in the limit.
    rho : float
        Penalty parameter of the relaxed CRF: small values enforce consistency early, large ones
        make easier steps.

    Attributes
    ----------
    classes_ : labels, or a list with those of each node type
    inference_ : "sum-product" if training was exact, else "none"
    solution_ : the certificate, of the exact or the relaxed CRF
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

    Without the last edge this is a chain, and probabilities are exact:

    >>> crf = GraphCRF(C=10, random_state=0).fit([(x, edges[:3])], [["sky", "sky", "sea", "sea"]])
    >>> for labels, probability in crf.predict_nbest([(x, edges[:3])], 2)[0]:
    ...     print(labels, round(probability, 1))
    ['sky', 'sky', 'sea', 'sea'] 0.8
    ['sky', 'sea', 'sea', 'sea'] 0.1
    """

    averaging = False

    def __init__(
        self,
        C: float = 1.0,
        *,
        l1: float = 0.0,
        temperature: float = 1.0,
        loss_augmented: bool = False,
        pairwise: Any = "potts",
        unary: Any = "full",
        attractive: bool = False,
        inference: str = "auto",
        decoding: str = "viterbi",
        class_weight: dict | str | None = None,
        missing_label: Any = -1,
        bias: bool = True,
        solver: Any = "auto",
        rho: float = 1.0,
        tol: float = 1e-3,
        max_passes: float = 10_000,
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
        self.l1 = l1
        self.temperature = temperature
        self.loss_augmented = loss_augmented
        self.pairwise = pairwise
        self.unary = unary
        self.attractive = attractive
        self.inference = inference
        self.decoding = decoding
        self.class_weight = class_weight
        self.missing_label = missing_label
        self.bias = bias
        self.solver = solver
        self.rho = rho
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

    # --- training ------------------------------------------------------------------------------

    def prepare(self, graphs: Any, labels: Any, sample_weight: ArrayLike | None = None) -> Prepared:
        self._check_options()
        self._check_solver()
        stacked = stack_graphs(graphs)
        if stacked.tables is not None:
            raise ValueError(
                f"the graphs have tables, which {type(self).__name__} has no probabilities for; "
                "train GraphSVM on them, or leave the tables out"
            )
        crf = self._crf if self._trains_exactly(stacked) else None
        if crf is None and self.l1:
            raise ValueError(
                f"l1={self.l1}: an l1 norm is for CRFs trained exactly, on forests, and this one "
                "is relaxed; use l1=0"
            )
        return self._stated(stacked, labels, sample_weight, crf)

    def _check_solver(self) -> None:
        if not is_auto(self.solver):
            fitting_solver(self.solver, lambda one: not trains_svms(one))

    def _trains_exactly(self, stacked: StackedGraphs) -> bool:
        if is_without_inference(self.solver):
            return False
        cycle = first_cycle(stacked)
        if cycle is not None and self.solver != "auto":
            raise ValueError(
                f"the edges of graphs[{cycle}] close a cycle, and solver={self.solver!r} is for "
                'forests; use solver="auto", which trains the relaxed CRF of such graphs by "idal"'
            )
        return cycle is None

    def _crf(self, problem: GraphProblem, known: np.ndarray) -> Any:
        temperature = float(self.temperature)
        if known.all():
            return smoothed(problem, temperature, loss_augmented=self.loss_augmented)
        if self.loss_augmented:
            raise ValueError(
                "loss_augmented=True needs all labels, and some are missing; leave those nodes "
                "out, or train without it"
            )
        return partly_labelled(problem, known, temperature)

    def _training_inference(self) -> str:
        """Sums need none, and neither does training without inference; it is for prediction."""
        return "auto"

    def _chosen_solver(self, problem: Any, earlier: Solution | None = None) -> Any:
        if not problem.capabilities & CRF:
            name = "idal" if self.solver == "auto" else self.solver
            return named_solver(name, problem, self.averaging, **self._solver_options())
        if earlier is not None and self.solver == "auto" and isinstance(earlier.solver, LBFGS):
            return earlier.solver  # a run goes on with the solver it began with
        C = self.C if is_number(self.C) else None  # training will say what is wrong with it
        return named_solver(self.solver, problem, self.averaging, C=C)

    def _solver_options(self) -> dict[str, Any]:
        return {"rho": self.rho, "temperature": float(self.temperature)}

    def _no_path(self) -> str:
        return f"paths are of SVMs; {type(self).__name__} is a CRF: fit it at each C"

    def _costs(
        self, truth: np.ndarray, node_type: np.ndarray | None, node_labels: NodeLabels
    ) -> np.ndarray:
        costs = node_labels.costs(truth, node_type, self.class_weight)
        return costs if self.loss_augmented else 0.0 * costs
