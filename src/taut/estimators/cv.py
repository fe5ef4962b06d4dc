"""Estimators that choose C themselves, by cross-validation along regularisation paths.

What they have in common is in :class:`taut.estimators._path_cv.PathCV`.
"""

from typing import Any

from sklearn.utils.validation import check_is_fitted

from taut.estimators._path_cv import PathCV
from taut.estimators.chain_crf import ChainCRF
from taut.estimators.chain_svm import ChainSVM
from taut.estimators.graph_svm import GraphSVM
from taut.estimators.multiclass_svm import MulticlassSVM
from taut.estimators.multilabel_svm import MultilabelSVM
from taut.estimators.structured_svm import StructuredSVM

COMMON = """
    For every fold a path of weights is computed, at every lambda = 1/(C n) proved to be within
    ``eps`` times the optimum there (or a thousandth of the objective at w = 0), and scored on the
    examples held out; the lambda with the best mean score is chosen, and the model is trained with
    it on all examples.

    Parameters are those of :class:`taut.{svm}`, less C and what concerns a single run (warm_start,
    callback, patience), and

    Parameters
    ----------
    cv : int, splitter or iterable of (train, test)
    scoring : None, str or function of (estimator, X, y)
        None is the estimator's own ``score``; else a name of scikit-learn's, "span_f1",
        "token_accuracy" or "sequence_accuracy" for sequences, or a function; higher is better.
    eps, lam_min : float
        Of the paths: see :func:`taut.regularization_path`.
    n_lambdas : int
        The paths are scored at so many lambdas: more of them cost predictions, not training.
    one_standard_error : bool
        Choose the strongest regularisation whose mean score is within one standard error of the
        best.
    n_jobs : int or None
        Folds at the same time; never changes the result.
    time_limit, cpu_limit : float or None
        Stop the search after so many seconds, or CPU seconds, and choose among what was scored on
        every fold, as Ctrl-C does; then for the last training. Each fold has an equal share; in
        CPU seconds it is that of the fold's own thread, whatever else the process does.
    checkpoint : str, Path or None
        A folder of this search alone, made if there is none, for what it takes to go on:
        "fold 0.npz" and so on, "path.npz" of all the data, and "training.npz".
    checkpoint_seconds : float
        How often each file is written.
    resume : bool
        Go on from there. The result has the same bits as without the interruption, whatever
        ``n_jobs``. Files of other data, folds or parameters are refused; only limits may change.

    Attributes
    ----------
    C_, lam_ : the chosen values
    best_score_ : the mean score there
    lambdas_, Cs_ : where scores were taken
    scores_ : (n_lambdas, n_folds)
    path_ : :class:`taut.RegularizationPath` of all the data, down to ``lam_`` if time allowed
    and those of the SVM

    Examples
    --------
"""


class ChainSVMCV(PathCV, ChainSVM):  # type: ignore[misc]  # folds take the place of X_val
    __doc__ = (
        "A :class:`taut.ChainSVM` that chooses C itself.\n"
        + COMMON.format(svm="ChainSVM")
        + """    >>> from taut import ChainSVMCV
    >>> from taut.datasets import make_digit_words
    >>> X, y = make_digit_words(60, random_state=0)
    >>> clf = ChainSVMCV(cv=3, n_lambdas=20, random_state=0).fit(X, y)
    >>> clf.scores_.shape, bool(clf.best_score_ > 0.8)
    ((20, 3), True)
    """
    )

    def partial_fit(self, *args: Any, **options: Any) -> "ChainSVMCV":
        """Add sequences and go on with the C that ``fit`` has chosen."""
        check_is_fitted(self)
        return super().partial_fit(*args, **options)  # type: ignore[return-value]


class ChainCRFCV(PathCV, ChainCRF):  # type: ignore[misc]  # folds take the place of X_val
    __doc__ = (
        "A :class:`taut.ChainCRF` that chooses C itself; all labels must be known.\n"
        + COMMON.format(svm="ChainCRF")
        + """    >>> from taut import ChainCRFCV
    >>> from taut.datasets import make_digit_words
    >>> X, y = make_digit_words(60, random_state=0)
    >>> crf = ChainCRFCV(cv=3, n_lambdas=10, random_state=0).fit(X, y)
    >>> crf.scores_.shape, bool(crf.best_score_ > 0.8)
    ((10, 3), True)
    """
    )

    def partial_fit(self, *args: Any, **options: Any) -> "ChainCRFCV":
        """Add sequences and go on with the C that ``fit`` has chosen."""
        check_is_fitted(self)
        return super().partial_fit(*args, **options)  # type: ignore[return-value]


class MulticlassSVMCV(PathCV, MulticlassSVM):
    __doc__ = (
        "A :class:`taut.MulticlassSVM` that chooses C itself; folds have all classes alike.\n"
        + COMMON.format(svm="MulticlassSVM")
        + """    >>> from sklearn.datasets import load_iris
    >>> from taut import MulticlassSVMCV
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = MulticlassSVMCV(random_state=0).fit(X, y)
    >>> bool(clf.best_score_ > 0.95), clf.solution_.status.name
    (True, 'CONVERGED')
    """
    )


class MultilabelSVMCV(PathCV, MultilabelSVM):
    __doc__ = (
        "A :class:`taut.MultilabelSVM` that chooses C itself.\n"
        + COMMON.format(svm="MultilabelSVM")
        + """    >>> import numpy as np
    >>> from taut import MultilabelSVMCV
    >>> X = np.random.default_rng(0).normal(size=(60, 4))
    >>> clf = MultilabelSVMCV(cv=3, n_lambdas=10, random_state=0).fit(X, (X[:, :3] > 0).astype(int))
    >>> clf.scores_.shape
    (10, 3)
    """
    )


class GraphSVMCV(PathCV, GraphSVM):
    __doc__ = (
        "A :class:`taut.GraphSVM` that chooses C itself.\n"
        + COMMON.format(svm="GraphSVM")
        + """    >>> from taut import GraphSVMCV
    >>> from taut.datasets import make_gaussian_potts
    >>> graphs, labels = make_gaussian_potts(12, size=3, n_states=2, noise=0.5)
    >>> clf = GraphSVMCV(cv=3, n_lambdas=10, random_state=0).fit(graphs, labels)
    >>> clf.scores_.shape
    (10, 3)
    """
    )


class StructuredSVMCV(PathCV, StructuredSVM):
    __doc__ = (
        "A :class:`taut.StructuredSVM`, of a model in Python, that chooses C itself.\n"
        + COMMON.format(svm="StructuredSVM").rpartition("    Examples")[0].rstrip()
        + "\n    "
    )
