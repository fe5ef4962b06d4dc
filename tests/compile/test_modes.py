"""What two environment variables promise, in processes of their own."""

import os
import subprocess
import sys

import pytest

# Every estimator once, on next to nothing.
EVERYTHING = """
import warnings
import numpy as np
from scipy import sparse
from taut import *
from taut.datasets import make_stick_figures

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
how = dict(C=0.1, tol=0.1, max_passes=2, random_state=0, verbose=False)
X = [rng.normal(size=(4, 3)) for _ in range(6)]
y = [x.argmax(axis=1).tolist() for x in X]
F = rng.normal(size=(12, 3))
ring = np.array([[0, 1], [1, 2], [2, 3], [3, 0]])
rings, paths = [(x, ring) for x in X], [(x, ring[:3]) for x in X]
two = [[int(k > 0) for k in labels] for labels in y]

class Classes:
    def joint_feature(self, x, y):
        return np.concatenate([x * (k == y) for k in range(3)])
    def loss(self, y, z):
        return float(y != z)
    def oracle(self, w, x, y):
        return max(range(3), key=lambda z: (z != y) + w @ self.joint_feature(x, z))
    def predict(self, w, x):
        return max(range(3), key=lambda z: w @ self.joint_feature(x, z))

ChainSVM(**how).fit(X, y).predict(X)
ChainSVM(**how).fit([sparse.csr_array(x) for x in X], y)
ChainCRF(**how).fit(X, y).predict_proba(X)
ChainCRF(solver="lbfgs", **how).fit(X, y).predict_nbest(X, 2)
MulticlassSVM(**how).fit(F, F.argmax(axis=1)).predict(F)
MultilabelSVM(**how).fit(F, (F > 0).astype(int)).predict(F)
GraphSVM(**how).fit(rings, y).predict(rings)
GraphSVM(pairwise="potts", attractive=True, **how).fit(rings, two).predict(rings)
GraphSVM(solver="soft-bcfw", **how).fit(rings, y)
GraphCRF(**how).fit(rings, y).predict(rings)
TreeCRF(**how).fit(paths, y).predict(paths)
StructuredSVM(Classes(), **how).fit(list(F), F.argmax(axis=1).tolist()).predict(list(F))
PoseSVM(**how).fit(*make_stick_figures(3)[:2])
print("done")
"""
# Kernels small enough to be compiled by numba alone; prints their results.
FEW = """
import numpy as np
from taut.accumulator import add_to, new_accumulator, squared_norm
from taut.solvers.sampling import new_sampler, draw, set_all_gaps
from taut.vectors import Vector
sampler = new_sampler(3, 5, 7)
set_all_gaps(sampler.tree, np.arange(5.0))
draws = [int(draw(*sampler)) for _ in range(20)]
delta = new_accumulator(6, 6)
Vector(np.array([1.0, 0.1, 3.0]), np.array([0, 2, 5])).add_to(delta, 0.7)
w = np.zeros(6)
add_to(delta, 2.0, w)
print(draws, w.tolist(), squared_norm(delta))
"""


def answer(script: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_everything_runs_interpreted():
    assert answer(EVERYTHING, NUMBA_DISABLE_JIT="1") == "done\n"


@pytest.mark.parametrize("name", ["NUMBA_DISABLE_JIT", "TAUT_PLAIN_NUMBA"])
def test_kernels_compute_the_same_in_every_mode(name):
    """``make test-numba`` tests much more of plain numba, which compiles for minutes."""
    assert answer(FEW, **{name: "1"}) == answer(FEW)


SCRIPT = """
import numpy as np
from typing import NamedTuple
from joblib import Parallel, delayed
from taut._compile import Vector, both_modes, by_reference, compiled

@by_reference
class Numbers(NamedTuple):
    a: Vector

@both_modes
def twice(x):
    return 2 * x

@compiled
def total(numbers):
    return twice(numbers.a[0])

def work(k):
    return total(Numbers(np.full(1, float(k))))

print(Parallel(n_jobs=2)(delayed(work)(k) for k in (2, 3)))
"""


def test_kernels_of_a_script_reach_other_processes(tmp_path):
    """joblib sends what a script defines as source."""
    assert answer(SCRIPT) == "[4.0, 6.0]\n"
