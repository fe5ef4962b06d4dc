"""``taut warmup``: run every command on next to nothing, so that all of their code is compiled."""

import time
from argparse import Namespace
from contextlib import redirect_stdout
from io import BytesIO, TextIOWrapper
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from taut import _compile
from taut.cli import main
from taut.decode import decode
from taut.solvers import solve
from taut.solvers.named import named_solver
from taut.structures.chain import chain_problem
from taut.structures.graphs import label_edges, label_model, multilabel_problem

TEXT = "the DT B-NP\ncat NN I-NP\nsleeps VBZ B-VP\n\ndogs NNS B-NP\nsee VBP B-VP\nit PRP B-NP\n\n"
SOLVERS = ("averaged",)
# The others share their machine code with one of these.
ALL_SOLVERS = ("averaged", "fw", "corrective")
METHODS = ("exhaustive", "graph-cut", "roof-duality", "message-passing")


def run(options: Namespace) -> int:
    start = time.perf_counter()
    with TemporaryDirectory(prefix="taut-warmup-") as folder:
        text, model = Path(folder, "text"), str(Path(folder, "model"))
        text.write_text(TEXT)
        for features in ("all", "observed"):
            for solver in ALL_SOLVERS if options.all else SOLVERS:
                _run(["train", str(text), "-o", model, "--template", "chunking", "--quiet",
                      "--dev", str(text), "--features", features, "--solver", solver,
                      "--max-passes", "2", "--tol", "0"])  # fmt: skip
        _run(["tag", "-m", model, str(text)])
        _run(["eval", "-m", model, str(text)])
    if options.all:
        for solver in ALL_SOLVERS:
            _train_dense(solver)
            for inference in METHODS:
                _train_graph(solver, inference)
    if not options.quiet:
        seconds = time.perf_counter() - start
        print(f"ready after {seconds:.1f} s; machine code is kept in {_compile.CACHE_DIRECTORY}")
    return 0


def _run(arguments: list[str]) -> None:
    """A command whose output nobody wants to see."""
    with redirect_stdout(TextIOWrapper(BytesIO())):
        code = main(arguments)
    if code:
        raise ValueError(f"taut {arguments[0]} does not work here; see above")


def _train_graph(solver: str, inference: str) -> None:
    """What GraphSVM and MultilabelSVM do."""
    Y = np.array([[0, 1, 1], [1, 1, 0]])
    model = label_model(3, label_edges("full", Y), 2, pairwise="potts", attractive=True)
    problem = multilabel_problem(model, np.eye(2), Y, inference=inference)
    solution = solve(
        problem, named_solver(solver, problem, False), max_passes=2, tol=0, progress=False
    )
    decode(multilabel_problem(model, np.eye(2), None, inference=inference), solution.w)


def _train_dense(solver: str) -> None:
    """What ChainSVM does with arrays, without scikit-learn."""
    problem = chain_problem(np.eye(4), np.array([3, 1]), np.array([0, 1, 0, 1]), n_states=2)
    solution = solve(
        problem, named_solver(solver, problem, False), max_passes=2, tol=0, progress=False
    )
    decode(problem, solution.w)
