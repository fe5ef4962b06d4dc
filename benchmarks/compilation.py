"""What compilation costs on a new machine, of this tree and, with ``--old``, of another one.

Machine code is made when it is first needed and kept in a cache folder. Every scenario begins with
an empty one, for each tree a folder of its own, and is a chain of steps that a user may well take
one after the other, so that a step pays only for what the steps before it did not compile:

A. chains: the first ``ChainSVM`` with dense features, then CSR features, then ``ChainCRF``, then
   another solver;
B. graphs: the first ``GraphSVM`` (Potts, three states, grids), then two states by graph cut, then
   ``MultilabelSVM``;
C. the command line: ``taut train`` on 200 sentences, and the same again; with an empty cache of its
   own ``taut train --crf``, and the same again;
D. a warm cache: in a new process with the cache of A, the import, and how much longer the first
   fit takes than a second one.

The steps of A and B run in one process each. Their CPU seconds are those of ``fit`` alone, on data
so small that training takes a few hundredths; numpy, scipy and scikit-learn are imported before,
and taut with numba is a step of its own. "Whole process" and the steps of C are user and system
seconds of the child, with all of its threads, from ``getrusage``. Old and new take turns, so that a
noisy neighbour hits both; with ``--repeat`` there are medians.

Each tree is copied to a temporary folder and its bytecode made there before anything is measured:
so nothing is written into a tree, and edits meanwhile change nothing. Nothing is imported of
``common``: it imports taut, and this process measures trees that may be broken.

    python benchmarks/compilation.py --old ../old/src [--only A D] [--repeat 3] [--only-old]
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any

from trajectories import table

HERE = Path(__file__).parents[1] / "src"
CHAINS = "ABCD"
# What a fit needs that is not taut's.
OTHERS = ("numpy", "scipy.sparse", "scipy.optimize", "scipy.special", "sklearn.base",
          "sklearn.utils.multiclass")  # fmt: skip
TAUT = ("taut.estimators", "taut.solvers", "taut.datasets")

Step = tuple[str, Callable[[], Any]]
Figures = dict[str, float]  # CPU seconds by step


# --- in the child: steps on small data ------------------------------------------------------------


def chain_data() -> tuple[list[Any], list[list[int]]]:
    import numpy as np

    random = np.random.default_rng(0)
    X = [random.normal(size=(8, 20)) for _ in range(50)]
    return X, [x.argmax(axis=1).tolist() for x in X]


def chain_svm(**options: Any) -> Any:
    from taut import ChainSVM

    return ChainSVM(**{"C": 0.1, "tol": 0.05, "random_state": 0, "verbose": False, **options})


def chain_crf() -> Any:
    from taut import ChainCRF

    return ChainCRF(C=0.1, tol=0.05, random_state=0, verbose=False)


def graph_svm(**options: Any) -> Any:
    from taut import GraphSVM

    return GraphSVM(**{"C": 0.1, "tol": 0.05, "random_state": 0, "verbose": False, **options})


def multilabel_svm() -> Any:
    from taut import MultilabelSVM

    return MultilabelSVM(C=0.1, tol=0.05, random_state=0, verbose=False)


def steps_of_chains() -> list[Step]:
    from scipy import sparse

    X, y = chain_data()
    rows = [sparse.csr_array(x * (x > 0)) for x in X]
    return [
        ("first ChainSVM, dense", lambda: chain_svm().fit(X, y)),
        ("then CSR", lambda: chain_svm().fit(rows, y)),
        ("then ChainCRF, dense", lambda: chain_crf().fit(X, y)),
        ('then solver="bcfw", dense', lambda: chain_svm(solver="bcfw").fit(X, y)),
    ]


def steps_of_graphs() -> list[Step]:
    import numpy as np

    from taut.datasets import make_gaussian_potts

    potts = make_gaussian_potts(10, size=4, n_states=3, random_state=0)
    binary = make_gaussian_potts(10, size=4, n_states=2, random_state=0)
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 6))
    Y = (X + random.normal(size=X.shape) > 0).astype(int)
    return [
        ("first GraphSVM, Potts", lambda: graph_svm().fit(*potts)),
        ("then two states, graph cut", lambda: graph_svm(attractive=True).fit(*binary)),
        ("then MultilabelSVM", lambda: multilabel_svm().fit(X, Y)),
    ]


def warm_steps() -> list[Step]:
    X, y = chain_data()
    return [("first", lambda: chain_svm().fit(X, y)), ("second", lambda: chain_svm().fit(X, y))]


STEPS: dict[str, Callable[[], list[Step]]] = {
    "A": steps_of_chains,
    "B": steps_of_graphs,
    "D": warm_steps,
}


def direction_of(solver: Any) -> list[str]:
    direction = getattr(solver, "direction", None)
    return [] if direction is None else [direction.name.lower()]


def run_child(chain: str) -> None:
    """Take the steps of a chain and print their CPU seconds, and which solver was taken."""
    for module in OTHERS:
        import_module(module)
    clock = time.process_time
    start = clock()
    for module in TAUT:
        import_module(module)
    print(json.dumps({"import taut": clock() - start}), flush=True)
    for name, fit in STEPS[chain]():
        start = clock()
        fitted = fit()
        seconds = clock() - start
        taken = fitted.solution_.solver
        solver = " ".join([type(taken).__name__, *direction_of(taken)])
        method = f" {inference}" if (inference := fitted.solution_.inference) else ""
        print(json.dumps({name: seconds, "about": f"{name}: {solver}{method}"}), flush=True)


# --- in the parent --------------------------------------------------------------------------------


def child(tree: Path, cache: Path, *command: str) -> tuple[str, float, str]:
    """Run Python with a tree and a cache: what it printed, its CPU seconds, and its error."""
    environment = {**os.environ, "PYTHONPATH": str(tree), "TAUT_CACHE_DIR": str(cache)}
    environment |= {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("PYTHONPYCACHEPREFIX", None)  # it would hide the bytecode of all packages
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, *command], env=environment, capture_output=True,
                          text=True, check=False)  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    error = "" if done.returncode == 0 else f"exit code {done.returncode}\n{done.stderr[-1500:]}"
    return done.stdout, seconds, error


def report(tree: Path, chain: str, error: str) -> None:
    if error:
        print(f"{tree}, {chain}: {error}", file=sys.stderr, flush=True)


def run_steps(tree: Path, cache: Path, chain: str, notes: set[str]) -> Figures:
    """A chain in one process of its own; steps after one that fails are missing."""
    printed, whole, error = child(tree, cache, __file__, "--child", chain)
    report(tree, chain, error)
    figures: Figures = {}
    for line in printed.splitlines():
        found = json.loads(line)
        notes |= {found.pop("about")} if "about" in found else set()
        figures |= found
    return figures if error else figures | {"whole process": whole}


def chains(tree: Path, folder: Path, notes: set[str]) -> Figures:
    """A, and D with its cache."""
    cold = run_steps(tree, folder, "A", notes)
    warm = run_steps(tree, folder, "D", set())
    figures = {f"A: {name}": seconds for name, seconds in cold.items()}
    if "import taut" in warm:
        figures["D: import taut, warm"] = warm["import taut"]
    if "second" in warm:
        figures["D: first fit minus second, warm"] = warm["first"] - warm["second"]
        figures["D: second fit"] = warm["second"]
    return figures


def graphs(tree: Path, folder: Path, notes: set[str]) -> Figures:
    found = run_steps(tree, folder, "B", notes)
    return {f"B: {name}": seconds for name, seconds in found.items()}


def command_line(tree: Path, folder: Path, notes: set[str]) -> Figures:
    figures: Figures = {}
    text = folder / "train.txt"
    write_text(tree, folder / "no cache", text)
    for name, options in (("taut train", []), ("taut train --crf", ["--crf"])):
        cache = folder / name.replace(" ", "")
        arguments = ["train", str(text), "-o", str(folder / "model.taut"), "--quiet"]
        arguments += ["--template", "chunking", "--scheme", "IOB2", *options]
        for when in ("first", "again"):
            _, seconds, error = child(tree, cache, "-m", "taut", *arguments)
            report(tree, "C", error)
            if not error:
                figures[f"C: {name}, {when}"] = seconds
    return figures


def write_text(tree: Path, cache: Path, file: Path) -> None:
    """200 sentences in columns: word, part of speech, label."""
    code = """
