"""Cross-validation along regularisation paths: one path for each fold, scored as it is computed."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.model_selection import check_cv
from sklearn.utils.parallel import Parallel, delayed

from taut.path.progress import FoldsProgress
from taut.path.regularization import new_path
from taut.path.result import RegularizationPath
from taut.path.task import Task
from taut.solvers.interrupt import deferred_interrupt
from taut.solvers.one_blas_thread import one_blas_thread
from taut.text import Columns

# Where the training loss is small, weights within eps of the objective at w = 0 could be any: the
# paths are as accurate there as fits with the usual tol.
FLOOR = 1e-3


class Found:
    """Scores at decreasing lambdas, (n_lambdas, n_folds), and the place of the best.

    Where the search was stopped, some are NaN. Whole folds are then better than a short path: only
    if no fold came to its end, those are compared that were begun, as far as all of them came.
    """

    def __init__(self, lambdas: np.ndarray, scores: np.ndarray, one_standard_error: bool):
        self.lambdas, self.scores = lambdas, scores
        known = ~np.isnan(scores)
        self.is_complete = bool(known.all())
        used = known.all(axis=0) if known.all(axis=0).any() else known.any(axis=0)
        if not used.any():
            raise ValueError("the search was stopped before anything was scored; give it more time")
        self.n_folds = int(used.sum())
        self.means = scores[:, used].mean(axis=1)  # NaN beyond where all came
        self.end = float(lambdas[~np.isnan(self.means)].min())
        self.best = chosen(scores[:, used], one_standard_error)

    def _is_last(self, place: int) -> bool:
        return bool(self.lambdas[place] == self.end)

    @property
    def doubts(self) -> str:
        """Why a better C may have been missed; nothing if none was."""
        if not self.is_complete:
            return (
                "the search was stopped before the end of every fold's path (by time_limit, Ctrl-C "
                f"or max_passes); C was chosen from {self.n_folds} of {self.scores.shape[1]} folds "
                f"and lambdas down to {self.end:.3g}"
                + ", where scores were still rising; give it more time"
                * self._is_last(self.best)
            )
        if np.ptp(self.means) == 0:
            return "every C scores the same on the folds, and the smallest was chosen"
        if self._is_last(self.best):
            return (
                f"the best C is the largest that was considered, that of lambda {self.end:.3g}; "
                "a smaller lam_min might find a better one"
            )
        return ""


def fold_scores(
    model: Any,
    data: tuple[Any, Any, Any, Any],
    whole: RegularizationPath,
    search: Any,
) -> Found:
    """Scores on held-out folds at lambdas from the first of the whole data's path to its last.

    ``model`` is what is trained, on ``data`` X, y, sample weights and groups; ``search`` has the
    options of the search.
    """
    X, y, sample_weight, groups = data
    model = clone(model).set_params(n_jobs=1)  # the folds share the cores among them
    lambdas = np.geomspace(whole.lambdas[0], min(whole.lam_min, whole.lambdas[0]), search.n_lambdas)
    folds = list(check_cv(search.cv, y, classifier=is_classifier(model)).split(X, y, groups))
    if not folds:
        raise ValueError(f"cv={search.cv!r} makes no folds")
    shown = FoldsProgress(search.verbose, len(folds))
    workers = min(search._n_threads(), len(folds))
    share = None if search.time_limit is None else search.time_limit * workers / len(folds)
    # Here and not in the folds' threads only: OpenBLAS gets its threads back where they were taken.
    with one_blas_thread(), deferred_interrupt() as interrupt:

        def scores_of(k: int, train: np.ndarray, test: np.ndarray) -> np.ndarray:
            weights = None if sample_weight is None else np.asarray(sample_weight)[train]
            try:
                task = Task(
                    model, take(X, train), take(y, train), weights, n_threads=1, progress=False
                )
            except ValueError as error:
                raise ValueError(f"without fold {k} of {len(folds)}: {error}") from error
            held_out = take(X, test), take(y, test)
            path = new_path(
                task,
                eps=search.eps,
                floor=FLOOR,
                lam_min=float(lambdas[-1]),
                validation=task.validation(held_out, search.scoring, lambdas),
                keep_weights=False,
                max_passes=search.max_passes,
            )
            path._show(shown.fold(k))
            path.extend(time_limit=share, interrupt=interrupt)
            return path.scores

        # Threads: the kernels let go of Python's lock, and the data need no copies.
        jobs = Parallel(n_jobs=workers, require="sharedmem")(
            delayed(scores_of)(k, train, test) for k, (train, test) in enumerate(folds)
        )
    shown.close()
    return Found(lambdas, np.stack(jobs, axis=1), search.one_standard_error)


def chosen(scores: np.ndarray, one_standard_error: bool) -> int:
    """The place of the best mean score; or of the strongest regularisation within an error of it.

    >>> scores = np.array([[0.5, 0.6], [0.8, 0.8], [0.7, 0.9], [0.9, 0.75], [np.nan, 0.9]])
    >>> chosen(scores, False), chosen(scores, True)
    (3, 1)
    """
    means = scores.mean(axis=1)
    best = int(np.nanargmax(means))  # the first: of equal ones that of the largest lambda
    if not one_standard_error or scores.shape[1] < 2:
        return best
    error = scores[best].std(ddof=1) / np.sqrt(scores.shape[1])
    return int(np.flatnonzero(means >= means[best] - error)[0])


def take(data: Any, which: np.ndarray) -> Any:
    """Some of the examples, in the container they came in."""
    if isinstance(data, Columns):
        raise TypeError("Columns cannot be cut into folds; give a list of sentences")
    if hasattr(data, "iloc"):  # pandas: rows by place, not by name
        return data.iloc[which]
    if sparse.issparse(data):
        return data.tocsr()[which]
    if hasattr(data, "shape") or hasattr(data, "pointer"):  # arrays, Sequences
        return data[which]
    return [data[i] for i in which]
