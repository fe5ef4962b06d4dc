"""Training without inference: the experiments of Meshi et al. (2015) and Hu & Obozinski (2018).

Does training that moves one node or edge at a time, and never infers anything, reach a good model
sooner than block-coordinate Frank-Wolfe (BCFW) with an oracle for the LP relaxation?

yeast        14 labels, 1,500 training rows; all pairs of labels (105 blocks a row); d = 1,820
yeast-meshi  the same with Meshi's weights: no bias, one for a pair, if both are there; d = 1,533
rcv1         30 labels, 5,000 training rows of 47,236 words; Meshi's weights; d = 1.4 million
potts        50 grids of 10 x 10 cells, 5 states, full tables
stanford     66 images of about 490 superpixels, 8 classes, Potts by similarity; for MSRC-21

Structured SVMs: hard objective g(w), the LP relaxation's, of the iterates against passes and CPU
seconds, relative to g*, and the test score. g* is known from a long run, whose gap is printed.
"1 %" is the first look at which g(w) <= 1.01 g*; looks are at passes that grow by 20 %, and to
that times are known. Only steps are timed (see ``_relaxed_runs``). The time of a solver that
has not come there within ``--limit`` seconds is only bounded; with HiGHS it is also estimated: its
seconds a pass times the passes that the same solver needs with another exact oracle.

Brackets: seconds until upper and lower bound of the hard problem are 1e-3 apart (relative to the
objective at w = 0), certificates included, a quarter of ``--limit`` at most; for structured SVMs,
and for CRFs with Hu & Obozinski's C and temperature. rho is taut's, in the scale of a sum over
examples; Meshi's is rho / n.

Figure 3: g(w_rho, delta_rho) - g* at the optimum for rho, against the number M of training examples
(subsamples; mean and 95 % interval, same lambda), for rho = 1 and for rho = M, Meshi's 1.

One command does everything: ``python benchmarks/without_inference.py``; figures go to ``results/``.
Targets (issue "training without inference"): yeast, 1 %, at least 10 times sooner than BCFW with
HiGHS, and sooner than with message passing; rcv1 at least 30 times sooner than with HiGHS; IDAL's
bracket closed sooner than GDMM's on yeast and potts; a pass of SoftBCFW on yeast at most 30 ms, on
rcv1 1 s.
"""

from typing import Any

import common  # first: it limits threads before numpy starts
import numpy as np
from _relaxed_figures import draw_curves, draw_subsamples
from _relaxed_runs import (
    Best,
    Bracket,
    Contestant,
    Curve,
    HardObjective,
    advance,
    best_known,
    bracket,
    curve,
    new_run,
)
from _relaxed_tasks import TASKS, Task
from common import table

from taut import solvers
from taut.solvers import BCFW, solve

OURS = "SoftBCFW rho=1"
WITHIN = 0.01
BRACKET = 1e-3
# The paper's steps on blocks drawn at random, and no annealing of rho.
AS_MESHI = {"rho": 1.0, "direction": "toward", "order": "uniform", "anneal": 1.0}
GROWTH = 1.2  # of the passes between looks
ENOUGH = 2e-4  # above g*, where curves end
PARTS = ("curves", "brackets", "passes", "figure3")


# --- solvers ----------------------------------------------------------------------------------


def made(name: str, **options: Any) -> Any:
    """A solver of ``taut.solvers``; None if this version does not have it."""
    kind = getattr(solvers, name, None)
    return None if kind is None else kind(**options)


def svm_solvers(task: Task) -> dict[str, Contestant]:
    """Of the curves: name to solver and oracle."""
    free = {
        **{f"SoftBCFW rho={rho:g}": made("SoftBCFW", rho=rho) for rho in (0.1, 1.0, 10.0)},
        "SoftBCFW rho=1 as Meshi": made("SoftBCFW", **AS_MESHI),
        "augmented Lagrangian rho=1": made("AugmentedLagrangian", rho=1.0),
        "SoftSDCA rho=1": made("SoftSDCA", rho=1.0),
        "IDAL rho=1": made("IDAL", rho=1.0),
        "GDMM rho=1": made("GDMM", rho=1.0),
        **{f"DLPW rate={rate:g}": made("DLPW", rate=rate) for rate in (1.0, 0.1, 0.01)},
        "DLPW rate=0.1 smoothed": made("DLPW", rate=0.1, smoothing=0.003),
    }
    found = {name: Contestant(solver, task.exact) for name, solver in free.items() if solver}
    for oracle in task.oracles:
        found[f"BCFW {_shown(oracle)}"] = Contestant(BCFW("permuted", refresh=None), oracle)
    corrective = BCFW("permuted", "corrective", refresh=None)
    found[f"corrective {_shown(task.exact)}"] = Contestant(corrective, task.exact)
    return found


def _shown(oracle: str) -> str:
    return "HiGHS" if oracle == "lp" else oracle


