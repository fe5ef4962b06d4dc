"""Plots where people would rather look. Needs the extra ``plot`` (matplotlib)."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from taut.solvers.solution import Solution


def plot_convergence(
    solutions: Solution | Mapping[str, Solution], *, relative: bool = False
) -> Any:
    """Gap, primal and dual against passes and seconds; several runs share the axes.

    Returns the matplotlib figure. ``relative`` divides by the objective at w = 0.
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plot_convergence needs matplotlib: pip install 'taut[plot]'") from error
    if isinstance(solutions, Solution):
        runs = {"": solutions}
    elif isinstance(solutions, Mapping):
        runs = dict(solutions)
    else:
        raise TypeError(
            f"plot_convergence takes a Solution (an estimator's solution_) or a dict "
            f"{{name: Solution}}, got {type(solutions).__name__}"
        )
    if not runs:
        raise ValueError("there is no solution to plot")
    figure, axes = plt.subplots(2, 2, figsize=(10, 7), sharey="row", layout="constrained")
    for (name, run), color in zip(
        runs.items(), plt.cm.tab10(np.arange(len(runs)) % 10), strict=True
    ):
        history = run.history
        scale = run.scale if relative and run.scale > 0 else 1.0
        # Effective passes: oracle calls / n, certificates included, as in the papers.
        effective = history.oracle_calls / len(run.state.ell)
        for column, x in enumerate((effective, history.seconds)):
            axes[0, column].plot(
                x, np.maximum(history.gap, 1e-16) / scale, ".-", color=color, label=name or "gap"
            )
            axes[1, column].plot(
                x, history.primal / scale, ".-", color=color, label=f"{name} primal".strip()
            )
            axes[1, column].plot(
                x, history.dual / scale, ".--", color=color, label=f"{name} dual".strip()
            )
    for column, label in enumerate(("oracle passes", "seconds")):
        axes[0, column].set_yscale("log")
        axes[1, column].set_xlabel(label)
    axes[0, 0].set_ylabel("duality gap")
    axes[1, 0].set_ylabel("objective")
    axes[0, 0].legend()
    axes[1, 0].legend()
    for axis in axes.flat:
        axis.grid(alpha=0.3)
    return figure
