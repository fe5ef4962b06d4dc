"""Plots where people would rather look. Needs the extra ``plot`` (matplotlib)."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from taut.metrics import confusion_matrix
from taut.metrics._inputs import Labelling
from taut.solvers.solution import Solution

# Beyond this many labels, numbers in the cells cannot be read; the colours remain.
MOST_NUMBERED = 40
# How much of a label's colour covers the image below it.
OPACITY = 0.5
UNKNOWN = -1
# Between two breakpoints of a path the proved gap is drawn at so many lambdas.
FINENESS = 20
# More weights of a path than this have no names in its picture.
MOST_NAMED = 12


def plot_convergence(
    solutions: Solution | Mapping[str, Solution], *, relative: bool = False
) -> Any:
    """Gap, primal and dual against passes and seconds; several runs share the axes.

    At each certificate they are those of the weights that would be returned if training ended
    there; the objective of the iterate itself is drawn faintly where it is another. Returns the
    matplotlib figure. ``relative`` divides by the objective at w = 0.
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
    faint: list[tuple[Any, np.ndarray, np.ndarray, Any]] = []
    for (name, run), color in zip(
        runs.items(), plt.cm.tab10(np.arange(len(runs)) % 10), strict=True
    ):
        history = run.history
        scale = run.scale if relative and run.scale > 0 else 1.0
        # Effective passes: oracle calls / n, certificates included, as in the papers.
        effective = history.oracle_calls / run.n_examples
        if run.inference == "none":  # no oracle: passes over nodes and edges
            effective = history.passes
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
            if np.any(history.iterate_primal != history.primal):
                faint.append((axes[1, column], x, history.iterate_primal / scale, color))
    axes[1, 0].set_ylim(axes[1, 0].get_ylim())  # an iterate may begin far above
    for axis, x, objective, color in faint:
        axis.plot(x, objective, ":", color=color, alpha=0.5)
    without = [run.inference == "none" for run in runs.values()]
    passes = "passes" if all(without) else "passes, of the oracle if there is one"
    for column, label in enumerate((passes if any(without) else "oracle passes", "seconds")):
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


def plot_segmentation(
    image: Any,
    superpixel_map: Any,
    labels: Any,
    ax: Any = None,
    classes: Sequence[Any] | None = None,
) -> Any:
    """Lay the labels of superpixels, each in its colour, over the image they divide.

    ``image`` is (height, width) or (height, width, 3), ``superpixel_map`` the number of the
    superpixel of every pixel and ``labels`` the label of every superpixel, as in
    :class:`taut.datasets.Superpixels`. ``classes`` are the names of labels 0, 1, … or the labels
    themselves; pictures with the same classes have the same colours, and a legend. Superpixels of
    label -1 or None are not covered. Returns the matplotlib axes: ``ax``, or new ones.

    >>> axis = plot_segmentation(np.zeros((2, 2)), [[0, 0], [1, 1]], [0, 1], classes=["sky", "sea"])
    >>> [text.get_text() for text in axis.get_legend().get_texts()]
    ['sky', 'sea']
    """
    plt = _pyplot("plot_segmentation")
    image, superpixel_map = np.asarray(image), np.asarray(superpixel_map)
    if image.ndim not in (2, 3) or image.shape[:2] != superpixel_map.shape:
        raise ValueError(
            f"image has shape {image.shape} and superpixel_map {superpixel_map.shape}; both need "
            "the same height and width"
        )
    if superpixel_map.min() < 0 or superpixel_map.max() >= len(labels):
        raise ValueError(
            f"superpixel_map numbers superpixels {superpixel_map.min()} to {superpixel_map.max()}, "
            f"labels has {len(labels)}: one for each, from 0 on, is expected"
        )
    numbers, names = _numbered(labels, classes)
    colors = plt.get_cmap("tab10" if len(names) <= 10 else "tab20")
    overlay = np.zeros((len(numbers), 4))
    overlay[numbers >= 0] = colors(numbers[numbers >= 0] % colors.N, alpha=OPACITY)
    if ax is None:
        _, ax = plt.subplots(layout="constrained")
    ax.imshow(image, cmap="gray")
    ax.imshow(overlay[superpixel_map])
    ax.set_axis_off()
    if classes is not None:
        drawn = np.unique(numbers[numbers >= 0])
        patches = [
            plt.Rectangle((0, 0), 1, 1, color=colors(k % colors.N), alpha=OPACITY, label=names[k])
            for k in drawn
        ]
        ax.legend(handles=patches, fontsize=8, loc="lower left", framealpha=0.8)
    return ax


def _numbered(labels: Any, classes: Sequence[Any] | None) -> tuple[np.ndarray, list[str]]:
    """Numbers of labels, -1 where there is none, and names of the numbers."""
    values = [label.item() if isinstance(label, np.generic) else label for label in labels]
    known = [value for value in values if value is not None and value != UNKNOWN]
    if classes is None:
        order = sorted(set(known), key=lambda value: (str(type(value)), value))
    elif all(isinstance(value, int) for value in known):
        order = list(range(len(classes)))  # numbers are places in classes
    else:
        order = list(classes)
    place = {value: k for k, value in enumerate(order)}
    strange = next((value for value in known if value not in place), None)
    if strange is not None:
        raise ValueError(f"label {strange!r} is not among the {len(order)} classes: {classes!r}")
    numbers = [place.get(value, UNKNOWN) for value in values]
    return np.array(numbers), [str(name) for name in (order if classes is None else classes)]


