"""What the estimators that choose C themselves have in common."""

import inspect
import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from taut.estimators._search import FLOOR, fold_scores, folds_of
from taut.estimators._search_files import SearchFiles
from taut.path.result import RegularizationPath
from taut.path.task import PathOptions, Task, check_path_limits
from taut.prepared import Prepared
from taut.solvers.checks import is_number

# The search decides about C, and has no use for what concerns a single run.
NOT_PARAMETERS = (
    "C", "warm_start", "callback", "patience"
)  # fmt: skip
OWN = (*NOT_PARAMETERS, "checkpoint", "resume")  # what the search does not pass on
SEARCH: dict[str, Any] = {
    "cv": 5,
    "scoring": None,
    "eps": 0.1,
    "lam_min": None,
    "n_lambdas": 50,
    "one_standard_error": False,
}


class PathCV:
    """Before a structured SVM among the bases of a class: C is chosen by cross-validation.

    A subclass takes the parameters of its SVM, but for C and those of a single run, and those of
    the search; :mod:`taut.estimators.cv` has them and describes them.
    """

    C: Any = property(
        lambda self: self.solution_.C if hasattr(self, "solution_") else 1.0,
        doc="What the search has chosen.",
    )
    warm_start: Any = False
    callback: Any = None
    patience: Any = None
    _base: Any

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        base = next(parent for parent in cls.__mro__[1:] if "C" in _parameters(parent))
        cls._base = base
        own = [p for name, p in _parameters(base).items() if name not in NOT_PARAMETERS]
        # The C chosen is the best for weights as accurate as those of the paths.
        own = [p.replace(default=min(p.default, FLOOR)) if p.name == "tol" else p for p in own]
        own += [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=value)
            for name, value in SEARCH.items()
        ]
        if "__init__" in cls.__dict__:
            return  # it knows what it takes
        signature = inspect.Signature(own)

        def __init__(self: Any, *args: Any, **options: Any) -> None:
            try:
                given = signature.bind(*args, **options)
            except TypeError as error:
                hint = "; it chooses C itself" if "C" in options else ""
                raise TypeError(f"{cls.__name__}: {error}{hint}") from None
            given.apply_defaults()
            self.__dict__.update(given.arguments)

        myself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        __init__.__signature__ = inspect.Signature([myself, *own])  # type: ignore[attr-defined]
        cls.__init__ = __init__  # type: ignore[method-assign]

    def _prepared(self, *args: Any, **options: Any) -> Prepared:
        """Checkpoints are of the search, and ``fit`` says which is that of its training."""
        saving = {"checkpoint": None, "resume": False}
        return super()._prepared(*args, **saving | options)  # type: ignore[misc]

    def fit(
        self: Any, X: Any, y: Any, sample_weight: ArrayLike | None = None, groups: Any = None
    ) -> Any:
        """Choose C by cross-validation along the path, then train on all examples with it.

        ``groups`` are for splitters that keep some examples together, such as GroupKFold.
        """
        check_path_limits(self.max_passes, self.time_limit, self.cpu_limit)
        if not (is_number(self.tol) and self.tol >= 0):
            raise ValueError(f"tol={self.tol!r}; it must be a number, not negative")
        if not (isinstance(self.n_lambdas, int | np.integer) and self.n_lambdas >= 2):
            raise ValueError(f"n_lambdas={self.n_lambdas!r}; a whole number of at least 2")
        model = self._base(
            **{name: getattr(self, name) for name in _parameters(self._base) if name not in OWN}
        )
        task = Task(model, (X, y, sample_weight))  # which checks the data
        folds = folds_of(model, self.cv, X, y, groups)
        files = SearchFiles(self, folds, task.problem.fingerprint())
        whole = RegularizationPath(
            task, PathOptions(self.eps, self.lam_min, floor=FLOOR, max_passes=self.max_passes)
        )
        whole.extend(callback=lambda first: True)  # which says where to look
        if len(whole) == 0:
            raise ValueError(f"the path of all the data has no beginning: {whole}")
        found = fold_scores(model, (X, y, sample_weight), folds, whole, self, files)
        lam = float(found.lambdas[found.best])
        # What follows something that was stopped is not kept: resumed, it would begin elsewhere.
        if found.is_complete:
            files.keep(whole, "path")
        if whole.end > lam:
            whole.extend(lam, time_limit=self.time_limit, cpu_limit=self.cpu_limit)
        saving = files.of_training() if found.is_complete and whole.end <= lam else {}
        prepared = self.prepare(X, y, sample_weight)
        # A Python model's labels are known to the problem that met them, and to no other.
        earlier = whole.last() if task.problem.is_compiled else None
        C = 1.0 / (lam * whole.n_examples)
        solution = prepared.changed(C=C, warm_start=earlier, **saving).solve()
        prepared.complete(solution)
        self.lam_, self.C_ = lam, solution.C
        self.lambdas_, self.scores_ = found.lambdas, found.scores
        self.Cs_ = 1.0 / (found.lambdas * whole.n_examples)
        self.best_score_ = float(found.means[found.best])
        self.path_ = whole
        self._warn_if_unfinished()
        if found.doubts:
            warnings.warn(
                f"{type(self).__name__}: {found.doubts}", ConvergenceWarning, stacklevel=2
            )
        return self


def _parameters(cls: type) -> dict[str, inspect.Parameter]:
    if not hasattr(cls, "get_params"):
        return {}
    return dict(inspect.signature(cls).parameters)
