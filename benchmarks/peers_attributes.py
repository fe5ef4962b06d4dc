"""python-crfsuite on files of ready attributes, as a program whose CPU time and memory are its own.

A line is a token: its label and its attributes, apart by tabs; an empty line ends a sequence.

    train DATA MODEL [--algorithm lbfgs] [--options JSON] [--held-out FILE]
    tag DATA MODEL --output FILE

``train`` prints the CPU seconds before and in training and those of each iteration. CRFsuite's
clock stops while held-out data are scored; with such a file each iteration has its accuracy, too.
"""

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pycrfsuite

TRAIN, HELD_OUT = 0, 1


def sequences(path: Path) -> Iterator[tuple[list[list[str]], list[str]]]:
    """One at a time: CRFsuite keeps numbers, so the strings need not stay."""
    attributes: list[list[str]] = []
    labels: list[str] = []
    with open(path, encoding="utf-8", newline="\n") as file:
        for line in file:
            if line == "\n":
                yield attributes, labels
                attributes, labels = [], []
            else:
                label, *names = line.rstrip("\n").split("\t")
                labels.append(label)
                attributes.append(names)


def train(given: argparse.Namespace) -> dict[str, Any]:
    trainer = pycrfsuite.Trainer(given.algorithm, given.options, verbose=False)
    for x, y in sequences(given.data):
        trainer.append(x, y, TRAIN)
    for x, y in sequences(given.held_out) if given.held_out else ():
        trainer.append(x, y, HELD_OUT)
    start = time.process_time()
    trainer.train(str(given.model), HELD_OUT if given.held_out else -1)
    log = trainer.logparser
    return {
        "before": start,
        "training": time.process_time() - start,
        "iterations": [entry["time"] for entry in log.iterations],
        "accuracies": [100 * e["item_accuracy_float"] for e in log.iterations if given.held_out],
    }


def tag(given: argparse.Namespace) -> dict[str, Any]:
    tagger = pycrfsuite.Tagger()
    tagger.open(str(given.model))
    with open(given.output, "w", encoding="utf-8", newline="\n") as file:
        for x, _ in sequences(given.data):
            file.write("\n".join(tagger.tag(x)) + "\n\n")
    return {}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=("train", "tag"))
    parser.add_argument("data", type=Path)
    parser.add_argument("model", type=Path)
    parser.add_argument("--algorithm", default="lbfgs")
    parser.add_argument("--options", type=json.loads, default={})
    parser.add_argument("--held-out", type=Path)
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    print(json.dumps({"train": train, "tag": tag}[given.command](given)))


if __name__ == "__main__":
    main()
