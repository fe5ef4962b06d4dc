"""How the figures of ``run.py`` are drawn, and their tables written."""

from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from papers.shared.curves import Enough, cost_to, on_grid
from papers.shared.figures import draw_runs, finish, panels, style, write_csv
from papers.shared.paper import Settings
from papers.shared.rows import Found, Row, rows_by

RELATIVE = "gap / objective at w = 0"
CALLS, SECONDS = "oracle calls per example", "CPU seconds"
LEVELS = (1e-1, 1e-2, 1e-3, 1e-6)
ENOUGH = Enough("relative", 1e-8)
LOWEST = 1e-16


def grouped(found: Found, name: str, *of: str) -> dict[Any, dict[str, list[Row]]]:
    """Curves by panel (the key's entry ``name`` and others), then by method."""
    curves = [
        (key, row | {"relative": np.maximum(row["relative"], LOWEST).tolist()})
        for key, row in found
        if name in key
    ]
    groups: dict[Any, dict[str, list[Row]]] = defaultdict(dict)
    for (*panel, method), rows in rows_by(curves, name, *of, "method").items():
        groups[tuple(panel)][method] = rows
    return groups


def label(axis: Any, title: str, x: str, y: str = RELATIVE) -> None:
    axis.set(title=title, xlabel=x, ylabel=y)


def shown(data: str, settings: Settings) -> str:
    return f"made up, for {data}" if settings.quick else data


def logarithmic(axis: Any, low: float = LOWEST) -> None:
    axis.set(xscale="log", yscale="log")
    axis.set_ylim(bottom=low, top=2.0)


def level_table(path: Path, groups: dict[Any, dict[str, list[Row]]], *names: str) -> None:
    """Where each method is below each level: medians over the seeds; empty where half of them do
    not come there."""
    rows = []
    for panel, methods in groups.items():
        for method, curves in methods.items():
            for x in ("calls", "seconds"):
                costs = [cost_to(curves, x, "relative", level) for level in LEVELS]
                medians, reached = ([cost[k] for cost in costs] for k in (0, 3))
                rows.append([*panel, method, len(curves), x, *medians, *reached])
    header = [f"{word}to {level:g}" for word in ("", "seeds ") for level in LEVELS]
    write_csv(path, [*names, "method", "seeds", "of", *header], rows)


def finite(found: Found, settings: Settings, folder: Path, about: str) -> None:
    figure, axes = panels(1, 2)
    rows = []
    titles = {"one": "one simplex", "product": "a product of simplexes"}
    for axis, (simplexes, title) in zip(axes[0], titles.items(), strict=True):
        curves = {}
        for key, row in found:
            if key.get("simplexes") == simplexes:
                name = "no limit" if key["limit"] is None else f"r = {key['limit']}"
                relative = np.maximum(row["relative"], LOWEST).tolist()
                curves[name] = [row | {"relative": relative}]
                rows.append([simplexes, name, row["passes"][-1], row["relative"][-1],
                             bool(row["finished"][-1])])  # fmt: skip
        draw_runs(axis, curves, "passes", "relative")
        logarithmic(axis)
        label(axis, f"grids (d = 4), {title}", "iterations")
    header = ["simplexes", "limit", "iterations", "relative gap", "nothing to add"]
    write_csv(folder / "finite.csv", header, rows)
    faces = [(key["random problems"], row) for key, row in found if "random problems" in key]
    header = ["problems", "r = dim F", "r = dim F + 1"]
    write_csv(folder / "finite_faces.csv", ["dim F", *header],
              [[dim, *(row[name] for name in header)] for dim, row in faces])  # fmt: skip
    finish(figure, folder / "finite.png", about)


def solvers(found: Found, settings: Settings, folder: Path, about: str) -> None:
    groups = grouped(found, "curve")
    figure, axes = panels(len(groups), 2)
    for row, ((data,), methods) in zip(axes, groups.items(), strict=True):
        for axis, x, name in zip(row, ("calls", "seconds"), (CALLS, SECONDS), strict=True):
            draw_runs(axis, methods, x, "relative", ENOUGH)
            logarithmic(axis, 1e-9)
            label(axis, shown(data, settings), name)
    level_table(folder / "solvers.csv", groups, "data")
    finish(figure, folder / "solvers.png", about)