import sys
from taut.datasets import make_appointments
for sentence, tags in zip(*make_appointments(200, random_state=0)):
    for (word, part), tag in zip(sentence, tags):
        print(word, part, tag)
    print()
"""
    printed, _, error = child(tree, cache, "-c", code)
    report(tree, "C", error)
    file.write_text(printed)


SCENARIOS: list[tuple[str, Callable[[Path, Path, set[str]], Figures]]] = [
    ("AD", chains),
    ("B", graphs),
    ("C", command_line),
]


def copied(tree: Path, folder: Path) -> Path:
    """A copy of a tree with its bytecode, imported once so that all files are in memory."""
    copy = folder / "src"
    shutil.copytree(tree, copy, ignore=shutil.ignore_patterns("__pycache__"))
    report(tree, "compileall", child(copy, folder, "-m", "compileall", "-q", str(copy))[2])
    needed = f"import taut.cli.train, {', '.join((*OTHERS, *TAUT))}"
    report(tree, "import", child(copy, folder / "no cache", "-c", needed)[2])
    return copy


def measure(trees: Sequence[Path], only: str, repeat: int) -> tuple[list[list[Figures]], set[str]]:
    """Figures of every tree and repetition."""
    found: list[list[Figures]] = [[] for _ in trees]
    notes: set[str] = set()
    for round_ in range(repeat):
        for figures in found:
            figures.append({})
        for letters, scenario in SCENARIOS:
            if not set(letters) & set(only):
                continue
            order = range(len(trees)) if round_ % 2 == 0 else reversed(range(len(trees)))
            for k in order:
                with tempfile.TemporaryDirectory(prefix="taut-compilation-") as folder:
                    found[k][-1] |= scenario(trees[k], Path(folder), notes)
                print(f"round {round_ + 1}, {letters}, {trees[k]}: done", file=sys.stderr)
    return found, notes


def middle(rounds: list[Figures], step: str) -> float | None:
    values = [figures[step] for figures in rounds if step in figures]
    return median(values) if values else None


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--old", type=Path, help="the src folder of the tree to compare with")
    parser.add_argument("--only", nargs="+", choices=CHAINS, default=list(CHAINS))
    parser.add_argument("--only-old", action="store_true", help="leave this tree alone")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--child", choices=STEPS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        run_child(options.child)
        return
    if options.only_old and options.old is None:
        parser.error("--only-old needs --old")
    trees = {"old": options.old, "new": None if options.only_old else HERE}
    trees = {name: tree.resolve() for name, tree in trees.items() if tree is not None}
    with tempfile.TemporaryDirectory(prefix="taut-trees-") as folder:
        copies = []
        for name, tree in trees.items():
            Path(folder, name).mkdir()
            copies.append(copied(tree, Path(folder, name)))
        found, notes = measure(copies, "".join(options.only), options.repeat)
    steps = list(dict.fromkeys(step for rounds in found for figures in rounds for step in figures))
    rows = []
    for step in steps:
        seconds = [middle(rounds, step) for rounds in found]
        row: list[Any] = [step, *[None if s is None else f"{s:.2f}" for s in seconds]]
        if len(trees) == 2:
            old, new = seconds
            row.append(f"{old / new:.2f}" if old and new else None)
        rows.append(row)
    header = ["step", *[f"{name}, CPU s" for name in trees]]
    table(header + ["old / new"] * (len(trees) == 2), rows)
    print("Solvers that were taken:", "; ".join(sorted(notes)))


if __name__ == "__main__":
    main()
