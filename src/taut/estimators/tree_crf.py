"""Conditional random fields on trees and forests."""

from collections.abc import Callable
from typing import Any

import numpy as np

from taut.estimators._forest_posterior import first_cycle
from taut.estimators.graph_crf import GraphCRF
from taut.graphs import StackedGraphs
from taut.structures.graphs import GraphProblem


class TreeCRF(GraphCRF):
    """Conditional random field for trees and forests: exact probabilities of nodes and labellings.

    This is :class:`taut.GraphCRF` for graphs without cycles; others are refused. It minimises
    ``lambda/2 |w|^2 + 1/n sum_i -log p(y_i | x_i; w)`` with ``lambda = 1/(C n)``, and proves how
    close to the minimum it came: see ``solution_``.

    Parameters not listed are those of :class:`taut.GraphCRF`.

    Parameters
    ----------
    pairwise : {"full", "potts", "symmetric", "associative"}, array, or a list of them
        As for :class:`taut.GraphSVM`; "full" has a weight for every pair of labels, of the edge's
        first node and its second.
    solver : {"auto", "sdca", "lbfgs"} or solver object
        Stochastic dual coordinate ascent (:class:`taut.SDCA`), the quick one, or L-BFGS
        (:class:`taut.LBFGS`), whose passes use all threads. "auto" takes the former, unless labels
        are missing, or examples are so large (or C is) that its steps would be short.

    Attributes
    ----------
    classes_ : labels, or a list with those of each node type
    solution_ : the certificate
    coef_, intercept_, edge_coef_ : as those of :class:`taut.GraphSVM`
    w_, n_iter_, n_features_in_

    Examples
    --------
    A sentence as a tree; edges go from a word to the one it depends on:

    >>> from taut import TreeCRF
    >>> words, edges = np.eye(3), [[0, 1], [2, 1]]
    >>> crf = TreeCRF(C=10, random_state=0).fit([(words, edges)], [["noun", "verb", "noun"]])
    >>> crf.predict([(words[[2, 1]], [[0, 1]])])
    [['noun', 'verb']]
    """

    # There is nothing to choose here.
    attractive = False
    inference = "auto"
    rho = 1.0

    def __init__(
        self,
        C: float = 1.0,
        *,
        l1: float = 0.0,
        temperature: float = 1.0,
        loss_augmented: bool = False,
        pairwise: Any = "full",
        unary: Any = "full",
        decoding: str = "viterbi",
        class_weight: dict | str | None = None,
        missing_label: Any = -1,
        bias: bool = True,
        solver: Any = "auto",
        tol: float = 1e-5,
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
        self.l1 = l1
        self.temperature = temperature
        self.loss_augmented = loss_augmented
        self.pairwise = pairwise
        self.unary = unary
        self.decoding = decoding
        self.class_weight = class_weight
        self.missing_label = missing_label
        self.bias = bias
        self.solver = solver
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

    def _check_solver(self) -> None:
        """The solver of a CRF is chosen, and checked, once there is a problem."""

    def _trains_exactly(self, stacked: StackedGraphs) -> bool:
        _check_forests(stacked)
        return True

    def _problem_to_predict(
        self, stacked: StackedGraphs, inference: str, truth: np.ndarray | None = None
    ) -> GraphProblem:
        _check_forests(stacked)
        return super()._problem_to_predict(stacked, inference, truth)


def _check_forests(stacked: StackedGraphs) -> None:
    cycle = first_cycle(stacked)
    if cycle is not None:
        raise ValueError(
            f"the edges of graphs[{cycle}] close a cycle, and TreeCRF is for trees and forests; "
            "leave edges out, or use GraphCRF"
        )
