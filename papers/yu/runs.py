"""Curves of runs: what a method has reached after so many oracle calls and CPU seconds.

An iteration of a decomposition begins with the oracle's answers at the current weights, which are
its certificate, too. Here the two are kept apart: calls and seconds are those of the steps, and
looks after every iteration are nobody's, so that the curves of all methods say the same.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from papers.shared.curves import curve, primal_and_dual
from papers.shared.rows import Row
from taut.solvers.decomposition import Decomposition
from taut.solvers.objective import Objective, SlackPenalty

MOST_ITERATIONS = 2000
GROWTH = 1.02  # looks are at least so far apart, in passes


def nothing_more(run: Any) -> Row:
    return {}


def measured(
    problem: Any, solver: Any, C: float, *, seconds: float, enough: float, seed: int = 0,
    penalty: str = "linear", more: Callable[[Any], Row] = nothing_more,
) -> Row:  # fmt: skip
    """A curve until the gap is ``enough``, relative to the objective at w = 0 ("relative").

    ``more`` is what else is to be measured of a run where it stands.
    """
    if not problem.is_compiled:  # what it remembers belongs to a run
        problem = type(problem)(problem.model, problem.X, problem.Y)
    run = solver.start(problem, Objective(C, seed=seed, penalty=SlackPenalty(penalty)))
    run.compile()
    run.worst = run.worst_losses(cold=False)
    scale = float(run.importance @ run.penalty.cost(run.worst)) / run.n
    options = {"seconds": seconds, "enough": enough * scale}
    if isinstance(solver, Decomposition):
        found = decomposition_curve(run, **options, more=more)
    else:
        found = curve(run, **options, look=lambda run: primal_and_dual(run) | more(run))
    found["relative"] = (np.maximum(found["gap"], 0.0) / scale).tolist()
    return found


def decomposition_curve(
    run: Any, *, seconds: float, enough: float, more: Callable[[Any], Row] = nothing_more
) -> Row:
    """Columns as those of ``curve``, a row for every iteration (later on: every few); "finished" is
    1 if there is nothing to add to what the run has."""
    columns: dict[str, list[float]] = {}
    spent, certified, iterations = 0.0, 0, 0

    def look() -> None:
        found = {"passes": run.passes, "calls": run.oracle_calls / run.n, "seconds": spent}
        found |= looked_at(run) | more(run)
        for name, value in found.items():
            columns.setdefault(name, []).append(float(value))

    look()
    while columns["gap"][-1] > enough and spent < seconds and iterations < MOST_ITERATIONS:
        if columns["finished"][-1]:
            break
        start = time.process_time()
        if not run.hulls.is_together and run.passes >= certified:
            run.certify()  # in every pass, as ``solve`` does: it says which examples are key
            certified = int(run.passes) + 1
        run.advance(1)
        spent += time.process_time() - start
        iterations += 1
        if run.passes >= GROWTH * columns["passes"][-1]:
            look()
    return columns


def looked_at(run: Any) -> Row:
    """A certificate; afterwards the run is as if it had none. (It computes the weights of a product
    anew from the points, which moves them by rounding.)"""
    state = run.state
    kept = [(part, part.copy()) for part in (state.count, state.gaps, state.v, state.w)]
    found = run.certify()
    finished = run.is_finished
    for part, before in kept:
        part[:] = before
    run.oracle_is_fresh = False
    run.maker.forget(np.arange(run.n))
    return {
        "primal": found.primal, "dual": found.dual, "gap": found.gap, "finished": finished,
        "points": len(run.state.points),
    }  # fmt: skip
