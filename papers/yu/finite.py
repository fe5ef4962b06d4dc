"""How many points finite convergence takes: the paper's condition r >= dim F, and one more.

The problems have one example with a list of labellings, so that the face F of the optimum is the
hull of the points in use there: dim F is their number less one.
"""

from typing import Any

import numpy as np

from papers.shared.rows import Row
from taut import PythonProblem, solve
from taut.solvers import Simplicial

C, ITERATIONS = 30.0, 250


class Listed:
    """Labelling y has features x[y, 1:] and loss x[y, 0]; the truth, 0, has zeros."""

    def joint_feature(self, x: Any, y: int) -> Any:
        return -x[y, 1:]

    def loss(self, y: int, y_hat: int) -> float:
        return self.x[y_hat, 0]

    def __init__(self, x: Any):
        self.x = x

    def oracle(self, w: Any, x: Any, y: int) -> int:
        return int(np.argmax(x[:, 0] - x[:, 1:] @ w))

    def predict(self, w: Any, x: Any) -> int:
        return int(np.argmin(x[:, 1:] @ w))


def iterations(x: Any, limit: float) -> Any:
    problem = PythonProblem(Listed(x), [x], [0])
    return solve(
        problem, Simplicial("one", limit=limit), C=C, tol=1e-9, max_passes=ITERATIONS,
        progress=False,
    )  # fmt: skip


def unfinished(dim: int, problems: int) -> Row:
    """Of random problems whose optimum lies inside a face of ``dim`` dimensions."""
    tried, endless, seed = 0, {dim: 0, dim + 1: 0}, 0
    while tried < problems:
        random = np.random.default_rng(seed := seed + 1)
        x = np.column_stack([random.uniform(0.1, 2.0, 8), random.normal(size=(8, dim))])
        x[0] = 0.0
        points = iterations(x, np.inf).state.points
        if np.count_nonzero(points.weight) != dim + 1:
            continue
        tried += 1
        for limit in endless:
            endless[limit] += iterations(x, limit).relative_gap > 1e-9
    return {"problems": tried, "r = dim F": endless[dim], "r = dim F + 1": endless[dim + 1]}
