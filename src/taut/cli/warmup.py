"""``taut warmup``: run every command on next to nothing, so that all of their code is compiled."""

import time
import warnings
from argparse import Namespace
from contextlib import redirect_stdout
from io import BytesIO, TextIOWrapper
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from taut._compile import cache, places
from taut.choice.registry import (
    solver_names,
    trains_crfs,
    trains_svms,
    trains_without_inference,
)
from taut.cli import INTERRUPTED, TERMINATED, Terminated, main

TEXT = "the DT B-NP\ncat NN I-NP\nsleeps VBZ B-VP\n\ndogs NNS B-NP\nsee VBP B-VP\nit PRP B-NP\n\n"
JSON = '{"tokens": [["the", "DT"], ["cat", "NN"]]}\n'
WEIGHTS = ("all", "observed")  # of few labels and of many
METHODS = ("exhaustive", "graph-cut", "roof-duality", "message-passing")


def run(options: Namespace) -> int:
    if options.list:
        return _list()
    start = time.perf_counter()
    with TemporaryDirectory(prefix="taut-warmup-") as folder:
        text, model = Path(folder, "text"), str(Path(folder, "model"))
        text.write_text(TEXT)
        for kind in WEIGHTS:
            _train(text, model, kind, "averaged", "--transitions", kind)
            _run(["tag", "-m", model, str(text)])
        _run(["eval", "-m", model, str(text)])
        if options.crf or options.all:
            _warm_up_crf(text, model, "sdca")
    if options.all:
        with warnings.catch_warnings():  # two passes prove little
            warnings.simplefilter("ignore")
            _fit_everything()
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
        when = "used today" if days == 0 else f"used {days} day{'s' * (days > 1)} ago"
        print(f"{size / 1024:7.1f} KiB  {when:18}  {what.partition('(')[0]}")
    total = sum(size for _, size, _ in found) / 2**20
    where = " and ".join(map(str, places.folders())) or "no folder: there is none to be had"
    print(f"{len(found)} pieces of machine code, {total:.1f} MiB, in {where}")
    return 0


def _train(text: Path, model: str, features: str, solver: str, *more: str) -> None:
    _run(["train", str(text), "-o", model, "--template", "chunking", "--quiet",
          "--dev", str(text), "--features", features, "--solver", solver,
          "--max-passes", "2", "--tol", "0", *more])  # fmt: skip


def _warm_up_crf(text: Path, model: str, solver: str) -> None:
    json_lines = text.with_suffix(".jsonl")
    json_lines.write_text(JSON)
    for kind in WEIGHTS:
        _train(text, model, kind, solver, "--crf", "--scheme", "IOB2",
               "--decoding", "posterior", "--transitions", kind)  # fmt: skip
        _run(["tag", "-m", model, str(json_lines), "--format", "jsonl", "--nbest", "2"])
        _run(["eval", "-m", model, str(text)])


def _run(arguments: list[str]) -> None:
    """A command whose output nobody wants to see."""
    with redirect_stdout(TextIOWrapper(BytesIO())):
        code = main(arguments)
    if code == INTERRUPTED:
        raise KeyboardInterrupt
    if code == TERMINATED:
        raise Terminated
    if code:
        raise ValueError(f"taut {arguments[0]} does not work here; see above")


def _fit_everything() -> None:
    """Every estimator, and every solver by one of them."""
    import taut

    few: dict[str, Any] = dict(C=0.1, tol=0.0, max_passes=2, random_state=0, verbose=False)
    rows, numbers = np.eye(4)[:, :3], [0, 1, 2, 0]
    chains, labels = [rows, rows[:2]], [numbers, numbers[:2]]
    path = np.array([[0, 1], [1, 2], [2, 3]])
    ring = np.concatenate([path, [[3, 0]]])
    rings, paths = [(rows, ring)] * 2, [(rows, path)] * 2
    two, sets = [0, 1, 1, 0], np.array([[0, 1, 1], [1, 1, 0], [0, 0, 1], [1, 0, 0]])
    for solver in solver_names(trains_svms):
        taut.ChainSVM(solver=solver, **few).fit(chains, labels)
    taut.ChainSVM(transitions="observed", solver="corrective", **few).fit(chains, labels)
    for solver in solver_names(trains_crfs):
        crf = taut.ChainCRF(solver=solver, **few).fit(chains, labels)
        crf.predict_proba(chains)
        crf.predict_nbest(chains, 2)
        crf.sample(chains, random_state=0)
    for solver in solver_names(trains_without_inference):
        taut.GraphSVM(solver=solver, **few).fit(rings, [numbers] * 2)
    for inference in METHODS:
        binary = taut.GraphSVM(pairwise="potts", attractive=True, inference=inference, **few)
        binary.fit(rings, [two] * 2).predict(rings)
    taut.GraphSVM(pairwise="potts", **few).fit(rings, [numbers] * 2).predict(rings)
    taut.GraphSVM(**few).fit(paths, [numbers] * 2).predict(paths)
    taut.GraphCRF(**few).fit(rings, [numbers] * 2).predict(rings)
    taut.TreeCRF(**few).fit(paths, [numbers] * 2).predict(paths)
    taut.MultilabelSVM(**few).fit(rows, sets).predict(rows)
    taut.MulticlassSVM(**few).fit(rows, numbers).predict(rows)
    taut.MulticlassSVM(formulation="slack", **few).fit(rows, numbers)
    taut.ChainSVM(formulation="slack", **few).fit(chains, labels)
    search: Any = taut.ChainSVMCV
    search(cv=2, random_state=0, verbose=False).fit(chains * 2, labels * 2)
