"""All weights or the observed ones: what `features` and `transitions` change, on held-out data.

Two defaults depend on sizes: beyond 20 million weights only pairs of attribute and label that occur
are kept, beyond 50 labels only transitions that occur. Each task of ``tasks.py`` is trained on its
training part with all four choices and scored on dev (the test files stay closed): the share of
right labels, or F1 of spans. A choice that needs more than half of the memory is refused, which is
what "–" says.

    python benchmarks/observed.py [TASK...]     rows are kept in results/observed.jsonl
"""

import argparse
import json
import re
from itertools import product
from pathlib import Path
from typing import Any

from _measure import HERE, Row, Rows, commit, run
from common import table
from tasks import TAUT, folder, prepare
from tasks_data import TASKS, gold, peer_file, read_labels

from taut.metrics import span_f1, token_accuracy

CHOICES = ("all", "observed")
OWN = re.compile(r"\t(bias|__BOS__|__EOS__)(?=[\t\n])")  # what taut adds itself


def plain_file(name: str, split: str) -> Path:
    """The task's attributes, ready made, without those that every file of the peers has."""
    path = folder(name) / f"{split}.plain"
    if not path.exists():
        text = OWN.sub("", peer_file(split, folder(name)).read_text())
        path.write_text(text.replace("\\", "\\\\").replace(":", "\\:"))
    return path


def measure(name: str, features: str, transitions: str, solver: tuple[str, ...]) -> Row:
    model, tagged = folder(name) / "observed.model", folder(name) / "observed.tagged"
    command = [*TAUT, "train", str(plain_file(name, "part")), "-o", str(model), *solver]
    command += ["--format", "attributes", "--features", features, "--transitions", transitions]
    try:
        cost = run([*command, "--json"])
    except RuntimeError as refused:
        return {"refused": str(refused)}
    run([*TAUT, "tag", "-m", str(model), str(plain_file(name, "dev")), "-o", str(tagged)])
    about = json.loads(cost.output)["model"]
    measured = span_f1 if TASKS[name].metric == "span F1" else token_accuracy
    score = 100 * float(measured(gold(name, "dev", folder(name)), read_labels(tagged)))
    return {"score": score, "train_cpu": cost.seconds, "train_mb": cost.megabytes, "about": about}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    names = [name for name in TASKS if name != "1,000 labels"]
    parser.add_argument("tasks", nargs="*", default=names, metavar="TASK")
    parser.add_argument("--crf", action="store_true", help="CRFs (--crf --fast), not SVMs")
    given = parser.parse_args()
    solver = ("--crf", "--fast") if given.crf else ()
    rows, body = Rows(HERE / "results" / "observed.jsonl"), list[list[Any]]()
    for name in given.tasks:
        prepare(name, None)
        labels = {label for sequence in gold(name, "part", folder(name)) for label in sequence}
        cells: list[Any] = [name, len(labels)]
        found = [
            rows.measured(
                {"task": name, "features": features, "transitions": transitions,
                 "solver": list(solver), "commit": commit()},
                lambda name=name, f=features, t=transitions: measure(name, f, t, solver),
            )
            for features, transitions in product(CHOICES, CHOICES)
        ]  # fmt: skip
        for row in found:
            cells.append(f"{row['score']:.2f}" if "score" in row else None)
        for row in found:
            cells.append(f"{row['train_mb']:.0f}" if "score" in row else None)
        body.append(cells)
    kinds = [f"{features}, {transitions}" for features, transitions in product(CHOICES, CHOICES)]
    table(["task", "labels", *kinds, *(f"MB: {kind}" for kind in kinds)], body)


if __name__ == "__main__":
    main()
