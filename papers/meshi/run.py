"""Meshi, Srebro, Hazan (2015), Efficient training of structured SVMs via soft constraints: figures.

The scale of rho. The paper's equation 5 has rho M where taut has rho, M the number of examples; but
rho = 1 in that scale, 1,500 in taut's on Yeast, leaves g(w, delta) more than 60 % above g* and an
accuracy of .58, where the paper says that 1 works well everywhere. Figure 1 (right) is drawn on a
grid from 0.03 to 1,500: its least values are at taut's 1 to 10, so the authors' scale must have
been taut's, that of a sum over examples, and "rho" is that one here. Axes show both.

"SoftBCFW" without more is the paper's listing: steps toward corners, blocks drawn uniformly, rho
fixed. "SoftBCFW, pairwise" is taut's default.
"""

import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import papers.shared  # noqa: F401  (first: it limits threads before numpy starts)

# isort: split
import numpy as np

from papers.meshi.dlpw import DLPW
from papers.shared.curves import Enough, cost_to, curve, new_run
from papers.shared.figures import draw_runs, finish, panels, style, write_csv
from papers.shared.paper import Figure, Settings, Work, run_paper
from papers.shared.relaxed import (
    HardObjective,
    at_passes,
    mean_and_95,
    optimum,
    optimum_of,
    soft_values,
)
from papers.shared.relaxed_tasks import STANFORD, YEAST, Task, task_of
from papers.shared.rows import Found, Row, named, parts_of, rows_by
from taut.graph_training import SoftBCFW
from taut.solvers import BCFW, solve

TITLE = "Meshi, Srebro, Hazan (2015): training with soft constraints"
DATA = ("yeast-meshi", "rcv1", "two-level")
FILES = (*YEAST, "rcv1/rcv1subset1.svm.gz", STANFORD)


def as_printed(rho: float) -> SoftBCFW:
    return SoftBCFW(rho=rho, direction="toward", order="uniform", anneal=1.0)


def optimum_work(name: str, settings: Settings) -> Work:
    def measure() -> Row:
        return optimum_of(name, settings.quick, settings.data_home)._asdict()

    return Work({"what": "optimum", "data": name}, 2.0 if settings.quick else 20.0, measure)


def optima(found: Found) -> dict[str, float]:
    return {key["data"]: row["upper"] for key, row in found if key["what"] == "optimum"}


# --- figure 1: what rho does ----------------------------------------------------------------------

PENALTIES = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 1500.0)
SHOWN = (0.1, 1.0, 10.0)
BUDGETS = (5, 20, 100)


def budgets_of(settings: Settings) -> tuple[int, ...]:
    return (1, 2, 5) if settings.quick else BUDGETS


def penalty_works(settings: Settings) -> list[Work]:
    budgets = budgets_of(settings)
    penalties = (0.1, 1.0, 10.0) if settings.quick else PENALTIES
    works = [optimum_work("yeast-meshi", settings)]
    for rho in penalties:
        for seed in range(settings.seeds):
            key = {"what": "penalty", "data": "yeast-meshi", "rho": rho, "seed": seed,
                   "passes": budgets[-1]}  # fmt: skip
            works.append(Work(key, 0.08 * budgets[-1], _penalty(settings, rho, seed, budgets)))
    return works


def _penalty(
    settings: Settings, rho: float, seed: int, budgets: tuple[int, ...]
) -> Callable[[], Row]:
    def measure() -> Row:
        task = task_of("yeast-meshi", settings.quick, settings.data_home)
        run = new_run(task.whole(task.exact), as_printed(rho), task.C, seed)

        def look(run: Any) -> Row:
            return soft_values(run)[0]._asdict() | {"score": task.score(run.state.w)}

        grid = np.unique(np.round(np.geomspace(0.2, budgets[-1], 24), 2))
        return at_passes(run, sorted({*grid.tolist(), *map(float, budgets)}), look)

    return measure


