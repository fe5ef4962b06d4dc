"""Pieces that several benchmarks share: problems, CPU time, prediction, tables.

Import this module before numpy: it keeps linear algebra to one thread, so that CPU seconds mean
the same for every contestant.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from conll import ChunkScore, Encoded, Split, chunk_f1, tag_strings
from numpy.typing import NDArray
from scipy import sparse

from taut.datasets import load_ocr_letters
from taut.decode import decode
from taut.solvers import Solver
from taut.solvers.objective import Objective
from taut.structures.chain import chain_problem
from taut.structures.features import node_features
from taut.structures.features_build import with_weights_of
from taut.structures.pairwise import Pairwise

RESULTS = Path(__file__).parent / "results"


def arguments(doc: str | None, **extra: dict[str, Any]) -> argparse.Namespace:
    """Parse ``--quick`` and the options in ``extra`` (name to ``add_argument`` keywords)."""
    parser = argparse.ArgumentParser(description=(doc or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smaller, in a minute or two")
    for name, keywords in extra.items():
        parser.add_argument(f"--{name}", **keywords)
    return parser.parse_args()


def table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a markdown table; floats get four significant digits, None a dash."""
    cells = [[_cell(value) for value in row] for row in rows]
    widths = [max(len(row[k]) for row in [list(header), *cells]) for k in range(len(header))]
    lines = [list(header), ["-" * width for width in widths], *cells]
    for line in lines:
        padded = (f"{value:{width}}" for value, width in zip(line, widths, strict=True))
        print("| " + " | ".join(padded) + " |")
    print(flush=True)


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


@contextmanager
def cpu_seconds() -> Iterator[Callable[[], float]]:
    """CPU seconds of this process since the block was entered, fixed when it is left."""
    start, end = time.process_time(), None
    yield lambda: (end if end is not None else time.process_time()) - start
    end = time.process_time()


# --- problems ---------------------------------------------------------------------------------


def ocr_problem(large: bool = False) -> Pairwise:
    """OCR-small (fold 0) or OCR-large (folds 1 to 9), with Osokin's feature map."""
    X, y, fold = load_ocr_letters()
    chosen = np.flatnonzero((fold != 0) if large else (fold == 0))
    letters = np.concatenate([y[i] for i in chosen])
    return chain_problem(
        np.concatenate([X[i] for i in chosen]),
        np.array([len(y[i]) for i in chosen]),
        letters.view(np.uint32).astype(np.int64) - ord("a"),
        26,
    )


def chunking_problem(split: Split, n_tags: int, observed: bool) -> Pairwise:
    return chain_problem(
        sparse.csr_array(split.X), np.diff(split.pointers), split.tags, n_tags, observed=observed
    )


def part(split: Split, sentences: NDArray[np.int64]) -> Split:
    """Some sentences of a split, over the same attributes."""
    pointers, lengths = split.pointers, np.diff(split.pointers)[sentences]
    rows = np.concatenate([np.arange(pointers[i], pointers[i + 1]) for i in sentences])
    return Split(split.X[rows], np.concatenate([[0], np.cumsum(lengths)]), split.tags[rows])


def score_chunks(problem: Pairwise, w: NDArray[Any], split: Split, data: Encoded) -> ChunkScore:
    """Tag ``split`` with the weights of ``problem`` and score the chunks."""
    features = with_weights_of(node_features(sparse.csr_array(split.X)), problem.features)
    predicted = decode(problem.for_prediction(features, np.diff(split.pointers), None), w)
    names = [tag_strings(tags, split.pointers, data.tag_names) for tags in (split.tags, predicted)]
    return chunk_f1(*names)


# --- runs -------------------------------------------------------------------------------------


def new_run(problem: Any, solver: Solver, C: float, seed: int = 0) -> Any:
    return solver.start(problem, Objective(C, bounds=None, seed=seed, n_threads=1))


def megabytes(value: Any) -> float:
    """Memory of all distinct arrays in nested tuples."""
    found: dict[int, int] = {}

    def visit(part: Any) -> None:
        if isinstance(part, np.ndarray):
            found[id(part)] = part.nbytes
        elif isinstance(part, tuple):
            for entry in part:
                visit(entry)

    visit(value)
    return sum(found.values()) / 1e6
