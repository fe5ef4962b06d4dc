"""Appendix C: one hard example among easy ones, where sampling by gaps is n times faster.

There are n examples of K + 1 labels, the first of which is right. Psi of the hard example's label k
is e_k / sqrt(2), that of all others is e_(K+1); lambda = 1 / n. One visit to any easy example
satisfies all of them, the hard one takes K. Counted are visits to a gap of 1 / (2 n K), which needs
K visits to the hard one. Here K = n.
"""

from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from papers.shared.curves import C_of, curve, new_run
from papers.shared.figures import finish, panels, style, write_csv
from papers.shared.paper import Settings, Work
from papers.shared.rows import Found, Row, rows_by
from taut import PythonProblem
from taut.solvers import BCFW

SIZES, QUICK_SIZES = (10, 20, 50, 100), (4, 8)
ORDERS = {"BCFW": "uniform", "gap-BCFW": "gap"}


class Toy:
    """x is 1 for the hard example and 0 for the easy ones."""

    def __init__(self, K: int):
        self.K = K

    def joint_feature(self, x: int, y: int) -> Any:
        phi = np.zeros((1, self.K + 1))
        if y > 0:
            phi[0, y - 1 if x else self.K] = -np.sqrt(0.5) if x else -1.0
        return csr_array(phi)

    def loss(self, y: int, y_hat: int) -> float:
        return float(y != y_hat)

    def _values(self, w: np.ndarray, x: int) -> np.ndarray:
        own = -np.sqrt(0.5) * w[: self.K] if x else np.full(self.K, -w[self.K])
        return np.append(0.0, own)

    def oracle(self, w: np.ndarray, x: int, y: int) -> int:
        return int((self._values(w, x) + (np.arange(self.K + 1) != y)).argmax())

    def predict(self, w: np.ndarray, x: int) -> int:
        return int(self._values(w, x).argmax())


def visits(n: int, order: str, seed: int) -> Row:
    problem = PythonProblem(Toy(n), [1] + [0] * (n - 1), [0] * n)
    run = new_run(problem, BCFW(order, refresh=None), C_of(1.0 / n, problem), seed)
    found = curve(run, seconds=60.0, enough=0.5 / n**2, growth=1.05)
    return {"visits": found["passes"][-1] * n, "gap": found["gap"][-1]}


def works(settings: Settings) -> list[Work]:
    return [
        Work({"figure": "toy", "n": n, "method": method, "seed": seed}, 0.01 * n,
             lambda n=n, o=order, s=seed: visits(n, o, s))  # type: ignore[misc]
        for n in (QUICK_SIZES if settings.quick else SIZES)
        for method, order in ORDERS.items()
        for seed in range(settings.seeds)
    ]  # fmt: skip


def draw(found: Found, _: Settings, folder: Path, about: str) -> None:
    figure, axes = panels(1, 1, width=4.5, height=3.4)
    sizes = np.array(sorted({key["n"] for key, _ in found}), float)
    rows: list[list[Any]] = []
    for method in ORDERS:
        runs = rows_by(found, "method", "n")
        counts = np.array([[run["visits"] for run in runs[method, n]] for n in sizes])
        middle, least, most = np.median(counts, 1), counts.min(1), counts.max(1)
        axes[0, 0].plot(sizes, middle, marker=".", label=method, **style(method))
        axes[0, 0].fill_between(sizes, least, most, alpha=0.15, color=style(method)["color"])
        rows += [[method, *map(float, row)] for row in zip(sizes, middle, least, most, strict=True)]
    for label, values in (("2n", 2 * sizes), ("n^2", sizes**2)):
        axes[0, 0].plot(sizes, values, color="0.6", lw=0.8, ls=":")
        axes[0, 0].annotate(label, (sizes[-1], values[-1]), fontsize=8)
    axes[0, 0].set(xscale="log", yscale="log", xlabel="examples n (= K)",
                   ylabel="visits to a gap of 1 / (2 n K)")  # fmt: skip
    finish(figure, folder / "toy.png", about)
    write_csv(folder / "toy.csv", ["method", "n", "median visits", "least", "most"], rows)
