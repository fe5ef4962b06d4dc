"""Cross-validation along regularisation paths: one path for each fold, scored as it is computed."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.model_selection import check_cv
from sklearn.utils.parallel import Parallel, delayed

from taut.estimators._search_files import Folds, SearchFiles, of_fold
from taut.path.result import RegularizationPath
from taut.path.task import PathOptions, Task
from taut.solvers.one_blas_thread import one_blas_thread
from taut.solvers.progress import Progress
from taut.solvers.watch import Watch, deferred_interrupt
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
                "the search was stopped before the end of every fold's path (by time_limit, "
                "cpu_limit, Ctrl-C or max_passes); C was chosen from "
                f"{self.n_folds} of {self.scores.shape[1]} folds and lambdas down to {self.end:.3g}"
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


class FoldsProgress(Progress):
    """One line for the paths of all folds."""

    def __init__(self, wanted: bool | None, n_folds: int):
        super().__init__(wanted)
        self.begun = time.perf_counter()
        self.shares = [0.0] * n_folds  # how much of each fold's path is there

    def line(self, text: Callable[[], str]) -> None:
        """What a fold has to say of itself is left out."""
        super().line(self._of_all)

    def _of_all(self) -> str:
        done, n_folds = float(np.mean(self.shares)), len(self.shares)
        spent = time.perf_counter() - self.begun
        left = f", at least {spent / done - spent:.0f} s left" if done > 0 else ""
        return (
            f"cross-validation: {100 * done:.0f} % of all folds' paths, {self.shares.count(1.0)} "
            f"of {n_folds} folds finished  {spent:.0f} s{left}"
        )


def folds_of(model: Any, cv: Any, X: Any, y: Any, groups: Any) -> Folds:
    folds = list(check_cv(cv, y, classifier=is_classifier(model)).split(X, y, groups))
    if not folds:
        raise ValueError(f"cv={cv!r} makes no folds")
    return folds


def fold_scores(
    model: Any,
    data: tuple[Any, Any, Any],
    folds: Folds,
    whole: RegularizationPath,
    search: Any,
    files: SearchFiles,
) -> Found:
    """Scores on held-out folds at lambdas from the first of the whole data's path to its last.

    ``model`` is what is trained, on ``data`` X, y and sample weights; ``search`` has the options of
    the search.
    """
    X, y, sample_weight = data
    n_threads = model._n_threads()
    model = clone(model).set_params(n_jobs=1)  # the folds share the cores among them
    lambdas = np.geomspace(whole.lambdas[0], min(whole.lam_min, whole.lambdas[0]), search.n_lambdas)
    shown = FoldsProgress(search.verbose, len(folds))
    workers = min(n_threads, len(folds))
    share = None if search.time_limit is None else search.time_limit * workers / len(folds)
    # Folds that run at the same time share the process and its clock: each has that of its thread.
    cpu_share = None if search.cpu_limit is None else search.cpu_limit / len(folds)
    options = PathOptions(
        search.eps,
        float(lambdas[-1]),
        floor=FLOOR,
        max_passes=search.max_passes,
        keep_weights=False,
    )
    # Here and not in the folds' threads only: OpenBLAS gets its threads back where they were taken.
    with one_blas_thread(), deferred_interrupt() as interrupt:

        def scores_of(k: int, train: np.ndarray, test: np.ndarray) -> np.ndarray:
            weights = None if sample_weight is None else np.asarray(sample_weight)[train]
            try:
                task = Task(model, (take(X, train), take(y, train), weights), progress=False)
            except ValueError as error:
                raise ValueError(f"without fold {k} of {len(folds)}: {error}") from error
            held_out = take(X, test), take(y, test)
            validation = task.validation(held_out, search.scoring, lambdas)
            path = RegularizationPath(task, options, validation)
            files.keep(path, of_fold(k))
            shown.shares[k] = path.share_done

            def note(_: np.record) -> None:
                shown.shares[k] = path.share_done

            watch = Watch(
                shown, share, cpu_share, note, path.checkpoint, interrupt, time.thread_time
            )
            return path.go_on(watch).scores

        # Threads: the kernels let go of Python's lock, and the data need no copies.
        jobs = Parallel(n_jobs=workers, require="sharedmem")(
            delayed(scores_of)(k, train, test) for k, (train, test) in enumerate(folds)
        )
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
