"""Any structure: a model written in plain Python, trained with every solver."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from taut.estimators._base import StructuredEstimator
from taut.losses import checked_weights
from taut.prepared import Prepared
from taut.problem.python_problem import PythonProblem
from taut.solvers import Solution
from taut.structures.slack_rescaled import checked_formulation


class StructuredSVM(StructuredEstimator):
    """Structured SVM for your own model; :class:`taut.PythonProblem` says what a model is.

    Other parameters are those of :class:`taut.ChainSVM`, less what concerns sequences.
    ``formulation="slack"`` needs a method ``slack_oracle(w, x, y)`` of the model, the label that
    maximises loss * (1 + <w, joint_feature - that of y>).
    :func:`taut.check_problem` tells in words what is wrong with a model.
    """

    _fitted: PythonProblem

    def __init__(
        self,
        model: Any,
        C: float = 1.0,
        *,
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
        self.model = model
        self.C = C
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

    def fit(
        self, X: Sequence, y: Sequence, sample_weight: ArrayLike | None = None
    ) -> "StructuredSVM":
        """Train on inputs ``X`` and outputs ``y``, whatever the model makes of them."""
        return self._fit(self.prepare(X, y, sample_weight))

    def prepare(self, X: Sequence, y: Sequence, sample_weight: ArrayLike | None = None) -> Prepared:
        earlier = self._earlier()
        weights = checked_weights(sample_weight, len(X))
        formulation = checked_formulation(self.formulation)
        problem = PythonProblem(self.model, X, y, weights, formulation=formulation)
        if earlier is not None:
            problem.recall(self._fitted)

        def complete(solution: Solution) -> None:
            self._store(solution)
            self._fitted = problem

        return self._prepared(self._formulated(problem), complete, earlier)

    def predict(self, X: Sequence) -> list:
        check_is_fitted(self)
        return [self.model.predict(self.w_, x) for x in X]

    def score(self, X: Sequence, y: Sequence) -> float:
        """One minus the mean loss of the predictions."""
        if len(X) != len(y):
            raise ValueError(f"X has {len(X)} examples but y has {len(y)}")
        return 1.0 - float(
            np.mean([self.model.loss(t, p) for t, p in zip(y, self.predict(X), strict=True)])
        )
