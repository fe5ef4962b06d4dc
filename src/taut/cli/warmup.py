"""``taut warmup``: run every command on next to nothing, so that all of their code is compiled."""

import time
from argparse import Namespace
from collections.abc import Sequence
from contextlib import redirect_stdout
from io import BytesIO, TextIOWrapper
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from taut._compile import cache, places
from taut.chain_model import ChainModel, Stacked
from taut.chain_posterior import n_best_labellings, sampled_labellings
from taut.cli import main
from taut.decode import decode
from taut.labels import LabelCodec
from taut.solvers import solve
from taut.solvers.named import named_crf_solver, named_solver
from taut.structures.chain import chain_problem
from taut.structures.graphs import label_edges, label_model, multilabel_problem
from taut.structures.smoothed import smoothed

TEXT = "the DT B-NP\ncat NN I-NP\nsleeps VBZ B-VP\n\ndogs NNS B-NP\nsee VBP B-VP\nit PRP B-NP\n\n"
JSON = '{"tokens": [["the", "DT"], ["cat", "NN"]]}\n'
FEATURES = ("all", "observed")
SOLVERS = ("averaged",)
# The others share their machine code with one of these.
ALL_SOLVERS = ("averaged", "fw", "corrective")
CRF_SOLVERS = ("sdca", "lbfgs")
METHODS = ("exhaustive", "graph-cut", "roof-duality", "message-passing")


def run(options: Namespace) -> int:
    if options.list:
        return _list()
    start = time.perf_counter()
    with TemporaryDirectory(prefix="taut-warmup-") as folder:
        text, model = Path(folder, "text"), str(Path(folder, "model"))
        text.write_text(TEXT)
        for features in FEATURES:
            for solver in ALL_SOLVERS if options.all else SOLVERS:
                _train(text, model, features, solver)
        _run(["tag", "-m", model, str(text)])
        _run(["eval", "-m", model, str(text)])
        if options.crf or options.all:
            _warm_up_crf(text, model, CRF_SOLVERS if options.all else CRF_SOLVERS[:1])
    if options.all:
        for solver in ALL_SOLVERS:
            _train_dense(solver)
            for inference in METHODS:
                _train_graph(solver, inference)
        for solver in CRF_SOLVERS:
            _train_dense_crf(solver)
    if not options.quiet:
        seconds = time.perf_counter() - start
        folders = places.folders()
        where = f"is kept in {folders[-1]}" if folders else "cannot be kept anywhere"
        print(f"ready after {seconds:.1f} s; machine code {where}")
    return 0


def _list() -> int:
    """What is there, its size and where."""
    found, now = cache.entries(), time.time()
    for what, size, used in found:
        days = int((now - used) / 86400)
        when = f"used {days} days ago" if days else "used today"
        print(f"{size / 1024:7.1f} KiB  {when:18}  {what.partition('(')[0]}")
    total = sum(size for _, size, _ in found) / 2**20
    where = " and ".join(map(str, places.folders())) or "no folder: there is none to be had"
    print(f"{len(found)} pieces of machine code, {total:.1f} MiB, in {where}")
    return 0


def _train(text: Path, model: str, features: str, solver: str, *more: str) -> None:
    _run(["train", str(text), "-o", model, "--template", "chunking", "--quiet",
          "--dev", str(text), "--features", features, "--solver", solver,
          "--max-passes", "2", "--tol", "0", *more])  # fmt: skip


def _warm_up_crf(text: Path, model: str, solvers: Sequence[str]) -> None:
    json_lines = text.with_suffix(".jsonl")
    json_lines.write_text(JSON)
    for features in FEATURES:
        for solver in solvers:
            _train(text, model, features, solver, "--crf", "--scheme", "IOB2",
                   "--decoding", "posterior")  # fmt: skip
    _run(["tag", "-m", model, str(json_lines), "--format", "jsonl", "--nbest", "2"])
    _run(["eval", "-m", model, str(text)])


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


def _train_dense_crf(solver: str) -> None:
    """What ChainCRF does with arrays."""
    rows, lengths, numbers = np.eye(4), np.array([3, 1]), np.array([0, 1, 0, 1])
    problem = chain_problem(rows, lengths, numbers, n_states=2)
    objective = smoothed(problem)
    chosen: Any = named_crf_solver(solver, objective)
    solution = solve(objective, chosen, max_passes=2, tol=0, progress=False)
    model = ChainModel(LabelCodec([numbers]), problem.layout(), solution, temperature=1.0)
    n_best_labellings(model, Stacked(rows, lengths), 2)
    sampled_labellings(model, Stacked(rows, lengths), 1, np.random.RandomState(0))
