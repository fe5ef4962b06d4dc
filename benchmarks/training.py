"""Training speed of two trees in one run: does a change of the compiler cost anything?

Five trainings, each with a fixed number of passes, so that both trees do the same work: OCR letters
with corrective steps, CoNLL-2000 text as an SVM and as a CRF, Yeast's label sets without inference,
and horses by simplicial decomposition. Machine code is warm. Each tree trains in a process of its
own; they take turns, and CPU seconds of ``fit`` alone are compared, the least of ``--repeat`` each.

    python benchmarks/training.py --old ../old/src [--repeat 5] [--only OCR]
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"

HOW: dict[str, Any] = {"random_state": 0, "tol": 0.0, "verbose": False}


def ocr() -> Callable[[], Any]:
    from taut import ChainSVM
    from taut.datasets import load_ocr_letters

    X, y, fold = load_ocr_letters()
    words = [i for i in range(len(X)) if fold[i] == 0]
    X, y = [X[i] for i in words], [y[i] for i in words]
    return lambda: ChainSVM(solver="corrective", max_passes=15, **HOW).fit(X, y)


def conll(crf: bool) -> Callable[[], Any]:
    from taut import ChainCRF, ChainSVM
    from taut.datasets import load_conll2000

    X, y = load_conll2000(subset="train")
    X, y = X[:2000], y[:2000]
    make: Any = ChainCRF if crf else ChainSVM
    how = HOW | {"max_passes": 10, "template": "chunking"}
    if crf:
        how |= {"solver": "sdca", "C": 1.0}
    return lambda: make(**how).fit(X, y)


def yeast() -> Callable[[], Any]:
    from taut import MultilabelSVM
    from taut.datasets import load_mulan

    X, Y = load_mulan("yeast", subset="train")[:2]
    how = HOW | {"max_passes": 60, "solver": "soft-bcfw", "C": 0.3}
    return lambda: MultilabelSVM(**how).fit(X, Y)


def horses() -> Callable[[], Any]:
    from taut import GraphSVM
    from taut.datasets import load_horses

    data = load_horses(subset="train", n_images=60)
    how = HOW | {"max_passes": 12, "solver": "simplicial", "C": 0.1}
    model = GraphSVM(pairwise="potts", attractive=True, **how)
    return lambda: model.fit(data.graphs, data.labels)


TASKS: dict[str, Callable[[], Callable[[], Any]]] = {
    "OCR corrective": ocr,
    "CoNLL text": lambda: conll(False),
    "CoNLL CRF": lambda: conll(True),
    "Yeast soft": yeast,
    "horses simplicial": horses,
}


def child(name: str) -> None:
    """Train twice, the first time to compile; print the seconds of the second."""
    import warnings

    warnings.simplefilter("ignore")
    train = TASKS[name]()
    train()
    start = time.process_time()
    train()
    print(json.dumps(time.process_time() - start))


def seconds(name: str, source: str, cache: str) -> float:
    environment = {**os.environ, "PYTHONPATH": source, "TAUT_CACHE_DIR": cache}
    done = subprocess.run(
        [sys.executable, __file__, "--child", name],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{name} with {source}:\n{done.stderr}")
    return float(json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--old", required=True, help="the src folder of the other tree")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", default="", help="tasks whose name contains this")
    options = parser.parse_args()
    trees = {"old": options.old, "new": str(Path(__file__).parents[1] / "src")}
    print("| training | old CPU s | new CPU s | new / old |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        caches = {tree: str(Path(folder, tree)) for tree in trees}
        for name in TASKS:
            if options.only.lower() not in name.lower():
                continue
            found: dict[str, list[float]] = {tree: [] for tree in trees}
            for _ in range(options.repeat):
                for tree, source in trees.items():
                    found[tree].append(seconds(name, source, caches[tree]))
            old, new = min(found["old"]), min(found["new"])
            print(f"| {name} | {old:.2f} | {new:.2f} | {new / old:.2f} |", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2])
    else:
        main()
