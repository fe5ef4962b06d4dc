"""Conditional random fields against python-crfsuite: time to its F1, objective, gap, marginals.

Why: most users of CRFsuite want probabilities, and wait for its L-BFGS. Both learners see the same
attributes, the same pairs of attribute and label, all transitions and the same objective (c2 = 1,
that is C = 1/2), in one process. CRFsuite's time is all of its ``train``; taut's is building the
problem, passes and certificates. Scoring the test set after every pass is not counted.

1. CoNLL-2000: until which pass is the test F1 within 0.1 of CRFsuite's final one, and stays there?
   With one thread in CPU seconds; with two in wall seconds, against CRFsuite's wall seconds (it has
   one thread): run that part on a quiet machine.
2. Passes and seconds to a relative gap, by solver and order of the examples; CoNLL-2000 and OCR.
3. Probabilities of all labels of the test set.

Targets: 8 times sooner; objectives equal to 1e-5.
"""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import common  # first: it limits threads before numpy starts
import conll
import numpy as np
import peers_conll
import pycrfsuite
from common import cpu_seconds, ocr_problem, part, score_chunks, table

from taut.posterior import posterior
from taut.solvers import LBFGS, SDCA
from taut.solvers.objective import Objective
from taut.structures.chain import chain_problem
from taut.structures.features import node_features
from taut.structures.features_build import with_weights_of
from taut.structures.pairwise import Pairwise
from taut.structures.smoothed import smoothed

C2 = 1.0
C = 1.0 / (2.0 * C2)
WITHIN = 0.1
GAPS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
SAME_FEATURES = {"c1": 0.0, "c2": C2, "feature.possible_transitions": True}


def problem_of(data: conll.Encoded) -> Pairwise:
    """What CRFsuite trains: observed pairs, all transitions, no bias beyond the attributes."""
    lengths = np.diff(data.train.pointers)
    return chain_problem(
        data.train.X, lengths, data.train.tags, data.n_train_tags,
        observed=True, bias=False, boundary=False,
    )  # fmt: skip


def new_run(problem: Pairwise, solver: Any, n_threads: int = 1, C: float = C) -> Any:
    return solver.start(smoothed(problem), Objective(C, seed=0, n_threads=n_threads))


def certificates(run: Any) -> Iterator[tuple[float, Any]]:
    """(passes, certificate or None) after every pass; the caller decides when to stop."""
    worst = run.worst_losses(cold=True)
    yield 0.0, run.first_certificate(worst, cold=True)
    while True:
        run.advance(run.n)
        due = round(run.passes) % run.solver.check_every == 0
        yield run.passes, run.certify() if due else None


def ours(data: conll.Encoded, solver: Any, target: float, n_threads: int, patience: int) -> dict:
    """Train until F1 has stayed at the target for ``patience`` passes; from when on did it?"""
    new_run(problem_of(data), solver, n_threads).compile()
    clock = time.process_time if n_threads == 1 else time.perf_counter
    start = clock()
    problem = problem_of(data)
    run = new_run(problem, solver, n_threads)
    steps = certificates(run)
    spent, reached = clock() - start, None
    while True:
        start = clock()
        passes, _ = next(steps)
        spent += clock() - start
        f1 = score_chunks(problem, run.state.w, data.test, data).f1
        if f1 < target - WITHIN:
            reached = None
        elif reached is None:
            reached = {"passes": passes, "seconds": spent, "f1": f1}
        if passes >= 300 or (reached and passes >= reached["passes"] + patience):
            break
    found = reached or {"passes": np.nan, "seconds": np.nan, "f1": f1}
    last = run.certify()
    return {**found, "last": f1, "objective": last.primal * run.n,
            "relative_gap": last.gap / _scale(run)}  # fmt: skip


def _scale(run: Any) -> float:
    return float(run.importance @ run.worst_losses(cold=False)) / run.n


