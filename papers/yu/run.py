"""Yu & Rousu (2007) has no experiments; these are the ones its claims call for.

    finite       restricted simplicial decomposition ends, if r is large enough (section 2.1)
    solvers      a product of simplexes, one simplex, working sets (3.2), Frank-Wolfe and BCFW
    workingset   oracle calls and seconds against the size of the working set (3.2)
    slack        loss-scaled slacks (4.2): variant I, and II with a product of cones and with one
    alignment    error rate on sentences that were held out, and what baselines have

on binary segmentation by minimum cuts with sign constraints (4.1) and on word alignment by
bipartite matching, the two applications of Taskar, Lacoste-Julien, Jordan and Klein that it names.
"""

import sys
from functools import partial

from papers.shared.paper import Figure, Settings, Work, run_paper
from papers.shared.rows import Row
from papers.yu import plots
from papers.yu.alignment import FILES as PAIRS
from papers.yu.alignment import baseline_errors, learned_error
from papers.yu.finite import unfinished
from papers.yu.problems import (
    ALIGNMENT,
    SEGMENTATION,
    alignment_problem,
    problem_of,
    rescaled_problem,
    split,
)
from papers.yu.runs import measured
from papers.yu.segmentation import FILES as HORSES
from taut import solve
from taut.solvers import BCFW, CuttingPlane, FrankWolfe, Simplicial

DATA = (SEGMENTATION, ALIGNMENT)
C = 0.1  # of all curves but those of slack rescaling
SLACK_C = {"horses, forests": 0.0001, "digit words": 0.01}
GOAL = 1e-3  # the relative gap to which calls are counted
PARTS = (1, 2, 4, 8, 16, 32)  # a working set is one part of so many
SIZES = (100, 200)  # sentence pairs
GRID = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)  # of C, chosen on the trial pairs

