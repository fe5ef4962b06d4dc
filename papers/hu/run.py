"""Hu, Obozinski (2018), SDCA-powered inexact dual augmented Lagrangian: figure 1, in three parts.

Columns are the paper's three problems, with its constants: Gaussian mixture Potts grids (lambda =
10, gamma = 10, rho = 1), superpixels (the same; Stanford's in place of MSRC-21's) and Yeast (lambda
= 1, gamma = 1, rho = 0.1). Rows are its criteria, in sums over examples, against CPU seconds:

    Delta + Gamma <= P_rho(w, delta, xi) - D_rho(mu, xi) + P_rho(w, delta, xi) - d(xi*)
    d(xi*) - D_rho(mu, xi*), for the dual objective with the best multipliers xi*
    |A mu|^2
    accuracy on test examples

d(xi*), the hard optimum, and xi* are those of a long run. What is known of d(xi*) is an interval;
its lower end is used in the first criterion, its upper end in the second, so that neither is ever
too small. Below the width of the interval, a dotted line, nothing can be told: curves stay on it.
With the Gini-OTRW entropy the ends are D_rho and P_rho of that run.

    1-crf    the relaxed CRF with Gini's entropy
    1-svm    temperature 0: the structured SVM, with C by held-out accuracy and rho = 1
    1-otrw   the Gini-OTRW entropy, against Gini's

SoftBCFW takes the paper's steps toward corners; GDMM is our reading of Yen et al. (2016).
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import papers.shared  # noqa: F401  (first: it limits threads before numpy starts)

# isort: split
import numpy as np

from papers.hu.gdmm import GDMM
from papers.hu.otrw import GiniOTRW
from papers.shared.curves import curve, new_run
from papers.shared.figures import draw_runs, finish, panels, write_csv
from papers.shared.paper import Figure, Settings, Work, run_paper
from papers.shared.relaxed import soft_values
from papers.shared.relaxed_tasks import STANFORD, YEAST, Vector, task_of
from papers.shared.rows import Found, Row, parts_of, rows_by
from taut.graph_training import IDAL, AugmentedLagrangian, SoftBCFW, SoftSDCA
from taut.graph_training.factor_state import RHO
from taut.solvers import solve

TITLE = "Hu, Obozinski (2018): SDCA-powered inexact dual augmented Lagrangian (IDAL)"


class Setting(NamedTuple):
    """The paper's constants, of a CRF."""

    lam: float
    temperature: float
    rho: float
    seconds: float  # of a run


DATA = {
    "potts": Setting(10.0, 10.0, 1.0, 5.0),
    "segments": Setting(10.0, 10.0, 1.0, 6.0),
    "yeast": Setting(1.0, 1.0, 0.1, 6.0),
}
METHODS = ("IDAL", "IDAL, permuted", "GDMM", "SoftBCFW", "SoftSDCA")
OTRW, GINI = "IDAL, Gini-OTRW", "IDAL"
# Whose Delta and Gamma are about xi* at all: the others keep xi = 0.
WITH_MULTIPLIERS = (*METHODS[:3], OTRW)


class Problem(NamedTuple):
    problem: Any
    C: float
    temperature: float
    rho: float
    seconds: float
    score: Callable[[Vector], float]


@cache
def problem_of(name: str, kind: str, quick: bool, data_home: str | None) -> Problem:
    """A CRF has no loss."""
    task, of_crf = task_of(name, quick, data_home), DATA[name]
    seconds = 0.05 if quick else of_crf.seconds
    problem = task.whole(task.exact)
    if kind == "svm":
        return Problem(problem, task.C, 0.0, 1.0, seconds, task.score)
    problem = task.whole(task.exact, cost=np.zeros((problem.width, problem.width)))
    return Problem(problem, 1.0 / of_crf.lam, of_crf.temperature, of_crf.rho, seconds, task.score)


def solver_of(method: str, of: Problem) -> Any:
    constants: dict[str, Any] = {"rho": of.rho, "temperature": of.temperature, "anneal": 1.0}
    solvers: dict[str, Callable[[], Any]] = {
        "IDAL": lambda: IDAL(**constants),
        "IDAL, permuted": lambda: IDAL(order="permuted", **constants),
        "GDMM": lambda: GDMM(**constants),
        "SoftBCFW": lambda: SoftBCFW(direction="toward", order="uniform", **constants),
        "SoftSDCA": lambda: SoftSDCA(order="uniform", **constants),
        OTRW: lambda: GiniOTRW(**constants),
    }
    return solvers[method]()


# --- the optimum ---------------------------------------------------------------------------------


class Best(NamedTuple):
    """xi*, as nu = xi, and what is known of d(xi*), a mean over examples."""

    multipliers: Vector
    lower: float
    upper: float


@cache
def best_of(name: str, kind: str, quick: bool, data_home: str | None) -> Best:
    of = problem_of(name, kind, quick, data_home)
    seconds = 0.2 if quick else 4.0 * of.seconds
    if kind == "otrw":
        return _best_of_otrw(of, seconds)
    made: Any = AugmentedLagrangian if kind == "svm" else IDAL
    solver = made(rho=of.rho, temperature=of.temperature)
    found = solve(
        of.problem, solver, C=of.C, tol=1e-7, max_passes=np.inf, cpu_limit=seconds, seed=100,
        progress=False,
    )  # fmt: skip
    return Best(found.state.nu.copy(), found.dual, found.primal)


def _best_of_otrw(of: Problem, seconds: float) -> Best:
    run = new_run(of.problem, solver_of(OTRW, of), of.C, seed=100)
    curve(run, seconds=seconds, look=lambda run: {"gap": run.values().gap}, growth=2.0)
    values = run.values()
    return Best(run.state.nu.copy(), values.f_rho, values.g_rho)


