"""Sequence labelling."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from taut.decode import decode
from taut.estimators._base import StructuredEstimator
from taut.estimators._sequences import LabelCodec, Stacked, check_labels, stack
from taut.losses import checked_weights, cost_matrix
from taut.structures.chain import chain_problem
from taut.structures.features import DenseFeatures, node_features, with_weights_of
from taut.structures.pairwise import Pairwise

# Beyond so many weights, features="auto" keeps only the observed ones.
MOST_WEIGHTS = 50_000_000


class ChainSVM(StructuredEstimator):
    """Structured SVM for sequences: a score for every label at every position and for every step.

    Minimises ``lambda/2 |w|^2 + 1/n sum_i hinge_i(w)`` with ``lambda = 1/(C n)`` and proves how
    close to the minimum it came: see ``solution_``.

    Parameters
    ----------
    C : float
        Weight of the training loss against the regulariser; larger fits closer.
    loss : {"hamming", "hamming-sum"} or (K, K) array
        Fraction of wrong labels, their number, or the cost of every (true, other) pair of labels,
        in the order of ``classes_`` (summed over the sequence, divided by its length).
    class_weight : dict, "balanced" or None
        Cost of a mistake on each true label.
    bias, boundary : bool
        A bias for every label; one more for the first and for the last position.
    features : {"auto", "all", "observed"}
        Which weights a sparse attribute has: one for every label, or only for the labels it was
        seen with in training, as CRFsuite does: a tenth of the memory, a little less accurate
        (CoNLL-2000: F1 93.4 instead of 93.6). "auto" is "all" up to 50 million weights.
    solver : str or solver object
        "auto", "fw", "bcfw", "bcpfw", "bcafw", "corrective", or a :class:`taut.BCFW` or
        :class:`taut.FrankWolfe` with options.
    averaging : bool
        Also consider the weighted average of all iterates; good for few passes over much text.
    tol : float
        Stop when the gap is this fraction of the objective at w = 0.
    max_passes, time_limit : float
        Stop after so many passes over the data, or seconds.
    bounds : (lower, upper) or None
        Box constraints on the weights: numbers, or arrays of all weights.
    callback : callable or None
        Called with each row of the history; return True to stop.
    warm_start : bool, "dual" or "primal"
        Start from the last solution: True and "dual" keep its dual point, "primal" its weights
        (where C grew).
    checkpoint, checkpoint_seconds, resume
        File to save the state of the run to, how often, and whether to go on from it.
    n_jobs : int or None
        Threads for certificates and prediction; never changes the result.
    random_state : int, RandomState or None
    verbose : bool or None
        Progress line; None shows it on a terminal.

    Attributes
    ----------
    classes_, w_, coef_, solution_, n_iter_, n_features_in_

    Examples
    --------
    >>> from taut import ChainSVM
    >>> X = [np.eye(2)[[0, 1, 0]], np.eye(2)[[1, 1]]]
    >>> clf = ChainSVM(C=10, random_state=0).fit(X, [["a", "b", "a"], ["b", "b"]])
    >>> clf.predict([np.eye(2)[[0, 0]]])
    [['a', 'a']]
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        loss: str | ArrayLike = "hamming",
        class_weight: dict | str | None = None,
        bias: bool = True,
        boundary: bool = True,
        features: str = "auto",
        solver: Any = "auto",
        averaging: bool = False,
        tol: float = 1e-3,
        max_passes: float = 1000,
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
        self.loss = loss
        self.class_weight = class_weight
        self.bias = bias
        self.boundary = boundary
        self.features = features
        self.solver = solver
        self.averaging = averaging
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

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> "ChainSVM":
        """Train on sequences ``X`` (matrices with a row per position) with labels ``y``.

        ``X`` is a list of arrays or CSR matrices, a :class:`taut.Sequences`, or a list of pairs
        (node features, step features) with a row of step features between neighbours.
        """
        continues = self._checked_warm_start() and hasattr(self, "solution_")
        stacked = stack(X)
        check_labels(y, stacked.lengths)
        codec = LabelCodec(y)
        if continues and codec.number != self._codec.number:
            raise ValueError("warm_start: the labels differ from those of the last fit")
        return self._fit(stacked, y, codec, sample_weight, continues)

    def _fit(
        self, stacked: Stacked, y: Any, codec: LabelCodec, sample_weight: Any, continues: bool
    ) -> "ChainSVM":
        weights = checked_weights(sample_weight, len(stacked.lengths))
        problem = self._problem(stacked, codec.encode_known(y), codec.classes, weights)
        self._train(problem, continues=continues)
        # Only now: a fit that fails leaves the model as it was.
        self._codec, self.classes_ = codec, codec.classes
        self.n_features_in_ = stacked.rows.shape[1]
        self._warn_if_unfinished()
        return self

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: ArrayLike | None = None
    ) -> "ChainSVM":
        """Add sequences to the training set and go on from the current solution.

        The new ones start at their true labels, which is always feasible, so the certificate
        covers all sequences seen so far. Labels that will only come later are named by ``classes``
        at the first call; with ``features="observed"``, pairs of attribute and label that were not
        observed then get no weight later. Class weights stay those of the first call.
        """
        if not hasattr(self, "solution_"):
            if classes is None:
                return self.fit(X, y, sample_weight)
            stacked = stack(X)
            check_labels(y, stacked.lengths)
            as_arrays = all(isinstance(part, np.ndarray) for part in y)
            codec = LabelCodec([np.asarray(classes) if as_arrays else list(classes)])
            return self._fit(stacked, y, codec, sample_weight, continues=False)
        stacked = stack(X, self.n_features_in_)
        check_labels(y, stacked.lengths)
        weights = checked_weights(sample_weight, len(stacked.lengths))
        stacked = stacked._replace(rows=self._rows_like_fitted(stacked.rows))
        more = self._problem(stacked, self._codec.encode_known(y), self.classes_, weights)
        problem = self._fitted.extended(more)
        self._train(problem, continues=True)
        self._warn_if_unfinished()
        return self

    def _problem(
        self,
        stacked: Stacked,
        numbers: np.ndarray,
        classes: np.ndarray,
        weights: np.ndarray | None,
    ) -> Pairwise:
        if len(classes) < 2:
            raise ValueError(f"y has one class only, {classes[0]!r}; there is nothing to learn")
        if self.features not in ("auto", "all", "observed"):
            raise ValueError(f'features={self.features!r}; expected "auto", "all" or "observed"')
        if self.features == "observed" and not sparse.issparse(stacked.rows):
            raise ValueError('features="observed" needs sparse (CSR) input; use "all" or "auto"')
        given = None if isinstance(self.loss, str) else self.loss
        if isinstance(self.loss, str) and self.loss not in ("hamming", "hamming-sum"):
            raise ValueError(
                f'loss={self.loss!r}; expected "hamming", "hamming-sum" or a cost matrix'
            )
        return chain_problem(
            stacked.rows,
            stacked.lengths,
            numbers,
            len(classes),
            cost=cost_matrix(numbers, classes.tolist(), self.class_weight, given),
            normalize=not (isinstance(self.loss, str) and self.loss == "hamming-sum"),
            bias=self.bias,
            boundary=self.boundary,
            observed=self._only_observed(stacked.rows, len(classes)),
            step_features=stacked.steps,
            importance=weights,
        )

    def _only_observed(self, rows: Any, n_states: int) -> bool:
        if self.features == "auto":
            return sparse.issparse(rows) and rows.shape[1] * n_states > MOST_WEIGHTS
        return self.features == "observed"

    def _rows_like_fitted(self, rows: Any) -> Any:
        """Rows as the model was fitted with, dense or sparse."""
        if isinstance(self._fitted.features, DenseFeatures):
            return rows.toarray() if sparse.issparse(rows) else rows
        return rows if sparse.issparse(rows) else sparse.csr_array(rows)

    def _store(self, problem: Pairwise, solution: Any) -> None:
        super()._store(problem, solution)
        self._fitted = problem

    def predict(self, X: Any) -> list:
        """The best labelling of each sequence: arrays if y was arrays in ``fit``, else lists."""
        check_is_fitted(self)
        stacked = stack(X, self.n_features_in_)
        return self._codec.decode(self._predict_numbers(stacked), stacked.lengths)

    def _predict_numbers(self, stacked: Stacked) -> np.ndarray:
        fitted = self._fitted
        fitted.check_steps(stacked.steps)
        features = with_weights_of(
            node_features(self._rows_like_fitted(stacked.rows)), fitted.features
        )
        return decode(
            fitted.for_prediction(features, stacked.lengths, stacked.steps),
            self.w_,
            self._n_threads(),
        )

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Fraction of positions labelled correctly; labels unseen in training count as errors."""
        check_is_fitted(self)
        stacked = stack(X, self.n_features_in_)
        check_labels(y, stacked.lengths)
        right = self._predict_numbers(stacked) == self._codec.encode(y)
        weights = checked_weights(sample_weight, len(stacked.lengths))
        return float(
            np.average(
                right, weights=None if weights is None else np.repeat(weights, stacked.lengths)
            )
        )

    # --- the weights by name ------------------------------------------------------------------

    @property
    def coef_(self) -> Any:
        """Weights of the node features, (n_classes, n_features); sparse if only observed ones."""
        check_is_fitted(self)
        problem = self._fitted
        node_weights = self.w_[: problem.features.dim(problem.n_states)]
        return problem.features.weight_matrix(node_weights, problem.n_states).T

    @property
    def intercept_(self) -> np.ndarray:
        return self._group(self._fitted.bias_at)

    @property
    def begin_(self) -> np.ndarray:
        return self._group(self._fitted.begin_at)

    @property
    def end_(self) -> np.ndarray:
        return self._group(self._fitted.end_at)

    def _group(self, at: int) -> np.ndarray:
        size = self._fitted.n_states
        return self.w_[at : at + size] if at >= 0 else np.zeros(size)

    @property
    def transitions_(self) -> np.ndarray:
        """Weights of steps, (n_classes, n_classes), or (n_step_features, ...) if there are such."""
        check_is_fitted(self)
        problem = self._fitted
        shape = (problem.n_step, problem.n_states, problem.n_states)
        weights = self.w_[problem.step_at :].reshape(shape)
        return weights if problem.step_features.size else weights[0]

    @property
    def state_features_(self) -> dict:
        """{(feature number, label): weight} of the non-zero weights."""
        matrix = sparse.coo_array(self.coef_)
        labels = self.classes_.tolist()
        return {
            (int(f), labels[k]): float(value)
            for k, f, value in zip(*matrix.coords, matrix.data, strict=True)
            if value != 0.0
        }

    @property
    def transition_features_(self) -> dict:
        """{(from label, to label): weight} of the non-zero weights."""
        labels = self.classes_.tolist()
        weights = self.transitions_
        return {
            (*rest, labels[k], labels[other]): float(weights[(*rest, k, other)])
            for *rest, k, other in np.argwhere(weights).tolist()
        }
