"""The whole regularisation path against a grid of 31 lambdas: breakpoints, oracle passes, seconds.

Why: a path is within eps for every lambda, a grid search sees to nothing between its values. Ours
has linear pieces instead of the constant ones of Osokin et al. (2016; their figures are in
``papers/osokin``); both are here, with their heuristic path (stale gaps, no guarantee) and the grid
2^15 ... 2^-15 with three kinds of warm start and none, each with three solvers. eps is 0.1 of the
objective at w = 0: for paths everywhere, for grids at their values.

passes    oracle calls / n, certificates included
end       the smallest lambda with weights; 0 where the last ones are within eps for all smaller
true gap  the largest of the breakpoints, by an oracle pass for each that is not counted
proved    the largest bound at any lambda down to 2^-15 (between a grid's values, interpolated);
          both as a part of the objective at w = 0
to ...    passes until there are weights for this lambda

A path goes down to 2^-15. A row stops after ``--limit`` CPU seconds and shows how far it came
("> end"); it is then compared at the smallest lambda that both reached. Compilation is not counted.

ocr     OCR-small, 626 words, losses of at most 1; beside it the code that Osokin et al. released
horses  164 images, graph cut, attractive (bounds on weights); the loss counts superpixels
yeast   1,500 rows, label sets with all pairs, LP relaxation by roof duality; the loss counts labels

``--sweep kappa`` and ``--sweep eps`` show what these change, ``--memory`` what the weights of a
path on CoNLL-2000 take.

Targets (issue "regularisation path"): OCR-small in no more passes than the grid with warm start,
and at least 3 times fewer than the grid without.
"""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import common  # first: it limits threads before numpy starts
import conll
import numpy as np
from common import chunking_problem, cpu_seconds, ocr_problem, table
from decomposition import graphs_as_problem

from taut import MultilabelSVM
from taut.datasets import load_horses, load_mulan
from taut.path import RegularizationPath, regularization_grid, regularization_path
from taut.path.walk import PathStatus
from taut.solvers import BCFW

