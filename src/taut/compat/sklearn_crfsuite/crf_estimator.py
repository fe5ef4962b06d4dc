"""sklearn-crfsuite's estimator: CRFsuite's parameters by keyword, lists of labels, dicts of
probabilities."""

import os
import tempfile
from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from taut.compat.pycrfsuite.crfsuite_tagger import ParsedDump, Tagger
from taut.compat.pycrfsuite.crfsuite_trainer import Trainer
from taut.compat.sklearn_crfsuite.line_trainer import LinePerIterationTrainer
from taut.compat.sklearn_crfsuite.metrics import flat_accuracy_score

# By CRFsuite's names those of the estimator that are called otherwise.
PARAMETERS = {
    "feature.minfreq": "min_freq",
    "feature.possible_states": "all_possible_states",
    "feature.possible_transitions": "all_possible_transitions",
    "calibration.eta": "calibration_eta",
    "calibration.rate": "calibration_rate",
    "calibration.samples": "calibration_samples",
    "calibration.candidates": "calibration_candidates",
    "calibration.max_trials": "calibration_max_trials",
    "type": "pa_type",
} | {
    name: name
    for name in (
        "c1", "c2", "max_iterations", "num_memories", "epsilon", "period", "delta", "linesearch",
        "max_linesearch", "c", "error_sensitive", "averaging", "variance", "gamma",
    )
}  # fmt: skip


