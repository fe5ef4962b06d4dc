"""What two environment variables promise, in processes of their own."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

# Every estimator once, on next to nothing.
EVERYTHING = """
import json
import warnings
import numpy as np
from scipy import sparse
from taut import *
from taut.datasets import make_stick_figures
from taut.choice.registry import *

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

CSR = [sparse.csr_array(x) for x in X]
models = [ChainCRF(solver=solver, **how).fit(CSR, y) for solver in solver_names(trains_crfs)]
models[0].predict_proba(CSR), models[1].predict_nbest(CSR, 2)
models += [ChainSVM(solver=solver, **how).fit(X, y) for solver in solver_names(trains_svms)]
graphs = solver_names(trains_without_inference)
models += [GraphSVM(solver=solver, **how).fit(rings, y) for solver in graphs]
models += [
    ChainSVM(formulation="slack", **how).fit(CSR, y),
    ChainCRF(**how).fit(X, y),
    MulticlassSVM(**how).fit(F, F.argmax(axis=1)),
    MultilabelSVM(**how).fit(F, (F > 0).astype(int)),
    GraphSVM(**how).fit(rings, y),
    GraphSVM(pairwise="potts", attractive=True, **how).fit(rings, two),
    GraphCRF(**how).fit(rings, y),
    TreeCRF(**how).fit(paths, y),
    StructuredSVM(Classes(), **how).fit(list(F), F.argmax(axis=1).tolist()),
    PoseSVM(**how).fit(*make_stick_figures(3)[:2]),
]
solutions = [model.solution_ for model in models]
print(json.dumps([[s.primal, s.dual, float(s.w @ s.w)] for s in solutions]))
"""
# Kernels small enough to be compiled by numba alone; prints their results.
FEW = """
import numpy as np
from taut.arrays.accumulator import add_to, new_accumulator, squared_norm
from taut.solvers.sampling import new_sampler, draw, set_all_gaps
from taut.arrays.vectors import Vector
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


def test_every_estimator_and_solver_trains_the_same_interpreted():
    found, expected = (
        json.loads(answer(EVERYTHING, **how)) for how in ({}, {"NUMBA_DISABLE_JIT": "1"})
    )
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("name", ["NUMBA_DISABLE_JIT", "TAUT_PLAIN_NUMBA"])
def test_kernels_compute_the_same_in_every_mode(name):
    """``make test-numba`` tests much more of plain numba, which compiles for minutes."""
    assert answer(FEW, **{name: "1"}) == answer(FEW)


SCRIPT = """
import pickle
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
print(pickle.loads(pickle.dumps(total))(Numbers(np.ones(1))))
"""


def test_kernels_of_a_script_reach_other_processes(tmp_path):
    """joblib sends what a script defines as source."""
    assert answer(SCRIPT) == "[4.0, 6.0]\n2.0\n"
