"""What taut costs beyond the work itself: a Python model's step, and the import.

* A step with a model in plain Python, beyond the user's own functions. The model's methods are
  wrapped by a clock; what a step takes besides is taut's. Reported for a dense and a sparse feature
  vector, toward and pairwise steps. Target: 30 us.
* ``import taut`` in a new process, median of five. Target: 0.3 s.

(What the first fit costs is measured by ``compilation.py``.)

CPU times: all of this runs on one thread, and wall times on a busy machine measure the neighbours.
``import taut`` is lazy, so the first fit includes importing numba and scikit-learn.
"""

import subprocess
import sys
import time
from typing import Any

import common  # first: it limits threads before numpy starts
import numpy as np
from common import new_run, table
from scipy import sparse

from taut import PythonProblem
from taut.solvers import BCFW

METHODS = ("joint_feature", "loss", "oracle", "predict")


class Multiclass:
    """Ten classes in plain numpy, about what a user would write."""

    def __init__(self, n_classes: int, n_features: int, as_sparse: bool):
        self.n_classes, self.n_features, self.as_sparse = n_classes, n_features, as_sparse

    def joint_feature(self, x: np.ndarray, y: int) -> Any:
        if self.as_sparse:
            columns = np.arange(y * self.n_features, (y + 1) * self.n_features)
            rows = np.zeros(self.n_features, np.int64)
            shape = (1, self.n_classes * self.n_features)
            return sparse.csr_array((x, (rows, columns)), shape=shape)
        phi = np.zeros(self.n_classes * self.n_features)
        phi[y * self.n_features : (y + 1) * self.n_features] = x
        return phi

    def loss(self, y: int, y_hat: int) -> float:
        return float(y != y_hat)

    def oracle(self, w: np.ndarray, x: np.ndarray, y: int) -> int:
        scores = w.reshape(self.n_classes, -1) @ x + 1.0
        scores[y] -= 1.0
        return int(scores.argmax())

    def predict(self, w: np.ndarray, x: np.ndarray) -> int:
        return int((w.reshape(self.n_classes, -1) @ x).argmax())


class Clocked:
    """A model whose methods add up the time spent in them."""

    def __init__(self, model: Any):
        self.seconds = 0.0
        for name in METHODS:
            setattr(self, name, self._clocked(getattr(model, name)))

    def _clocked(self, method: Any) -> Any:
        def call(*args: Any) -> Any:
            start = time.process_time()
            result = method(*args)
            self.seconds += time.process_time() - start
            return result

        return call


def python_steps(quick: bool) -> list[list[Any]]:
    random = np.random.default_rng(0)
    rows = []
    for kind, as_sparse in (("dense", False), ("sparse", True)):
        X = list(random.normal(size=(300, 20)))
        y = [int(x[:10].argmax()) for x in X]
        for direction in ("toward", "pairwise"):
            model = Clocked(Multiclass(10, 20, as_sparse))
            run = new_run(PythonProblem(model, X, y), BCFW(order="gap", direction=direction), 1.0)
            run.advance(3 * run.n)
            beyond, whole = [], []
            for _ in range(5 if quick else 20):
                model.seconds, start = 0.0, time.process_time()
                run.advance(run.n)
                total = time.process_time() - start
                whole.append(1e6 * total / run.n)
                beyond.append(1e6 * (total - model.seconds) / run.n)
            rows.append([f"{kind}, {direction}", float(np.median(whole)),
                         float(np.median(beyond)), min(beyond)])  # fmt: skip
    return rows


def child(code: str) -> float:
    """Run code in a new Python, which prints a number."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout)


def main() -> None:
    quick = common.arguments(__doc__).quick
    table(["Python model, step", "us", "us beyond the model", "min"], python_steps(quick))

    clock = "import time; t = time.process_time(); import {}; print(time.process_time() - t)"
    rows: list[list[Any]] = []
    for module in ("taut", "numpy"):
        times = [child(clock.format(module)) for _ in range(5)]
        rows.append([f"import {module}", float(np.median(times)), min(times)])
    table(["new process", "median s", "min"], rows)


if __name__ == "__main__":
    main()