class CRF(BaseEstimator):
    """A conditional random field (or the averaged SVM, for "ap", "pa" and "arow").

    The parameters are CRFsuite's; None is its default. What each of them is here is said by
    :meth:`taut.compat.pycrfsuite.BaseTrainer.help` and the page "Coming from CRFsuite". ``c1`` and
    ``c2`` weigh ``|w|_1`` and ``|w|^2`` beside the sum of the negative log-likelihoods.

    ``model_filename`` names a file to write the model to, or to take it from (one of CRFsuite's
    will do); without it the model is kept in memory, and pickled with the estimator, so that
    ``keep_tempfiles`` has nothing to keep.

    >>> X = [[{"word": "the"}, {"word": "cat"}], [{"word": "a"}, {"word": "dog"}]]
    >>> crf = CRF(c1=0.01, c2=0.01).fit(X, [["DT", "NN"]] * 2)
    >>> crf.predict(X).tolist()
    [['DT', 'NN'], ['DT', 'NN']]
    >>> {label: round(p, 1) for label, p in crf.predict_marginals_single(X[0])[0].items()}
    {'DT': 1.0, 'NN': 0.0}
    """

    def __init__(
        self,
        algorithm: str | None = None,
        min_freq: float | None = None,
        all_possible_states: bool | None = None,
        all_possible_transitions: bool | None = None,
        c1: float | None = None,
        c2: float | None = None,
        max_iterations: int | None = None,
        num_memories: int | None = None,
        epsilon: float | None = None,
        period: int | None = None,
        delta: float | None = None,
        linesearch: str | None = None,
        max_linesearch: int | None = None,
        calibration_eta: float | None = None,
        calibration_rate: float | None = None,
        calibration_samples: float | None = None,
        calibration_candidates: int | None = None,
        calibration_max_trials: int | None = None,
        pa_type: int | None = None,
        c: float | None = None,
        error_sensitive: bool | None = None,
        averaging: bool | None = None,
        variance: float | None = None,
        gamma: float | None = None,
        verbose: bool = False,
        model_filename: str | os.PathLike[str] | None = None,
        keep_tempfiles: bool = False,
        trainer_cls: type[Trainer] | None = None,
    ):
        self.algorithm = algorithm
        self.min_freq = min_freq
        self.all_possible_states = all_possible_states
        self.all_possible_transitions = all_possible_transitions
        self.c1 = c1
        self.c2 = c2
        self.max_iterations = max_iterations
        self.num_memories = num_memories
        self.epsilon = epsilon
        self.period = period
        self.delta = delta
        self.linesearch = linesearch
        self.max_linesearch = max_linesearch
        self.calibration_eta = calibration_eta
        self.calibration_rate = calibration_rate
        self.calibration_samples = calibration_samples
        self.calibration_candidates = calibration_candidates
        self.calibration_max_trials = calibration_max_trials
        self.pa_type = pa_type
        self.c = c
        self.error_sensitive = error_sensitive
        self.averaging = averaging
        self.variance = variance
        self.gamma = gamma
        self.verbose = verbose
        self.model_filename = model_filename
        self.keep_tempfiles = keep_tempfiles
        self.trainer_cls = trainer_cls

    _written: bytes | None = None  # the model file, where it has no name
    _tagger: Tagger | None = None
    _info: ParsedDump | None = None
    training_log_: Any = None

    def fit(
        self,
        X: Iterable[Any],
        y: Iterable[Any],
        X_dev: Iterable[Any] | None = None,
        y_dev: Iterable[Any] | None = None,
    ) -> Self:
        """Train; how well ``X_dev`` is labelled is said at the end, if ``verbose``."""
        if (X_dev is None) != (y_dev is None):
            raise ValueError("held-out data are X_dev and y_dev; one of them was given, not both")
        trainer = (self.trainer_cls or LinePerIterationTrainer)(
            algorithm=self.algorithm, params=self._params(), verbose=self.verbose
        )
        _append(trainer, X, y, "X", 0)
        if X_dev is not None and y_dev is not None:
            _append(trainer, X_dev, y_dev, "X_dev", 1)
        holdout = -1 if X_dev is None else 1
        if self.model_filename is not None:
            trainer.train(self.model_filename, holdout)
            self._written = None
        else:
            with tempfile.TemporaryDirectory(prefix="taut-") as folder:
                path = os.path.join(folder, "model")
                trainer.train(path, holdout)
                if not os.path.exists(path):
                    raise ValueError("there is nothing to train on: X has no tokens with labels")
                with open(path, "rb") as file:
                    self._written = file.read()
        self._tagger = self._info = None
        self.training_log_ = trainer.logparser
        return self

    def _params(self) -> dict[str, Any]:
        given = {name: getattr(self, of) for name, of in PARAMETERS.items()}
        return {name: value for name, value in given.items() if value is not None}

    @property
    def tagger_(self) -> Tagger | None:
        """The model's :class:`taut.compat.pycrfsuite.Tagger`; None before ``fit``."""
        if self._tagger is None:
            tagger = Tagger()
            if self._written is not None:
                tagger.open_inmemory(self._written)
            elif self.model_filename is not None and os.path.exists(self.model_filename):
                tagger.open(self.model_filename)
            else:
                return None
            self._tagger = tagger
        return self._tagger

    def _fitted(self) -> Tagger:
        tagger = self.tagger_
        if tagger is None:
            raise ValueError("this CRF is not fitted; call fit, or name a model by model_filename")
        return tagger

    def predict(self, X: Iterable[Any]) -> np.ndarray:
        """The labels of each sequence."""
        return np.array([self.predict_single(xseq) for xseq in X], dtype=object)

    def predict_single(self, xseq: Any) -> list[str]:
        return self._fitted().tag(xseq)

    def predict_marginals(self, X: Iterable[Any]) -> np.ndarray:
        """Of each sequence a dict {label: probability} for every item."""
        return np.array([self.predict_marginals_single(xseq) for xseq in X], dtype=object)

    def predict_marginals_single(self, xseq: Any) -> list[dict[str, float]]:
        tagger = self._fitted()
        tagger.set(xseq)
        labels = tagger.labels()
        return [{label: tagger.marginal(label, t) for label in labels} for t in range(len(xseq))]

    def score(self, X: Sequence[Any], y: Sequence[Any]) -> float:
        """The share of items that get their label."""
        return flat_accuracy_score(y, self.predict(X))  # type: ignore[arg-type]

    # --- what is in the model ---------------------------------------------------------------------

    @property
    def _model_info(self) -> ParsedDump | None:
        if self._info is None and self.tagger_ is not None:
            self._info = self.tagger_.info()
        return self._info

    @property
    def classes_(self) -> list[str] | None:
        return None if self.tagger_ is None else self.tagger_.labels()

    @property
    def size_(self) -> int | None:
        """Of the model file, in bytes."""
        return None if self._model_info is None else int(self._model_info.header["size"])

    @property
    def num_attributes_(self) -> int | None:
        return None if self._model_info is None else len(self._model_info.attributes)

    @property
    def attributes_(self) -> list[str] | None:
        return None if self._model_info is None else list(self._model_info.attributes)

    @property
    def state_features_(self) -> dict[tuple[str, str], float] | None:
        """{(attribute, label): weight}"""
        return None if self._model_info is None else self._model_info.state_features

    @property
    def transition_features_(self) -> dict[tuple[str, str], float] | None:
        """{(label, next label): weight}"""
        return None if self._model_info is None else self._model_info.transitions

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        left_out = ("_tagger", "_info")
        return {name: value for name, value in state.items() if name not in left_out}


def _append(trainer: Trainer, X: Iterable[Any], y: Iterable[Any], name: str, group: int) -> None:
    try:
        for i, (xseq, yseq) in enumerate(zip(X, y, strict=True)):
            try:
                trainer.append(xseq, yseq, group)
            except (TypeError, ValueError) as error:
                kind = TypeError if isinstance(error, TypeError) else ValueError
                raise kind(f"{name}[{i}]: {error}") from None
    except ValueError as error:
        if "zip()" not in str(error):
            raise
        raise ValueError(f"{name} and its labels are not equally many sequences") from None
