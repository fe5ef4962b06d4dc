"""What ChainSVM and ChainCRF share: sequences to problems and back."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from taut.chain.encoding import forced_numbers, read_like, sequences_of, without_empty
from taut.chain.file import load_chain, save_chain
from taut.chain.given_weights import model_of_names
from taut.chain.kept_options import options_to_load, options_to_save
from taut.chain.model import ChainModel, Stacked
from taut.chain.specification import Specification
from taut.chain.stacking import is_empty
from taut.chain.training import Data, Training, new_training
from taut.estimators._base import WEIGHTS_ONLY, StructuredEstimator
from taut.estimators._named_weights import NamedWeights
from taut.labels import check_labels
from taut.losses import checked_weights
from taut.prepared import Prepared
from taut.solvers import Solution


class ChainEstimator(NamedWeights, StructuredEstimator):
    """Training and prediction; subclasses have the options.

    Beside those of :class:`StructuredEstimator` they store what
    :class:`taut.chain.specification.Specification` has.
    """

    _training: Training | None
    _model: ChainModel
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
        strings, or, with a ``template``, of rows of strings such as (word, part of speech). A
        generator of these will do, and saves memory: text is numbered as it comes.

        With held-out ``X_val, y_val`` every certificate comes with a score there; the weights with
        the best one are kept, and training stops when ``patience`` certificates brought no better.
        """
        return self._fit(self.prepare(X, y, sample_weight, X_val=X_val, y_val=y_val))

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
        held_out = None if X_val is None else Data(X_val, y_val, X_name="X_val", y_name="y_val")
        return self._stated(Data(X, y, sample_weight), held_out=held_out)

    def _specification(self) -> Specification:
        options = {**self.get_params(deep=False), "C": self.C}
        return Specification.of(self._has_probabilities, options)

    def _stated(self, data: Data, *, classes: Any = None, held_out: Data | None = None) -> Prepared:
        """The problem of these sequences; ``classes`` may exceed y's."""
        earlier = self._earlier()
        training = new_training(self._specification(), data, classes)
        if earlier is not None and training.labels.number != self._model.labels.number:
            raise ValueError("warm_start: the labels differ from those of the last fit")
        return self._to_solve(training, earlier, training.C, held_out)

    def _to_solve(
        self, training: Training, earlier: Solution | None, C: Any, held_out: Data | None = None
    ) -> Prepared:
        def complete(solution: Solution) -> None:
            kept = training if training.known is None else None
            self._become(kept, training.model(solution), training.n_features)

        def solver(_: Any, before: Solution | None) -> Any:
            return training.solver(before, is_scored=held_out is not None)

        prepared = self._prepared(training.problem, complete, earlier, C=C)
        prepared = replace(prepared, choose_solver=solver)
        if held_out is None:
            return prepared
        score = training.held_out(held_out, self._n_threads()).score
        return prepared.changed(validate=score, patience=training.patience(prepared.solver))

    def _become(self, training: Training | None, model: ChainModel, n_features: int) -> None:
        """Keep a trained model, and its examples for more; None if they are not there."""
        self._store(model.solution)
        self._training, self._model = training, model
        self.classes_ = model.labels.classes
        self.n_features_in_ = n_features

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
        data = Data(X, y, sample_weight)
        if hasattr(self, "solution_"):
            return self._fit(self._prepare_more(data))
        return self._fit(self._stated(data, classes=classes))

    def _prepare_more(self, data: Data) -> Prepared:
        """The problem of all sequences so far and of these."""
        earlier = self.solution_
        self._check_complete(data.y)
        if earlier.state is None or self._training is None:
            raise ValueError(f"{WEIGHTS_ONLY}; partial_fit needs it: fit again on all of the data")
        training = self._training.extended(data, self._specification())
        return self._to_solve(training, earlier, earlier.C if self.C == "scale" else training.C)

    def _check_complete(self, y: Any) -> None:
        """Whether there are labels to add to those learned from."""

    def _known(self, y: Any) -> Any:
        """Which positions to score: a slice or a mask."""
        return slice(None)

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
        X = sequences_of(X)
        X = list(X) if isinstance(X, Iterator) else X  # some may be empty
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
        stacked = read_like(X, self._model.encoder, self.n_features_in_, may_be_empty=True)
        check_labels(y, stacked.lengths)
        weights = checked_weights(sample_weight, len(stacked.lengths))
        stacked, y, weights = without_empty(stacked, y, weights)
        numbers = self._model.decode(stacked, n_threads=self._n_threads())
        known, right = self._known(y), numbers == self._model.labels.encode(y)
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
    def from_weights(
        cls,
        weights: Any,
        transitions: Mapping[tuple[Any, Any], float] | None = None,
        *,
        bias: Mapping[Any, float] | None = None,
        begin: Mapping[Any, float] | None = None,
        end: Mapping[Any, float] | None = None,
        attributes: Sequence[str] | None = None,
        labels: Iterable[Any] | None = None,
        **parameters: Any,
    ) -> Self:
        """A model of weights that you have, ready to predict and to be saved; nothing is trained.

        ``weights`` is {(attribute, label): weight}, as ``state_features_`` is, or a matrix with a
        row for each of the ``labels`` in the order given (an array or a sparse matrix, as
        ``coef_``), whose columns are named by ``attributes``, or are those of matrices to predict
        from. ``transitions`` is {(label, next label): weight}; ``bias``, ``begin`` and ``end`` are
        {label: weight}, for every position, the first and the last. What is left out weighs zero.
        ``labels`` names them all where weights do not. Other ``parameters`` (``scheme``,
        ``decoding``, ``temperature``) are those of the class.

        >>> from taut import ChainSVM
        >>> svm = ChainSVM.from_weights({("the", "DT"): 2.0}, {("DT", "NN"): 1.0})
        >>> svm.predict([[["the"], ["cat"]]])
        [['DT', 'NN']]
        """
        clf = cls(**parameters)
        specification = clf._specification()
        specification.check()
        if specification.template is not None:
            raise ValueError("from_weights takes attributes by their names, without a template")
        alone = {"bias": bias, "begin": begin, "end": end}
        model = model_of_names(weights, transitions or {}, alone, attributes, labels, specification)
        clf._become(None, model, model.n_features)
        return clf

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
