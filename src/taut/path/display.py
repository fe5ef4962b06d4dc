"""A path to look at: in words, in numbers, and in pictures of what it proves, scores and costs."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from taut.plotting import _pyplot

HEADER = "     lambda          C   gap/scale  piece/scale       |w|  passes  seconds"

# Between two breakpoints the proved gap is drawn at so many lambdas.
FINENESS = 20
MOST_NAMED = 12


def table(path: Any) -> str:
    points, n = path.breakpoints, path.n_examples
    has_scores = not np.all(np.isnan(points.score))
    lines = [HEADER + "     score" * has_scores]
    for j, point in enumerate(points):
        line = (
            f"{point.lam:11.4g}{path.Cs[j]:11.4g}{point.gap / path.scale:12.4f}"
            f"{path.largest_bound(j) / path.scale:13.4f}{point.norm**0.5:10.4g}"
            f"{point.oracle_calls / n:8.1f}{point.seconds:9.2f}"
        )
        lines.append(line + f"{point.score:10.4f}" * has_scores)
    return "\n".join(lines)


def summary(path: Any) -> str:
    status = path.status.value if path.status is not None else "not begun"
    first = f"{path.lambdas[0]:.4g}" if len(path) else "infinity"
    return (
        f"{status}\n"
        f"  {path.method}, {len(path)} breakpoints from lambda {first} on; {_promise(path)}\n"
        f"  {path.oracle_calls / path.n_examples:.1f} oracle passes over {path.n_examples} "
        f"examples, {path.seconds:.2f} s; weights kept in {path.nbytes / 1e6:.2f} MB"
    )


def _promise(path: Any) -> str:
    part = f"{path.eps:g} of the objective at w = 0"
    if path.guaranteed:
        which = f"lambda >= {path.end:.4g}" if path.end > 0 else "lambda"
        if path.floor is not None:
            return (
                f"every {which} has weights within {path.eps:g} of the optimum, "
                f"or {path.floor:g} of the objective at w = 0"
            )
        return (
            f"every {which} has weights within {path.eps * path.scale:.3g} of the optimum ({part})"
        )
    if not path.is_proved:
        return "without guarantee: gaps are estimates; true_gaps() asks the oracle"
    if path.method == "heuristic":
        largest = max(path.gaps) / path.scale
        return f"gaps at breakpoints are at most {largest:.3g} of the objective at w = 0"
    return f"gaps of at most {part} at the grid's values"


def plot_path(path: Any, weights: Sequence[int], names: Sequence[str] | None) -> Any:
    plt = _pyplot("RegularizationPath.plot")
    if len(path) == 0:
        raise ValueError("the path has no breakpoint to plot")
    if names is not None and len(names) != len(weights):
        raise ValueError(f"there are {len(names)} names for {len(weights)} weights")
    has_scores = not np.all(np.isnan(path.scores))
    panels: list[Any] = [_gaps, _costs, *[_scores] * has_scores, *[_weights] * bool(len(weights))]
    rows = (len(panels) + 1) // 2
    figure, axes = plt.subplots(
        rows, 2, figsize=(11, 3.6 * rows), sharex=True, squeeze=False, layout="constrained"
    )
    for axis, draw in zip(axes.flat, panels, strict=False):
        if draw is _weights:
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


def _fine(path: Any) -> np.ndarray:
    """Lambdas between all breakpoints."""
    ends = np.append(4.0 * path.lambdas[0], path.lambdas)
    last = max(path.end, path.lambdas[-1] / 4.0)
    ends = np.append(ends, last) if last < ends[-1] else ends
    pieces = [np.geomspace(a, b, FINENESS) for a, b in pairwise(ends)]
    return np.clip(np.concatenate(pieces), last, None)


def _gaps(axis: Any, path: Any) -> None:
    if path.is_proved:
        lambdas = _fine(path)
        bounds = [path.bound(lam) / path.scale for lam in lambdas]
        axis.plot(lambdas, bounds, "-", color="C0", lw=1, label="proved")
    name = "breakpoints" if path.is_proved else "estimated"
    axis.plot(path.lambdas, path.gaps / path.scale, ".", color="C0", label=name)
    if path.floor is None:
        axis.axhline(path.eps, color="0.5", ls="--", lw=1, label="eps")
    axis.set_ylabel("gap / objective at w = 0")
    axis.set_ylim(bottom=0)
    axis.legend()


def _costs(axis: Any, path: Any) -> None:
    points = path.breakpoints
    (passes,) = axis.plot(points.lam, points.oracle_calls / path.n_examples, ".-", color="C1")
    axis.set_ylabel("oracle passes so far")
    right = axis.twinx()
    (seconds,) = right.plot(points.lam, points.seconds, ".--", color="C2")
    right.set_ylabel("seconds so far")
    axis.legend([passes, seconds], ["oracle passes", "seconds"], loc="upper left")


def _scores(axis: Any, path: Any) -> None:
    known = ~np.isnan(path.scores)
    axis.plot(path.score_lambdas[known], path.scores[known], ".-", color="C3")
    axis.set_ylabel("score on held-out data")


def _weights(axis: Any, path: Any, weights: list[int], names: Sequence[str] | None) -> None:
    lambdas = _fine(path)[:: FINENESS // 4]
    values = np.array([path.weights(lam)[weights] for lam in lambdas])
    labels = [f"w[{k}]" for k in weights] if names is None else list(names)
    for line, label in zip(values.T, labels, strict=True):
        axis.plot(lambdas, line, "-", label=label)
    axis.set_ylabel("weight")
    if len(labels) <= MOST_NAMED:
        axis.legend(fontsize=8, loc="upper left")  # weights begin near zero