EPS = 0.1
GRID = 2.0 ** np.arange(15, -16, -1)
SOLVERS: dict[str, BCFW] = {
    "corrective": BCFW(direction="corrective"),
    "pairwise + gap + cache": BCFW("gap", "pairwise", cache=True),
    "BCFW + gap": BCFW("gap"),
}
PATHS = ("linear", "constant", "heuristic")
GRIDS = {"grid, best": "best", "grid, primal": "primal", "grid, dual": "dual", "grid, cold": None}
QUICK = ("grid, best", "grid, cold")
KAPPAS = (0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
EPSES = (0.3, 0.1, 0.03, 0.01)
# Of the authors' released code, which no paper prints:
# (method, solver): breakpoints and effective passes to lambda = 9e-4, largest true gap
RELEASED_END = 9e-4
RELEASED = {
    ("constant", "pairwise + gap + cache"): "155, 233",
    ("constant", "BCFW + gap"): "163, 578",
    ("heuristic", "pairwise + gap + cache"): "202 to 204, 84 to 447; true gap 0.14 to 0.16",
    ("heuristic", "BCFW + gap"): "(these are of both solvers)",
}


class Data(NamedTuple):
    """A problem, or an estimator with its data."""

    name: str
    model: Any
    X: Any = None
    y: Any = None


def ocr() -> Data:
    return Data("OCR-small", ocr_problem())


def horses() -> Data:
    found = load_horses(subset="train")
    problem = graphs_as_problem(found.graphs, found.labels, unary="binary", attractive=True)
    return Data("horses", problem)


def yeast() -> Data:
    found = load_mulan("yeast", subset="train")
    return Data("Yeast", MultilabelSVM(edges="full", random_state=0), found.X, found.Y)


DATA: dict[str, Callable[[], Data]] = {"ocr": ocr, "horses": horses, "yeast": yeast}


# --- runs -------------------------------------------------------------------------------------


class Cost(NamedTuple):
    breakpoints: int
    passes: float
    seconds: float


class Walked(NamedTuple):
    """A path with the CPU seconds at its breakpoints."""

    path: RegularizationPath
    seconds: list[float]
    total: float

    @property
    def reached(self) -> np.ndarray:
        """Down to which lambda there were weights, after each breakpoint."""
        lambdas = self.path.lambdas
        constant = self.path.method in ("constant", "heuristic")
        return np.append(lambdas[1:] if constant else lambdas[:-1], self.path.end)

    @property
    def passes(self) -> np.ndarray:
        return self.path.breakpoints.oracle_calls / self.path.n_examples

    def cost_to(self, lam: float) -> Cost | None:
        """What it took until there were weights at lambda; None if it did not come there."""
        there = np.flatnonzero(self.reached <= lam * (1 + 1e-12))
        if not there.size:
            return None
        k = int(there[0])
        return Cost(k + 1, float(self.passes[k]), self.seconds[k])


def walk(
    data: Data, kind: str, solver: BCFW, limit: float, eps: float = EPS, **more: Any
) -> Walked:
    """Follow a path (kind "linear", ...) or a grid ("grid best", ...), compiled before."""
    options: dict[str, Any] = dict(X=data.X, y=data.y, solver=solver, eps=eps, seed=0) | more
    options |= dict(max_passes=np.inf, progress=False)

    def run(time_limit: float, callback: Any = None) -> RegularizationPath:
        limits = options | dict(time_limit=time_limit, callback=callback)
        if kind in PATHS:
            limits |= dict(method=kind, lam_min=float(GRID[-1]))
            return regularization_path(data.model, **limits)
        return regularization_grid(data.model, lambdas=GRID, warm_start=GRIDS[kind], **limits)

    run(0.0)  # compile
    seconds: list[float] = []

    def clock(row: Any) -> None:
        seconds.append(spent())

    with cpu_seconds() as spent:
        path = run(limit, clock)
        # The library's limit is of the clock on the wall, which other processes slow down.
        while path.status is PathStatus.TIME_LIMIT and spent() < 0.98 * limit:
            path.extend(time_limit=limit - spent(), callback=clock)
    return Walked(path, seconds, spent())


# --- tables -----------------------------------------------------------------------------------


def some_lambdas(n: int) -> dict[str, float]:
    return {"1": 1.0, "0.1": 0.1, "0.01": 0.01, "1/n": 1.0 / n, "9e-4": RELEASED_END}


def proved(path: RegularizationPath) -> float:
    """The largest bound at many lambdas."""
    if len(path) == 0:
        return np.inf
    lambdas = np.geomspace(max(path.end, GRID[-1]), path.lambdas[0], 3000)
    lambdas = np.concatenate([np.clip(lambdas, path.end, None), path.lambdas])
    return max(path.bound(lam) for lam in lambdas) / path.scale


def row_of(kind: str, solver: str, walked: Walked) -> list[Any]:
    path = walked.path
    true_gap = float(path.true_gaps().max()) / path.scale if len(path) else None
    total = [path.oracle_calls / path.n_examples, walked.total]
    costs = [walked.cost_to(lam) for lam in some_lambdas(path.n_examples).values()]
    marks = [None if cost is None else cost.passes for cost in costs]
    end = f"{'> ' * (path.status is PathStatus.TIME_LIMIT)}{path.end:.3g}"
    return [kind, solver, len(path), *total, end, true_gap, proved(path), *marks]


def measure(data: Data, kinds: list[str], solvers: list[str], limit: float) -> dict:
    """All rows, printed as they are measured; the table follows."""
    found, rows = {}, []
    for solver in solvers:
        for kind in kinds:
            walked = found[kind, solver] = walk(data, kind, SOLVERS[solver], limit)
            rows.append(row_of(kind, solver, walked))
            print(*(common._cell(value) for value in rows[-1]), sep="  ", flush=True)
    n = walked.path.n_examples
    print(f"\n{data.name}: n = {n}, objective at w = 0: {walked.path.scale:.4g}\n")
    header = ["", "solver", "breakpoints", "passes", "CPU s", "end", "true gap", "proved"]
    table([*header, *(f"to {name}" for name in some_lambdas(n))], rows)
    return found


def ratios(found: dict, kinds: list[str], solvers: list[str]) -> None:
    """Passes and seconds of paths over those of grids, down to where both came."""
    grids = [kind for kind in kinds if kind not in PATHS]
    rows = []
    for solver in solvers:
        for kind in (kind for kind in kinds if kind in PATHS):
            cells = [ratio(found[kind, solver], found[grid, solver]) for grid in grids]
            rows.append([kind, solver, *cells])
    print("Passes (CPU seconds) of a path as a part of the grid's, to the same lambda\n")
    table(["", "solver", *grids], rows)


def ratio(path: Walked, grid: Walked) -> str:
    end = max(path.path.end, grid.path.end, GRID[-1])
    ours, theirs = path.cost_to(end), grid.cost_to(end)
    if ours is None or theirs is None:
        return "–"
    where = f" to {end:.2g}" if end > GRID[-1] else ""
    return f"{ours.passes / theirs.passes:.3g} ({ours.seconds / theirs.seconds:.3g}){where}"


def beside_released(found: dict) -> None:
    rows = []
    for (kind, solver), walked in found.items():
        cost = walked.cost_to(RELEASED_END)
        if kind in PATHS and cost is not None:
            gap = walked.path.gaps[: cost.breakpoints].max() / walked.path.scale
            start, known = walked.path.lambdas[0], RELEASED.get((kind, solver))
            rows.append([kind, solver, start, cost.breakpoints, cost.passes, gap, known])
    print(f"To lambda = {RELEASED_END:g}, beside the breakpoints and passes of the authors' code")
    print("(its first lambda: 4623)\n")
    header = ["", "solver", "first lambda", "breakpoints", "passes", "true gap", "their code"]
    table(header, rows)


# --- sweeps, memory ---------------------------------------------------------------------------


def sweep(data: Data, name: str, limit: float) -> None:
    """Breakpoints, passes and CPU seconds for values of kappa or eps."""
    rows = []
    for value in KAPPAS if name == "kappa" else EPSES:
        row: list[Any] = [value]
        for kind in ("linear", "constant"):
            walked = walk(data, kind, SOLVERS["corrective"], limit, **{name: value})
            path = walked.path
            cost = path.oracle_calls / path.n_examples
            row += [len(path), cost, walked.total, f"{path.end:.3g}"]
        rows.append(row)
    print(f"{data.name}, corrective\n")
    columns = ("breakpoints", "passes", "CPU s", "end")
    table([name, *(f"{kind} {c}" for kind in ("linear", "constant") for c in columns)], rows)


def memory(limit: float, n: int) -> None:
    """What the weights of a path take, of sentences with all features."""
    found = conll.encode(conll.read("train")[:n], conll.read("test")[:1], expected=None)
    problem = chunking_problem(found.train, found.n_train_tags, observed=False)
    data, rows = Data("CoNLL-2000", problem), []
    for kind, solver in (
        ("linear", "corrective"), ("linear", "BCFW + gap"), ("constant", "corrective"),
    ):  # fmt: skip
        walked = walk(data, kind, SOLVERS[solver], limit)
        path = walked.path
        dense = len(path) * problem.dim * 8 / 1e6
        begun = time.process_time()
        for lam in path.lambdas:
            path.weights(lam)
        each = (time.process_time() - begun) / len(path)
        cost = path.oracle_calls / path.n_examples
        rows.append([kind, solver, len(path), cost, walked.total, f"{path.end:.3g}",
                     path.nbytes / 1e6, dense, 1e3 * each])  # fmt: skip
    print(f"CoNLL-2000, {problem.n} sentences, {problem.dim:,} weights\n")
    table(["", "solver", "breakpoints", "passes", "CPU s", "end", "kept, MB", "dense, MB",
           "ms to rebuild w"], rows)  # fmt: skip


def main() -> None:
    options = common.arguments(
        __doc__,
        only={"nargs": "*", "choices": list(DATA), "help": "these data sets"},
        solvers={"nargs": "*", "choices": list(SOLVERS), "help": "these solvers"},
        limit={"type": float, "default": 120.0, "help": "seconds of one row"},
        sweep={"choices": ["kappa", "eps"], "help": "how kappa or eps matter"},
        memory={"action": "store_true", "help": "what the weights of a path take"},
    )
    names = options.only or (["ocr"] if options.quick or options.sweep else list(DATA))
    if options.memory:
        memory(options.limit, 500 if options.quick else 2000)
        return
    solvers = options.solvers or list(SOLVERS)[: 1 if options.quick else None]
    kinds = [*PATHS, *(QUICK if options.quick else GRIDS)]
    for data in (DATA[name]() for name in names):
        if options.sweep:
            sweep(data, options.sweep, options.limit)
            continue
        found = measure(data, kinds, solvers, options.limit)
        ratios(found, kinds, solvers)
        if data.name == "OCR-small":
            beside_released(found)


if __name__ == "__main__":
    main()
