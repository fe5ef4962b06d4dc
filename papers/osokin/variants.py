"""Figures 3, 5 and 6: the eight variants, for three lambda, on all data sets; and two comparisons
that the paper only mentions, the safeguard of appendix G and the box step of appendix H."""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from papers.osokin.data import DATA, Data, data_sets, problem_of
from papers.shared.curves import C_of, Enough, cost_to, curve, new_run
from papers.shared.figures import draw_runs, finish, panels, write_csv, write_medians
from papers.shared.paper import Settings, Work
from papers.shared.rows import Found, Row, named, parts_of, rows_by
from taut.solvers import BCFW
from taut.solvers.objective import Bounds

ENOUGH = Enough("gap", 1e-4)


def variant(name: str) -> BCFW:
    """By its name. Uniform sampling without a cache has no use for exact gaps, and pays for none.

    >>> variant("gap-BCPFW, cache").describe()
    'block-coordinate Frank-Wolfe (order gap, direction pairwise, cache)'
    """
    order, cache = "gap" if name.startswith("gap-") else "uniform", name.endswith(", cache")
    direction = "pairwise" if "BCPFW" in name else "toward"
    refresh = 10 if cache or order == "gap" else None
    return BCFW(order=order, direction=direction, cache=cache, refresh=refresh)


VARIANTS = [
    f"{order}{name}{cache}"
    for name, order, cache in product(("BCFW", "BCPFW"), ("", "gap-"), ("", ", cache"))
]


# --- runs -----------------------------------------------------------------------------------------


def work(
    data: Data, lam: float, method: str, solver: BCFW, seed: int, settings: Settings,
    seconds: float | None = None, bounds: Bounds | None = None,
) -> Work:  # fmt: skip
    limit = seconds or data.seconds
    key = {"data": data.name, "lam": lam, "method": method, "seed": seed, "seconds": limit,
           "growth": data.growth, "bounds": bounds}  # fmt: skip

    def measure() -> Row:
        problem = problem_of(data.name, settings.quick, settings.data_home)
        run = new_run(problem, solver, C_of(lam, problem), seed, bounds)
        return curve(run, seconds=limit, enough=ENOUGH.level, growth=data.growth)

    # Looks take about a third of the time of the run, and are not counted there.
    return Work(key, 1.35 * limit, measure)


def works(names: Sequence[str], which: slice, settings: Settings) -> list[Work]:
    return [
        work(data, lam, method, variant(method), seed, settings)
        for data in data_sets(settings, tuple(names))
        for lam in sorted(set(data.lambdas[which]))
        for method in VARIANTS
        for seed in range(settings.seeds)
    ]


# --- pictures -------------------------------------------------------------------------------------


AXES = (("calls", "oracle calls / n"), ("seconds", "CPU seconds"))


def draw_pair(axes: Sequence[Any], runs: Mapping[str, Sequence[Row]], title: str) -> None:
    """Gap against oracle calls and against seconds."""
    for axis, (x, label) in zip(axes, AXES, strict=True):
        draw_runs(axis, runs, x, "gap", ENOUGH)
        axis.set(xscale="log", yscale="log", xlabel=label, ylabel="duality gap")
        axis.set_title(title)


def draw_data_sets(name: str, found: Found, _: Settings, folder: Path, about: str) -> None:
    """A picture for each data set, a row for each lambda."""
    for data, group in parts_of(found, "data").items():
        lambdas = parts_of(group, "lam")
        figure, axes = panels(len(lambdas), 2, height=2.4)
        for row, (lam, runs) in enumerate(lambdas.items()):
            draw_pair(axes[row], rows_by(runs, "method"), f"{data}, lambda = {lam:g}")
        finish(figure, folder / f"figure{name}-{data}.png", about)
    write_gaps(folder / f"figure{name}.csv", found)
    write_summary(folder / f"figure{name}-summary.csv", found)


def draw_summary(found: Found, _: Settings, folder: Path, about: str) -> None:
    """Oracle calls above, seconds below, a column for each data set."""
    groups = parts_of(found, "data")
    figure, axes = panels(2, len(groups))
    for column, (data, group) in enumerate(groups.items()):
        lam = group[0][0]["lam"]
        draw_pair(axes[:, column], rows_by(group, "method"), f"{data}, lambda = {lam:g}")
    finish(figure, folder / "figure3.png", about)
    write_gaps(folder / "figure3.csv", found)


