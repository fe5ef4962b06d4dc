"""Label sets: every example has any number of labels, and labels know of each other."""

from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from taut.arrays.sound_sparse import sound_csr
from taut.decode import decode
from taut.estimators._base import StructuredEstimator
from taut.estimators._tables import checked_table, table_like_fitted
from taut.losses import checked_weights
from taut.prepared import Prepared
from taut.solvers import Solution
from taut.structures.graphs import GraphModel, label_edges, label_model, multilabel_problem

EXPECTED = (
    "indicators (n_samples, n_labels), 1 where an example has the label and 0 where not, are "
    "expected: see sklearn.preprocessing.MultiLabelBinarizer"
)


class MultilabelSVM(ClassifierMixin, StructuredEstimator):
    """Structured SVM for label sets, with scores for pairs of labels; the loss counts wrong labels.

    Parameters not listed are those of :class:`taut.ChainSVM`.

    Parameters
    ----------
    C : float
        Weight of the loss against the regulariser.
    edges : {"full", "tree", "none"} or (m, 2) array
        Which pairs of labels have scores: all, the spanning tree of largest mutual information
        (inference is then exact however many labels there are), none, or those listed.
    pairwise : {"full", "symmetric", "potts", "associative"} or (n_basis, 2, 2) array
        How the score of a pair depends on whether its labels are there.
    attractive : bool
        Keep pair weights non-negative; with ``pairwise`` "potts" or "associative" inference is then
        exact, by minimum cut.
    inference : str
        "auto" chooses by the label graph: max-sum for a tree, all label sets if there are few,
        else the LP relaxation by roof duality (see ``inference_``).
    label_weight : (L,) array or None
        Cost of a mistake on each label; default 1.
    bias : bool
        Give every label a bias.
    counts : list of (labels, low, high), or None
        Of these label numbers, a label set has ``low`` to ``high``: ``[(range(L), 0, 3)]`` is "at
        most three labels", ``[([0, 1, 2], 1, 1)]`` "exactly one of these". Training labels must
        comply, predictions do. A label is in at most one of the lists.
    formulation : {"margin", "slack"}
        As for :class:`taut.ChainSVM`; "slack" needs forests, or few labellings.
    solver : str or solver object
        As for :class:`taut.GraphSVM`; "auto" is "augmented-lagrangian" with ``counts``.
    rho : float
        Of solvers without inference: what disagreement may be; small values enforce consistency.

    Attributes
    ----------
    inference_, edges_ : what was chosen
    coef_ : (L, n_features); half the score that a label's presence has over its absence
    intercept_ : (L,)
    pair_scores_ : (L, L) array; of two labels, the scores of both and of neither minus the scores
        of each alone
    solution_, w_, n_iter_, n_features_in_

    Examples
    --------
    >>> from taut import MultilabelSVM
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> Y = np.array([[1, 1], [1, 1], [0, 0], [0, 0]])
    >>> clf = MultilabelSVM(C=10, random_state=0).fit(X, Y)
    >>> clf.predict([[0.2], [2.7]])
    array([[1, 1],
           [0, 0]])
    """

    edges_: np.ndarray

    def __init__(
        self,
        C: float = 1.0,
        *,
        edges: Any = "full",
        pairwise: Any = "full",
        attractive: bool = False,
        inference: str = "auto",
        label_weight: ArrayLike | None = None,
        bias: bool = True,
        counts: Sequence[tuple[Sequence[int], int, int]] | None = None,
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
        self.edges = edges
        self.pairwise = pairwise
        self.attractive = attractive
        self.inference = inference
        self.label_weight = label_weight
        self.bias = bias
        self.counts = counts
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

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> "MultilabelSVM":
        """Train on rows ``X``, dense or CSR, with indicators ``y`` (n, L) of their labels."""
        return self._fit(self.prepare(X, y, sample_weight))

    def prepare(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Prepared:
        earlier = self._earlier()
        X, note_columns = checked_table(self, X)
        Y = _indicators(y, X.shape[0])
        weights = checked_weights(sample_weight, X.shape[0])
        self._check_counts(Y)
        ends = label_edges(self.edges, Y)
        if earlier is not None and not np.array_equal(ends, self.edges_):
            raise ValueError("warm_start: the label graph differs from that of the last fit")
        model = label_model(
            Y.shape[1],
            ends,
            X.shape[1],
            pairwise=self.pairwise,
            bias=self.bias,
            attractive=self.attractive,
            by_feature=sparse.issparse(X),
        )
        problem = multilabel_problem(
            model,
            X,
            Y,
            node_weight=self._node_weights(Y),
            normalize=False,
            importance=weights,
            counts=self._counts(len(Y)),
            inference=self._training_inference(),
            accuracy=self._oracle_accuracy(),
        )

        def complete(solution: Solution) -> None:
            self._store(solution)
            note_columns()
            self._graph_model, self.edges_ = model, ends
            self.classes_ = [np.array([0, 1])] * Y.shape[1]
            self.inference_ = solution.inference
            self._store_weights(model, solution.w)

        return self._prepared(self._formulated(problem), complete, earlier)

    def _solver_options(self) -> dict[str, Any]:
        return {"rho": self.rho}

    def _counts(self, n: int) -> list | None:
        """The counts of n examples, all the same."""
        if self.counts is None:
            return None
        try:
            counts = [(list(labels), low, high) for labels, low, high in self.counts]
        except (TypeError, ValueError):
            raise ValueError(
                f"counts={self.counts!r}; a list of (label numbers, low, high) is expected, such "
                "as [([0, 1, 2], 0, 1)]"
            ) from None
        return [counts] * n

    def _check_counts(self, Y: np.ndarray) -> None:
        """Counts are of labels that exist, each in one list, and the training rows comply."""
        of_row = self._counts(1)
        seen: set[int] = set()
        for number, (labels, low, high) in enumerate(of_row[0] if of_row else ()):
            name = f"counts[{number}]"
            for label in labels:
                if not isinstance(label, Integral) or label not in range(Y.shape[1]):
                    raise ValueError(
                        f"{name} has label {label!r}; labels are numbered 0 to {Y.shape[1] - 1}"
                    )
                if label in seen:
                    raise ValueError(f"{name} has label {label}, which is counted already")
                seen.add(int(label))
            whole = isinstance(low, Integral) and isinstance(high, Integral)
            if not (whole and 0 <= low <= high and low <= len(labels)):
                raise ValueError(
                    f"{name} allows {low!r} to {high!r} of {len(labels)} labels; whole numbers, "
                    "the first no larger than the second and the number of labels, are expected"
                )
            found = Y[:, labels].sum(axis=1)
            wrong = np.flatnonzero((found < low) | (found > high))
            if wrong.size:
                raise ValueError(
                    f"{name} allows {low} to {high} of the labels {labels}, but row {wrong[0]} of "
                    f"y has {found[wrong[0]]}; training labels must comply"
                )

    def _node_weights(self, Y: np.ndarray) -> np.ndarray | None:
        if self.label_weight is None:
            return None
        weight = np.asarray(self.label_weight, np.float64)
        if weight.shape != (Y.shape[1],) or not np.all(np.isfinite(weight) & (weight >= 0)):
            raise ValueError(
                f"label_weight must be {Y.shape[1]} finite numbers, none of them negative; "
                f"got {self.label_weight!r}"
            )
        return np.tile(weight, len(Y))

    def _store_weights(self, model: GraphModel, w: np.ndarray) -> None:
        coef, intercept, edge_coef = model.weights(w)
        self.coef_ = np.concatenate(coef)
        self.intercept_ = np.concatenate(intercept)
        self.pair_scores_ = np.zeros((len(coef), len(coef)))
        tables = model.pairwise_tables()
        for (u, v), table, weight in zip(model.joins, tables, edge_coef, strict=True):
            score = np.tensordot(weight[0], table, 1)
            strength = score[0, 0] + score[1, 1] - score[0, 1] - score[1, 0]
            self.pair_scores_[u, v] += strength
            self.pair_scores_[v, u] += strength

    def predict(self, X: Any, *, inference: str | None = None) -> np.ndarray:
        """The best label set of every row, as indicators (n, L)."""
        check_is_fitted(self)
        X = table_like_fitted(self, X)
        problem = multilabel_problem(
            self._graph_model,
            X,
            None,
            counts=self._counts(X.shape[0]),
            inference=self.inference if inference is None else inference,
        )
        labels = decode(problem, self.w_, self._n_threads())
        return labels.reshape(X.shape[0], -1).astype(np.int64)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.multi_label = True
        tags.target_tags.single_output = False
        tags.target_tags.multi_output = True
        return tags


def _indicators(Y: Any, n: int) -> np.ndarray:
    """Label indicators as an array of 0 and 1."""
    if sparse.issparse(Y):
        Y = sound_csr(Y, "y").toarray()
    try:
        Y = np.asarray(Y)
    except ValueError:
        raise ValueError(f"y is ragged; {EXPECTED}") from None
    if Y.ndim != 2 or Y.shape[1] < 1:
        raise ValueError(f"y has shape {Y.shape}; {EXPECTED}")
    if Y.dtype.kind not in "biuf":
        raise TypeError(f"Unknown label type: y has values of type {Y.dtype}; {EXPECTED}")
    if len(Y) != n:
        raise ValueError(f"X has {n} rows but y has {len(Y)}")
    outside = np.argwhere(~np.isin(Y, (0, 1)))
    if outside.size:
        i, label = outside[0]
        raise ValueError(
            f"y[{i}, {label}] is {Y[i, label].item()!r}; 1 where an example has the label and 0 "
            "where not are expected"
        )
    return Y.astype(np.int32)
