"""Figures 4, 7 and 8: regularisation paths against grids of 31 lambdas.

eps-path        constant pieces, each proved within eps = 0.1 of the optimum; kappa = 0.9
heuristic path  the same, believing the stored gaps; kappa = 0.7
grid, warm      2^15, 2^14, ... 2^-15, each from the weights of the one before
grid, cold      each from nothing

A line stops where its limit of CPU seconds does, as the paper's do after 24 hours. Heuristic paths'
gaps are computed afterwards, and counted nowhere.
"""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from papers.osokin.data import data_sets, problem_of
from papers.osokin.variants import variant
from papers.shared.figures import finish, panels, style, write_csv
from papers.shared.paper import Settings, Work
from papers.shared.rows import Found, Row, parts_of
from taut.path import RegularizationPath, regularization_grid, regularization_path

EPS = 0.1
GRID = 2.0 ** np.arange(15, -16, -1)
SOLVERS = ("gap-BCFW", "gap-BCPFW, cache")
KINDS = ("eps-path", "heuristic path", "grid, warm", "grid, cold")
METHODS = {"eps-path": "constant", "heuristic path": "heuristic"}
LIMITS = {"OCR-small": 10.0, "horses-small": 16.0, "OCR-large": 12.0, "horses-large": 4.0}
KAPPAS = (0.3, 0.5, 0.7, 0.9, 0.99)


def walk(problem: Any, kind: str, solver: str, limit: float, kappa: float | None, quick: bool
         ) -> Row:  # fmt: skip
    """Columns, one entry for each breakpoint: lambda down to which there are weights then, and
    what they have taken."""
    options: dict[str, Any] = dict(solver=variant(solver), eps=EPS, seed=0, n_threads=1,
                                   max_passes=np.inf, progress=False)  # fmt: skip
    spent, start = [], time.process_time()

    def clock(_: Any) -> None:
        spent.append(time.process_time() - start)

    options |= dict(callback=clock, cpu_limit=limit)
    if kind in METHODS:
        lowest = 0.2 if quick else float(GRID[-1])
        path = regularization_path(problem, method=METHODS[kind], kappa=kappa, lam_min=lowest,
                                   **options)  # fmt: skip
    else:
        warm_start = "primal" if kind == "grid, warm" else None
        lambdas = GRID[12:15] if quick else GRID
        path = regularization_grid(problem, lambdas=lambdas, warm_start=warm_start, **options)
    return columns(path, spent, kind == "heuristic path")


def columns(path: RegularizationPath, spent: Sequence[float], is_heuristic: bool) -> Row:
    lambdas = path.lambdas
    reached = np.append(lambdas[1:], path.end) if path.method != "grid" else lambdas
    gaps = path.true_gaps() if is_heuristic and len(path) else path.gaps
    return {
        "lambda": lambdas.tolist(),
        "reached": np.maximum(reached, GRID[-1]).tolist(),
        "calls": (path.breakpoints.oracle_calls / path.n_examples).tolist(),
        "seconds": list(spent)[: len(lambdas)],
        "gap": (gaps / path.scale).tolist(),
        "end": float(path.end),
        "status": path.status.name if path.status else "",
    }


def _work(data: str, kind: str, solver: str, limit: float, settings: Settings,
          kappa: float | None = None) -> Work:  # fmt: skip
    key = {"path": kind, "data": data, "solver": solver, "limit": limit, "kappa": kappa}

    def measure() -> Row:
        problem = problem_of(data, settings.quick, settings.data_home)
        return walk(problem, kind, solver, limit, kappa, settings.quick)

    return Work(key, limit, measure)


def works(names: Sequence[str], settings: Settings) -> list[Work]:
    return [
        _work(data.name, kind, solver, 0.5 if settings.quick else LIMITS[data.name], settings)
        for data in data_sets(settings, tuple(names))
        for solver in SOLVERS
        for kind in KINDS
    ]