def draw_penalties(found: Found, settings: Settings, folder: Path, about: str) -> None:
    best = optima(found)["yeast-meshi"]
    task = task_of("yeast-meshi", settings.quick, settings.data_home)
    runs = rows_by(parts_of(found, "what")["penalty"], "rho")
    figure, axes = panels(2, 2)
    lines = {"g_rho": ("g_ρ(w, δ)", "-"), "f_rho": ("f_ρ(μ)", "-."), "g": ("g(w, δ)", "--")}
    for axis, rho in zip(axes.flat, SHOWN, strict=False):
        for (column, (label, dash)), colour in zip(
            lines.items(), ("#2ca02c", "#1f77b4", "#d62728"), strict=True
        ):
            _median_line(axis, runs[rho], column, label, dash, colour)
        axis.axhline(best, color="0.3", lw=0.8, ls=":", label="g*")
        axis.set(xscale="log", xlabel="epochs", ylim=(0, 2.2 * best),
                 title=f"ρ = {rho:g} (printed: {rho / task.n:.2g})")  # fmt: skip
        axis.grid(alpha=0.3)
        axis.set_ylabel("objective")
    _draw_against_rho(axes[1, 1], runs, best, task.n, budgets_of(settings))
    finish(figure, folder / "figure1.png", about)
    _write_penalties(folder / "figure1.csv", runs, best)


def _median_line(
    axis: Any, curves: list[Row], column: str, label: str, dash: str, colour: str
) -> None:
    x, values = np.array(curves[0]["passes"]), np.array([run[column] for run in curves])
    axis.plot(x, np.median(values, axis=0), dash, label=label, color=colour, lw=1.3)
    axis.fill_between(x, values.min(axis=0), values.max(axis=0), color=colour, alpha=0.15, lw=0)


def _draw_against_rho(
    axis: Any, runs: dict[float, list[Row]], best: float, n: int, budgets: Sequence[float]
) -> None:
    penalties = sorted(runs)
    for budget, colour in zip(budgets, ("#9ecae1", "#4292c6", "#08519c"), strict=True):
        for column, dash in (("g_rho", "-"), ("g", "--")):
            at = runs[penalties[0]][0]["passes"].index(budget)
            values = np.array([[run[column][at] for run in runs[rho]] for rho in penalties])
            label = f"{'g_ρ' if column == 'g_rho' else 'g'}, {budget:g} epochs"
            axis.plot(penalties, np.median(values, axis=1), dash, marker=".", color=colour,
                      label=label, lw=1.3)  # fmt: skip
    axis.axhline(best, color="0.3", lw=0.8, ls=":", label="g*")
    axis.set(xscale="log", xlabel="ρ (of a sum over examples)", ylim=(0, 2.2 * best))
    other = axis.secondary_xaxis("top", functions=(lambda x: x / n, lambda x: x * n))
    other.set_xlabel("ρ of the paper's equation 5")
    axis.grid(alpha=0.3)


def _write_penalties(path: Path, runs: dict[float, list[Row]], best: float) -> None:
    header = ["rho", "epochs", "g_rho", "f_rho", "g", "g / g* - 1", "accuracy"]
    rows = []
    for rho, curves in sorted(runs.items()):
        middle = {name: np.median([run[name] for run in curves], axis=0) for name in curves[0]}
        for k, passes in enumerate(middle["passes"]):
            values = [float(middle[name][k]) for name in ("g_rho", "f_rho", "g")]
            rows.append([rho, passes, *values, values[2] / best - 1.0, float(middle["score"][k])])
    write_csv(path, header, rows)


# --- figure 2: against other trainers -------------------------------------------------------------

LIMITS = {"yeast-meshi": 6.0, "rcv1": 8.0, "two-level": 3.0}
LP_SOLVER = "FW, LP solver"  # in keys of rows
DRAWN = {LP_SOLVER: "BCFW, LP solver"}
FREE = {
    "SoftBCFW, ρ=0.1": as_printed(0.1),
    "SoftBCFW, ρ=1": as_printed(1.0),
    "SoftBCFW, ρ=10": as_printed(10.0),
    "SoftBCFW, pairwise": SoftBCFW(rho=1.0),
}
SMOOTHING = {"DLPW": 0.0, "DLPW, smoothed": 0.003}
RATES = (1.0, 0.1, 0.01)
ORACLES = (LP_SOLVER, "BCFW")  # with HiGHS; with taut's own exact oracle
ENOUGH = Enough("gap", 2e-4)  # above g*, relatively, where curves end


def limit_of(name: str, method: str, settings: Settings) -> float:
    if settings.quick:
        return 0.05
    return LIMITS[name] * (3.0 if method == LP_SOLVER else 1.0)