def working_sets(found: Found, settings: Settings, folder: Path, about: str) -> None:
    data = list(dict.fromkeys(key["working set"] for key, _ in found))
    figure, axes = panels(len(data), 2)
    rows = []
    for line, name in zip(axes, data, strict=True):
        for position, simplexes in enumerate(("product", "one")):
            some = [row for key, row in found
                    if (key["working set"], key["simplexes"]) == (name, simplexes)]  # fmt: skip
            method = {"product": "product", "one": "one simplex"}[simplexes]
            for axis, x in zip(line, ("calls", "seconds"), strict=True):
                at = [(row["examples"], row[x]) for row in some if row["reached"]]
                look = style(method, position)
                axis.plot(*np.reshape(at, (-1, 2)).T, marker="o", ms=3, label=method, **look)
                missed = [row["examples"] for row in some if not row["reached"]]
                if missed:  # at the top, wherever it is; one line's above the other's
                    axis.plot(
                        missed, [0.97 - 0.06 * position] * len(missed), "x", ms=5,
                        color=look["color"], transform=axis.get_xaxis_transform(),
                        label=f"{method}: not reached",
                    )  # fmt: skip
            rows += [[name, simplexes, row["examples"], bool(row["reached"]), row["calls"],
                      row["seconds"], row["points"]] for row in some]  # fmt: skip
        for axis, y in zip(line, (CALLS, SECONDS), strict=True):
            axis.set(xscale="log", yscale="log")
            axis.margins(y=0.2)
            axis.grid(alpha=0.3)
            title = f"{shown(name, settings)}, to a relative gap of 0.001"
            label(axis, title, "examples in the working set", y)
    header = ["data", "simplexes", "examples", "reached 1e-3", "calls", "seconds", "points"]
    write_csv(folder / "workingset.csv", header, rows)
    finish(figure, folder / "workingset.png", about)


def slack(found: Found, settings: Settings, folder: Path, about: str) -> None:
    groups = grouped(found, "slack", "penalty")
    figure, axes = panels(-(-len(groups) // 2), 2)
    for axis, ((data, penalty), methods) in zip(axes.flat, groups.items(), strict=True):
        draw_runs(axis, methods, "calls", "relative", ENOUGH)
        logarithmic(axis, 1e-12)
        variant = {"linear": "I", "squared": "II"}[penalty]
        label(axis, f"{shown(data, settings)}, variant {variant}", CALLS)
    level_table(folder / "slack.csv", groups, "data", "penalty")
    finish(figure, folder / "slack.png", about)


def _first_below(curves: dict[str, list[Row]], rate: float) -> float:
    """Calls at which the first method's median error is in range."""
    starts = []
    for runs in curves.values():
        grid, values = on_grid(runs, "calls", "AER")
        starts += grid[np.median(values, axis=0) < rate][:1].tolist()
    return min(starts, default=1e-3)


def alignment(found: Found, settings: Settings, folder: Path, about: str) -> None:
    figure, axes = panels(1, 2)
    curves: dict[str, list[Row]] = defaultdict(list)
    errors: dict[str, list[float]] = defaultdict(list)
    for key, row in found:
        if "AER of" in key:
            curves[key["AER of"]].append(row)
        elif "baselines" in key:
            for name, error in row.items():
                errors[name].append(error)
        else:
            penalty = {"linear": "", "squared": ", squared slacks"}[key["penalty"]]
            errors[f"{key['learned from']} pairs{penalty}"].append(row["AER"])
    draw_runs(axes[0, 0], curves, "calls", "AER")
    axes[0, 0].set(xscale="log", xlim=(_first_below(curves, 0.4), None), ylim=(0.0, 0.4))
    label(axes[0, 0], "while learning from 200 pairs", CALLS, "alignment error rate, held out")
    names = list(errors)
    for y, name in enumerate(names):
        axes[0, 1].plot(errors[name], [y] * len(errors[name]), "o", ms=3, color="0.3")
    axes[0, 1].set_yticks(range(len(names)), names, fontsize=7)
    axes[0, 1].invert_yaxis()
    axes[0, 1].set_xlim(left=0.0)
    axes[0, 1].grid(alpha=0.3)
    label(
        axes[0, 1],
        "C chosen on the trial pairs; a dot a split",
        "alignment error rate, held out",
        "",
    )
    table = [[name, len(of), float(np.median(of)), min(of), max(of)] for name, of in errors.items()]
    header = ["what", "splits", "AER, median", "lowest", "highest"]
    write_csv(folder / "alignment.csv", header, table)
    finish(figure, folder / "alignment.png", about)
