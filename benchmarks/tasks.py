"""Every task by taut's presets and by python-crfsuite: score, CPU, memory, model size, tagging.

Each row is a program of its own, from a file to a saved model, and from the model and the test file
to tags; its CPU seconds (user and system) and its peak memory are what the system says of it. taut
is the command line: default, --fast, --exact, --crf. python-crfsuite gets the same attributes ready
made (`tasks_data.py`), so its rows have no cost of extraction, and taut's have.

taut's options are what they are by default: it never sees the dev file. python-crfsuite is tuned on
dev, or where a task has none on a fifth of train (then refitted on all of train):

    lbfgs    c1 and c2 of 0, 0.01, 0.1, 1: the 16 pairs on up to 60,000 tokens and for 150
             iterations at most, the three best again on all of the training part, for 500 at most
             (larger tasks: 30,000 tokens and 75 iterations; the two best again, for 300; with 57
             labels 40 iterations; the best one again, for 150; with hundreds it is only timed)
    pa, ap   1 to 30 iterations (10 for 508 labels): by accuracy on dev after each, or where spans
             are scored by nine trainings of 1, 2, 3, 5, 7, 10, 15, 20 and 30

"tuning" is what that took, CPU seconds of training and tagging dev; it is not part of "train".

Rows are kept in results/tasks.jsonl and name the commit; what is there is not measured again,
unless it is of taut and its source has changed. So an interrupted run goes on where it was.

    python benchmarks/tasks.py --only peers     the peers' rows; then --only taut; then
    python benchmarks/tasks.py --print          the markdown table
"""

import argparse
import json
import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

from _measure import HERE, Row, Rows, commit, run
from tasks_data import TASKS, gold, peer_file, read_labels, taut_file

from taut.metrics import span_f1, token_accuracy

WORK = HERE / "results" / "work"
ROWS = HERE / "results" / "tasks.jsonl"
TAUT = [sys.executable, "-m", "taut"]
PEER = [sys.executable, str(HERE / "peers_attributes.py")]
METHODS = {
    "taut": (),
    "taut --fast": ("--fast",),
    "taut --exact": ("--exact",),
    "taut --crf": ("--crf",),
    "taut --crf --fast": ("--crf", "--fast"),
}
HUNDREDS_OF_LABELS = ("french upos+feats", "portuguese upos+feats")


def methods_of(name: str) -> list[str]:
    fast_crf = "taut --crf --fast"
    return [m for m in METHODS if m != fast_crf or name in HUNDREDS_OF_LABELS]


PEERS = ("lbfgs", "pa", "ap")
GRID = (0.0, 0.01, 0.1, 1.0)
# How lbfgs is tuned: iterations on few tokens, how many of the best again, and for how long.
EFFORT = {
    **dict.fromkeys(("addresses", "letters", "names (WNUT-17)"), (150, 3, 500)),
    "dutch upos+feats": (40, 1, 150),
}
USUAL_EFFORT = (75, 2, 300)
SPAN_ITERATIONS = (1, 2, 3, 5, 7, 10, 15, 20, 30)
# Where a pass of the peer takes most of a minute, there are fewer of them.
MOST_ITERATIONS = {"portuguese upos+feats": 10, "1,000 labels": 3}
# Where an iteration of lbfgs takes so long that tuning it would take hours, it is only timed.
ONLY_TIMED = ("french upos+feats", "portuguese upos+feats")
NOT_HERE = ("1,000 labels",)  # that is a task of labels.py


def folder(name: str) -> Path:
    return WORK / "".join(c if c.isalnum() else "_" for c in name)


def prepare(name: str, addresses: Path | None) -> None:
    extra = [] if addresses is None else [str(addresses)]
    run([sys.executable, str(HERE / "tasks_data.py"), name, str(folder(name)), *extra])


def score(name: str, split: str, tagged: Path) -> float:
    """In percent."""
    true, predicted = gold(name, split, folder(name)), read_labels(tagged)
    measure = span_f1 if TASKS[name].metric == "span F1" else token_accuracy
    return 100 * float(measure(true, predicted))


# --- python-crfsuite ------------------------------------------------------------------------------


