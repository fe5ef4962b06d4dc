"""What an estimator has to train, before it does: for ``fit``, for paths, for solvers of one's own.

Apart from the estimators, because paths and cross-validation are to know this and nothing else of
them.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, Self, runtime_checkable

from numpy.typing import ArrayLike

from taut.solvers.solution import Solution
from taut.solvers.solve import solve


@dataclass(frozen=True)
class Prepared:
    """Data as a problem, how to solve it, and how to become the model that a solution describes.

    ``estimator.fit(X, y)`` is ``prepared = estimator.prepare(X, y)``, then
    ``prepared.complete(prepared.solve())``.

    Attributes
    ----------
    problem : problem
        The examples, as the formulation wants them.
    complete : function of a :class:`taut.Solution`
        Makes a fitted model of the estimator that prepared this; may be called again, for other
        solutions. Until then the estimator stays as it was.
    options : dict
        All else that :func:`taut.solve` is told: C, with "scale" resolved, bounds, seed, n_threads,
        l1, slack_penalty, tol, ...
    named_solver : str or solver
        As the user gave it, perhaps "auto".
    solver : solver
        What that comes to for this problem.
    no_path : str
        Why there is no regularisation path of it; empty if there is one.
    """

    problem: Any
    complete: Callable[[Solution], None]
    options: dict[str, Any]
    named_solver: Any
    choose_solver: Callable[[Any, Solution | None], Any]
    no_path: str = ""

    @cached_property
    def solver(self) -> Any:
        # When it is asked for, and not before: to choose may mean to time an oracle.
        return self.choose_solver(self.problem, self.options["warm_start"])

    @property
    def C(self) -> float:
        return self.options["C"]

    def solve(self) -> Solution:
        return solve(self.problem, self.solver, **self.options)

    def changed(self, **options: Any) -> Self:
        """The same with other options."""
        return replace(self, options={**self.options, **options})


@runtime_checkable
class Preparing(Protocol):
    """An estimator, as paths see it."""

    def prepare(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Prepared:
        """Check the data and state their problem."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """As of scikit-learn."""
