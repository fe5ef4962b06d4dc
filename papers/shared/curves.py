"""Curves of a training run, measured offline: by certificates that are no part of the run.

A solver's own certificates come every so many passes, and a curve through them shows nothing in
between: two methods that reach a gap after one pass and after nine look alike. Here a run is
stopped on a fine grid and looked at while the clock stands still. The look's oracle calls are not
counted, and the run goes on as if nobody had looked. (Runs without inference are looked at by their
own certificate, which computes weights and messages anew: this moves them by rounding.)

Between two looks curves are straight lines in logarithms, both axes', where values are positive.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from papers.shared.rows import Row
from taut.solvers import Solver
from taut.solvers.certificate import Certificate
from taut.solvers.objective import Bounds, Objective
from taut.solvers.oracle_run import OracleRun

Vector = NDArray[np.float64]
Look = Callable[[Any], Row]  # what is measured of a run where it stands


def C_of(lam: float, problem: Any) -> float:
    """Of the papers' lambda."""
    return 1.0 / (lam * problem.n)


def new_run(
    problem: Any, solver: Solver, C: float, seed: int = 0, bounds: Bounds | None = None
) -> Any:
    """A run of which every kernel is compiled."""
    run = solver.start(problem, Objective(C, bounds=bounds, seed=seed))
    run.compile()
    return run


def offline_certificate(run: Any) -> Certificate:
    """Primal and dual value of the iterate, from an oracle call for every example that nobody
    counts."""
    count = run.state.count.copy()
    certificate = run.look()
    run.state.count[:] = count
    return certificate


def primal_and_dual(run: Any) -> Row:
    certificate = offline_certificate(run)
    return {"primal": certificate.primal, "dual": certificate.dual, "gap": certificate.gap}


def curve(
    run: Any,
    *,
    seconds: float,
    passes: float = np.inf,
    enough: float = 0.0,
    look: Look = primal_and_dual,
    growth: float = 1.15,
    first: float = 0.1,
) -> Row:
    """Columns: passes (of steps), calls (oracle calls / n), seconds (CPU), and those of ``look``.

    The grid begins after ``first`` of a pass and grows by a factor. The run ends after so many CPU
    seconds of its own, so many oracle calls / n, or where ``look`` has a gap of at most ``enough``.
    A solver that refreshes its gaps every so many passes does so, and its certificates are part of
    the time and of the calls; others get none.
    """
    refresh = getattr(run.solver, "refresh", None)
    a_pass, spent, target = run.pass_steps, 0.0, first
    if isinstance(run, OracleRun):  # gaps to draw by; at w = 0 they cost no oracle call
        worst = run.worst_losses(cold=True)
        spent += _timed(lambda: run.first_certificate(worst, cold=True))
    columns: dict[str, list[float]] = {}

    def note() -> None:
        found = {"passes": run.passes, "calls": run.oracle_calls / run.n, "seconds": spent}
        for name, value in (found | look(run)).items():
            columns.setdefault(name, []).append(float(value))

    note()
    while spent < seconds and columns["calls"][-1] < passes:
        end = max(int(target * a_pass), run.steps + 1)
        while run.steps < end and spent < seconds:
            stop = min(end, (run.steps // a_pass + 1) * a_pass)  # things happen between passes
            before = run.steps
            spent += _timed(lambda stop=stop: run.advance(stop - run.steps))  # type: ignore[misc]
            if run.steps == before:
                break
            is_due = refresh is not None and run.steps % (refresh * a_pass) == 0
            spent += _timed(run.certify) if is_due else 0.0
        note()
        if columns.get("gap", [np.inf])[-1] <= enough:
            break
        target = max(growth * target, run.passes)
    return columns


def _timed(work: Callable[[], Any]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


# --- reading curves -------------------------------------------------------------------------------


class Enough(NamedTuple):
    """A run ends where this column is at most so much."""

    column: str
    level: float

    def has_ended(self, curve: Row) -> bool:
        return bool(curve[self.column][-1] <= self.level)


def on_grid(
    curves: Sequence[Row], x: str, y: str, points: int = 200, enough: Enough | None = None
) -> tuple[Vector, Vector]:
    """A common grid of x, evenly spaced in logarithms, and y of each run there (rows).

    Lines begin at the first look after a step: on a logarithmic axis the start is nowhere. Beyond
    its end a run has its last value if it ended because that was good enough, otherwise none: not a
    number.
    """
    runs = [tuple(np.asarray(c[one], float)[len(c[x]) > 1 :] for one in (x, y)) for c in curves]
    low = min(xs[xs > 0].min() for xs, _ in runs if (xs > 0).any())
    grid = np.geomspace(low, max(xs[-1] for xs, _ in runs), points)
    rows = np.full((len(runs), points), np.nan)
    for row, curve, (xs, ys) in zip(rows, curves, runs, strict=True):
        is_held = enough is not None and enough.has_ended(curve)
        inside = (grid >= xs[0]) & (is_held | (grid <= xs[-1] * (1 + 1e-12)))
        row[inside] = _between(xs, ys, np.minimum(grid[inside], xs[-1]))
    return grid, rows


def _between(xs: Vector, ys: Vector, at: Vector) -> Vector:
    if len(xs) == 1:
        return np.full(len(at), ys[0])
    after = np.clip(np.searchsorted(xs, at, side="right"), 1, len(xs) - 1)
    # Steps without an oracle call leave x where it is: then the later look counts.
    return _mean(ys[after - 1], ys[after], _share(xs[after - 1], xs[after], at))


def _share(low: Any, high: Any, at: Any) -> Any:
    """How far on the way from one value to another; 1 if there is none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        straight = (at - low) / np.subtract(high, low)
        logarithmic = np.log(np.divide(at, low)) / np.log(np.divide(high, low))
    share = np.where(np.minimum(np.minimum(low, high), at) > 0, logarithmic, straight)
    return np.where(np.equal(low, high), 1.0, share)


def _mean(start: Any, end: Any, share: Any) -> Any:
    with np.errstate(divide="ignore", invalid="ignore"):
        logarithmic = start * np.divide(end, start) ** share
    straight = (1.0 - share) * np.asarray(start) + share * np.asarray(end)
    return np.where(np.minimum(start, end) > 0, logarithmic, straight)


def first_at(columns: Row, x: str, y: str, level: float) -> float | None:
    """Where a run first has y at or below a level; None if it never has."""
    xs, ys = columns[x], columns[y]
    reached = np.flatnonzero(np.asarray(ys) <= level)
    if not reached.size:
        return None
    k = int(reached[0])
    if k == 0:
        return float(xs[0])
    return float(_mean(xs[k - 1], xs[k], _share(ys[k - 1], ys[k], level)))


class Cost(NamedTuple):
    """What runs take to a level. One that does not come there takes longer than all others: where
    this is the median, or the most, the entry is empty."""

    median: float | str
    least: float | str
    most: float | str
    reached: int  # runs that come there


def cost_to(curves: Sequence[Row], x: str, y: str, level: float) -> Cost:
    found = [first_at(curve, x, y, level) for curve in curves]
    costs = sorted(np.inf if cost is None else cost for cost in found)
    values = [float(np.median(costs)), costs[0], costs[-1]]
    median, least, most = ("" if np.isinf(value) else value for value in values)
    return Cost(median, least, most, int(np.isfinite(costs).sum()))
