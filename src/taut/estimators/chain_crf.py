"""Sequence labelling with probabilities."""

import os
from collections.abc import Callable
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from taut import defaults
from taut.chain.chain_posterior import (
    log_likelihoods,
    n_best_labellings,
    node_marginals,
    sampled_labellings,
)
from taut.chain.model import Stacked
from taut.chain.stacking import is_empty
from taut.chain.training import known_labels
from taut.estimators._chain import ChainEstimator
from taut.labels import check_labels, is_labelled
from taut.solvers.checks import is_count


class ChainCRF(ChainEstimator):
    """Conditional random field for sequences: probabilities of labels and of whole labellings.

    Minimises ``lambda/2 |w|^2 + 1/n sum_i -log p(y_i | x_i; w)`` with ``lambda = 1/(C n)``, and
    proves how close to the minimum it came: see ``solution_``. CRFsuite's ``c2`` is ``1 / (2 C)``.

    Parameters not listed are those of :class:`taut.ChainSVM`.

    Parameters
    ----------
    C : float or "scale"
        Weight of the likelihood against the regulariser; larger fits closer. "scale" is
        ``10 (attributes / positions) ** 0.75 / mean of x^2``: more where attributes are rare.
    l1 : float
        Adds ``lambda l1 |w|_1``: weights that do not earn it become exactly zero, and model files
        small. CRFsuite's ``c1`` is ``l1 / C``.
    temperature : float
        p(y) is proportional to exp(score(y) / temperature). What it does to weights a change of C
        and of their unit would do as well; it matters with ``loss_augmented``.
    loss_augmented : bool
        Ask for a margin as well: in training, labellings are scored up by their loss (softmax
        margin). With temperature toward 0 this is :class:`taut.ChainSVM`.
    loss, class_weight
        Of ``loss_augmented``.
    decoding : {"viterbi", "posterior"}
        What ``predict`` returns: the most probable labelling, or the one whose labels are expected
        to be right most often. Under a ``scheme`` both are valid in it.
    scheme : str or None
        As for the SVM. Probabilities are under the scheme, too: what it forbids has none.
    missing_label : label
        Positions with this label, or None, have no known label: it is summed over. The objective is
        then not convex; the solver is "lbfgs", and the certificate is that of the labels as the
        final weights fill them in.
    solver : {"auto", "sdca", "lbfgs"} or solver object
        Stochastic dual coordinate ascent (:class:`taut.SDCA`), the quick one, or L-BFGS
        (:class:`taut.LBFGS`), whose passes use all threads. "auto" takes the former, unless labels
        are missing, or sequences are so long (or C so large) that its steps would be short.
    tol : float
        Stop when the gap is this fraction of the objective at w = 0. Probabilities want a smaller
        one than labels; it costs few passes.
    patience : int or None
        As for the SVM; None is 5, and 10 with L-BFGS, which has certificates after every pass.

    Attributes
    ----------
    classes_, w_, coef_, attributes_, solution_, n_iter_, n_features_in_

    Examples
    --------
    >>> from taut import ChainCRF
    >>> X = [np.eye(2)[[0, 1, 0]], np.eye(2)[[1, 1]]]
    >>> crf = ChainCRF(C=10, random_state=0).fit(X, [["a", "b", "a"], ["b", "b"]])
    >>> crf.predict([np.eye(2)[[0, 0]]])
    [['a', 'a']]
    >>> crf.predict_proba([np.eye(2)[[0, 0]]])[0].round(1).tolist()  # columns: a, b
    [[0.9, 0.1], [0.9, 0.1]]
    >>> for labels, probability in crf.predict_nbest([np.eye(2)[[0, 0]]], 2)[0]:
    ...     print(labels, round(probability, 1))
    ['a', 'a'] 0.8
    ['a', 'b'] 0.1
    """

    _has_probabilities = True

    def __init__(
        self,
        C: float | str = defaults.C,
        *,
        l1: float = 0.0,
        temperature: float = 1.0,
        loss_augmented: bool = False,
        loss: str | ArrayLike = defaults.LOSS,
        class_weight: dict | str | None = None,
        decoding: str = "viterbi",
        bias: bool = True,
        boundary: bool = True,
        features: str = "auto",
        transitions: str = "auto",
        template: str | os.PathLike[str] | None = None,
        min_freq: int = 1,
        scheme: str | None = None,
        scheme_in_training: bool = False,
        missing_label: Any = None,
        solver: Any = "auto",
        averaging: bool = False,
        tol: float = defaults.CRF_TOL["default"],
        max_passes: float = defaults.MAX_PASSES,
        time_limit: float | None = None,
        cpu_limit: float | None = None,
        bounds: tuple | None = None,
        callback: Callable | None = None,
        patience: int | None = None,
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
        self.loss = loss
        self.class_weight = class_weight
        self.decoding = decoding
        self.bias = bias
        self.boundary = boundary
        self.features = features
        self.transitions = transitions
        self.template = template
        self.min_freq = min_freq
        self.scheme = scheme
        self.scheme_in_training = scheme_in_training
        self.missing_label = missing_label
        self.solver = solver
        self.averaging = averaging
        self.tol = tol
        self.max_passes = max_passes
        self.time_limit = time_limit
        self.cpu_limit = cpu_limit
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

    # --- training ------------------------------------------------------------------------------

    def _known(self, y: Any) -> Any:
        known = known_labels(self._specification(), y)
        return slice(None) if known is None else known

    def _check_complete(self, y: Any) -> None:
        if self.solution_.certifies or not np.all(is_labelled(y, self.missing_label)):
            raise ValueError(
                "partial_fit needs all labels, and some are missing; fit again on all of the data"
            )

    # --- probabilities -------------------------------------------------------------------------

    def predict_marginals(self, X: Any, forced: Any = None) -> list[np.ndarray]:
        """Of every sequence an array (positions, labels): how probable each label is there.

        Columns are ``classes_``, and rows sum to one. ``forced`` as for ``predict``: probabilities
        are then conditional on these labels.
        """

        def answer(stacked: Stacked, numbers: np.ndarray | None) -> list:
            found = node_marginals(self._model, stacked, numbers, self._n_threads())
            return np.split(found, np.cumsum(stacked.lengths)[:-1])

        return self._of_sequences(X, forced, answer, lambda: np.zeros((0, len(self.classes_))))

    def predict_proba(self, X: Any, forced: Any = None) -> list[np.ndarray]:
        """The same as ``predict_marginals``, by scikit-learn's name."""
        return self.predict_marginals(X, forced)

    def predict_nbest(self, X: Any, n: int, forced: Any = None) -> list[list[tuple[Any, float]]]:
        """Of every sequence the ``n`` most probable labellings, each with its probability.

        There are fewer where no more are possible.
        """
        _check_count(n)

        def answer(stacked: Stacked, numbers: np.ndarray | None) -> list:
            return [
                list(zip(self._labelled(labels), probabilities.tolist(), strict=True))
                for labels, probabilities in n_best_labellings(self._model, stacked, n, numbers)
            ]

        return self._of_sequences(X, forced, answer, lambda: [(self._labels_of_none(), 1.0)])

    def sample(
        self, X: Any, n: int = 1, forced: Any = None, *, random_state: Any = None
    ) -> list[list[Any]]:
        """Of every sequence ``n`` labellings, drawn with their probabilities."""
        _check_count(n)
        random = check_random_state(random_state)

        def answer(stacked: Stacked, numbers: np.ndarray | None) -> list:
            drawn = sampled_labellings(self._model, stacked, n, random, numbers)
            return [self._labelled(labels) for labels in drawn]

        nothing = self._labels_of_none
        return self._of_sequences(X, forced, answer, lambda: [nothing() for _ in range(n)])

    def log_likelihood(self, X: Any, y: Any) -> np.ndarray:
        """log p(y | x) of every sequence; missing labels are summed over.

        Minus infinity where the scheme forbids y, or a label of y was not seen in training; zero
        for an empty sequence.
        """
        check_is_fitted(self)
        filled = [not is_empty(x) for x in X] if type(X) in (list, tuple) else [True]
        if not all(filled) and len(y) == len(filled):
            found = np.zeros(len(filled))
            if any(filled):
                some = [[*compress(part, filled)] for part in (X, y)]
                found[filled] = self.log_likelihood(*some)
            return found
        stacked = self._stacked(X)
        check_labels(y, stacked.lengths)
        known, numbers = is_labelled(y, self.missing_label), self._model.labels.encode(y)
        first = np.cumsum(stacked.lengths) - stacked.lengths
        unseen = np.logical_or.reduceat(known & (numbers < 0), first)
        numbers[~known] = -1
        found = log_likelihoods(self._model, stacked, numbers, self._n_threads())
        return np.where(unseen, -np.inf, found)

    def _labelled(self, numbers: np.ndarray) -> list:
        """Labellings (n, T) in the user's labels."""
        return self._model.labels.decode(numbers.ravel(), np.full(len(numbers), numbers.shape[1]))


def _check_count(n: Any) -> None:
    if not is_count(n):
        raise ValueError(f"n={n!r}; a whole number of labellings, at least 1")
