"""Plots where people would rather look. Needs the extra ``plot`` (matplotlib)."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from taut.metrics import confusion_matrix
from taut.metrics._inputs import Labelling
from taut.solvers.solution import Solution

# Beyond this many labels, numbers in the cells cannot be read; the colours remain.
MOST_NUMBERED = 40


def plot_convergence(
    solutions: Solution | Mapping[str, Solution], *, relative: bool = False
) -> Any:
    """Gap, primal and dual against passes and seconds; several runs share the axes.

    Returns the matplotlib figure. ``relative`` divides by the objective at w = 0.
    """
    plt = _pyplot("plot_convergence")
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
        effective = history.oracle_calls / run.n_examples
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


def plot_confusion(
    y_true: Labelling,
    y_pred: Labelling,
    *,
    labels: Sequence[Any] | None = None,
    normalize: bool = True,
) -> Any:
    """How often each true label (row) was given each predicted label (column).

    Returns the matplotlib figure. ``normalize`` shows percentages of each row: on the diagonal,
    the recall of each label; otherwise, counts. ``labels`` chooses and orders the labels, as in
    :func:`taut.metrics.confusion_matrix`; for flat arrays, write ``plot_confusion([y], [y_pred])``.
    A cell without a number is zero.

    >>> figure = plot_confusion([["a", "b", "b"]], [["a", "b", "a"]])
    >>> figure.axes[0].get_ylabel()
    'true'
    """
    plt = _pyplot("plot_confusion")
    matrix, labels = confusion_matrix(y_true, y_pred, labels)
    K = len(labels)
    if K == 0:
        raise ValueError("there is no label to plot: y_true and y_pred, or labels, are empty")
    totals = np.maximum(matrix.sum(axis=1, keepdims=True), 1)
    values = 100.0 * matrix / totals if normalize else matrix.astype(float)
    texts = [[_cell_text(value, normalize) for value in row] for row in values]

    # A cell is as wide as its longest number, and never smaller than a line of text.
    longest = max(len(text) for row in texts for text in row)
    cell = max(0.3, 0.09 * longest + 0.08) if K > 6 else 0.8
    size = 2.2 + cell * K
    figure, axis = plt.subplots(figsize=(size + 0.6, size), layout="constrained")
    image = axis.imshow(values, cmap="Blues", vmin=0, vmax=100 if normalize else None)
    names = [str(label) for label in labels]
    is_crowded = K > 6 or max(map(len, names)) > 8
    axis.set_xticks(range(K), names, rotation=90 if is_crowded else 0)
    axis.set_yticks(range(K), names)
    axis.set(xlabel="predicted", ylabel="true")
    if K <= MOST_NUMBERED:
        dark = image.get_clim()[1] / 2
        for i, j in np.ndindex(K, K):
            color = "white" if values[i, j] > dark else "black"
            axis.text(j, i, texts[i][j], ha="center", va="center", color=color, fontsize=8)
    label = "% of the true label" if normalize else "tokens"
    figure.colorbar(image, ax=axis, label=label, shrink=0.8)
    return figure


def _cell_text(value: float, is_percentage: bool) -> str:
    """A number without decimals that is 0 (left out) or 100% only if the value is exactly that."""
    if value == 0:
        return ""
    if is_percentage and value < 1:
        return "<1"
    if is_percentage and value < 100:
        value = min(value, 99)
    return f"{value:.0f}"


def _pyplot(needed_by: str) -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(f"{needed_by} needs matplotlib: pip install 'taut[plot]'") from error
    return plt