# --- runs ----------------------------------------------------------------------------------------


def run_works(kind: str, methods: tuple[str, ...]) -> Callable[[Settings], list[Work]]:
    def works(settings: Settings) -> list[Work]:
        found = []
        for name in DATA:
            for method in methods:
                # The figure of Gini-OTRW shows the runs of the first one again.
                of_kind = "crf" if kind == "otrw" and method != OTRW else kind
                limit = 0.05 if settings.quick else DATA[name].seconds
                for seed in range(settings.seeds):
                    key = {"what": of_kind, "data": name, "method": method, "seed": seed,
                           "limit": limit}  # fmt: skip
                    measure = _run(settings, name, of_kind, method, seed)
                    found.append(Work(key, 1.4 * limit, measure))
        return found

    return works


def _run(settings: Settings, name: str, kind: str, method: str, seed: int) -> Callable[[], Row]:
    where = name, kind, settings.quick, settings.data_home

    def measure() -> Row:
        of, best = problem_of(*where), best_of(*where)
        run = new_run(of.problem, solver_of(method, of), of.C, seed)
        return curve(run, seconds=of.seconds, look=_look(of, best), growth=1.3)

    return measure


def _look(of: Problem, best: Best) -> Callable[[Any], Row]:
    """In sums over examples, as the paper has them."""

    def look(run: Any) -> Row:
        values = run.values() if hasattr(run, "values") else soft_values(run)[0]
        state = run.state
        missed = float(state.total[RHO]) * (state.delta - state.nu)  # B mu = -A mu
        at_best = run.n * values.f_rho + float((state.nu - best.multipliers) @ missed)
        above = run.n * (values.g_rho - best.lower)
        return {
            "soft_gap": run.n * values.gap,
            "above": run.n * values.gap + above,
            "below": run.n * best.upper - at_best,
            "square": values.square,
            "score": of.score(state.w),
        }

    return look


# --- figures -------------------------------------------------------------------------------------

QUANTITIES = {
    "above": "bound of Δ + Γ",
    "below": "d(ξ*) − D_ρ(μ, ξ*)",
    "square": "‖Aμ‖²",
    "score": "test accuracy",
}


def draw_kind(found: Found, settings: Settings, folder: Path, about: str, kind: str) -> None:
    figure, axes = panels(len(QUANTITIES), len(DATA), height=2.3)
    rows: list[list[Any]] = []
    for column, (name, group) in enumerate(parts_of(found, "data").items()):
        runs = rows_by(group, "method")
        widths = {what: float(np.median([width_of(row) for _, row in part]))
                  for what, part in parts_of(group, "what").items()}  # fmt: skip
        for axis, (quantity, label) in zip(axes[:, column], QUANTITIES.items(), strict=True):
            shown = {m: r for m, r in runs.items() if quantity != "above" or m in WITH_MULTIPLIERS}
            if kind == "otrw" and quantity == "below":
                shown = {m: r for m, r in shown.items() if m == OTRW}
            if quantity in ("above", "below"):
                shown = {m: [cut(row, quantity) for row in r] for m, r in shown.items()}
                for width in widths.values():
                    axis.axhline(width, color="0.5", lw=0.8, ls=":")
            draw_runs(axis, shown, "seconds", quantity)
            scale = "linear" if quantity == "score" else "log"
            axis.set(xscale="log", yscale=scale, ylabel=label if column == 0 else "")
        of = DATA[name]
        constants = f"λ={of.lam:g}, γ={of.temperature:g}, ρ={of.rho:g}" if kind != "svm" else "ρ=1"
        axes[0, column].set_title(f"{name}: {constants}")
        axes[-1, column].set_xlabel("CPU seconds")
        rows += [[name, method, *_ends(curves)] for method, curves in runs.items()]
    finish(figure, folder / f"figure1-{kind}.png", about)
    header = [
        "data",
        "method",
        "CPU s",
        "passes",
        *(f"{q} at the end" for q in QUANTITIES),
        "accuracy, least of seeds",
        "accuracy, most",
        "width of what is known of d(ξ*)",
    ]
    write_csv(folder / f"figure1-{kind}.csv", header, rows)


def width_of(row: Row) -> float:
    """n times that of the interval of d(xi*) that a run was compared with: what its first two
    criteria leave, less its own gap, where A mu = 0. Marginals begin so."""
    return float(row["above"][0] + row["below"][0] - 2.0 * row["soft_gap"][0])


def cut(row: Row, quantity: str) -> Row:
    return row | {quantity: np.maximum(row[quantity], width_of(row)).tolist()}


def _ends(curves: list[Row]) -> list[float]:
    middle = [float(np.median([run[q][-1] for run in curves]))
              for q in ("seconds", "passes", *QUANTITIES)]  # fmt: skip
    scores = [run["score"][-1] for run in curves]
    widths = [width_of(run) for run in curves]
    return [*middle, float(min(scores)), float(max(scores)), float(np.median(widths))]


def figure(kind: str, title: str, methods: tuple[str, ...]) -> Figure:
    def draw(found: Found, settings: Settings, folder: Path, about: str) -> None:
        draw_kind(found, settings, folder, about, kind)

    return Figure(f"1-{kind}", title, run_works(kind, methods), draw, (*YEAST, STANFORD))


FIGURES = [
    figure("crf", "figure 1: relaxed CRFs with Gini's entropy", METHODS),
    figure("svm", "the same at temperature 0: structured SVMs", METHODS),
    figure("otrw", "the Gini-OTRW entropy against Gini's", (GINI, OTRW)),
]


def main(arguments: list[str] | None = None) -> int:
    return run_paper("hu", TITLE, FIGURES, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