def trainer_works(settings: Settings) -> list[Work]:
    works = []
    for name in DATA:
        works.append(optimum_work(name, settings))
        for method in (*FREE, *SMOOTHING, *ORACLES):
            # An LP takes so long that the seeds differ in nothing one could see.
            seeds = 1 if method == LP_SOLVER else settings.seeds
            limit = limit_of(name, method, settings)
            for seed in range(seeds):
                key = {"what": "trainer", "data": name, "method": method, "seed": seed,
                       "limit": limit}  # fmt: skip
                works.append(Work(key, 1.3 * limit, _trainer(settings, name, method, seed, limit)))
    return works


def _trainer(
    settings: Settings, name: str, method: str, seed: int, limit: float
) -> Callable[[], Row]:
    where = name, settings.quick, settings.data_home

    def measure() -> Row:
        task, best = task_of(*where), optimum_of(*where).lower
        inference = "lp" if method == LP_SOLVER else task.exact
        if method in ORACLES:
            solver: Any = BCFW("uniform", refresh=None)
        elif method in SMOOTHING:
            solver = DLPW(rate=best_rate(*where, method, 0.3 * limit), smoothing=SMOOTHING[method])
        else:
            solver = FREE[method]
        run = new_run(task.whole(inference), solver, task.C, seed)
        look = _hard_look(task, best) if method in ORACLES else _soft_look(task, best)
        found = curve(run, seconds=limit, enough=ENOUGH.level, look=look, growth=1.35)
        return found | {"solver": solver.describe()}

    return measure


def _soft_look(task: Task, best: float) -> Callable[[Any], Row]:
    """g(w(mu), delta(mu)), as the paper draws it."""

    def look(run: Any) -> Row:
        g = run.certify().primal
        return {"g": g, "gap": g / best - 1.0, "score": task.score(run.state.w)}

    return look


def _hard_look(task: Task, best: float) -> Callable[[Any], Row]:
    hard = HardObjective(task)

    def look(run: Any) -> Row:
        g = hard(run.state.w)
        return {"g": g, "gap": g / best - 1.0, "score": task.score(run.state.w)}

    return look


@cache
def best_rate(name: str, quick: bool, data_home: str | None, method: str, seconds: float) -> float:
    """Of the step rate / t: the one with the least g after so many seconds."""
    task, reached = task_of(name, quick, data_home), {}
    for rate in RATES:
        solver = DLPW(rate=rate, smoothing=SMOOTHING[method])
        run = new_run(task.whole(task.exact), solver, task.C)
        look = _soft_look(task, 1.0)
        reached[rate] = curve(run, seconds=seconds, look=look, growth=2.0)["g"][-1]
    return min(reached, key=lambda rate: reached[rate])


def draw_trainers(found: Found, settings: Settings, folder: Path, about: str) -> None:
    best = optima(found)
    figure, axes = panels(2, len(DATA))
    rows: list[list[Any]] = []
    groups = parts_of(named(parts_of(found, "what")["trainer"], DRAWN), "data")
    for column, (name, group) in enumerate(groups.items()):
        runs = rows_by(group, "method")
        task = task_of(name, settings.quick, settings.data_home)
        for axis, quantity in ((axes[0, column], "g"), (axes[1, column], "score")):
            draw_runs(axis, runs, "seconds", quantity, ENOUGH)
            axis.set(xscale="log", xlabel="CPU seconds")
        axes[0, column].axhline(best[name], color="0.3", lw=0.8, ls=":")
        axes[0, column].set(yscale="log", title=f"{name}, M = {task.n}")
        axes[1, column].set_ylabel(f"test {task.score_name}")
        rows += [_trainer_row(name, method, curves, best[name]) for method, curves in runs.items()]
    axes[0, 0].set_ylabel("g(w, δ)")
    finish(figure, folder / "figure2.png", about)
    write_csv(
        folder / "figure2.csv",
        ["data", "method", "solver of the first seed", "CPU s", "passes", "g / g* - 1 at the end",
         "CPU s to 1 %", "seeds to 1 %", "seeds", "score at the end"], rows,
    )  # fmt: skip


def _trainer_row(name: str, method: str, curves: list[Row], best: float) -> list[Any]:
    middle = {key: float(np.median([run[key][-1] for run in curves]))
              for key in ("seconds", "passes", "g", "score")}  # fmt: skip
    cost = cost_to(curves, "seconds", "g", 1.01 * best)
    return [name, method, curves[0]["solver"], middle["seconds"], middle["passes"],
            middle["g"] / best - 1.0, cost.median, cost.reached, len(curves),
            middle["score"]]  # fmt: skip


# --- figure 3: against the number of training examples --------------------------------------------

SOLVED = 2e-5  # relative gap; differences from g* are as small as 1e-4 of it
SCALES = {"ρ = 1": 1.0, "ρ = M (printed 1)": None}


