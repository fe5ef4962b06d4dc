"""Figure 1: how often gaps are computed exactly, and what the stored ones are worth.

a  the gap against effective passes, gaps computed anew every 1, 5, 10, 100 passes or never
b  the exact gap over the sum of the stored ones
c  chi(gaps)^3 / chi(C_f): how many times better theorem 2's constant is than uniform sampling's

The paper says that sampling by gaps does not converge if they are never computed anew. This is
looked for on larger sets and at smaller lambda, too: ``draw_hunt``. On horses the objective of
single iterates jumps, so what is drawn there is the distance of the best one from the dual value.
"""

from pathlib import Path
from typing import Any

import numpy as np

from papers.osokin.data import Data, data_sets, problem_of
from papers.osokin.variants import GROUP, NAMES
from papers.shared.curves import C_of, curve, new_run
from papers.shared.figures import draw_runs, finish, panels, write_medians
from papers.shared.paper import Settings, Work
from papers.shared.rows import Found, Row, parts_of, rows_by
from taut._compile import Labels, Opaque, Problem, Vector, compiled
from taut.arrays.accumulator import clear, squared_norm
from taut.problem import add_corner, begin_change, project, true_label
from taut.solvers import BCFW
from taut.solvers.certificate import OraclePass

REFRESHES: dict[str, BCFW] = {
    "Uniform": BCFW("uniform", refresh=None),
    **{f"Gap {k}": BCFW("gap", refresh=k) for k in (1, 5, 10, 100)},
    "Gap Inf": BCFW("gap", refresh=None),
}
HUNTED = ("Uniform", "Gap 10", "Gap Inf")
HUNTED_ON = {"OCR-large": (1e-4, 1e-3), "CoNLL": (1e-3, 1e-2), "horses-small": (1e-3, 1e-1)}


class Staleness:
    """What is measured of a run: certificates, the sum of stored gaps, and how uneven they are."""

    def __init__(self, run: Any):
        problem = run.problem
        self.oracle = OraclePass(problem, 1, keeps_answers=True)
        self.lowest = np.inf  # objective by now: that of a single iterate jumps on some data
        self.longest = np.zeros(problem.n)  # |psi_i(y)|^2 of the labellings seen by now
        self.truth, self.work = np.zeros(problem.longest, np.int32), problem.new_work()

    def look(self, run: Any) -> Row:
        state, oracle = run.state, self.oracle
        oracle.run(state.w, state.mu)
        gaps = np.maximum(oracle.best - oracle.mean, 0.0) / run.n
        squared_lengths(run.problem, state, oracle.labels, oracle.label_at, self.truth, self.work,
                        self.longest)  # fmt: skip
        stored = float(state.sampler.tree[1])
        known = self.longest > 0  # a bound of each C_f is 4 / (lambda n^2) times this
        uneven = chi(gaps) ** 3 / chi(np.where(known, self.longest, self.longest[known].mean()))
        gap, loss = float(gaps.sum()), float(run.importance @ state.ell)
        dual = run.dual_value(state.v, state.w, loss)
        self.lowest = min(self.lowest, dual + gap)
        ratio = gap / stored if stored > 0 else np.nan
        return {"gap": gap, "bracket": self.lowest - dual, "ratio": ratio, "factor": uneven}


def chi(x: np.ndarray) -> float:
    """How uneven a vector is: 1 if all entries are equal, sqrt(n) if only one is not zero."""
    return float(np.sqrt(1.0 + len(x) ** 2 * np.var(x / x.sum()))) if x.sum() > 0 else 1.0


@compiled
def squared_lengths(
    problem: Problem, state, labels: Labels, label_at, truth: Labels, work: Opaque, longest: Vector
):
    """longest[i] = max(longest[i], |Psi_i(truth - y_i)|^2)."""
    for i in range(longest.size):
        true_label(problem, i, truth)
        begin_change(problem, i, state.mu, 0.0, work)
        add_corner(problem, i, truth, 1.0, work)
        add_corner(problem, i, labels[label_at[i] :], -1.0, work)
        project(problem, i, work, 1.0, state.delta)
        longest[i] = max(longest[i], squared_norm(state.delta))
        clear(state.delta)


def _work(data: Data, lam: float, method: str, seed: int, seconds: float, settings: Settings
          ) -> Work:  # fmt: skip
    key = {"staleness": "bracket", "data": data.name, "lam": lam, "method": method, "seed": seed,
           "seconds": seconds, "growth": data.growth}  # fmt: skip

    def measure() -> Row:
        problem = problem_of(data.name, settings.quick, settings.data_home)
        run = new_run(problem, REFRESHES[method], C_of(lam, problem), seed)
        return curve(run, seconds=seconds, look=Staleness(run).look, growth=data.growth)

    return Work(key, 1.5 * seconds, measure)


def works(settings: Settings) -> list[Work]:
    """OCR-small at a tenth of the lambda with about the lowest test error: hard enough for a
    hundred passes to be few."""
    (data,) = data_sets(settings, ("OCR-small",))
    seconds = 0.05 if settings.quick else 1.5
    return [
        _work(data, data.lambdas[0], method, seed, seconds, settings)
        for method in REFRESHES
        for seed in range(settings.seeds)
    ]


def hunt_works(settings: Settings) -> list[Work]:
    """Larger sets and smaller lambda."""
    seconds = 0.05 if settings.quick else 3.0
    return [
        _work(data, lam, method, seed, seconds, settings)
        for data in data_sets(settings, tuple(HUNTED_ON))
        for lam in HUNTED_ON[data.name][: 1 if settings.quick else 2]
        for method in HUNTED
        for seed in range(min(settings.seeds, 2))
    ]


PANELS = (
    ("gap", "duality gap"),
    ("ratio", "exact gap / stored gaps"),
    ("factor", "factor of theorem 2"),
)
HUNT_PANELS = (("bracket", "best primal - dual"), PANELS[1])


def draw(found: Found, _: Settings, folder: Path, about: str) -> None:
    figure, axes = panels(1, 3, height=3.2)
    runs = rows_by(found, "method")
    shown = {"ratio": [m for m in runs if m != "Uniform"], "factor": ["Uniform", "Gap 10"]}
    for axis, (y, label) in zip(axes[0], PANELS, strict=True):
        draw_runs(axis, {m: runs[m] for m in shown.get(y, list(runs))}, "calls", y)
        axis.set(xscale="log", yscale="log", xlabel="oracle calls / n", ylabel=label)
    axes[0, 0].set_title(f"OCR-small, lambda = {found[0][0]['lam']:g}")
    finish(figure, folder / "figure1.png", about)
    write(folder / "figure1.csv", found)


def draw_hunt(found: Found, _: Settings, folder: Path, about: str) -> None:
    groups = parts_of(found, "data")
    figure, axes = panels(len(groups), 4, width=3.0, height=2.4)
    for row, (data, group) in enumerate(groups.items()):
        for column, (lam, runs) in enumerate(parts_of(group, "lam").items()):
            for k, (y, label) in enumerate(HUNT_PANELS):
                axis = axes[row, 2 * column + k]
                draw_runs(axis, rows_by(runs, "method"), "calls", y)
                axis.set(xscale="log", yscale="log", xlabel="oracle calls / n", ylabel=label)
                axis.set_title(f"{data}, lambda = {lam:g}")
    finish(figure, folder / "no-refresh.png", about)
    write(folder / "no-refresh.csv", found)


def write(path: Path, found: Found) -> None:
    quantities = [("calls", y) for y in ("bracket", *(y for y, _ in PANELS))]
    write_medians(path, rows_by(found, *GROUP), NAMES, quantities)
