"""Curves of a training run, measured offline: by certificates that are no part of the run.

A solver's own certificates come every so many passes, and a curve through them shows nothing in
between: two methods that reach a gap after one pass and after nine look alike. Here a run is
stopped on a fine grid and looked at while the clock stands still. The look's oracle calls are not
counted, and the run goes on as if nobody had looked.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from papers.shared.rows import Row
from taut.solvers import Solver
from taut.solvers.certificate import Certificate
from taut.solvers.objective import Bounds, Objective
from taut.solvers.oracle_run import OracleRun

Vector = NDArray[np.float64]
Look = Callable[[Any], Row]  # what is measured of a run where it stands


def new_run(
    problem: Any, solver: Solver, lam: float, seed: int = 0, bounds: Bounds | None = None
) -> Any:
    """A run of which every kernel is compiled; lambda is what the papers write, 1 / (C n)."""
    run = solver.start(problem, Objective(1.0 / (lam * problem.n), bounds=bounds, seed=seed))
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


def on_grid(curves: Sequence[Row], x: str, y: str, points: int = 200) -> tuple[Vector, Vector]:
    """A common grid of x, evenly spaced in logarithms, and y of each run there (rows): the latest
    look at or before it; not a number beyond the end of a run."""
    runs = [(np.asarray(c[x], float), np.asarray(c[y], float)) for c in curves]
    low = min(xs[xs > 0].min() for xs, _ in runs if (xs > 0).any())
    grid = np.geomspace(low, max(xs[-1] for xs, _ in runs), points)
    rows = np.full((len(runs), points), np.nan)
    for row, (xs, ys) in zip(rows, runs, strict=True):
        at = np.searchsorted(xs, grid, side="right") - 1
        inside = (at >= 0) & (grid <= xs[-1] * (1 + 1e-12))
        row[inside] = ys[at[inside]]
    return grid, rows


def first_at(columns: Row, x: str, y: str, level: float) -> float | None:
    """Where a run first has y at or below a level; None if it never has."""
    reached = np.flatnonzero(np.asarray(columns[y]) <= level)
    return float(columns[x][reached[0]]) if reached.size else None
