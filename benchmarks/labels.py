"""Hundreds and thousands of labels: memory, and CPU seconds to the accuracy of python-crfsuite.

UPOS+FEATS of Portuguese (508 labels) and French (245), and generated text with 1,000 labels
(`synthetic_labels.py`). CRFsuite's averaged perceptron (ap) and passive-aggressive (pa) learn
rather quickly where L-BFGS would take hours. Each is a program of its own, as in `tasks.py`, whose
file of rows is shared: the final rows are the same.

Targets: peak memory <= 1.5 times CRFsuite's, CPU to its accuracy <= 1/3, accuracy at least equal;
1,000 labels in <= 4 GB.

CRFsuite's accuracy on dev is known after each iteration of one run. Its CPU seconds to there are
the share that its log gives these iterations, without the scoring, of the seconds of the final
run, which has as many iterations as were best on dev. taut is trained anew for at most 1, 2, 4, ...
32 passes; it stops by itself where it would otherwise. The test file is looked at in the final rows
alone.

CRFsuite's program reads its file as a stream. "peak MB of lists" is its memory where all strings
are in lists first, as its tutorials do. A program of taut never takes less than some 200 MB.

    python benchmarks/labels.py --only peers     the peers' rows; then --only taut; then
    python benchmarks/labels.py --print          the markdown tables
"""

import argparse
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from _measure import Row, Rows, commit
from tasks import (
    METHODS,
    ROWS,
    curve,
    peer_row,
    peer_train,
    prepare,
    taut_row,
    taut_score,
    taut_train,
)

NAMES = ("portuguese upos+feats", "french upos+feats", "1,000 labels")
OURS = ("taut", "taut --crf")
PASSES = (1, 2, 4, 8, 12, 16, 20, 24, 32)
# Of CRFs with 1,000 labels fewer are measured, and no model to the default tolerance.
FEW_PASSES = {"1,000 labels": (1, 2, 4, 8)}
SHOWN = (1, 2, 3, 4, 5, 8, 10, 12, 16, 20, 24, 30, 32)
# What is worth its time: with 1,000 labels an iteration of either takes as long.
PEERS = {"1,000 labels": ("ap",)}


class Point(NamedTuple):
    passes: int
    seconds: float  # CPU, of the whole program
    accuracy: float  # on dev


def peers_of(name: str) -> tuple[str, ...]:
    return PEERS.get(name, ("pa", "ap"))


# --- measuring ------------------------------------------------------------------------------------


def taut_passes(rows: Rows, name: str, method: str, passes: int) -> Row:
    def measure() -> Row:
        row, model = taut_train(name, (*METHODS[method], "--max-passes", str(passes)))
        return {**row, "score": taut_score(name, "dev", model)}

    key = {"kind": "passes", "task": name, "method": method, "max_passes": passes}
    return rows.measured({**key, "commit": commit()}, measure)


def peer_lists(rows: Rows, name: str, algorithm: str) -> Row:
    """Memory where all strings are in lists first; more iterations would need no more."""
    options = {"max_iterations": 1}
    key = {"kind": "lists", "task": name, "method": algorithm}
    return rows.measured(key, lambda: peer_train(name, algorithm, "train", options, lists=True))


def measure(rows: Rows, name: str, only: str | None) -> None:
    prepare(name, None)
    if only != "taut":
        for algorithm in peers_of(name):
            peer_row(rows, name, algorithm)
            peer_lists(rows, name, algorithm)
    if only != "peers":
        for method in OURS:
            few = FEW_PASSES.get(name) if method == "taut --crf" else None
            for passes in few or PASSES:
                taut_passes(rows, name, method, passes)
            if few is None:
                taut_row(rows, name, method)


# --- the tables -----------------------------------------------------------------------------------


