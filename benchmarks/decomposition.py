"""Simplicial decomposition and cutting planes against block-coordinate Frank-Wolfe.

Oracle calls per example (certificates included) and CPU seconds to a relative gap of 1e-3, one run
each. Why: with a master problem a method makes more of every oracle call; is that worth the master?

graphs   horses (graph cut) and two-state grids (graph cut; roof duality), for several C
dear     an LP solver as the oracle, called from Python
cheap    digit words, OCR-small, USPS, 1,000 sentences of CoNLL-2000
steps    block steps of BCFW: toward, pairwise, corrective on the block's own labellings, the same
         with sweeps over remembered labellings between passes; OCR-small and CoNLL

``--parts`` chooses among them, ``--limit`` is the CPU budget of one run (looked at when a gap is
checked). Rows are printed as they are measured.

Targets (issue "simplicial decomposition"): on horses and binary grids fewer calls than BCFW with
gap sampling and cache; on cheap oracles BCFW wins in seconds.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import common  # first: it limits threads before numpy starts
import conll
import numpy as np
from common import chunking_problem, cpu_seconds, ocr_problem, part

from taut.datasets import load_horses, load_usps, make_digit_words, make_gaussian_potts
from taut.graphs import stack_graphs
from taut.solvers import BCFW, CuttingPlane, FrankWolfe, Simplicial, Subgradient, solve
from taut.structures import chain_problem, multiclass_problem
from taut.structures.graphs import GraphModel, graph_problem

TOL = 1e-3
PARTS = ("graphs", "dear", "cheap", "steps")
SOLVERS = {
    "simplicial": Simplicial(),
    "one simplex": Simplicial("one"),
    "one-slack": CuttingPlane("one"),
    "subgradient": Subgradient(),
    "Frank-Wolfe": FrankWolfe(),
    "BCFW, gap, cache": BCFW("gap", cache=True),
    "pairwise, gap, cache": BCFW("gap", "pairwise", cache=True),
    "corrective": BCFW("gap", "corrective", refresh=5),
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


def graph_tasks() -> Iterator[Task]:
    horses = load_horses(subset="train")
    problem = graphs_as_problem(horses.graphs, horses.labels, unary="binary", attractive=True)
    yield Task("horses, graph cut", problem, (0.1, 0.3, 1.0))
    grids = make_gaussian_potts(100, size=12, n_states=2, coupling=0.7)
    yield Task("grids, graph cut", graphs_as_problem(*grids, attractive=True), (0.01, 0.1, 1.0))
    relaxed = graphs_as_problem(*grids, pairwise="full", inference="roof-duality")
    yield Task("grids, roof duality", relaxed, (0.01, 0.1, 1.0))


def dear_tasks() -> Iterator[Task]:
    for size, states, n in ((3, 3, 60), (5, 3, 40)):
        grids = make_gaussian_potts(n, size=size, n_states=states)
        problem = graphs_as_problem(*grids, states=(states,), pairwise="full", inference="lp")
        yield Task(f"grids {size} x {size}, HiGHS", problem, (0.01, 0.1))


def cheap_tasks() -> Iterator[Task]:
    X, y = make_digit_words(600)
    lengths = np.array([len(labels) for labels in y])
    words = chain_problem(np.concatenate(X), lengths, np.concatenate(y), 10)
    yield Task("digit words", words, (0.1, 1.0))
    yield Task("OCR-small", ocr_problem(), (0.2, 1.0))
    X, y, _, _ = load_usps()
    yield Task("USPS", multiclass_problem(X, y, 10), (0.01, 0.1))
    yield Task("CoNLL-2000, 1,000 sentences", sentences(1000), (0.03, 0.3))


def step_tasks() -> Iterator[Task]:
    yield Task("OCR-small", ocr_problem(), (1.0,))
    yield Task("CoNLL-2000, 1,000 sentences", sentences(1000), (0.03,))


def sentences(n: int) -> Any:
    data = conll.encode(conll.read("train"), conll.read("test"))
    return chunking_problem(part(data.train, np.arange(n)), data.n_train_tags, observed=False)


TASKS: dict[str, Callable[[], Iterator[Task]]] = {
    "graphs": graph_tasks, "dear": dear_tasks, "cheap": cheap_tasks, "steps": step_tasks
}  # fmt: skip


def cell(problem: Any, solver: Any, C: float, limit: float) -> str:
    solve(problem, solver, C=C, max_passes=1, progress=False, time_limit=limit)  # compile
    with cpu_seconds() as spent:
        solution = solve(
            problem, solver, C=C, tol=TOL, max_passes=np.inf, progress=False,
            callback=lambda row: spent() > limit,
        )  # fmt: skip
    figures = f"{solution.oracle_calls / problem.n:.1f} ({spent():.2f} s)"
    if solution.relative_gap <= TOL:
        return figures
    return f"> {figures}, gap {solution.relative_gap:.1e}"


def main() -> None:
    options = common.arguments(
        __doc__,
        parts={"nargs": "+", "choices": PARTS, "default": PARTS},
        limit={"type": float, "default": None, "help": "CPU seconds of one run"},
    )
    limit = options.limit or (2.0 if options.quick else 10.0)
    for name in options.parts:
        solvers = STEPS if name == "steps" else SOLVERS
        print(f"{name}: oracle calls / n (CPU s) to a relative gap of {TOL:g}\n")
        print(f"| data | n, dim | C | {' | '.join(solvers)} |\n|{'---|' * (len(solvers) + 3)}")
        for task in TASKS[name]():
            problem = task.problem
            for C in task.constants[: 1 if options.quick else None]:
                head = f"| {task.name} | {problem.n}, {problem.dim} | {C:g} |"
                print(head, end="", flush=True)
                for solver in solvers.values():
                    print(f" {cell(problem, solver, C, limit)} |", end="", flush=True)
                print()
        print(flush=True)


if __name__ == "__main__":
    main()