def time_to_f1(data: conll.Encoded, peer_data: peers_conll.Data, quick: bool) -> None:
    settings = {"same features": SAME_FEATURES, "its defaults": {"c1": 0.0, "c2": C2}}
    peers = {name: peers_conll.run("lbfgs", params, peer_data) for name, params in settings.items()}
    target = peers["same features"]["f1"]
    fastest = {
        clock: min(figures[clock] for figures in peers.values())
        for clock in ("train_seconds", "train_wall_seconds")
    }
    rows = [
        [f"crfsuite lbfgs, {name}", 1, figures["iterations"], figures["train_seconds"],
         f"{figures['f1']:.2f}", None, f"{figures['f1']:.2f}", f"{figures['loss']:.2f}", None]
        for name, figures in peers.items()
    ]  # fmt: skip
    for name, solver, n_threads in (
        ("SDCA", SDCA(), 1), ("SDCA", SDCA(), 2), ("L-BFGS", LBFGS(), 1), ("L-BFGS", LBFGS(), 2),
    ):  # fmt: skip
        found = ours(data, solver, target, n_threads, 5 if quick else 20)
        clock = "train_seconds" if n_threads == 1 else "train_wall_seconds"
        rows.append([
            f"taut {name}", n_threads, found["passes"], found["seconds"], f"{found['f1']:.2f}",
            fastest[clock] / found["seconds"], f"{found['last']:.2f}",
            f"{found['objective']:.2f}", f"{found['relative_gap']:.1e}",
        ])  # fmt: skip
    table(
        ["", "threads", "passes", "seconds", "F1", "times sooner", "F1 later", "objective",
         "relative gap"],
        rows,
    )  # fmt: skip


def passes_to_gap(name: str, problem: Pairwise, C: float, limit: float) -> None:
    """Passes and CPU seconds until each relative gap."""
    rows = []
    for label, solver in {
        "SDCA, gap": SDCA(refresh=2),
        "SDCA, permuted": SDCA(order="permuted", refresh=2),
        "SDCA, uniform": SDCA(order="uniform", refresh=2),
        "L-BFGS": LBFGS(),
    }.items():
        run = new_run(problem, solver, C=C)
        run.compile()
        scale, spent, reached = _scale(run), 0.0, {}
        steps = certificates(run)
        while spent < limit and len(reached) < len(GAPS):
            with cpu_seconds() as seconds:
                passes, certificate = next(steps)
            spent += seconds()
            if certificate is None:
                continue
            for gap in GAPS:
                if gap not in reached and certificate.gap <= gap * scale:
                    reached[gap] = f"{passes:.0f} ({spent:.2g} s)"
        rows.append([label, *(reached.get(gap) for gap in GAPS)])
    print(f"{name}, C = {C:g}: passes (CPU seconds) to a relative gap")
    table(["", *(f"{gap:g}" for gap in GAPS)], rows)


def probabilities(data: conll.Encoded, peer_data: peers_conll.Data) -> None:
    """All marginals of the test set, from attributes that are numbered or, for CRFsuite, set."""
    problem = problem_of(data)
    run = new_run(problem, SDCA())
    for _ in range(3):
        run.advance(run.n)
    features = with_weights_of(node_features(data.test.X), problem.features)
    test = problem.for_prediction(features, np.diff(data.test.pointers), None)
    posterior(test, run.state.w, 1.0)
    with cpu_seconds() as seconds:
        node, _ = posterior(test, run.state.w, 1.0)
    taut_seconds = seconds()
    trainer = pycrfsuite.Trainer("lbfgs", {**SAME_FEATURES, "max_iterations": 3}, verbose=False)
    for attributes, tags in zip(peer_data.train_attributes, peer_data.train_tags, strict=True):
        trainer.append(attributes, tags)
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model.crfsuite"
        trainer.train(str(model))
        with pycrfsuite.Tagger().open(str(model)) as tagger:
            labels, spent = tagger.labels(), 0.0
            for attributes in peer_data.test_attributes:
                tagger.set(attributes)
                with cpu_seconds() as seconds:
                    for t in range(len(attributes)):
                        for label in labels:
                            tagger.marginal(label, t)
                spent += seconds()
    table(
        ["marginals of the test set", "CPU s", "tokens / s"],
        [["taut", taut_seconds, len(node) / taut_seconds],
         ["python-crfsuite, after set()", spent, len(node) / spent]],
    )  # fmt: skip


def main() -> None:
    options = common.arguments(__doc__)
    train, test = conll.read("train"), conll.read("test")
    if options.quick:
        train = train[:1500]
    data = conll.encode(train, test, None if options.quick else conll.N_ATTRIBUTES)
    peer_data = peers_conll.Data(
        conll.attribute_strings(train), [sentence.tags for sentence in train],
        conll.attribute_strings(test), [sentence.tags for sentence in test],
    )  # fmt: skip
    time_to_f1(data, peer_data, options.quick)
    limit = 10.0 if options.quick else 60.0
    few = data._replace(train=part(data.train, np.arange(min(1500, len(train)))))
    passes_to_gap("CoNLL-2000, 1,500 sentences", problem_of(few), C, limit)
    passes_to_gap("OCR letters, fold 0", ocr_problem(), 1.0, limit)
    probabilities(data, peer_data)


if __name__ == "__main__":
    main()