def kappa_works(settings: Settings) -> list[Work]:
    limit, kappas = (0.5, KAPPAS[2:3]) if settings.quick else (10.0, KAPPAS)
    return [
        _work("OCR-small", kind, solver, limit, settings, kappa)
        for kind in METHODS
        for solver in SOLVERS
        for kappa in kappas
    ]


# --- pictures -------------------------------------------------------------------------------------

COSTS = (("seconds", "cumulative CPU seconds"), ("calls", "cumulative oracle calls / n"))


def _draw_line(axis: Any, found: Row, y: str, **look: Any) -> None:
    if found["reached"]:
        axis.step(found["reached"], found[y], where="pre", lw=1.2, **look)


def _prepare(axis: Any, label: str, title: str) -> None:
    axis.set_xscale("log", base=2)
    axis.set(yscale="log", xlabel="lambda", ylabel=label)
    axis.set_title(title)
    axis.invert_xaxis()
    axis.grid(alpha=0.3)


def draw(name: str, solvers: Sequence[str], found: Found, folder: Path, about: str) -> None:
    """Of each data set a row for each solver: seconds and passes."""
    groups = parts_of([one for one in found if one[0]["solver"] in solvers], "data")
    for data, group in groups.items():
        figure, axes = panels(len(solvers), 2)
        for row, (solver, lines) in enumerate(parts_of(group, "solver").items()):
            for axis, (y, label) in zip(axes[row], COSTS, strict=True):
                for position, (key, line) in enumerate(lines):
                    _draw_line(axis, line, y, label=key["path"], **style(key["path"], position))
                _prepare(axis, label, f"{data}, {solver}")
        suffix = "" if len(groups) == 1 else f"-{data}"
        finish(figure, folder / f"figure{name}{suffix}.png", about)
    write(folder / f"figure{name}.csv", [one for group in groups.values() for one in group])


def draw_4(found: Found, _: Settings, folder: Path, about: str) -> None:
    draw("4", SOLVERS[1:], found, folder, about)


def draw_8(found: Found, _: Settings, folder: Path, about: str) -> None:
    draw("8", SOLVERS, found, folder, about)


def draw_7(found: Found, _: Settings, folder: Path, about: str) -> None:
    """Time above; below passes of the eps-path, and true gaps of the heuristic path."""
    figure, axes = panels(2, 4, width=3.0)
    for k, (kind, group) in enumerate(parts_of(found, "path").items()):
        for column, (solver, lines) in enumerate(parts_of(group, "solver").items()):
            above, below = axes[:, 2 * k + column]
            for position, (key, line) in enumerate(lines):
                look = {"label": f"kappa = {key['kappa']:g}", **style("", position)}
                _draw_line(above, line, "seconds", **look)
                if kind == "eps-path":
                    _draw_line(below, line, "calls", **look)
                else:
                    below.plot(line["lambda"], line["gap"], lw=1.0, **look)
            _prepare(above, COSTS[0][1], f"{kind}, {solver}")
            is_heuristic = kind != "eps-path"
            _prepare(below, "true gap" if is_heuristic else COSTS[1][1], f"{kind}, {solver}")
            if is_heuristic:
                below.axhline(EPS, color="0.5", lw=0.8, ls=":")
    finish(figure, folder / "figure7.png", about)
    write(folder / "figure7.csv", found)


def write(path: Path, found: Found) -> None:
    """What each line comes to."""
    rows: list[list[Any]] = []
    for key, line in found:
        last = [line[name][-1] if line[name] else "" for name in ("calls", "seconds")]
        largest = max(line["gap"]) if line["gap"] else ""
        rows.append([key["data"], key["solver"], key["path"], key["kappa"] or "default",
                     len(line["lambda"]), *last, line["end"], largest, line["status"]])  # fmt: skip
    write_csv(path, ["data", "solver", "method", "kappa", "breakpoints", "calls", "seconds",
                     "smallest lambda", "largest true gap", "status"], rows)  # fmt: skip
