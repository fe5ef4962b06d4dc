"""A path to look at, in words and in numbers; pictures of it are in :mod:`taut.plotting`."""

from typing import Any

import numpy as np

HEADER = "     lambda          C   gap/scale  piece/scale       |w|  passes  seconds"


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
