"""Simplicial decomposition and cutting planes against block-coordinate Frank-Wolfe.

Oracle calls per example (certificates included), passes and CPU seconds to a relative gap of 1e-3,
one run each. Why: with a master problem a method makes more of every oracle call; is that worth
the master? And does ``solver="auto"`` know?

graphs   horses (graph cut) and two-state grids (graph cut; roof duality), for several C
slow     an LP solver as the oracle, called from Python
python   models in plain Python: matchings by scipy, digit words by Viterbi in numpy
cheap    digit words, OCR-small, USPS, 1,000 sentences of CoNLL-2000
few      few weights: cheap oracles, and many examples; a grid whose features are all noise
steps    block steps of BCFW: toward, pairwise, corrective on the block's own labellings, the same
         with sweeps over remembered labellings between passes; OCR-small and CoNLL

One simplex and working sets are in ``papers/yu``, with what else that paper proposes.

``--parts`` chooses among them, ``--limit`` is the CPU budget of one run (looked at when a gap is
checked). ``--quick``: graphs and cheap with the first C of each, without the methods known to be
slower. Rows are printed as they are measured, and saved in ``results/decomposition.md``.

Targets (issue "simplicial decomposition"): on horses and binary grids fewer calls than BCFW with
gap sampling and cache; on cheap oracles BCFW wins in seconds; "auto" chooses accordingly.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import common  # first: it limits threads before numpy starts
import conll
import numpy as np
from _decomposition_models import Matchings, Words, random_matchings
from common import RESULTS, chunking_problem, cpu_seconds, ocr_problem
from sklearn.decomposition import PCA

from taut import PythonProblem
from taut.choice.auto import choose_solver
from taut.datasets import load_horses, load_usps, make_digit_words, make_gaussian_potts
from taut.graphs import stack_graphs
from taut.solvers import BCFW, CuttingPlane, FrankWolfe, Simplicial, Subgradient, solve
from taut.structures import chain_problem, multiclass_problem
from taut.structures.graphs import GraphModel, graph_problem

TOL = 1e-3
SOLVERS = {
    "simplicial": Simplicial(),
    "one-slack": CuttingPlane("one"),
    "BCFW, gap, cache": BCFW("gap", cache=True),
    "pairwise, gap, cache": BCFW("gap", "pairwise", cache=True),
    "corrective": BCFW("gap", "corrective", refresh=5),
}
MORE = {
    "n-slack": CuttingPlane("n"),
    "Frank-Wolfe": FrankWolfe(),
    "subgradient": Subgradient(),
}
STEPS = {
    "toward": BCFW("gap"),
    "pairwise": BCFW("gap", "pairwise"),
    "corrective steps only": BCFW("gap", "corrective", cheap_passes=0),
    "corrective": BCFW("gap", "corrective"),
}


class Task(NamedTuple):
    name: str
    problem: Any
    constants: tuple[float, ...]


# --- graphs -----------------------------------------------------------------------------------


def graphs_as_problem(graphs: list, labels: list, **model: Any) -> Any:
    stacked = stack_graphs(graphs)
    options = dict(pairwise="potts") | model
    inference = options.pop("inference", "auto")
    shape = GraphModel(
        options.pop("states", (2,)), ((0, 0),), stacked.rows.shape[1], stacked.n_edge_features,
        **options,
    )  # fmt: skip
    return graph_problem(
        shape, stacked.rows, stacked.lengths, np.concatenate(labels), stacked.ends,
        stacked.n_edges, edge_rows=stacked.edge_rows, normalize=False, inference=inference,
    )  # fmt: skip


def two_states(n: int, size: int) -> tuple[list, list]:
    return make_gaussian_potts(n, size=size, n_states=2, coupling=0.7)


def graph_tasks() -> Iterator[Task]:
    horses = load_horses(subset="train")
    problem = graphs_as_problem(horses.graphs, horses.labels, unary="binary", attractive=True)
    yield Task("horses, graph cut", problem, (0.1, 1.0, 10.0))
    grids = two_states(100, 12)
    yield Task("grids, graph cut", graphs_as_problem(*grids, attractive=True), (0.01, 0.1, 1.0))
    relaxed = graphs_as_problem(*grids, pairwise="full", inference="roof-duality")
    yield Task("grids, roof duality", relaxed, (0.01, 0.1, 1.0))


def slow_tasks() -> Iterator[Task]:
    for size, states, n in ((3, 3, 60), (5, 3, 40)):
        grids = make_gaussian_potts(n, size=size, n_states=states)
        problem = graphs_as_problem(*grids, states=(states,), pairwise="full", inference="lp")
        yield Task(f"grids {size} x {size}, HiGHS", problem, (0.01, 0.1))


# --- models in Python -------------------------------------------------------------------------


def python_tasks() -> Iterator[Task]:
    problem = PythonProblem(Matchings(), *random_matchings(30, size=100, n_features=20))
    yield Task("matchings of 100", problem, (0.01,))
    for n, lengths, n_components, C in (
        (400, (4, 9), 8, 0.3), (200, (4, 9), None, 0.3), (60, (60, 90), None, 0.1),
    ):  # fmt: skip
        X, y = words(n, lengths, n_components)
        problem = PythonProblem(Words(10, X[0].shape[1]), X, y)
        yield Task(f"words of {lengths[0]} to {lengths[1]} digits", problem, (C,))


def words(n: int, lengths: tuple[int, int], n_components: int | None = None) -> tuple[list, list]:
    """Digit words, of the first principal components of all their digits if there are so many."""
    X, y = make_digit_words(n, lengths=lengths)
    if n_components is not None:
        shown = PCA(n_components).fit(np.concatenate(X))
        X = [shown.transform(digits) for digits in X]
    return X, y


# --- cheap oracles ----------------------------------------------------------------------------


def words_problem(X: list, y: list) -> Any:
    lengths = np.array([len(labels) for labels in y])
    return chain_problem(np.concatenate(X), lengths, np.concatenate(y), 10)


def sentences(n: int) -> Any:
    data = conll.encode(conll.read("train")[:n], conll.read("test")[:1], expected=None)
    return chunking_problem(data.train, data.n_train_tags, observed=False)


def cheap_tasks() -> Iterator[Task]:
    yield Task("digit words", words_problem(*words(600, (4, 9))), (0.1, 1.0))
    yield Task("OCR-small", ocr_problem(), (0.2, 1.0))
    X, y, _, _ = load_usps()
    yield Task("USPS", multiclass_problem(X, y, 10), (0.01, 0.1))
    yield Task("CoNLL-2000, 1,000 sentences", sentences(1000), (0.03, 0.3))


def few_tasks() -> Iterator[Task]:
    X, y, _, _ = load_usps()
    X = PCA(20).fit_transform(X)
    for n in (100, 1000):
        yield Task("USPS, 20 components", multiclass_problem(X[:n], y[:n], 10), (0.1,))
    for n in (100, 600):
        yield Task("digit words, 8 components", words_problem(*words(n, (4, 9), 8)), (0.3,))
    for n in (400, 2000):
        problem = graphs_as_problem(*two_states(n, 12), attractive=True)
        yield Task("grids, graph cut", problem, (0.05,))
    problem = graphs_as_problem(*two_states(1500, 8), pairwise="full", inference="roof-duality")
    yield Task("grids, roof duality", problem, (0.05,))
    for n_noise in (50, 200):
        graphs, labels = two_states(100, 10)
        problem = graphs_as_problem(noisy(graphs, n_noise), labels, unary="binary", attractive=True)
        yield Task("grids and noise, graph cut", problem, (0.02,))


def noisy(graphs: list, n_features: int) -> list:
    random = np.random.default_rng(0)
    return [(np.hstack([x, random.normal(size=(len(x), n_features))]), e) for x, e in graphs]


def step_tasks() -> Iterator[Task]:
    yield Task("OCR-small", ocr_problem(), (0.2, 1.0))
    yield Task("CoNLL-2000, 1,000 sentences", sentences(1000), (0.03, 0.3))


# --- runs -------------------------------------------------------------------------------------

Solvers = dict[str, Any]
PARTS: dict[str, tuple[Callable[[], Iterator[Task]], Solvers]] = {
    "graphs": (graph_tasks, SOLVERS | MORE),
    "slow": (slow_tasks, SOLVERS),
    "python": (python_tasks, SOLVERS),
    "cheap": (cheap_tasks, SOLVERS),
    "few": (few_tasks, SOLVERS),
    "steps": (step_tasks, STEPS),
}
QUICK = ("graphs", "cheap")


def cell(problem: Any, solver: Any, C: float, limit: float) -> str:
    if problem.is_compiled:
        solve(problem, solver, C=C, max_passes=1, progress=False, time_limit=limit)  # compile
    with cpu_seconds() as spent:
        solution = solve(
            problem, solver, C=C, tol=TOL, max_passes=np.inf, progress=False,
            callback=lambda row: spent() > limit,
        )  # fmt: skip
    calls = solution.oracle_calls / problem.n
    figures = f"{calls:.3g} / {solution.passes:.3g} / {spent():.2g} s"
    if solution.relative_gap <= TOL:
        return figures
    return f"> {figures} ({solution.relative_gap:.0e})"


def chosen(problem: Any) -> str:
    """What "auto" takes."""
    solver = choose_solver(problem)
    return solver.direction.name.lower() if isinstance(solver, BCFW) else "simplicial"


def compare(name: str, quick: bool, limit: float) -> list[str]:
    make, solvers = PARTS[name]
    if quick:
        solvers = {key: solver for key, solver in solvers.items() if key not in MORE}
    lines = [
        f"{name}: oracle calls / n, passes, CPU s to a relative gap of {TOL:g}; > and (gap): not",
        "",
        f"| data | n, dim | C | {' | '.join(solvers)} | auto |",
        f"|{'---|' * (len(solvers) + 4)}",
    ]
    print("\n".join(lines), flush=True)
    for task in make():
        problem = task.problem
        for C in task.constants[: 1 if quick else None]:
            row = f"| {task.name} | {problem.n}, {problem.dim} | {C:g} |"
            print(row, end="", flush=True)
            for solver in solvers.values():
                found = f" {cell(problem, solver, C, limit)} |"
                row += found
                print(found, end="", flush=True)
            row += f" {chosen(problem)} |"
            print(f" {chosen(problem)} |", flush=True)
            lines.append(row)
    print(flush=True)
    return [*lines, ""]


def main() -> None:
    options = common.arguments(
        __doc__,
        parts={"nargs": "+", "choices": list(PARTS), "default": None},
        limit={"type": float, "default": None, "help": "CPU seconds of one run"},
    )
    limit = options.limit or (2.0 if options.quick else 4.0)
    lines: list[str] = []
    for name in options.parts or (QUICK if options.quick else PARTS):
        lines += compare(name, options.quick, limit)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "decomposition.md").write_text("\n".join(lines))


if __name__ == "__main__":
    main()
