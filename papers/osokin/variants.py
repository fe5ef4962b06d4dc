"""Figures 3, 5 and 6: the eight variants, for three lambda, on all data sets; and two comparisons
that the paper only mentions, the safeguard of appendix G and the box step of appendix H."""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from papers.osokin.data import DATA, Data, data_sets, problem_of
from papers.shared.curves import curve, first_at, new_run, on_grid
from papers.shared.figures import draw_runs, finish, panels, write_csv
from papers.shared.paper import Settings, Work
from papers.shared.rows import Row
from taut.solvers import BCFW
from taut.solvers.objective import Bounds

ENOUGH = 1e-4
Found = list[tuple[Row, Row]]


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
        run = new_run(problem_of(data.name, settings.quick, settings.data_home), solver, lam, seed,
                      bounds)  # fmt: skip
        return curve(run, seconds=limit, enough=ENOUGH, growth=data.growth)

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


def by(found: Found, *entries: str) -> dict[Any, list[Row]]:
    """Curves, grouped by entries of their keys."""
    groups: dict[Any, list[Row]] = {}
    for key, columns in found:
        name = tuple(key[entry] for entry in entries)
        groups.setdefault(name if len(entries) > 1 else name[0], []).append(columns)
    return groups


AXES = (("calls", "oracle calls / n"), ("seconds", "CPU seconds"))


def draw_pair(axes: Sequence[Any], runs: Mapping[str, Sequence[Row]], title: str) -> None:
    """Gap against oracle calls and against seconds."""
    for axis, (x, label) in zip(axes, AXES, strict=True):
        draw_runs(axis, runs, x, "gap")
        axis.set(xscale="log", yscale="log", xlabel=label, ylabel="duality gap")
        axis.set_title(title, fontsize=9)


def draw_data_sets(name: str, found: Found, _: Settings, folder: Path, about: str) -> None:
    """A picture for each data set, a row for each lambda."""
    for data, group in by_key(found, "data").items():
        lambdas = by_key(group, "lam")
        figure, axes = panels(len(lambdas), 2, height=2.4)
        for row, (lam, runs) in enumerate(lambdas.items()):
            draw_pair(axes[row], by(runs, "method"), f"{data}, lambda = {lam:g}")
        finish(figure, folder / f"figure{name}-{data}.png", about)
    write_medians(folder / f"figure{name}.csv", found)
    write_summary(folder / f"figure{name}-summary.csv", found)


def draw_summary(found: Found, _: Settings, folder: Path, about: str) -> None:
    """Oracle calls above, seconds below, a column for each data set."""
    groups = by_key(found, "data")
    figure, axes = panels(2, len(groups))
    for column, (data, group) in enumerate(groups.items()):
        lam = group[0][0]["lam"]
        draw_pair(axes[:, column], by(group, "method"), f"{data}, lambda = {lam:g}")
    finish(figure, folder / "figure3.png", about)
    write_medians(folder / "figure3.csv", found)


def draw_methods(name: str, found: Found, _: Settings, folder: Path, about: str) -> None:
    """One row of panels for each data set. Steps raise the dual; what the gap does is another
    matter."""
    groups = by_key(found, "data")
    figure, axes = panels(len(groups), 3)
    for row, (data, group) in enumerate(groups.items()):
        runs, title = by(group, "method"), f"{data}, lambda = {group[0][0]['lam']:g}"
        draw_pair(axes[row, :2], runs, title)
        draw_runs(axes[row, 2], runs, "calls", "dual")
        axes[row, 2].set(xscale="log", xlabel=AXES[0][1], ylabel="dual objective")
        axes[row, 2].set_title(title, fontsize=9)
    finish(figure, folder / f"{name}.png", about)
    write_medians(folder / f"{name}.csv", found)
    write_summary(folder / f"{name}-summary.csv", found)


def by_key(found: Found, entry: str) -> dict[Any, Found]:
    groups: dict[Any, Found] = {}
    for key, columns in found:
        groups.setdefault(key[entry], []).append((key, columns))
    return groups


def write_medians(path: Path, found: Found, points: int = 20) -> None:
    """Median, least and largest gap over the seeds, on a grid of calls and one of seconds."""
    rows = []
    for (data, lam, method), curves in by(found, "data", "lam", "method").items():
        for x, _ in AXES:
            grid, values = on_grid(curves, x, "gap", points)
            known = np.isfinite(values).all(axis=0)
            middle, low, high = np.median(values, axis=0), values.min(axis=0), values.max(axis=0)
            rows += [
                [data, lam, method, x, *map(float, row)]
                for row in np.column_stack([grid, middle, low, high])[known]
            ]
    write_csv(path, ["data", "lambda", "method", "axis", "x", "median gap", "least", "largest"],
              rows)  # fmt: skip


LEVELS = (0.1, 0.01, 0.001)


def write_summary(path: Path, found: Found) -> None:
    """Medians over the seeds of what it takes to a gap; empty where half of the runs do not come
    there."""
    rows: list[list[Any]] = []
    for (data, lam, method), curves in by(found, "data", "lam", "method").items():
        ends = [float(np.median([c[name][-1] for c in curves])) for name in ("gap", "dual")]
        row: list[Any] = [data, lam, method, *ends]
        for level, (x, _) in product(LEVELS, AXES):
            cost = [first_at(c, x, "gap", level) for c in curves]
            middle = float(np.median([np.inf if value is None else value for value in cost]))
            row.append(middle if np.isfinite(middle) else "")
        rows.append(row)
    header = ["data", "lambda", "method", "gap at the end", "dual at the end"]
    header += [f"{x} to {level:g}" for level, (x, _) in product(LEVELS, AXES)]
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