def bracket_solvers(rho: float, temperature: float) -> dict[str, Any]:
    options = {"rho": rho, "temperature": temperature}
    found = {"IDAL": made("IDAL", **options), "GDMM": made("GDMM", **options)}
    if temperature == 0:
        found["augmented Lagrangian"] = made("AugmentedLagrangian", rho=rho)
    return {name: solver for name, solver in found.items() if solver}


def chosen(found: dict[str, Any], names: list[str] | None) -> dict[str, Any]:
    """Those whose name begins with one of these."""
    if names is None:
        return found
    return {name: value for name, value in found.items() if name.startswith(tuple(names))}


# --- structured SVMs --------------------------------------------------------------------------


def curve_rows(task: Task, curves: dict[str, Curve], best: Best) -> list[list[Any]]:
    target = (1.0 + WITHIN) * best.lower
    ours = curves[OURS].seconds_to(target) if OURS in curves else None
    rows = []
    for name, found in curves.items():
        seconds, spent = found.seconds_to(target), float(found.seconds[-1])
        shown = [f"{seconds:.4g}" if seconds else f"not within {spent:.4g}"]
        ratio = [f"{seconds / ours:.4g}" if seconds else f"> {spent / ours:.4g}"] if ours else []
        passes = None if seconds else _passes_of_twin(task, curves, name, target)
        if passes:
            estimated = passes * found.milliseconds_a_pass / 1e3
            shown.append(f"estimated {estimated:.4g}")
            ratio += [f"estimated {estimated / ours:.4g}"] if ours else []
        rows.append([
            name, found.passes[-1], spent, found.milliseconds_a_pass,
            100.0 * (found.objective[-1] / best.upper - 1.0), found.passes_to(target),
            ", ".join(shown), ", ".join(ratio) or None, found.score[-1],
        ])  # fmt: skip
    return rows


def _passes_of_twin(task: Task, curves: dict[str, Curve], name: str, target: float) -> float | None:
    """With HiGHS, steps are those of the same solver with any other exact oracle, up to ties."""
    twin = f"BCFW {task.exact}"
    if name != "BCFW HiGHS" or twin not in curves:
        return None
    return curves[twin].passes_to(target)


def compare_curves(task: Task, options: Any) -> tuple[dict[str, Curve], Best]:
    hard, growth = HardObjective(task), 1.5 if options.quick else GROWTH
    best = best_known(task, 1e-3 if options.quick else 1e-4, 2.0 * options.limit)
    curves: dict[str, Curve] = {}
    for name, contestant in chosen(svm_solvers(task), options.solvers).items():
        enough = (1.0 + ENOUGH) * best.lower
        found = curve(task, contestant, hard, options.limit, growth, enough)
        curves[name] = found
        best = best.joined(best.lower, float(found.objective.min()))
    print(f"{task.name}: {task.n} training examples, C = {task.C:g}; g* = {best.upper:.6g}, known "
          f"to {best.gap:.1e}\n")  # fmt: skip
    header = ["solver", "passes", "CPU s", "ms a pass", "% above g* at the end", "passes to 1 %",
              "CPU s to 1 %", f"times {OURS}", f"test {task.score_name} at the end"]  # fmt: skip
    table(header, curve_rows(task, curves, best))
    return curves, best


# --- brackets ---------------------------------------------------------------------------------


def compare_brackets(task: Task, options: Any) -> dict[str, Bracket]:
    """Of the structured SVM and of the CRF, which has no loss; each solver with three penalties."""
    plain = task.whole(task.exact)
    without_loss = task.whole(task.exact, cost=np.zeros((plain.width, plain.width)))
    kinds = {"SVM": (plain, task.C, 0.0), "CRF": (without_loss, task.crf.C, task.crf.temperature)}
    found: dict[str, Bracket] = {}
    rows: list[list[Any]] = []
    for kind, (problem, C, temperature) in kinds.items():
        for rho in (0.1, 1.0, 10.0):
            solvers_here = chosen(bracket_solvers(rho, temperature), options.solvers)
            for name, solver in solvers_here.items():
                run = bracket(problem, solver, C, BRACKET, 0.25 * options.limit)
                found[f"{kind} {name} rho={rho:g}"] = run
                rows.append([
                    kind, rho, name, float(run.passes[-1]), float(run.seconds[-1]),
                    float(run.relative[-1]), run.seconds_to(BRACKET),
                ])  # fmt: skip
    if rows:
        print(f"{task.name}: brackets of the hard problem; SVM C = {task.C:g}, CRF C = "
              f"{task.crf.C:g}, temperature {task.crf.temperature:g}\n")  # fmt: skip
        table(["problem", "rho", "solver", "passes", "CPU s", "relative bracket",
               f"CPU s to {BRACKET:g}"], rows)  # fmt: skip
        _print_best_penalties(rows)
    return found


