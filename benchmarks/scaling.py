"""Time of a pass and memory against the number of sentences: both must grow linearly.

Synthetic sparse sentences: 4 to 8 tokens, 10 attributes each drawn by Zipf's law from 100,000, five
labels. One plain BCFW pass over all of them (permuted: the access pattern that caches like least)
and the certificate, CPU seconds, median of three warm passes; peak resident memory of the process,
which holds one size only, above that of a process which has compiled everything and holds next to
nothing. The exponents are slopes of log cost on log n by least squares; 1 is linear. Small sizes
stay in the processor's cache, so expect a little more than 1 in time and less in memory.
"""

import json
import resource
import subprocess
import sys
import time
from typing import Any

import common  # first: it limits threads before numpy starts
import numpy as np
from common import cpu_seconds, new_run, table
from scipy import sparse

from taut.solvers import BCFW
from taut.structures.chain import chain_problem
from taut.structures.pairwise import Pairwise

SIZES = (1_000, 10_000, 100_000, 1_000_000)
N_ATTRIBUTES, PER_TOKEN, N_LABELS = 100_000, 10, 5


def sentences(n: int) -> Pairwise:
    random = np.random.default_rng(0)
    lengths = random.integers(4, 9, n)
    n_tokens = int(lengths.sum())
    # The inverse of the cumulative distribution of p(rank) ~ 1/rank.
    rank = np.exp(random.random((n_tokens, PER_TOKEN)) * np.log(N_ATTRIBUTES)).astype(np.int32)
    attributes = np.sort(np.minimum(rank, N_ATTRIBUTES) - 1, axis=1)
    labels = (attributes[:, -1] + random.integers(0, 2, n_tokens)) % N_LABELS
    # Repeated attributes of a token are harmless: values add up.
    indptr = np.arange(n_tokens + 1, dtype=np.int64) * PER_TOKEN
    X = sparse.csr_array(
        (np.ones(attributes.size), attributes.ravel(), indptr), shape=(n_tokens, N_ATTRIBUTES)
    )
    X.sum_duplicates()
    return chain_problem(X, lengths, labels, N_LABELS, observed=True)


def measure(n: int) -> dict[str, float]:
    """Runs in its own process: peak memory is that of one size."""
    small = new_run(sentences(20), BCFW(order="permuted"), 0.01)
    small.advance(20)
    small.certify()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    with cpu_seconds() as building:
        problem = sentences(n)
    with cpu_seconds() as starting:
        run = new_run(problem, BCFW(order="permuted"), 0.01)
    times = []
    for _ in range(4):
        with cpu_seconds() as seconds:
            run.advance(run.n)
        times.append(seconds())
    with cpu_seconds() as certifying:
        run.certify()
    return {
        "build": building(),
        "start": starting(),
        "pass": float(np.median(times[1:])),
        "certificate": certifying(),
        "data": common.megabytes(tuple(problem)),
        "state": common.megabytes(run.state),
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 - before,
    }


def exponent(sizes: tuple[int, ...], costs: list[float]) -> float:
    return float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])


def main() -> None:
    options = common.arguments(__doc__, one={"type": int, "help": "measure one size, as JSON"})
    if options.one:
        print(json.dumps(measure(options.one)))
        return
    sizes = SIZES[:3] if options.quick else SIZES
    rows: list[list[Any]] = []
    found: list[dict[str, float]] = []
    for n in sizes:
        start = time.perf_counter()
        done = subprocess.run(
            [sys.executable, __file__, "--one", str(n)], capture_output=True, text=True, check=True
        )
        found.append(json.loads(done.stdout))
        values = found[-1]
        rows.append([f"{n:,}", *values.values(), 1e6 * values["pass"] / n,
                     time.perf_counter() - start])  # fmt: skip
    slopes = [exponent(sizes, [values[key] for values in found]) for key in found[0]]
    rows.append(["exponent", *slopes, None, None])
    table(["n", "build s", "start s", "pass s", "certificate s", "data MB", "state MB",
           "peak MB", "us a step", "process s"], rows)  # fmt: skip


if __name__ == "__main__":
    main()