def peer_train(
    name: str, algorithm: str, part: str, options: Row, held_out: bool = False, lists: bool = False
) -> Row:
    at = folder(name)
    command = [*PEER, "train", str(peer_file(part, at)), str(at / "peer.model")]
    command += ["--algorithm", algorithm, "--options", json.dumps(options)]
    if held_out:
        command += ["--held-out", str(peer_file("dev", at))]
    command += ["--lists"] * lists
    cost = run(command)
    return {"train_cpu": cost.seconds, "train_mb": cost.megabytes, **json.loads(cost.output)}


def peer_tag(name: str, split: str) -> Row:
    at = folder(name)
    tagged = at / "peer.tagged"
    command = [*PEER, "tag", str(peer_file(split, at)), str(at / "peer.model")]
    cost = run([*command, "--output", str(tagged)])
    return {"tag_cpu": cost.seconds, "score": score(name, split, tagged)}


def trial(rows: Rows, name: str, algorithm: str, part: str, options: Row) -> Row:
    """A training whose score on dev is one of those that options are chosen by."""

    def measure() -> Row:
        row = peer_train(name, algorithm, part, options)
        n_iterations = len(row.pop("iterations"))
        return {**row, **peer_tag(name, "dev"), "n_iterations": n_iterations}

    key = {"kind": "trial", "task": name, "method": algorithm, "part": part, "options": options}
    return rows.measured(key, measure)


def curve(rows: Rows, name: str, algorithm: str) -> Row:
    """One training whose accuracy on dev is known after each iteration."""
    options = {"max_iterations": MOST_ITERATIONS.get(name, 30)}
    key = {"kind": "curve", "task": name, "method": algorithm, "options": options}
    return rows.measured(key, lambda: peer_train(name, algorithm, "part", options, held_out=True))


def tuned(rows: Rows, name: str, algorithm: str) -> tuple[Row, float]:
    """The options that are best on dev, and the CPU seconds that finding them took."""
    if algorithm == "lbfgs":
        few_iterations, n_again, most = EFFORT.get(name, USUAL_EFFORT)
        cap = {"max_iterations": few_iterations}
        tried = [
            trial(rows, name, algorithm, "few", {"c1": c1, "c2": c2, **cap})
            for c1, c2 in product(GRID, GRID)
        ]
        best = sorted(tried, key=lambda row: -row["score"])[:n_again]
        again = [
            trial(rows, name, algorithm, "part",
                  {**row["options"], "max_iterations": most})
            for row in best
        ]  # fmt: skip
        chosen = max(again, key=lambda row: row["score"])["options"]
        tried += again
    elif TASKS[name].metric == "span F1":
        tried = [
            trial(rows, name, algorithm, "part", {"max_iterations": n}) for n in SPAN_ITERATIONS
        ]
        chosen = max(tried, key=lambda row: row["score"])["options"]
    else:
        found = curve(rows, name, algorithm)
        accuracies = found["accuracies"]
        return {"max_iterations": accuracies.index(max(accuracies)) + 1}, found["train_cpu"]
    return chosen, sum(row["train_cpu"] + row["tag_cpu"] for row in tried)


def peer_row(rows: Rows, name: str, algorithm: str) -> Row:
    key = {"kind": "final", "task": name, "method": algorithm}
    if algorithm == "lbfgs" and name in ONLY_TIMED:
        return rows.measured(
            key | {"kind": "timed"},
            lambda: peer_train(name, algorithm, "train", {"max_iterations": 2, "c2": 1.0}),
        )

    def measure() -> Row:
        options, tuning = tuned(rows, name, algorithm)
        trained = peer_train(name, algorithm, "train", options)
        size = (folder(name) / "peer.model").stat().st_size / 1e6
        n_iterations = len(trained.pop("iterations"))
        more = {"n_iterations": n_iterations, "model_mb": size, "tuning_cpu": tuning}
        return {"options": options, **trained, **more, **peer_tag(name, "test")}

    return rows.measured(key, measure)


# --- taut -----------------------------------------------------------------------------------------


def taut_train(name: str, options: Sequence[str]) -> tuple[Row, Path]:
    """Train by a program that has been compiled."""
    at, model = folder(name), folder(name) / "taut.model"
    command = [*TAUT, "train", str(taut_file(name, "train", at)), "-o", str(model)]
    command += [*TASKS[name].options, *options]
    run([*command, "--max-passes", "1", "--quiet"])
    cost = run([*command, "--json"])
    about = json.loads(cost.output)["certificate"]
    kept = {key: about[key] for key in ("status", "passes", "relative_gap", "C", "solver")}
    size = model.stat().st_size / 1e6
    row = {"train_cpu": cost.seconds, "train_mb": cost.megabytes, "model_mb": size, **kept}
    return row, model