def plot_pair_scores(
    pair_scores: Any, label_names: Sequence[Any] | None = None, ax: Any = None
) -> Any:
    """Which labels go together (red) and which avoid each other (blue).

    ``pair_scores`` is the matrix :attr:`taut.MultilabelSVM.pair_scores_`, (L, L); white is 0.
    Returns the matplotlib axes: ``ax``, or new ones.

    >>> axis = plot_pair_scores([[0.0, 1.5], [1.5, 0.0]], ["beach", "sea"])
    >>> [tick.get_text() for tick in axis.get_xticklabels()]
    ['beach', 'sea']
    """
    plt = _pyplot("plot_pair_scores")
    scores = np.asarray(pair_scores, float)
    if scores.ndim != 2 or scores.shape[0] != scores.shape[1] or scores.size == 0:
        raise ValueError(f"pair_scores has shape {scores.shape}; a square matrix is expected")
    L = len(scores)
    names = [str(name) for name in (range(L) if label_names is None else label_names)]
    if len(names) != L:
        raise ValueError(f"there are {len(names)} label_names for {L} labels")
    if ax is None:
        size = 2.0 + 0.32 * L
        _, ax = plt.subplots(figsize=(size + 0.8, size), layout="constrained")
    largest = float(np.abs(scores).max()) or 1.0
    # A label has no score with itself: its cell is grey, to be told from a score of 0.
    cells = np.ma.masked_array(scores, np.eye(L, dtype=bool))
    ax.set_facecolor("0.9")
    image = ax.imshow(cells, cmap="RdBu_r", vmin=-largest, vmax=largest)
    is_crowded = L > 6 or max(map(len, names)) > 6
    ax.set_xticks(range(L), names, rotation=90 if is_crowded else 0)
    ax.set_yticks(range(L), names)
    ax.figure.colorbar(image, ax=ax, label="score of going together", shrink=0.8)
    return ax


def plot_path(path: Any, weights: Sequence[int], names: Sequence[str] | None) -> Any:
    """``RegularizationPath.plot``: what a path proves, scores and costs."""
    plt = _pyplot("RegularizationPath.plot")
    if len(path) == 0:
        raise ValueError("the path has no breakpoint to plot")
    if names is not None and len(names) != len(weights):
        raise ValueError(f"there are {len(names)} names for {len(weights)} weights")
    has_scores = not np.all(np.isnan(path.scores))
    panels: list[Any] = [_draw_gaps, _draw_costs]
    panels += [_draw_scores] * has_scores + [_draw_weights] * bool(len(weights))
    rows = (len(panels) + 1) // 2
    figure, axes = plt.subplots(
        rows, 2, figsize=(11, 3.6 * rows), sharex=True, squeeze=False, layout="constrained"
    )
    for axis, draw in zip(axes.flat, panels, strict=False):
        if draw is _draw_weights:
            draw(axis, path, list(weights), names)
        else:
            draw(axis, path)
        axis.set_xscale("log")
        axis.grid(alpha=0.3)
        axis.set_xlabel("lambda")
        axis.tick_params(labelbottom=True)
    axes.flat[0].invert_xaxis()  # the path goes from strong regularisation to weak
    for axis in axes.flat[len(panels) :]:
        axis.set_axis_off()
    return figure


def _fine_lambdas(path: Any) -> np.ndarray:
    """Lambdas between all breakpoints."""
    ends = np.append(4.0 * path.lambdas[0], path.lambdas)
    last = max(path.end, path.lambdas[-1] / 4.0)
    ends = np.append(ends, last) if last < ends[-1] else ends
    pieces = [np.geomspace(a, b, FINENESS) for a, b in pairwise(ends)]
    return np.clip(np.concatenate(pieces), last, None)


def _draw_gaps(axis: Any, path: Any) -> None:
    if path.is_proved:
        lambdas = _fine_lambdas(path)
        bounds = [path.bound(lam) / path.scale for lam in lambdas]
        axis.plot(lambdas, bounds, "-", color="C0", lw=1, label="proved")
    name = "breakpoints" if path.is_proved else "estimated"
    axis.plot(path.lambdas, path.gaps / path.scale, ".", color="C0", label=name)
    if path.floor is None:
        axis.axhline(path.eps, color="0.5", ls="--", lw=1, label="eps")
    axis.set_ylabel("gap / objective at w = 0")
    axis.set_ylim(bottom=0)
    axis.legend()


def _draw_costs(axis: Any, path: Any) -> None:
    points = path.breakpoints
    (passes,) = axis.plot(points.lam, points.oracle_calls / path.n_examples, ".-", color="C1")
    axis.set_ylabel("oracle passes so far")
    right = axis.twinx()
    (seconds,) = right.plot(points.lam, points.seconds, ".--", color="C2")
    right.set_ylabel("seconds so far")
    axis.legend([passes, seconds], ["oracle passes", "seconds"], loc="upper left")


def _draw_scores(axis: Any, path: Any) -> None:
    known = ~np.isnan(path.scores)
    axis.plot(path.score_lambdas[known], path.scores[known], ".-", color="C3")
    axis.set_ylabel("score on held-out data")


def _draw_weights(axis: Any, path: Any, weights: list[int], names: Sequence[str] | None) -> None:
    lambdas = _fine_lambdas(path)[:: FINENESS // 4]
    values = np.array([path.weights(lam)[weights] for lam in lambdas])
    labels = [f"w[{k}]" for k in weights] if names is None else list(names)
    for line, label in zip(values.T, labels, strict=True):
        axis.plot(lambdas, line, "-", label=label)
    axis.set_ylabel("weight")
    if len(labels) <= MOST_NAMED:
        axis.legend(fontsize=8, loc="upper left")  # weights begin near zero


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