def draw_methods(name: str, found: Found, _: Settings, folder: Path, about: str) -> None:
    """One row of panels for each data set. Steps raise the dual; what the gap does is another
    matter."""
    groups = parts_of(found, "data")
    figure, axes = panels(len(groups), 3)
    for row, (data, group) in enumerate(groups.items()):
        runs, title = (
            rows_by(named(group, DRAWN), "method"),
            f"{data}, lambda = {group[0][0]['lam']:g}",
        )
        draw_pair(axes[row, :2], runs, title)
        draw_runs(axes[row, 2], runs, "calls", "dual", ENOUGH)
        axes[row, 2].set(xscale="log", xlabel=AXES[0][1], ylabel="dual objective")
        axes[row, 2].set_title(title)
    finish(figure, folder / f"{name}.png", about)
    write_gaps(folder / f"{name}.csv", named(found, DRAWN))
    write_summary(folder / f"{name}-summary.csv", named(found, DRAWN))


GROUP = ("data", "lam", "method")
NAMES = ("data", "lambda", "method")


def write_gaps(path: Path, found: Found) -> None:
    """Against calls and against seconds."""
    quantities = [(x, "gap") for x, _ in AXES]
    write_medians(path, rows_by(found, *GROUP), NAMES, quantities, ENOUGH)


LEVELS = (0.1, 0.01, 0.001)


def write_summary(path: Path, found: Found) -> None:
    """Medians over the seeds of what it takes to a gap; empty where half of the runs do not come
    there."""
    rows: list[list[Any]] = []
    for group, curves in rows_by(found, *GROUP).items():
        ends = [float(np.median([c[name][-1] for c in curves])) for name in ("gap", "dual")]
        row: list[Any] = [*group, *ends]
        for level in LEVELS:
            costs = [cost_to(curves, x, "gap", level) for x, _ in AXES]
            row += [*(cost.median for cost in costs), costs[0].reached]
        rows.append(row)
    header = [*NAMES, "gap at the end", "dual at the end"]
    for level in LEVELS:
        header += [*(f"{x} to {level:g}" for x, _ in AXES), f"seeds to {level:g}"]
    write_csv(path, header, rows)


# --- the safeguard and the box step ---------------------------------------------------------------

SAFEGUARDS = {
    "gap-BCFW": BCFW("gap"),
    "gap-BCPFW": BCFW("gap", "pairwise"),
    "gap-BCPFW, safeguard": BCFW("gap", "pairwise", safeguard=True),
    "gap-BCAFW": BCFW("gap", "away"),
    "gap-BCAFW, safeguard": BCFW("gap", "away", safeguard=True),
}
BOX_STEPS = {
    "BCFW, exact": BCFW("gap"),
    "BCFW, as printed": BCFW("gap", step="parabola"),
    "BCPFW, exact": BCFW("gap", "pairwise"),
    "BCPFW, as printed": BCFW("gap", "pairwise", step="parabola"),
}
# All of them sample by gaps, which the keys of their rows do not say.
DRAWN = {name: f"gap-{name}" for name in BOX_STEPS}
NOT_NEGATIVE = (0.0, float("inf"))


def safeguard_works(settings: Settings) -> list[Work]:
    return [
        work(data, data.lambdas[1], method, solver, seed, settings)
        for data in data_sets(settings, ("OCR-small", "OCR-large"))
        for method, solver in SAFEGUARDS.items()
        for seed in range(settings.seeds)
    ]


def box_works(settings: Settings) -> list[Work]:
    """Horses, whose edges are bounded; letters, all of whose weights are bounded here."""
    return [
        work(data, data.lambdas[1], method, solver, seed, settings, bounds=bounds)
        for data, bounds in zip(
            data_sets(settings, ("horses-small", "OCR-small")), (None, NOT_NEGATIVE), strict=True
        )
        for method, solver in BOX_STEPS.items()
        for seed in range(settings.seeds)
    ]


draw_safeguard = partial(draw_methods, "safeguard")
draw_box = partial(draw_methods, "box-step")
SUMMARY = ("OCR-small", "CoNLL", "poses")
FIGURE_5 = ("OCR-small", "OCR-large", "CoNLL", "horses-small")
FIGURE_6 = tuple(name for name in DATA if name not in FIGURE_5)