def taut_score(name: str, split: str, model: Path) -> float:
    command = [*TAUT, "eval", "-m", str(model), str(taut_file(name, split, folder(name)))]
    report = json.loads(run([*command, "--json"]).output)
    spans = TASKS[name].metric == "span F1"
    return 100 * float(report["micro"]["f1"] if spans else report["token_accuracy"])


def taut_row(rows: Rows, name: str, method: str) -> Row:
    def measure() -> Row:
        row, model = taut_train(name, METHODS[method])
        test, tagged = taut_file(name, "test", folder(name)), folder(name) / "taut.tagged"
        command = [*TAUT, "tag", "-m", str(model), str(test), "-o", str(tagged)]
        run(command)
        return {**row, "tag_cpu": run(command).seconds, "score": taut_score(name, "test", model)}

    return rows.measured(
        {"kind": "final", "task": name, "method": method, "commit": commit()}, measure
    )


# --- the table ------------------------------------------------------------------------------------


def print_table(rows: Rows, names: Sequence[str]) -> None:
    from common import table

    body: list[list[Any]] = []
    for name in names:
        first = name
        for method in (*METHODS, *PEERS):
            row = rows.find(kind="final", task=name, method=method)
            label = method if method in METHODS else f"python-crfsuite {method}"
            if row is not None:
                body.append([first, label, f"{row['score']:.2f}", *_figures(row), _note(row)])
            elif timed := rows.find(kind="timed", task=name, method=method):
                took = min(timed["iterations"])  # the first one looks for a length of step
                note = f"not run: one iteration takes {took:.3g} s"
                body.append([first, label, None, *[None] * 5, note])
            else:
                continue
            first = ""
    table(["task", "method", "score", "train CPU s", "peak MB", "model MB", "tag CPU s",
           "tuning CPU s", "note"], body)  # fmt: skip
    used = [row for name in names for row in rows.all(kind="final", task=name)]
    print("commits:", ", ".join(sorted({row["commit"] for row in used if "taut" in row["method"]})))
    print("dates:", ", ".join(sorted({row["date"] for row in used})))


def _figures(row: Row) -> list[Any]:
    names = ("train_cpu", "train_mb", "model_mb", "tag_cpu", "tuning_cpu")
    return [row.get(name) for name in names]


def _note(row: Row) -> str:
    if "taut" in row["method"]:
        return f"{row['passes']:.0f} passes"
    options = dict(row["options"])
    options.pop("max_iterations")
    shown = [f"{name} {value:g}" for name, value in options.items()]
    return ", ".join([*shown, f"{row['n_iterations']} iterations"])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    names = [name for name in TASKS if name not in NOT_HERE]
    parser.add_argument("tasks", nargs="*", default=names, metavar="TASK",
                        help=f"default: all of {', '.join(names)}")  # fmt: skip
    parser.add_argument("--only", choices=("peers", "taut"))
    parser.add_argument("--addresses", type=Path, metavar="FOLDER",
                        help="a checkout of github.com/datamade/usaddress; without it that task is "
                             "left out")  # fmt: skip
    parser.add_argument("--quick", action="store_true", help="addresses and letters alone")
    parser.add_argument("--print", action="store_true", help="the table of what is there")
    given = parser.parse_args()
    unknown = [name for name in given.tasks if name not in names]
    if unknown:
        parser.error(f"unknown task {unknown[0]!r}; choose from {', '.join(names)}")
    if given.quick:
        given.tasks = [name for name in given.tasks if name in ("addresses", "letters")]
    if given.addresses is None and not (folder("addresses") / "complete").exists():
        given.tasks = [name for name in given.tasks if name != "addresses"]
    rows = Rows(ROWS)
    for name in () if given.print else given.tasks:
        prepare(name, given.addresses)
        for algorithm in PEERS if given.only != "taut" else ():
            peer_row(rows, name, algorithm)
        for method in methods_of(name) if given.only != "peers" else ():
            taut_row(rows, name, method)
    print_table(rows, given.tasks)


if __name__ == "__main__":
    main()