def peer_points(rows: Rows, name: str, algorithm: str) -> list[Point]:
    final = rows.find(kind="final", task=name, method=algorithm)
    if final is None:
        return []
    found = curve(rows, name, algorithm)
    seconds = list(accumulate(found["iterations"]))
    # One of the two runs may have been disturbed more: all seconds are in those of the final one.
    of_final = final["training"] / seconds[final["options"]["max_iterations"] - 1]
    outside = final["train_cpu"] - final["training"]
    return [
        Point(i + 1, outside + of_final * taken, accuracy)
        for i, (taken, accuracy) in enumerate(zip(seconds, found["accuracies"], strict=True))
    ]


def taut_points(rows: Rows, name: str, method: str) -> list[Point]:
    """Of the newest commit that has any."""
    newest = rows.find(kind="passes", task=name, method=method)
    if newest is None:
        return []
    same = rows.all(kind="passes", task=name, method=method, commit=newest["commit"])
    return [Point(round(row["passes"]), row["train_cpu"], row["score"]) for row in same]


def points(rows: Rows, name: str) -> dict[str, list[Point]]:
    found = {method: taut_points(rows, name, method) for method in OURS}
    found |= {algorithm: peer_points(rows, name, algorithm) for algorithm in peers_of(name)}
    return {method: some for method, some in found.items() if some}


def first_at(some: Sequence[Point], accuracy: float) -> Point | None:
    return next((point for point in some if point.accuracy >= accuracy), None)


def print_curves(name: str, found: dict[str, list[Point]]) -> None:
    from common import table

    columns = [n for n in SHOWN if any(p.passes == n for some in found.values() for p in some)]
    body = []
    for method, some in found.items():
        by_passes = {p.passes: f"{p.accuracy:.2f}, {p.seconds:.3g} s" for p in some}
        body.append([method, *(by_passes.get(n) for n in columns)])
    print(f"{name}: accuracy on dev and CPU seconds after so many passes")
    table(["", *map(str, columns)], body)


def print_summary(rows: Rows, name: str, found: dict[str, list[Point]]) -> None:
    """CPU seconds to the best accuracy of each peer, and in brackets the share of the peer's."""
    from common import table

    best = {a: max(found[a], key=lambda p: p.accuracy) for a in peers_of(name) if a in found}
    body: list[list[Any]] = []
    for method, some in found.items():
        final = rows.find(kind="final", task=name, method=method)
        reached = []
        for target in best.values():
            at = first_at(some, target.accuracy)
            share = at and at.seconds / target.seconds
            reached.append(f"{at.seconds:.3g} ({share:.2g})" if at else None)
        kept: list[Any] = [None] * 5
        if final is not None:
            keys = ("train_mb", "train_cpu", "model_mb", "tag_cpu")
            kept = [f"{final['score']:.2f}", *(final[key] for key in keys)]
        lists = rows.find(kind="lists", task=name, method=method)
        kept.append(lists and lists["train_mb"])
        body.append([method, f"{max(p.accuracy for p in some):.2f}", *reached, *kept])
    targets = [f"CPU s to {a}'s {target.accuracy:.2f}" for a, target in best.items()]
    print(f"{name}: best on dev, and the final models")
    table(["", "dev", *targets, "test", "peak MB", "train CPU s", "model MB", "tag CPU s",
           "peak MB of lists"], body)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("tasks", nargs="*", default=NAMES, metavar="TASK",
                        help=f"default: all of {', '.join(NAMES)}")  # fmt: skip
    parser.add_argument("--only", choices=("peers", "taut"))
    parser.add_argument("--quick", action="store_true", help="French alone")
    parser.add_argument("--print", action="store_true", help="the tables of what is there")
    given = parser.parse_args()
    unknown = [name for name in given.tasks if name not in NAMES]
    if unknown:
        parser.error(f"unknown task {unknown[0]!r}; choose from {', '.join(NAMES)}")
    rows = Rows(ROWS)
    for name in ("french upos+feats",) if given.quick else given.tasks:
        if not given.print:
            measure(rows, name, given.only)
        found = points(rows, name)
        if found:
            print_curves(name, found)
            print_summary(rows, name, found)


if __name__ == "__main__":
    main()