def sizes_of(settings: Settings) -> dict[str, list[int]]:
    if settings.quick:
        return {name: [3, 6] for name in DATA}
    largest = {"yeast-meshi": 320, "rcv1": 160, "two-level": 64}
    return {name: np.geomspace(most / 16, most, 5).astype(int).tolist()
            for name, most in largest.items()}  # fmt: skip


def subsample_works(settings: Settings) -> list[Work]:
    """The paper's ten repeats are twice the seeds."""
    return [
        Work({"what": "subsample", "data": name, "M": size, "seed": repeat}, 3.0,
             _subsample(settings, name, size, repeat))
        for name, sizes in sizes_of(settings).items()
        for size in sizes
        for repeat in range(2 * settings.seeds)
    ]  # fmt: skip


def _subsample(settings: Settings, name: str, size: int, repeat: int) -> Callable[[], Row]:
    def measure() -> Row:
        whole = task_of(name, settings.quick, settings.data_home)
        random = np.random.default_rng(repeat)
        part = whole.of_rows(np.sort(random.choice(whole.n, size, replace=False)))
        problem, seconds = part.whole(part.exact), 0.2 if settings.quick else 3.0
        best = optimum(part, SOLVED, seconds)
        row: Row = {"lower": best.lower, "upper": best.upper}  # of g*; better bounds may follow
        for label, rho in SCALES.items():
            solver = SoftBCFW(rho=rho or float(size), check_every=5)
            before = time.process_time()
            found = solve(
                problem, solver, C=part.C, tol=SOLVED, cpu_limit=seconds, max_passes=np.inf,
                seed=repeat, progress=False,
            )  # fmt: skip
            row[f"g, {label}"] = float(found.history[-1].iterate_primal)
            row["upper"] = min(row["upper"], found.primal, row[f"g, {label}"])
            row[f"soft gap, {label}"] = found.soft_gap
            row[f"seconds, {label}"] = time.process_time() - before
            row[f"score, {label}"] = part.score(found.w)
        return row

    return measure


def draw_subsamples(found: Found, settings: Settings, folder: Path, about: str) -> None:
    figure, axes = panels(3, len(DATA), height=2.3)
    rows: list[list[Any]] = []
    for column, name in enumerate(DATA):
        of_data = [(key["M"], row) for key, row in found if key["data"] == name]
        sizes = sorted({size for size, _ in of_data})
        for position, label in enumerate(SCALES):
            quantities = {
                "g(w_ρ, δ_ρ) − g*": lambda row, label=label: row[f"g, {label}"] - row["upper"],
                "CPU seconds": lambda row, label=label: row[f"seconds, {label}"],
                "test score": lambda row, label=label: row[f"score, {label}"],
            }
            line: dict[str, Any] = {}
            for axis, (quantity, of_row) in zip(axes[:, column], quantities.items(), strict=True):
                values = np.array([[of_row(row) for m, row in of_data if m == size]
                                   for size in sizes])  # fmt: skip
                mean, half = mean_and_95(values)
                line[quantity] = mean, half
                axis.errorbar(sizes, mean, half, marker=".", label=label, lw=1.2,
                              color=style(label, position)["color"])  # fmt: skip
                axis.set(xscale="log", xlabel="M")
                axis.set_ylabel(quantity if column == 0 else "")
                axis.grid(alpha=0.3)
            parts = [part for pair in line.values() for part in pair]
            rows += [
                [name, size, label, *(float(part[k]) for part in parts)]
                for k, size in enumerate(sizes)
            ]
        axes[0, column].set(yscale="log", title=name)
    finish(figure, folder / "figure3.png", about)
    header = [
        "data",
        "M",
        "penalty",
        "difference",
        "95 % +-",
        "CPU s",
        "95 % +-",
        "score",
        "95 % +-",
    ]
    write_csv(folder / "figure3.csv", header, rows)


FIGURES = [
    Figure("1", "the objective against epochs for three rho, and against rho", penalty_works,
           draw_penalties, YEAST),
    Figure("2", "objective and test score against time, three data sets, all baselines",
           trainer_works, draw_trainers, FILES),
    Figure("3", "g(w_rho, delta_rho) - g* against the number of training examples",
           subsample_works, draw_subsamples, FILES),
]  # fmt: skip


def main(arguments: list[str] | None = None) -> int:
    return run_paper("meshi", TITLE, FIGURES, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
