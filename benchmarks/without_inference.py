"""Training without inference against an oracle for the LP relaxation: time to a good model.

Does training that moves one node or edge at a time, and never infers anything, reach a good model
sooner than block-coordinate Frank-Wolfe (BCFW) with an oracle for the LP relaxation? The figures of
the papers that it comes from are made by ``papers/meshi`` and ``papers/hu``, whose data these are:

yeast        14 labels, 1,500 training rows; all pairs of labels (105 blocks a row); d = 1,820
rcv1         30 labels, 5,000 training rows of 47,236 words; Meshi's weights; d = 1.4 million
potts        50 grids of 10 x 10 cells, 5 states, full tables

The hard objective g(w), the LP relaxation's, of the iterates against passes and CPU seconds,
relative to g*, and the test score. g* is known from a long run, whose gap is printed. "1 %" is the
first look at which g(w) <= 1.01 g*; looks are at passes that grow by 20 %, and to that times are
known. Only steps are timed: hard objectives and test scores are computed while the clock stands
still, so a solver with an oracle pays for the oracle in its steps and nothing else. The time of a
solver that has not come there within ``--limit`` seconds is only bounded; with HiGHS it is also
estimated: its seconds a pass times the passes that the same solver needs with another exact oracle.

Targets (issue "training without inference"): yeast, 1 %, at least 10 times sooner than BCFW with
HiGHS, and sooner than with message passing; rcv1 at least 30 times sooner than with HiGHS; a pass
of SoftBCFW on yeast at most 30 ms, on rcv1 1 s.
"""

import sys
import time
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import common  # first: it limits threads before numpy starts
from common import table

sys.path.append(str(Path(__file__).parents[1]))  # where ``papers`` is

from papers.shared.curves import curve, first_at, new_run
from papers.shared.relaxed import HardObjective, Optimum, optimum
from papers.shared.relaxed_tasks import Task, potts, rcv1, yeast
from papers.shared.rows import Row
from taut.graph_training import IDAL, AugmentedLagrangian, SoftBCFW, SoftSDCA
from taut.solvers import BCFW

TASKS = {"yeast": yeast, "rcv1": partial(rcv1, most=None), "potts": potts}
OURS = "SoftBCFW rho=1"
WITHIN = 0.01
ENOUGH = 2e-4  # above g*, where curves end
PARTS = ("curves", "passes")


class Contestant(NamedTuple):
    solver: Any
    inference: str  # of its training problem


def contestants(task: Task) -> dict[str, Contestant]:
    free = {
        **{f"SoftBCFW rho={rho:g}": SoftBCFW(rho=rho) for rho in (0.1, 1.0, 10.0)},
        "augmented Lagrangian rho=1": AugmentedLagrangian(rho=1.0),
        "SoftSDCA rho=1": SoftSDCA(rho=1.0),
        "IDAL rho=1": IDAL(rho=1.0),
    }
    found = {name: Contestant(solver, task.exact) for name, solver in free.items()}
    for oracle in dict.fromkeys(("lp", "message-passing", task.exact)):
        found[f"BCFW {_shown(oracle)}"] = Contestant(BCFW("permuted", refresh=None), oracle)
    corrective = BCFW("permuted", "corrective", refresh=None)
    found[f"corrective {_shown(task.exact)}"] = Contestant(corrective, task.exact)
    return found


def _shown(oracle: str) -> str:
    return "HiGHS" if oracle == "lp" else oracle


def curve_of(task: Task, contestant: Contestant, best: Optimum, options: Any) -> Row:
    run = new_run(task.whole(contestant.inference), contestant.solver, task.C, seed=0)
    hard = HardObjective(task)

    def look(run: Any) -> Row:
        g = hard(run.state.w)
        return {"g": g, "gap": g / best.lower - 1.0, "score": task.score(run.state.w)}

    growth = 1.5 if options.quick else 1.2
    return curve(run, seconds=options.limit, enough=ENOUGH, look=look, growth=growth, first=0.05)


def rows_of(task: Task, curves: dict[str, Row], best: Optimum) -> list[list[Any]]:
    target = (1.0 + WITHIN) * best.lower
    ours = first_at(curves[OURS], "seconds", "g", target) if OURS in curves else None
    rows = []
    for name, found in curves.items():
        seconds, spent = first_at(found, "seconds", "g", target), found["seconds"][-1]
        shown = [f"{seconds:.4g}" if seconds else f"not within {spent:.4g}"]
        ratio = [f"{seconds / ours:.4g}" if seconds else f"> {spent / ours:.4g}"] if ours else []
        twin = curves.get(f"BCFW {task.exact}")  # with HiGHS, steps are the same up to ties
        passes = first_at(twin, "passes", "g", target) if twin else None
        if not seconds and passes and name == "BCFW HiGHS":
            estimated = passes * spent / found["passes"][-1]
            shown.append(f"estimated {estimated:.4g}")
            ratio += [f"estimated {estimated / ours:.4g}"] if ours else []
        rows.append([
            name, found["passes"][-1], spent, 1e3 * spent / found["passes"][-1],
            100.0 * (found["g"][-1] / best.upper - 1.0), first_at(found, "passes", "g", target),
            ", ".join(shown), ", ".join(ratio) or None, found["score"][-1],
        ])  # fmt: skip
    return rows


def compare(task: Task, options: Any) -> None:
    best = optimum(task, 1e-3 if options.quick else 1e-4, 2.0 * options.limit)
    curves = {}
    for name, contestant in contestants(task).items():
        if options.solvers is None or name.startswith(tuple(options.solvers)):
            curves[name] = curve_of(task, contestant, best, options)
            best = best._replace(upper=min(best.upper, min(curves[name]["g"])))
    gap = (best.upper - best.lower) / best.lower
    print(f"{task.name}: {task.n} training examples, C = {task.C:g}; g* = {best.upper:.6g}, known "
          f"to {gap:.1e}\n")  # fmt: skip
    header = ["solver", "passes", "CPU s", "ms a pass", "% above g* at the end", "passes to 1 %",
              "CPU s to 1 %", f"times {OURS}", f"test {task.score_name} at the end"]  # fmt: skip
    table(header, rows_of(task, curves, best))


def pass_cost(task: Task) -> list[Any]:
    """CPU milliseconds of a pass of SoftBCFW: the first, and the least of the next nine."""
    run, times = new_run(task.whole(task.exact), SoftBCFW(rho=1.0), task.C, seed=0), []
    for _ in range(10):
        before = time.process_time()
        run.advance(run.pass_steps)
        times.append(1e3 * (time.process_time() - before))
    blocks = run.pass_steps
    return [task.name, f"{blocks:,}", times[0], min(times[1:]), 1e6 * min(times[1:]) / blocks]


def main() -> None:
    options = common.arguments(
        __doc__,
        data={
            "type": lambda text: text.split(","), "default": None,
            "help": f"{','.join(TASKS)}; default: all",
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
    tasks = [TASKS[name](options.quick, None) for name in options.data or TASKS]
    if "curves" in options.parts:
        for task in tasks:
            compare(task, options)
    if "passes" in options.parts:
        header = ["data", "blocks", "first pass ms", "least of nine more, ms", "ns a block"]
        table(header, [pass_cost(task) for task in tasks])


if __name__ == "__main__":
    main()
