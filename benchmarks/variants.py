"""Osokin's eight variants of block-coordinate Frank-Wolfe, and the corrective solver, over seeds.

{BCFW, BCPFW} x {uniform, gap sampling} x {no cache, cache}: gap against effective passes (oracle
calls / n, gap checks included) and against CPU seconds, median and range over the seeds, at
lambda = 1/n on OCR-small, OCR-large and CoNLL-2000 (where C = 0.01 is what one would use). Why: the
claims of "Minding the Gaps" are comparisons between these variants, and a comparison from one seed
or against passes only says little. Cached variants save oracle calls, not always time.

One command draws everything: ``python benchmarks/variants.py --data ocr-small`` prints a table and
saves ``benchmarks/results/variants-ocr-small.png``. ``--data`` also takes ``ocr-large`` and
``conll``; ``--seconds`` is the CPU budget of one run (looked at when a gap is checked), ``--seeds``
their number.
"""

import time
from typing import Any, NamedTuple

import common  # first: it limits threads before numpy starts
import conll
import numpy as np
from common import RESULTS, chunking_problem, ocr_problem, table
from numpy.typing import NDArray

from taut.solvers import BCFW, solve

DATA = ("ocr-small", "ocr-large", "conll")
VARIANTS: dict[str, BCFW] = {
    f"{name} {order}{' cache' * cache}": BCFW(order=order, direction=direction, cache=cache)
    for name, direction in (("BCFW", "toward"), ("BCPFW", "pairwise"))
    for order in ("uniform", "gap")
    for cache in (False, True)
} | {"corrective gap": BCFW(order="gap", direction="corrective")}


class Curve(NamedTuple):
    """One run, a point per certificate."""

    passes: NDArray[np.float64]
    seconds: NDArray[np.float64]
    gap: NDArray[np.float64]


def load(name: str) -> tuple[Any, float]:
    """The problem and its C."""
    if name == "conll":
        data = conll.encode(conll.read("train"), conll.read("test"))
        return chunking_problem(data.train, data.n_train_tags, observed=True), 0.01
    return ocr_problem(large=name == "ocr-large"), 1.0


def trace(problem: Any, solver: BCFW, C: float, seed: int, budget: float) -> Curve:
    rows: list[tuple[float, float, float]] = []
    start = time.process_time()

    def record(row: Any) -> bool:
        spent = time.process_time() - start
        rows.append((row.oracle_calls / problem.n, spent, row.gap))
        return spent >= budget

    solve(
        problem, solver, C=C, tol=1e-4, max_passes=np.inf, seed=seed, callback=record,
        progress=False,
    )  # fmt: skip
    return Curve(*(np.array(column) for column in zip(*rows, strict=True)))


def gap_at(curves: list[Curve], axis: str, grid: NDArray[np.float64]) -> NDArray[np.float64]:
    """Gap of each run (rows) at each grid point: that of its latest certificate."""
    rows = []
    for curve in curves:
        x = getattr(curve, axis)
        at = np.searchsorted(x, grid, side="right") - 1
        beyond = (grid > x[-1]) & (curve.gap[-1] > 1e-3)
        rows.append(np.where(beyond, np.nan, curve.gap[np.maximum(at, 0)]))
    return np.array(rows)


def draw(name: str, curves: dict[str, list[Curve]]) -> str:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(12, 5), sharey=True, layout="constrained")
    for k, (variant, runs) in enumerate(curves.items()):
        style = {"color": plt.cm.tab10(k // 2 if k < 8 else 9), "ls": "--" if k % 2 else "-"}
        for axis, x in zip(axes, ("passes", "seconds"), strict=True):
            last = min(getattr(run, x)[-1] for run in runs)
            grid = np.linspace(min(getattr(run, x)[1] for run in runs), last, 200)
            gaps = gap_at(runs, x, grid)
            axis.plot(grid, np.median(gaps, axis=0), label=variant, **style)
            axis.fill_between(grid, gaps.min(0), gaps.max(0), color=style["color"], alpha=0.15)
    axes[0].set(xscale="log", yscale="log", xlabel="oracle passes", ylabel="duality gap")
    axes[1].set(xscale="log", xlabel="CPU seconds", title=f"{name}: median and range over seeds")
    axes[0].legend(fontsize=8)
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"variants-{name}.png"
    figure.savefig(path, dpi=120)
    plt.close(figure)
    return path.name


def main() -> None:
    options = common.arguments(
        __doc__,
        data={"choices": DATA, "default": DATA[0]},
        seconds={"type": float, "default": None, "help": "CPU budget of one run"},
        seeds={"type": int, "default": None},
    )
    budget = options.seconds or (2.0 if options.quick else 20.0)
    seeds = options.seeds or (2 if options.quick else 5)
    problem, C = load(options.data)
    curves: dict[str, list[Curve]] = {}
    for variant, solver in VARIANTS.items():
        solve(problem, solver, C=C, max_passes=2, progress=False)  # compile
        curves[variant] = [trace(problem, solver, C, seed, budget) for seed in range(seeds)]
    print(f"{options.data}: n = {problem.n}, C = {C:g}, {budget:g} CPU s a run, {seeds} seeds\n")
    rows = []
    for variant, runs in curves.items():
        ends = np.array([run.gap[-1] for run in runs])
        halves = gap_at(runs, "seconds", np.array([budget / 2]))[:, 0]
        rows.append([
            variant, float(np.median([run.passes[-1] for run in runs])),
            float(np.median([run.seconds[-1] for run in runs])),
            float(np.nanmedian(halves)) if np.isfinite(halves).any() else None,
            float(np.median(ends)), f"{ends.min():.3g}-{ends.max():.3g}",
        ])  # fmt: skip
    table(["variant", "oracle passes", "CPU s", "gap at half", "gap at end", "range"], rows)
    print(f"figure: benchmarks/results/{draw(options.data, curves)}")


if __name__ == "__main__":
    main()