DETERMINISTIC = {
    "product": lambda n: Simplicial(),
    "product, working set": lambda n: Simplicial(working_set=-(-n // 4)),
    "one simplex": lambda n: Simplicial("one"),
    "one simplex, working set": lambda n: Simplicial("one", working_set=-(-n // 4)),
    "FW": lambda n: FrankWolfe(),
}
RANDOM = {
    "BCFW": lambda n: BCFW("uniform", refresh=None),
    "gap-BCFW": lambda n: BCFW("gap"),
    "gap-BCPFW, cache": lambda n: BCFW("gap", "pairwise", cache=True),
}
VARIANTS = {
    "linear": {
        "product": lambda n: Simplicial(),
        "one simplex": lambda n: Simplicial("one"),
        "FW": lambda n: FrankWolfe(),
        "BCFW": lambda n: BCFW("uniform", refresh=None),
        "gap-BCFW": lambda n: BCFW("gap"),
    },
    "squared": {
        "product": lambda n: Simplicial(),
        "one cone": lambda n: Simplicial("one cone"),
        "tangent planes": lambda n: Simplicial("one"),
        "one-slack": lambda n: CuttingPlane("one"),
    },
}


# --- works: what is measured ----------------------------------------------------------------------


def finite_works(settings: Settings) -> list[Work]:
    works = []
    for simplexes in ("one", "product"):
        for limit in (1, 2, 3, 5, None):  # 5 = d + 1
            key = {"curve": "grids", "simplexes": simplexes, "limit": limit}
            works.append(Work(key, 4.0, partial(finite_curve, settings, simplexes, limit)))
    for dim in (1, 2, 3):
        count = 2 if settings.quick else 100
        works.append(Work({"random problems": dim}, 10.0, partial(unfinished, dim, count)))
    return works


def finite_curve(settings: Settings, simplexes: str, limit: int | None) -> Row:
    problem = problem_of("grids", settings)
    solver = Simplicial(simplexes, limit=limit or float("inf"), prune_after=None)
    return measured(problem, solver, 1.0, seconds=limited(4.0, settings), enough=1e-14)


def limited(seconds: float, settings: Settings) -> float:
    return 0.1 if settings.quick else seconds


def curve_work(settings: Settings, data: str, method: str, seed: int) -> Work:
    """A curve at full length, which the figures of solvers draw."""
    make, seconds = (DETERMINISTIC | RANDOM)[method], 8.0 if data == SEGMENTATION else 5.0

    def measure() -> Row:
        problem = problem_of(data, settings)
        return measured(
            problem, make(problem.n), C, seed=seed, enough=plots.ENOUGH.level,
            seconds=limited(seconds, settings),
        )  # fmt: skip

    return Work({"curve": data, "method": method, "C": C, "seed": seed}, 1.5 * seconds, measure)


def solver_works(settings: Settings) -> list[Work]:
    works = []
    for data in DATA:
        works += [curve_work(settings, data, method, 0) for method in DETERMINISTIC]
        seeds = range(settings.seeds)
        works += [curve_work(settings, data, method, seed) for method in RANDOM for seed in seeds]
    return works


def working_set_works(settings: Settings) -> list[Work]:
    def measure(data: str, simplexes: str, part: int) -> Row:
        problem = problem_of(data, settings)
        solver = Simplicial(simplexes, working_set=-(-problem.n // part))
        found = measured(problem, solver, C, enough=GOAL, seconds=limited(10.0, settings))
        last = {name: values[-1] for name, values in found.items()}
        return last | {"examples": -(-problem.n // part), "reached": last["relative"] <= GOAL}

    return [
        Work({"working set": data, "simplexes": simplexes, "C": C, "part": part}, 8.0,
             partial(measure, data, simplexes, part))
        for data in DATA for simplexes in ("product", "one") for part in PARTS
    ]  # fmt: skip


def slack_works(settings: Settings) -> list[Work]:
    def measure(data: str, penalty: str, method: str, seed: int) -> Row:
        problem = rescaled_problem(data, settings)
        solver = VARIANTS[penalty][method](problem.n)
        return measured(
            problem, solver, SLACK_C[data], seed=seed, penalty=penalty, enough=plots.ENOUGH.level,
            seconds=limited(8.0, settings),
        )  # fmt: skip

    works = []
    for data in SLACK_C:
        for penalty, methods in VARIANTS.items():
            for method in methods:
                for seed in range(settings.seeds if method in RANDOM else 1):
                    key = {"slack": data, "C": SLACK_C[data], "penalty": penalty, "method": method}
                    key |= {"seed": seed}
                    works.append(Work(key, 10.0, partial(measure, data, penalty, method, seed)))
    return works


def alignment_works(settings: Settings) -> list[Work]:
    def error_curve(method: str, seed: int) -> Row:
        training, held_out, _ = split(settings, seed)
        problem = alignment_problem(training)
        solver = (DETERMINISTIC | RANDOM)[method](problem.n)
        return measured(
            problem, solver, C, seed=seed, enough=1e-4, seconds=limited(4.0, settings),
            more=lambda run: {"AER": learned_error(run.state.w, held_out)},
        )  # fmt: skip

    methods = ("product", "one simplex", "FW", "BCFW", "gap-BCFW")
    works = []
    for seed in range(settings.seeds):
        for method in methods:
            key = {"AER of": method, "seed": seed}
            works.append(Work(key, 8.0, partial(error_curve, method, seed)))
        works.append(Work({"baselines": seed}, 0.5, lambda seed=seed: baseline_errors(
            *split(settings, seed)[1:])))  # type: ignore[misc] # fmt: skip
        for size in SIZES:
            for penalty in ("linear", "squared"):
                key = {"learned from": size, "penalty": penalty, "seed": seed}
                works.append(Work(key, 3.0, partial(chosen, settings, size, penalty, seed)))
    return works


def chosen(settings: Settings, size: int, penalty: str, seed: int) -> Row:
    """The held-out error of the C with the lowest error on the trial pairs."""
    training, held_out, trial = split(settings, seed)
    problem, found = alignment_problem(training[:size]), []
    for constant in GRID:
        w = solve(
            problem, Simplicial(), C=constant, tol=1e-4, slack_penalty=penalty, progress=False,
            max_passes=100,
        ).w  # fmt: skip
        found.append((learned_error(w, trial), constant, learned_error(w, held_out)))
    on_trial, constant, error = min(found)
    return {"C": constant, "trial": on_trial, "AER": error}


FIGURES = [
    Figure("finite", "finite convergence of restricted simplicial decomposition", finite_works,
           plots.finite),
    Figure("solvers", "product, one simplex, working sets, Frank-Wolfe and BCFW", solver_works,
           plots.solvers, (*HORSES, *PAIRS)),
    Figure("workingset", "oracle calls and seconds against the working set", working_set_works,
           plots.working_sets, (*HORSES, *PAIRS)),
    Figure("slack", "loss-scaled slacks: variant I, and II with a product and with one cone",
           slack_works, plots.slack, HORSES),
    Figure("alignment", "word alignment: error rate on held-out sentences", alignment_works,
           plots.alignment, PAIRS),
]  # fmt: skip


def main(arguments: list[str] | None = None) -> int:
    return run_paper("yu", "Yu & Rousu (2007): " + __doc__, FIGURES, arguments)


if __name__ == "__main__":
    sys.exit(main())
