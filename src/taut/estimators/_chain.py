"""What ChainSVM and ChainCRF share: sequences to problems and back."""

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from taut import defaults
from taut.chain.file import load_chain, save_chain
from taut.chain.model import ChainModel, Stacked, allowed_steps, scaled_C
from taut.estimators._base import WEIGHTS_ONLY, StructuredEstimator
from taut.estimators._chain_files import options_to_load, options_to_save
from taut.estimators._named_weights import NamedWeights
from taut.estimators._text import forced_numbers, is_empty, read_like, read_to_learn
from taut.labels import LabelCodec, check_labels
from taut.losses import checked_weights, cost_matrix
from taut.prepared import Prepared
from taut.solvers import Solution
from taut.structures.chain import chain_problem
from taut.structures.constraints import InvalidTruth
from taut.structures.pairwise import Pairwise
from taut.text.schemes import Scheme

Score = Callable[[np.ndarray], float]  # of weights


class ChainEstimator(NamedWeights, StructuredEstimator):
    """Training and prediction; subclasses have the options.

    Beside those of :class:`StructuredEstimator` they store loss, class_weight, bias, boundary,
    features, template, min_freq, scheme, scheme_in_training and patience.
    """

    _fitted: Pairwise | None
    _model: ChainModel
    _fewest_classes = 2
    _has_probabilities = False

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
    ) -> Self:
        """Train on sequences ``X`` with labels ``y``.

        ``X`` is a list of arrays or CSR matrices with a row per position, a
        :class:`taut.Sequences`, or a list of pairs (node features, step features) with a row of
        step features between neighbours. Or it is text: a list of sequences of dicts or of lists of
        strings, or, with a ``template``, of rows of strings such as (word, part of speech).

        With held-out ``X_val, y_val`` every certificate comes with a score there; the weights with
        the best one are kept, and training stops when ``patience`` certificates brought no better.
        """
        return self._fit(self.prepare(X, y, sample_weight, X_val=X_val, y_val=y_val))

    def _checks(self, prepared: Prepared) -> int:
        """How many certificates without a better score end the training."""
        return self.patience

    def prepare(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
    ) -> Prepared:
        if (X_val is None) != (y_val is None):
            raise ValueError("held-out data are X_val and y_val; one of them was given, not both")
        held_out = None if X_val is None else (X_val, y_val)
        return self._stated(X, y, sample_weight, held_out=held_out)

    def _stated(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None,
        *,
        classes: Any = None,
        held_out: tuple[Any, Any] | None = None,
    ) -> Prepared:
        """The problem of these sequences; ``classes`` may exceed y's."""
        earlier = self._earlier()
        stacked, encoder = read_to_learn(X, self.template, self.min_freq)
        check_labels(y, stacked.lengths)
        codec, numbers, known = self._read_labels(y, classes)
        if earlier is not None and codec.number != self._model.labels.number:
            raise ValueError("warm_start: the labels differ from those of the last fit")
        weights = checked_weights(sample_weight, len(stacked.lengths))
        scheme = None if self.scheme is None else Scheme.parse(self.scheme)
        problem = self._problem(stacked, numbers, codec, weights, scheme, known)
        n_features = stacked.rows.shape[1]

        def model(solution: Any) -> ChainModel:
            options = self._prediction_options()
            return ChainModel(codec, problem.layout(), solution, encoder, scheme, **options)

        def complete(solution: Solution) -> None:
            self._become(problem if known is None else None, model(solution), n_features)

        formulated, C = self._objective(problem, codec, known), scaled_C(self.C, problem)
        prepared = self._prepared(formulated, complete, earlier, C=C, patience=self.patience)
        if held_out is None:
            return prepared
        score = self._validation(model(None), n_features, *held_out)
        return prepared.changed(validate=score, patience=self._checks(prepared))

    def _read_labels(
        self, y: Any, classes: Any = None
    ) -> tuple[LabelCodec, np.ndarray, np.ndarray | None]:
        """Numbers for all labels, those of y, and which of them are known; None if all are."""
        codec = LabelCodec(y if classes is None else as_labels(classes, y))
        return codec, codec.encode_known(y), None

    def _known(self, y: Any) -> Any:
        """Which positions to score: a slice or a mask."""
        return slice(None)

    def _objective(self, problem: Pairwise, codec: LabelCodec, known: np.ndarray | None) -> Any:
        """The problem as solvers are to see it."""
        return self._formulated(problem)

    def _prediction_options(self) -> dict[str, Any]:
        """What a model needs to know beyond labels and weights."""
        return {}

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
        truth, known = untrained.labels.encode(y_val), self._known(y_val)

        def score(w: np.ndarray) -> float:
            numbers = untrained.decode(text, n_threads=self._n_threads(), w=w)
            return float(np.mean((numbers == truth)[known]))

        return score

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: ArrayLike | None = None
    ) -> Self:
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
            prepared = self._stated(X, y, sample_weight, classes=classes)
        return self._fit(prepared)

    def _prepare_more(self, X: Any, y: Any, sample_weight: ArrayLike | None) -> Prepared:
        """The problem of all sequences so far and of these."""
        earlier, model = self.solution_, self._model
        self._check_complete(y)
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

        formulated = self._objective(problem, model.labels, None)
        return self._prepared(formulated, complete, earlier, C=C, patience=self.patience)

    def _check_complete(self, y: Any) -> None:
        """Whether there are labels to add to those learnt from."""

    def _problem(
        self,
        stacked: Stacked,
        numbers: np.ndarray,
        codec: LabelCodec,
        weights: np.ndarray | None,
        scheme: Scheme | None,
        known: np.ndarray | None = None,
    ) -> Pairwise:
        classes = codec.classes
        if len(classes) < self._fewest_classes:
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
                allowed=allowed if self.scheme_in_training and known is None else None,
                known=known,
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

        def decode(stacked: Stacked, numbers: np.ndarray | None) -> list:
            found = self._model.decode(stacked, numbers, self._n_threads())
            return self._model.labels.decode(found, stacked.lengths)

        return self._of_sequences(X, forced, decode, self._labels_of_none)

    def _labels_of_none(self) -> Any:
        """The labels of an empty sequence."""
        return self.classes_[:0].copy() if self._model.labels.as_arrays else []

    def _of_sequences(
        self,
        X: Any,
        forced: Any,
        answer: Callable[[Stacked, np.ndarray | None], list],
        nothing: Callable[[], Any],
    ) -> list:
        """An answer for each sequence, given their rows and forced labels; ``nothing`` if empty."""
        check_is_fitted(self)
        if type(X) not in (list, tuple):
            return self._answers(X, forced, answer)
        # Documents may be empty, and so may what is in them.
        filled = [i for i, x in enumerate(X) if not is_empty(x)]
        if X and len(filled) == len(X):
            return self._answers(X, forced, answer)
        result = [nothing() for _ in X]
        if filled:
            given = None if forced is None else [forced[i] for i in filled]
            found = self._answers([X[i] for i in filled], given, answer)
            for i, answered in zip(filled, found, strict=True):
                result[i] = answered
        return result

    def _answers(
        self, X: Any, forced: Any, answer: Callable[[Stacked, np.ndarray | None], list]
    ) -> list:
        stacked = self._stacked(X)
        return answer(stacked, forced_numbers(forced, self._model.labels, stacked.lengths))

    def predict_single(self, x: Any, forced: Any = None) -> Any:
        """The best labelling of one sequence."""
        return self.predict([x], None if forced is None else [forced])[0]

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Fraction of positions labelled correctly; labels unseen in training count as errors.

        Positions whose label is missing, where that is possible, do not count.
        """
        check_is_fitted(self)
        stacked = self._stacked(X)
        check_labels(y, stacked.lengths)
        numbers = self._model.decode(stacked, n_threads=self._n_threads())
        known, right = self._known(y), numbers == self._model.labels.encode(y)
        weights = checked_weights(sample_weight, len(stacked.lengths))
        if weights is not None:
            weights = np.repeat(weights, stacked.lengths)[known]
        return float(np.average(right[known], weights=weights))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, to be read by :func:`taut.load`; see the page on model
        files. The training data and the state of the solver are not in it."""
        check_is_fitted(self)
        options = options_to_save({**self.get_params(deep=False), "C": self.C}, self._model)
        save_chain(self._model, path, options)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The estimator that was saved, ready to predict; loading executes nothing."""
        model, header = load_chain(path)
        if (model.temperature > 0.0) != cls._has_probabilities:
            kind = "CRF" if model.temperature > 0.0 else "SVM"
            raise ValueError(f"{os.fspath(path)!r} holds a Chain{kind}; use taut.load")
        return cls._of_file(model, header)

    @classmethod
    def _of_file(cls, model: ChainModel, header: dict[str, Any]) -> Self:
        clf = cls(**options_to_load(header["options"], cls._get_param_names(), model))
        clf._become(None, model, model.n_features)
        return clf


def as_labels(classes: Any, y: Any) -> list:
    """All classes as if they were one sequence of y, an array or a list as the others are."""
    as_arrays = all(isinstance(part, np.ndarray) for part in y)
    return [np.asarray(classes) if as_arrays else list(classes)]
