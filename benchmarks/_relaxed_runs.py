"""Runs of ``without_inference.py``: curves of the hard objective, brackets, the best value known.

Only steps are timed, in CPU seconds of one thread: certificates, hard objectives and test scores of
the iterates are computed while the clock stands still. So a solver with an oracle pays for the
oracle in its steps and nothing else.
"""

import time
from typing import Any, NamedTuple

import numpy as np
from _relaxed_tasks import ACCURATE, Task, Vector
from numpy.typing import NDArray

from taut.graph_training import AugmentedLagrangian
from taut.solvers import BCFW, solve
from taut.solvers.certificate import OraclePass
from taut.solvers.objective import Objective


class Contestant(NamedTuple):
    solver: Any
    inference: str  # of its training problem


class Best(NamedTuple):
    """What is known of g*, the least hard objective."""

    lower: float
    upper: float

    @property
    def gap(self) -> float:
        return (self.upper - self.lower) / self.lower

    def joined(self, lower: float, upper: float) -> "Best":
        return Best(max(self.lower, lower), min(self.upper, upper))


class Curve(NamedTuple):
    """One run, a point per look."""

    passes: NDArray[np.float64]
    seconds: NDArray[np.float64]
    objective: NDArray[np.float64]  # hard, of the weights
    score: NDArray[np.float64]

    def seconds_to(self, objective: float) -> float | None:
        """When a run first was as good as that, at the looks; None if it never was."""
        reached = np.flatnonzero(self.objective <= objective)
        return float(self.seconds[reached[0]]) if reached.size else None

    def passes_to(self, objective: float) -> float | None:
        reached = np.flatnonzero(self.objective <= objective)
        return float(self.passes[reached[0]]) if reached.size else None

    @property
    def milliseconds_a_pass(self) -> float:
        return float(1e3 * self.seconds[-1] / self.passes[-1])


class HardObjective:
    """g(w) = lambda/2 |w|^2 + 1/n sum_i max over the local polytope, of the training examples."""

    def __init__(self, task: Task):
        self.problem = task.whole(task.exact, **ACCURATE)
        self.oracle = OraclePass(self.problem, 1)
        self.mu = self.problem.new_dual()
        self.lam = 1.0 / (task.C * task.n)

    def __call__(self, w: Vector) -> float:
        self.oracle.run(w, self.mu)
        return float(0.5 * self.lam * (w @ w) + np.mean(self.oracle.best))


def new_run(problem: Any, solver: Any, C: float) -> Any:
    run = solver.start(problem, Objective(C))
    run.compile()
    return run


def advance(run: Any, n_steps: int) -> float:
    """CPU seconds of so many block steps; slices end with passes, where solvers do other things."""
    a_pass = run.pass_steps
    start, end = time.process_time(), run.steps + n_steps
    while run.steps < end:
        run.advance(min(end - run.steps, a_pass - run.steps % a_pass))
    return time.process_time() - start


def curve(
    task: Task, contestant: Contestant, hard: HardObjective, budget: float, growth: float,
    enough: float = 0.0,
) -> Curve:  # fmt: skip
    """Looks at passes that grow by a factor, until the budget is spent or the objective is as low
    as ``enough``."""
    run = new_run(task.whole(contestant.inference), contestant.solver, task.C)
    a_pass = run.pass_steps
    seconds, rows = 0.0, []
    while seconds < budget:
        seconds += advance(run, max(int((growth - 1.0) * run.steps), a_pass // 20, 1))
        w = run.state.w
        rows.append((run.passes, seconds, hard(w), task.score(w)))
        if rows[-1][2] <= enough:
            break
    return Curve(*(np.array(column) for column in zip(*rows, strict=True)))


def best_known(task: Task, tol: float, time_limit: float) -> Best:
    """A long run of the corrective solver with the exact oracle; if that is not enough, another of
    the augmented Lagrangian."""
    problem = task.whole(task.exact, accuracy=0.1 * tol, rounds=20_000)
    best = Best(0.0, np.inf)
    for solver in (BCFW("gap", "corrective", refresh=5), AugmentedLagrangian(rho=1.0)):
        solution = solve(
            problem, solver, C=task.C, tol=tol, time_limit=time_limit, max_passes=np.inf,
            progress=False,
        )  # fmt: skip
        best = best.joined(solution.dual, solution.primal)
        if solution.relative_gap <= tol:
            break
    return best


class Bracket(NamedTuple):
    """A point per certificate; certificates are part of the time."""

    passes: NDArray[np.float64]
    seconds: NDArray[np.float64]
    upper: NDArray[np.float64]  # the least so far
    lower: NDArray[np.float64]
    scale: float  # the objective at w = 0

    @property
    def relative(self) -> NDArray[np.float64]:
        return (self.upper - self.lower) / self.scale

    def seconds_to(self, relative: float) -> float | None:
        reached = np.flatnonzero(self.relative <= relative)
        return float(self.seconds[reached[0]]) if reached.size else None


def bracket(problem: Any, solver: Any, C: float, tol: float, budget: float) -> Bracket:
    new_run(problem, solver, C).certify()  # compiles all that is timed
    rows: list[tuple[float, float, float, float]] = []
    start = time.process_time()

    def record(row: Any) -> bool:
        rows.append((row.passes, time.process_time() - start, row.primal, row.dual))
        return rows[-1][1] >= budget

    solution = solve(
        problem, solver, C=C, tol=tol, max_passes=np.inf, callback=record, progress=False
    )
    passes, seconds, upper, lower = (np.array(column) for column in zip(*rows, strict=True))
    upper, lower = np.minimum.accumulate(upper), np.maximum.accumulate(lower)
    return Bracket(passes, seconds, upper, lower, solution.scale)
