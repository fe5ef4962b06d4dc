"""Sequence labelling."""

import os
from collections.abc import Callable
from typing import Any

from numpy.typing import ArrayLike

from taut import defaults
from taut.estimators._chain import ChainEstimator


class ChainSVM(ChainEstimator):
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
        (CoNLL-2000: F1 93.4 instead of 93.6). "auto" is "all" up to 20 million weights.
    transitions : {"auto", "all", "observed"}
        Which steps from label to label have a weight: all, or only those seen in training; others
        score zero and are possible all the same. "auto" is "all" up to 50 labels, and where slack
        rescaling or matrices of step features need them: beyond, time and memory of observed ones
        are a fraction, with the same accuracy.
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
        the oracle is more expensive).
    slack_penalty : {"linear", "squared"}
        What a slack costs: xi, or xi^2 / 2 (with the solvers "auto", "simplicial",
        "cutting-plane", "cutting-plane-one" and "subgradient"). The objective at w = 0, of which
        ``tol`` is a part, is then about half the square of the loss: ``tol`` should be smaller.
    solver : str or solver object
        "auto" (by ``tol``: see there), a name of the page on solvers, such as "corrective", or an
        object with options, such as :class:`taut.BCFW` or :class:`taut.Simplicial`.
    averaging : bool
        Return the weighted average of all iterates: good for few passes over much text.
    tol : float
        Stop when the gap is this fraction of the objective at w = 0. Down to 0.01, "auto" averages
        many small steps, 24 passes of them or more, or 12 if ``tol`` is 0.1: labels are as good
        then as they get. Below that, it takes the solver with the smallest gap soonest.
    max_passes, time_limit, cpu_limit : float
        Stop after so many passes over the data, or seconds, or seconds of this process on all cores
        together, which a busy machine does not shorten.
    bounds : (lower, upper) or None
        Box constraints on the weights: numbers, or arrays of all weights.
    callback : callable or None
        Called with each row of the history; return True to stop.
    patience : int or None
        With held-out data in ``fit``: stop when so many certificates brought no better score. None
        is 5, and 10 with L-BFGS, whose certificates come with every pass.
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
    >>> import numpy as np
    >>> from taut import ChainSVM
    >>> X = [np.eye(2)[[0, 1, 0]], np.eye(2)[[1, 1]]]
    >>> clf = ChainSVM(C=10, random_state=0).fit(X, [["a", "b", "a"], ["b", "b"]])
    >>> clf.predict([np.eye(2)[[0, 0]]])
    [['a', 'a']]
    """

    def __init__(
        self,
        C: float | str = defaults.C,
        *,
        loss: str | ArrayLike = defaults.LOSS,
        class_weight: dict | str | None = None,
        bias: bool = True,
        boundary: bool = True,
        features: str = "auto",
        transitions: str = "auto",
        template: str | os.PathLike[str] | None = None,
        min_freq: int = 1,
        scheme: str | None = None,
        scheme_in_training: bool = False,
        formulation: str = "margin",
        slack_penalty: str = "linear",
        solver: Any = "auto",
        averaging: bool = False,
        tol: float = defaults.TOL["default"],
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
        self.loss = loss
        self.class_weight = class_weight
        self.bias = bias
        self.boundary = boundary
        self.features = features
        self.transitions = transitions
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
