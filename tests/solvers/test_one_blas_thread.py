"""Results have the same bits whatever number of threads BLAS may use."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from taut.solvers import Simplicial, solve
from taut.solvers.one_blas_thread import one_blas_thread
from taut.structures import multiclass_problem

# 16008 weights: OpenBLAS shares out a sum of more than 10000 terms, and most products.
TRAIN = """
import hashlib
import numpy as np
from taut.solvers import BCFW, CuttingPlane, Simplicial, solve
from taut.structures import multiclass_problem

rng = np.random.default_rng(0)
rows, truth = rng.normal(size=(60, 2000)), rng.integers(0, 8, 60).astype(np.int32)
problem = multiclass_problem(rows, truth, n_states=8)
for solver in SOLVERS:
    found = solve(problem, solver, C=0.1, tol=1e-9, max_passes=12)
    history = found.history
    bits = found.w.tobytes() + history.iterate_primal.tobytes() + history.iterate_dual.tobytes()
    print(hashlib.sha256(bits).hexdigest())
"""
SOLVERS = [
    "Simplicial()",
    'CuttingPlane(slacks="one")',
    'CuttingPlane(slacks="n")',
    'BCFW(direction="corrective")',
]


def blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def bits_with(n_threads):
    number = str(n_threads)
    done = subprocess.run(
        [sys.executable, "-c", TRAIN.replace("SOLVERS", f"[{', '.join(SOLVERS)}]")],
        env=os.environ | {"OPENBLAS_NUM_THREADS": number, "OMP_NUM_THREADS": number},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return dict(zip(SOLVERS, done.stdout.split(), strict=True))


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="BLAS has one thread on one core")
def test_the_number_of_blas_threads_changes_no_bit():
    assert bits_with(1) == bits_with(2)


def test_a_run_has_one_thread_and_gives_the_others_back():
    before, seen = blas_threads(), []
    problem = multiclass_problem(np.eye(3), np.array([0, 1, 2]), n_states=3)
    solve(problem, Simplicial(), callback=lambda row: seen.append(blas_threads()))
    assert seen
    assert all(threads == {1} for threads in seen)
    assert blas_threads() == before


def test_an_error_gives_the_threads_back():
    before = blas_threads()
    with pytest.raises(ZeroDivisionError), one_blas_thread():
        raise ZeroDivisionError
    assert blas_threads() == before


def test_the_last_of_overlapping_runs_gives_the_threads_back():
    before = blas_threads()
    other_began, first_ended = threading.Event(), threading.Event()
    seen = []

    def other():
        with one_blas_thread():
            other_began.set()
            first_ended.wait(10)
            seen.append(blas_threads())

    thread = threading.Thread(target=other)
    with one_blas_thread():
        thread.start()
        assert other_began.wait(10)
    first_ended.set()
    thread.join()
    assert seen == [{1}]
    assert blas_threads() == before


def test_a_run_in_another_thread_than_the_one_before_has_one_thread_too():
    """Nor does it matter who has set a limit before."""
    before, seen = blas_threads(), []

    def run():
        with one_blas_thread():
            seen.append(blas_threads())

    with threadpool_limits(limits=2, user_api="blas"):
        run()
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    assert seen == [{1}, {1}]
    assert blas_threads() == before
