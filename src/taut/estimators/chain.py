"""Sequence labelling."""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from taut import defaults
from taut.chain_file import load_chain, save_chain
from taut.chain_model import ChainModel, Stacked, allowed_steps, scaled_C
from taut.estimators._base import WEIGHTS_ONLY, Prepared, StructuredEstimator
from taut.estimators._chain_files import options_to_load, options_to_save
from taut.estimators._named_weights import NamedWeights
from taut.estimators._text import forced_numbers, is_empty, read_like, read_to_learn
from taut.labels import LabelCodec, check_labels
from taut.losses import checked_weights, cost_matrix
from taut.solvers import Solution
from taut.structures.chain import chain_problem
from taut.structures.constraints import InvalidTruth
from taut.structures.pairwise import Pairwise
from taut.text.schemes import Scheme

Score = Callable[[np.ndarray], float]  # of weights


class ChainSVM(NamedWeights, StructuredEstimator):
    """Structured SVM for sequences: a score for every label at every position and for every step.

    Minimises ``lambda/2 |w|^2 + 1/n sum_i hinge_i(w)`` with ``lambda = 1/(C n)`` and proves how
    close to the minimum it came: see ``solution_``.

    Parameters
    ----------
    C : float or "scale"
        Weight of the training loss against the regulariser; larger fits closer. "scale" is
        ``6 / (1 + mean of |x|^2 over positions)``: near the best on most data sets with the default
        loss, a good value to start a search from.
    loss : {"hamming-sum", "hamming"} or (K, K) array
        Number of wrong labels, their fraction, or the cost of every (true, other) pair of labels,
        in the order of ``classes_``, summed over the sequence. With fractions, a label of a short
        sequence weighs more than one of a long one: on 17 tasks that was never better.
    class_weight : dict, "balanced" or None
        Cost of a mistake on each true label.
    bias, boundary : bool
        A bias for every label; one more for the first and for the last position.
    features : {"auto", "all", "observed"}
        Which weights a sparse attribute has: one for every label, or only for the labels it was
        seen with in training, as CRFsuite does: a tenth of the memory, a little less accurate
        (CoNLL-2000: F1 93.4 instead of 93.6). "auto" is "all" up to 50 million weights.
    template : str, path or None
        For text in columns: the features to make of them, by the name of a built-in template
        ("chunking", "ner", "pos"), a file, or the text of one; see :mod:`taut.text.template`.
    min_freq : int
        Attributes of text that fewer training tokens have are left out.
    scheme : {"IOB1", "IOB2", "IOE1", "IOE2", "IOBES", "BILOU"} or None
        Predict only labellings that write spans in this scheme.
    scheme_in_training : bool
        Train under the same constraint; the training labels must satisfy it.
    formulation : {"margin", "slack"}
        How much worse another labelling must score than the truth: by its loss ("margin"), or by 1,
        with slack that counts times the loss ("slack": labellings of small loss matter less, but
        the oracle is dearer).
    slack_penalty : {"linear", "squared"}
        What a slack costs: xi, or xi^2 / 2 (with the solvers "auto", "simplicial",
        "cutting-plane", "cutting-plane-one" and "subgradient"). The objective at w = 0, of which
        ``tol`` is a part, is then about half the square of the loss: ``tol`` should be smaller.
    solver : str or solver object
        "auto", "averaged" (the quick one for much text), "fw", "bcfw", "bcpfw", "bcafw",
        "corrective", "simplicial", "cutting-plane", "cutting-plane-one", "subgradient", or an
        object with options, such as :class:`taut.BCFW` or :class:`taut.Simplicial`.
    averaging : bool
        Return the weighted average of all iterates: good for few passes over much text.
    tol : float
        Stop when the gap is this fraction of the objective at w = 0.
    max_passes, time_limit : float
        Stop after so many passes over the data, or seconds.
    bounds : (lower, upper) or None
        Box constraints on the weights: numbers, or arrays of all weights.
    callback : callable or None
        Called with each row of the history; return True to stop.
    patience : int
        With held-out data in ``fit``: stop when so many certificates brought no better score.
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
    classes_, w_, coef_, attributes_, solution_, n_iter_, n_features_in_

    Examples
    --------
    >>> from taut import ChainSVM
    >>> X = [np.eye(2)[[0, 1, 0]], np.eye(2)[[1, 1]]]
    >>> clf = ChainSVM(C=10, random_state=0).fit(X, [["a", "b", "a"], ["b", "b"]])
    >>> clf.predict([np.eye(2)[[0, 0]]])
    [['a', 'a']]
    """

    _fitted: Pairwise | None

    def __init__(
        self,
        C: float | str = defaults.C,
        *,
        loss: str | ArrayLike = defaults.LOSS,
        class_weight: dict | str | None = None,
        bias: bool = True,
        boundary: bool = True,
        features: str = "auto",
        template: str | os.PathLike[str] | None = None,
        min_freq: int = 1,
        scheme: str | None = None,
        scheme_in_training: bool = False,
        formulation: str = "margin",
        slack_penalty: str = "linear",
        solver: Any = "auto",
        averaging: bool = False,
        tol: float = 1e-3,
        max_passes: float = 1000,
        time_limit: float | None = None,
        bounds: tuple | None = None,
        callback: Callable | None = None,
        patience: int = 3,
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
        self.template = template
        self.min_freq = min_freq
        self.scheme = scheme
        self.scheme_in_training = scheme_in_training
        self.formulation = formulation
        self.slack_penalty = slack_penalty
        self.solver = solver
        self.averaging = averaging
        self.tol = tol
        self.max_passes = max_passes
        self.time_limit = time_limit
        self.bounds = bounds
        self.callback = callback
        self.patience = patience
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.checkpoint_seconds = checkpoint_seconds
        self.resume = resume
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
    ) -> "ChainSVM":
        """Train on sequences ``X`` with labels ``y``.

        ``X`` is a list of arrays or CSR matrices with a row per position, a
        :class:`taut.Sequences`, or a list of pairs (node features, step features) with a row of
        step features between neighbours. Or it is text: a list of sequences of dicts or of lists of
        strings, or, with a ``template``, of rows of strings such as (word, part of speech).

        With held-out ``X_val, y_val`` every certificate comes with a score there; the weights with
        the best one are kept, and training stops when ``patience`` certificates brought no better.
        """
        if (X_val is None) != (y_val is None):
            raise ValueError("held-out data are X_val and y_val; one of them was given, not both")
        prepared, validation = self._prepare_scored(X, y, sample_weight)
        score = None if X_val is None else validation(X_val, y_val)
        return self._fit(prepared, validate=score, patience=self.patience)

    def _prepare(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Prepared:
        return self._prepare_scored(X, y, sample_weight)[0]

    def _prepare_scored(
        self, X: Any, y: Any, sample_weight: ArrayLike | None, classes: Any = None
    ) -> tuple[Prepared, Callable[[Any, Any], Score]]:
        """The problem, and what makes a score of held-out data; ``classes`` may exceed y's."""
        earlier = self._earlier()
        stacked, encoder = read_to_learn(X, self.template, self.min_freq)
        check_labels(y, stacked.lengths)
        codec = LabelCodec(y if classes is None else _as_labels(classes, y))
        if earlier is not None and codec.number != self._model.labels.number:
            raise ValueError("warm_start: the labels differ from those of the last fit")
        weights = checked_weights(sample_weight, len(stacked.lengths))
        scheme = None if self.scheme is None else Scheme.parse(self.scheme)
        problem = self._problem(stacked, codec.encode_known(y), codec, weights, scheme)
        n_features = stacked.rows.shape[1]

        def model(solution: Any) -> ChainModel:
            return ChainModel(codec, problem.layout(), solution, encoder, scheme)

        def complete(solution: Solution) -> None:
            self._become(problem, model(solution), n_features)

        prepared = Prepared(self._formulated(problem), scaled_C(self.C, problem), complete, earlier)
        return prepared, partial(self._validation, model(None), n_features)

    def _become(self, problem: Pairwise | None, model: ChainModel, n_features: int) -> None:
        """Keep a trained model, and its training problem for more; None if that is not there."""
        self._store(model.solution)
        self._fitted, self._model = problem, model
        self.classes_ = model.labels.classes
        self.n_features_in_ = n_features

    def _validation(self, untrained: ChainModel, n_features: int, X_val: Any, y_val: Any) -> Score:
        """The fraction of labels of held-out sequences that are right."""
        text = read_like(X_val, untrained.encoder, n_features, "X_val")
        check_labels(y_val, text.lengths, "X_val", "y_val")
        truth = untrained.labels.encode(y_val)

        def score(w: np.ndarray) -> float:
            numbers = untrained.decode(text, n_threads=self._n_threads(), w=w)
            return float(np.mean(numbers == truth))

        return score

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: ArrayLike | None = None
    ) -> "ChainSVM":
        """Add sequences to the training set and go on from the current solution.

        The new ones start at their true labels, which is always feasible, so the certificate
        covers all sequences seen so far. Labels that will only come later are named by ``classes``
        at the first call; with ``features="observed"``, pairs of attribute and label that were not
        observed then get no weight later, and attributes of text that were not seen then are
        ignored. Class weights stay those of the first call.
        """
        if hasattr(self, "solution_"):
            prepared = self._prepare_more(X, y, sample_weight)
        else:
            prepared, _ = self._prepare_scored(X, y, sample_weight, classes)
        return self._fit(prepared, patience=self.patience)

    def _prepare_more(self, X: Any, y: Any, sample_weight: ArrayLike | None) -> Prepared:
        """The problem of all sequences so far and of these."""
        earlier, model = self.solution_, self._model
        if earlier.state is None or self._fitted is None:
            raise ValueError(f"{WEIGHTS_ONLY}; partial_fit needs it: fit again on all of the data")
        stacked = self._stacked(X)
        check_labels(y, stacked.lengths)
        weights = checked_weights(sample_weight, len(stacked.lengths))
        stacked = stacked._replace(rows=model.rows_like_fitted(stacked.rows))
        numbers = model.labels.encode_known(y)
        problem = self._fitted.extended(
            self._problem(stacked, numbers, model.labels, weights, model.scheme)
        )
        C = earlier.C if self.C == "scale" else scaled_C(self.C, problem)

        def complete(solution: Solution) -> None:
            self._become(problem, replace(model, solution=solution), self.n_features_in_)

        return Prepared(self._formulated(problem), C, complete, earlier)

    def _problem(
        self,
        stacked: Stacked,
        numbers: np.ndarray,
        codec: LabelCodec,
        weights: np.ndarray | None,
        scheme: Scheme | None,
    ) -> Pairwise:
        classes = codec.classes
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
        if self.scheme_in_training and scheme is None:
            raise ValueError('scheme_in_training=True needs a scheme, such as scheme="IOB2"')
        allowed = allowed_steps(codec, scheme)  # also refuses labels that are not of the scheme
        try:
            return chain_problem(
                stacked.rows,
                stacked.lengths,
                numbers,
                len(classes),
                cost=cost_matrix(numbers, classes.tolist(), self.class_weight, given),
                normalize=isinstance(self.loss, str) and self.loss == "hamming",
                bias=self.bias,
                boundary=self.boundary,
                observed=self._only_observed(stacked.rows, len(classes)),
                step_features=stacked.steps,
                importance=weights,
                allowed=allowed if self.scheme_in_training else None,
            )
        except InvalidTruth as error:
            raise error.with_names(classes.tolist()) from None

    def _only_observed(self, rows: Any, n_states: int) -> bool:
        if self.features == "auto":
            return sparse.issparse(rows) and rows.shape[1] * n_states > defaults.MOST_WEIGHTS
        return self.features == "observed"

    def _stacked(self, X: Any) -> Stacked:
        return read_like(X, self._model.encoder, self.n_features_in_)

    def predict(self, X: Any, forced: Any = None) -> list:
        """The best labelling of each sequence: arrays if y was arrays in ``fit``, else lists.

        ``forced`` has a list for each sequence, of labels that positions must have, None where any
        label will do; None for a sequence without such.
        """
        check_is_fitted(self)
        labels = self._model.labels
        if type(X) in (list, tuple):  # documents may be empty, and so may what is in them
            filled = [i for i, x in enumerate(X) if not is_empty(x)]
            if len(filled) < len(X) or not X:
                return self._predict_filled(X, forced, filled)
        stacked = self._stacked(X)
        numbers = self._model.decode(
            stacked, forced_numbers(forced, labels, stacked.lengths), self._n_threads()
        )
        return labels.decode(numbers, stacked.lengths)

    def _predict_filled(self, X: Sequence[Any], forced: Any, filled: list[int]) -> list:
        """Empty sequences have empty labellings."""
        nothing: Any = self.classes_[:0] if self._model.labels.as_arrays else []
        result: list[Any] = [nothing.copy() for _ in X]
        if filled:
            given = None if forced is None else [forced[i] for i in filled]
            for i, labels in zip(filled, self.predict([X[i] for i in filled], given), strict=True):
                result[i] = labels
        return result

    def predict_single(self, x: Any, forced: Any = None) -> Any:
        """The best labelling of one sequence."""
        return self.predict([x], None if forced is None else [forced])[0]

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Fraction of positions labelled correctly; labels unseen in training count as errors."""
        check_is_fitted(self)
        stacked = self._stacked(X)
        check_labels(y, stacked.lengths)
        numbers = self._model.decode(stacked, n_threads=self._n_threads())
        right = numbers == self._model.labels.encode(y)
        weights = checked_weights(sample_weight, len(stacked.lengths))
        return float(
            np.average(
                right, weights=None if weights is None else np.repeat(weights, stacked.lengths)
            )
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, to be read by :func:`taut.load`; see the page on model
        files. The training data and the state of the solver are not in it."""
        check_is_fitted(self)
        options = options_to_save({**self.get_params(deep=False), "C": self.C}, self._model)
        save_chain(self._model, path, options)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "ChainSVM":
        """The estimator that was saved, ready to predict; loading executes nothing."""
        model, header = load_chain(path)
        clf = cls(**options_to_load(header["options"], cls._get_param_names(), model))
        clf._become(None, model, model.n_features)
        return clf


def _as_labels(classes: Any, y: Any) -> list:
    """All classes as if they were one sequence of y, an array or a list as the others are."""
    as_arrays = all(isinstance(part, np.ndarray) for part in y)
    return [np.asarray(classes) if as_arrays else list(classes)]