def _print_best_penalties(rows: list[list[Any]]) -> None:
    """Each solver at its best penalty, against IDAL at its own."""
    best: dict[tuple[str, str], tuple[float, float]] = {}
    for kind, rho, name, *_, seconds in rows:
        if seconds is not None:
            best[kind, name] = min(best.get((kind, name), (np.inf, rho)), (seconds, rho))
    shown = []
    for (kind, name), (seconds, rho) in best.items():
        reference = best.get((kind, "IDAL"))
        shown.append([kind, name, rho, seconds, seconds / reference[0] if reference else None])
    if shown:
        table(["problem", "solver", "best rho", f"CPU s to {BRACKET:g}", "times IDAL"], shown)


# --- Meshi's figure 3, and the cost of a pass -------------------------------------------------


def subsamples(task: Task, quick: bool) -> dict[str, np.ndarray]:
    """The sizes M and, by penalty, (sizes, repeats) of g(w_rho, delta_rho) - g*."""
    largest = min(task.n // 2, 500)
    sizes = np.unique(np.geomspace(min(20, largest), largest, 3 if quick else 5).astype(int))
    shape = len(sizes), 2 if quick else 10
    found = {"M": sizes, "rho = 1": np.zeros(shape), "rho = M": np.zeros(shape)}
    tol, time_limit = (1e-3, 5.0) if quick else (1e-4, 30.0)
    for k, repeat in np.ndindex(shape):
        random = np.random.default_rng(repeat)
        part = task.of_rows(np.sort(random.choice(task.n, sizes[k], replace=False)))
        reached = {"g*": best_known(part, tol, time_limit).upper}
        for name, rho in (("rho = 1", 1.0), ("rho = M", float(sizes[k]))):
            solution = solve(
                part.whole(task.exact), solvers.SoftBCFW(rho=rho), C=part.C, tol=tol,
                time_limit=time_limit, max_passes=np.inf, progress=False,
            )  # fmt: skip
            reached[name] = solution.primal
        for name in ("rho = 1", "rho = M"):
            found[name][k, repeat] = reached[name] - min(reached.values())
    return found


def compare_subsamples(tasks: list[Task], quick: bool) -> None:
    found = {task.name: subsamples(task, quick) for task in tasks}
    rows = []
    for name, values in found.items():
        for penalty in ("rho = 1", "rho = M"):
            means = [f"{mean:.3g}" for mean in values[penalty].mean(axis=1)]
            rows.append([name, penalty, " ".join(map(str, values["M"])), " ".join(means)])
    print("g(w_rho, delta_rho) - g*, means over subsamples of M training examples\n")
    table(["data", "penalty", "M", "difference"], rows)
    print(f"figure: {draw_subsamples(found)}\n", flush=True)


def pass_cost(task: Task) -> list[Any]:
    """CPU milliseconds of a pass of SoftBCFW: the first, and the least of the next nine."""
    run = new_run(task.whole(task.exact), solvers.SoftBCFW(rho=1.0), task.C)
    times = [1e3 * advance(run, run.pass_steps) for _ in range(10)]
    blocks = run.pass_steps
    return [task.name, f"{blocks:,}", times[0], min(times[1:]), 1e6 * min(times[1:]) / blocks]


# --- all --------------------------------------------------------------------------------------


def main() -> None:
    options = common.arguments(
        __doc__,
        data={
            "type": lambda text: text.split(","), "default": None,
            "help": f"{','.join(TASKS)}; default: all, with --quick yeast,potts",
        },
        solvers={
            "type": lambda text: text.split(","), "default": None,
            "help": "those whose names begin so, SoftBCFW,IDAL; default: all",
        },
        limit={"type": float, "default": None, "help": "CPU seconds of a run; default 200"},
        parts={
            "type": lambda text: text.split(","), "default": list(PARTS),
            "help": f"{','.join(PARTS)}; default: all",
        },
    )  # fmt: skip
    options.limit = options.limit or (1.0 if options.quick else 200.0)
    names = options.data or (["yeast", "potts"] if options.quick else list(TASKS))
    tasks = [TASKS[name](options.quick) for name in names]
    for task in tasks:
        curves, best, brackets = {}, Best(np.nan, np.nan), {}
        if "curves" in options.parts:
            curves, best = compare_curves(task, options)
        if "brackets" in options.parts:
            brackets = compare_brackets(task, options)
        if curves or brackets:
            print(f"figure: {draw_curves(task, curves, best, brackets)}\n", flush=True)
    if "passes" in options.parts:
        header = ["data", "blocks", "first pass ms", "least of nine more, ms", "ns a block"]
        table(header, [pass_cost(task) for task in tasks])
    if "figure3" in options.parts:
        compare_subsamples([task for task in tasks if task.name != "stanford"], options.quick)


if __name__ == "__main__":
    main()
