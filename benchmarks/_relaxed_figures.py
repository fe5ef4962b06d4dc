"""Figures of ``without_inference.py``, as PNG files in ``results/``."""

from typing import Any

import matplotlib
import numpy as np
from _relaxed_runs import Best, Bracket, Curve
from _relaxed_tasks import Task
from common import RESULTS

matplotlib.use("Agg")
import matplotlib.pyplot as plt

LEAST = 1e-5  # of what is drawn on logarithmic axes


def draw_curves(
    task: Task, curves: dict[str, Curve], best: Best, brackets: dict[str, Bracket]
) -> str:
    """Objective against passes and seconds, score against seconds, brackets against seconds."""
    figure, axes = plt.subplots(2, 2, figsize=(13, 9), layout="constrained")
    for k, (name, found) in enumerate(curves.items()):
        style = {"color": plt.cm.tab20(k % 20), "ls": "--" if "BCFW " in name[:5] else "-"}
        excess = np.maximum(found.objective / best.upper - 1.0, LEAST)
        axes[0, 0].plot(found.passes, excess, label=name, **style)
        axes[0, 1].plot(found.seconds, excess, **style)
        axes[1, 0].plot(found.seconds, found.score, **style)
    for k, (name, run) in enumerate(brackets.items()):
        later = run.seconds > 0
        line = "-" if name.startswith("SVM") else "--"
        axes[1, 1].plot(
            run.seconds[later], np.maximum(run.relative[later], LEAST), line,
            color=plt.cm.tab10(k % 10), label=name,
        )  # fmt: skip
    axes[0, 0].set(xscale="log", yscale="log", xlabel="passes", ylabel="g(w) / g* - 1")
    axes[0, 1].set(xscale="log", yscale="log", xlabel="CPU seconds", title=task.name)
    axes[1, 0].set(xscale="log", xlabel="CPU seconds", ylabel=f"test {task.score_name}")
    axes[1, 1].set(xscale="log", yscale="log", xlabel="CPU seconds", ylabel="relative bracket")
    for axis in (axes[0, 0], axes[1, 1]):
        if axis.has_data():
            axis.legend(fontsize=7)
    for axis in axes.flat:
        axis.grid(alpha=0.3)
    return _saved(figure, f"without-inference-{task.name}.png")


def draw_subsamples(found: dict[str, dict[str, Any]]) -> str:
    """Meshi's figure 3: mean and 95 % interval of the difference, against M."""
    figure, axes = plt.subplots(1, len(found), figsize=(5 * len(found), 4), layout="constrained")
    for axis, (name, values) in zip(np.atleast_1d(axes), found.items(), strict=True):
        for penalty in ("rho = 1", "rho = M"):
            each = values[penalty]
            half = 1.96 * each.std(axis=1, ddof=1) / np.sqrt(each.shape[1])
            axis.errorbar(values["M"], each.mean(axis=1), half, marker=".", label=penalty)
        axis.set(xscale="log", xlabel="M", ylabel="g(w, delta) - g*", title=name)
        axis.legend()
        axis.grid(alpha=0.3)
    return _saved(figure, "without-inference-figure3.png")


def _saved(figure: Any, name: str) -> str:
    RESULTS.mkdir(exist_ok=True)
    figure.savefig(RESULTS / name, dpi=120)
    plt.close(figure)
    return f"benchmarks/results/{name}"
