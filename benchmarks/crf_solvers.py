"""SDCA or L-BFGS for a CRF? Seconds of both to the default tolerance, and what ``"auto"`` takes.

Why: each is many times slower than the other somewhere, and which is where depends on C, on the l1
norm and on the data. The rule in ``taut.choice.auto`` may use only what is known before training;
this shows that quantity, the pull C |features of a labelling|^2 / temperature, beside the seconds.

Chunks, names, parts of speech and letters, 300 sequences of the training parts each; also the same
in few long sequences; made-up rows of a table, and steps of long series. CPU seconds of one thread,
certificates included, building the problem not; ``> s`` stands for a run not done by then.
"""

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import common  # first: it limits threads before numpy starts
import conll
import numpy as np
from common import cpu_seconds, table

from taut import LBFGS, SDCA, ChainCRF, solve
from taut.choice.named import named_solver
from taut.datasets import data_home, load_ocr_letters
from taut.prepared import Prepared

Labelled = tuple[list, list]  # sequences, their labels
CS, L1S = (1.0, 10.0, 100.0), (0.0, 1.0)


def chunks(n: int) -> Labelled:
    sentences = chosen(conll.read("train"), n)
    return [list(zip(s.words, s.pos, strict=True)) for s in sentences], [s.tags for s in sentences]


def names(n: int) -> Labelled:
    return tokens("ner/wnut17_train.conll.gz", n, word=0, label=1)


def parts_of_speech(n: int) -> Labelled:
    return tokens("ud/nl_lassysmall-ud-train.conllu.gz", n, word=1, label=3)


def tokens(file: str, n: int, word: int, label: int) -> Labelled:
    text = gzip.decompress((Path(data_home()) / file).read_bytes()).decode()
    sentences = [
        [line.split("\t") for line in block.splitlines() if not line.startswith("#")]
        for block in text.strip().split("\n\n")
    ]
    sentences = chosen([rows for rows in sentences if rows], n)
    words = [[(row[word],) for row in rows] for rows in sentences]
    return words, [[row[label] for row in rows] for rows in sentences]


def letters(n: int) -> Labelled:
    X, y, fold = load_ocr_letters()
    train = chosen(np.flatnonzero(fold == 0), n)
    return [X[i] for i in train], [y[i] for i in train]


def chosen(items: Any, n: int) -> list:
    order = np.random.default_rng(0).permutation(len(items))[:n]
    return [items[i] for i in order]


def made_up(n: int, length: int, columns: int) -> Labelled:
    """Labels follow from the rows but for noise, which no weights explain."""
    random = np.random.default_rng(0)
    w = random.normal(size=(columns, 3))
    X = [random.normal(size=(length, columns)) for _ in range(n)]
    return X, [(rows @ w + random.normal(size=(length, 3))).argmax(axis=1) for rows in X]


def joined(data: Labelled, size: int) -> Labelled:
    """So many sequences are one."""
    groups = [range(i, min(i + size, len(data[0]))) for i in range(0, len(data[0]), size)]
    return tuple([[row for i in group for row in part[i]] for group in groups] for part in data)


TASKS: dict[str, tuple[Callable[[], Labelled], str | None]] = {
    "chunks": (lambda: chunks(300), "chunking"),
    "chunks, joined": (lambda: joined(chunks(300), 20), "chunking"),
    "names": (lambda: names(300), "ner"),
    "parts of speech": (lambda: parts_of_speech(300), "pos"),
    "letters": (lambda: letters(300), None),
    "letters, joined": (lambda: joined(letters(300), 20), None),
    "table": (lambda: made_up(2000, 1, 10), None),
    "series": (lambda: made_up(20, 2000, 5), None),
}


def prepared(data: Labelled, template: str | None) -> Prepared:
    X, y = data
    X = [np.array(rows) for rows in X] if template is None else X
    return ChainCRF(template=template, tol=1e-3, random_state=0, n_jobs=1).prepare(X, y)


def measure(problem: Prepared, solver: Any, limit: float, **options: float) -> tuple[float, str]:
    """CPU seconds, infinite if they were not enough, and as they are printed."""
    whole = problem.changed(cpu_limit=limit, progress=False, **options)
    with cpu_seconds() as seconds:
        solution = solve(whole.problem, solver, **whole.options)
    if solution.relative_gap > whole.options["tol"]:
        return np.inf, f"> {seconds():.1f}, {solution.passes:.0f}"
    return seconds(), f"{seconds():.2f}, {solution.passes:.0f}"


def compare(name: str, problem: Prepared, limit: float, cs: Any) -> tuple[float, float]:
    """Print a table; the seconds of what auto takes, and of the faster one."""
    base, rows, spent, best = problem.problem.base, [], 0.0, 0.0
    for l1 in L1S:
        for C in cs:
            found = {kind: measure(problem, kind(), limit, C=C, l1=l1) for kind in (SDCA, LBFGS)}
            auto = type(named_solver("auto", problem.problem, C=C, l1=l1))
            spent += min(found[auto][0], limit)
            best += min(limit, *(seconds for seconds, _ in found.values()))
            pull, shown = f"{C * base.mean_norm:.0f}", [text for _, text in found.values()]
            rows.append([l1, C, pull, *shown, auto.__name__])
    print(f"{name}: {base.n} sequences, {base.pointer[-1]} positions, {base.dim} weights")
    table(["l1", "C", "pull", "SDCA: seconds, passes", "L-BFGS", "auto"], rows)
    return spent, best


def main() -> None:
    options = common.arguments(__doc__, only={"nargs": "+", "default": list(TASKS)})
    limit, cs = (5.0, (1.0, 100.0)) if options.quick else (12.0, CS)
    rows = []
    for name in options.only:
        read, template = TASKS[name]
        rows.append([name, *compare(name, prepared(read(), template), limit, cs)])
    table(["CPU seconds, all C and l1", "auto", "the faster one each time"], rows)


if __name__ == "__main__":
    main()
