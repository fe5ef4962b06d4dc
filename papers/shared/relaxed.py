"""What Meshi's and Hu's figures measure: relaxed problems, their optima, runs without inference."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from papers.shared.relaxed_tasks import Task, Vector, task_of
from papers.shared.rows import Row
from taut.graph_training import AugmentedLagrangian
from taut.graph_training.factor_state import RHO
from taut.solvers import BCFW, solve
from taut.solvers.certificate import Certificate, OraclePass


class Optimum(NamedTuple):
    """What is known of g*, the least hard objective."""

    lower: float
    upper: float


def optimum(task: Task, tol: float, seconds: float) -> Optimum:
    """By a long run of the corrective solver with the exact oracle; if that is not enough, another
    of the augmented Lagrangian."""
    problem = task.whole(task.exact, accuracy=0.1 * tol, rounds=20_000)
    best = Optimum(0.0, np.inf)
    for solver in (BCFW("gap", "corrective", refresh=5), AugmentedLagrangian()):
        found = solve(
            problem, solver, C=task.C, tol=tol, cpu_limit=seconds, max_passes=np.inf, seed=0,
            progress=False,
        )  # fmt: skip
        best = Optimum(max(best.lower, found.dual), min(best.upper, found.primal))
        if best.upper - best.lower <= tol * found.scale:
            break
    return best


@cache
def optimum_of(name: str, quick: bool, data_home: str | None) -> Optimum:
    """Once for all runs that are compared with it."""
    return optimum(task_of(name, quick, data_home), 1e-4, 2.0 if quick else 30.0)


class HardObjective:
    """g(w) = lambda/2 |w|^2 + 1/n sum_i max over the local polytope, of the training examples."""

    def __init__(self, task: Task):
        # What is enough to call it exact; roof duality and max-sum are exact without.
        self.problem = task.whole(task.exact, accuracy=1e-5, rounds=20_000)
        self.oracle = OraclePass(self.problem, 1)
        self.mu, self.lam = self.problem.new_dual(), task.lam

    def __call__(self, w: Vector) -> float:
        self.oracle.run(w, self.mu)
        return float(0.5 * self.lam * (w @ w) + np.mean(self.oracle.best))


class Soft(NamedTuple):
    """Where a run without inference stands; values are means over examples."""

    g: float  # of w and delta: an upper bound of g*
    g_rho: float
    f_rho: float
    gap: float  # g_rho - f_rho
    square: float  # |B mu|^2 = |A mu|^2


def soft_values(run: Any) -> tuple[Soft, Certificate]:
    """From a certificate that is no part of the run: rho/2 |delta - nu|^2 = |B mu|^2 / (2 rho)."""
    found = run.certify()
    square, rho = found.squared_violation, float(run.state.total[RHO])
    g_rho = found.primal + 0.5 * square / (rho * run.n)
    values = Soft(found.primal, g_rho, g_rho - found.soft_gap, found.soft_gap, square)
    return values, found


def at_passes(run: Any, passes: Sequence[float], look: Callable[[Any], Row]) -> Row:
    """Columns of what ``look`` finds after so many passes."""
    columns: dict[str, list[float]] = {"passes": []}
    for target in passes:
        end = int(np.ceil(target * run.pass_steps))
        while run.steps < end:
            run.advance(min(end - run.steps, run.pass_steps - run.steps % run.pass_steps))
        columns["passes"].append(run.passes)
        for name, value in look(run).items():
            columns.setdefault(name, []).append(float(value))
    return columns


def mean_and_95(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Of each row, over its columns: the mean, and half of its 95 % interval."""
    n = values.shape[1]
    spread = values.std(axis=1, ddof=1) if n > 1 else np.zeros(len(values))
    return values.mean(axis=1), 1.96 * spread / np.sqrt(n)
