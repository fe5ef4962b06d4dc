"""Multiclass classification, the structured SVM of one node."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from taut.estimators._base import StructuredEstimator
from taut.estimators._tables import checked_table, table_like_fitted
from taut.losses import checked_weights, cost_matrix
from taut.prepared import Prepared
from taut.solvers import Solution
from taut.structures.multiclass import multiclass_problem


class MulticlassSVM(ClassifierMixin, StructuredEstimator):
    """Crammer and Singer's multiclass SVM, with any cost matrix and a certificate.

    Parameters are those of :class:`taut.ChainSVM`, less what concerns sequences, and

    cost : (K, K) array or None
        Cost of answering ``classes_[column]`` where ``classes_[row]`` is right; default 1.
    formulation : {"margin", "slack"}
        The same where every mistake costs 1; with a cost matrix they differ.
    class_weight : dict, "balanced" or None
        As everywhere in scikit-learn, multiplies the weights of all examples of a class.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from taut import MulticlassSVM
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = MulticlassSVM(C=10, random_state=0).fit(X, y)
    >>> bool(clf.score(X, y) > 0.95), clf.solution_.status.name
    (True, 'CONVERGED')
    """

    classes_: np.ndarray

    def __init__(
        self,
        C: float = 1.0,
        *,
        cost: ArrayLike | None = None,
        class_weight: dict | str | None = None,
        bias: bool = True,
        formulation: str = "margin",
        slack_penalty: str = "linear",
        solver: Any = "auto",
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
        self.cost = cost
        self.class_weight = class_weight
        self.bias = bias
        self.formulation = formulation
        self.slack_penalty = slack_penalty
        self.solver = solver
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

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> "MulticlassSVM":
        """Train on the rows of ``X``, dense or CSR."""
        return self._fit(self.prepare(X, y, sample_weight))

    def prepare(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Prepared:
        earlier = self._earlier()
        (X, y), note_columns = checked_table(self, X, y)
        check_classification_targets(y)
        classes, numbers = np.unique(y, return_inverse=True)
        if earlier is not None and not np.array_equal(classes, self.classes_):
            raise ValueError("warm_start: the labels differ from those of the last fit")
        if len(classes) < 2:
            raise ValueError(f"y has one class only, {y[0]!s}; there is nothing to learn")
        weights = compute_sample_weight(self.class_weight, y)
        if sample_weight is not None:
            weights *= checked_weights(_check_sample_weight(sample_weight, X), len(y))
        problem = multiclass_problem(
            X,
            numbers,
            len(classes),
            cost=cost_matrix(numbers, classes.tolist(), cost=self.cost),
            bias=self.bias,
            importance=weights,
        )

        def complete(solution: Solution) -> None:
            self._store(solution)
            note_columns()
            self.classes_ = classes
            self.coef_, self.intercept_ = _by_class(problem, solution.w)

        return self._prepared(self._formulated(problem), complete, earlier)

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores (n, n_classes); with two classes the margin of the second, as in scikit-learn."""
        check_is_fitted(self)
        X = table_like_fitted(self, X)
        scores = X @ self.coef_.T + self.intercept_
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> np.ndarray:
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return self.classes_[(scores > 0).astype(int)]
        return self.classes_[scores.argmax(axis=1)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _by_class(problem: Any, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(K, n_features) weights and (K,) biases."""
    n_states = problem.n_states
    weights = problem.features.weight_matrix(w[: problem.features.dim(n_states)], n_states)
    return weights.T, w[problem.bias_at :] if problem.bias_at >= 0 else np.zeros(n_states)
