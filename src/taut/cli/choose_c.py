"""``--C best``: the weights along the regularisation path that score best on held-out text."""

from argparse import Namespace
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from taut.cli import Terminated, say
from taut.solvers import Solution

# The path is scored at so many lambdas: more of them cost tagging, not training.
N_LAMBDAS = 40
# Of the optimum at each lambda, and of the objective at w = 0.
EPS, FLOOR = 0.1, 1e-3


class OnPath(NamedTuple):
    solution: Solution
    score: float


def best_on_path(
    problem: Any, validate: Callable[[np.ndarray], float], options: Namespace
) -> OnPath:
    """Of equal scores, that of the strongest regularisation."""
    # With scikit-learn, whose import takes a second: not for those who give --C.
    from taut.path.result import RegularizationPath
    from taut.path.task import PathOptions, Task
    from taut.path.walk import PathStatus

    progress = False if options.quiet else None
    task = Task(problem, seed=options.seed, n_threads=options.threads, progress=progress)
    path = RegularizationPath(task, PathOptions(EPS, floor=FLOOR, keep_weights=False))
    path.extend(callback=lambda first: True)  # which says where to look
    if len(path):
        path.score_at(np.geomspace(path.lambdas[0], path.lam_min, N_LAMBDAS), validate)
        path.extend(time_limit=options.time_limit, cpu_limit=options.cpu_limit)
    if path.status is PathStatus.INTERRUPTED:
        raise KeyboardInterrupt  # no model is better than one with a C from half a search
    if path.status is PathStatus.TERMINATED:
        raise Terminated
    if not len(path) or np.all(np.isnan(path.scores)):
        raise ValueError("the search was stopped before any C was scored; give it time, or --C")
    C = path.best_C
    assert path.status is not None
    stopped = path.end > path.lam_min
    if stopped and path.best_lambda == path.score_lambdas[~np.isnan(path.scores)].min():
        raise ValueError(
            f"the search for C ended at {C:.3g}, where scores on {options.dev} were still rising; "
            "give it more time, or --C"
        )
    score = float(np.nanmax(path.scores))
    if not options.quiet:
        until = f"; the search was stopped at lambda {path.end:.3g}" * stopped
        say(f"note: C = {C:.4g} scores {score:.4f} on {options.dev}, best along the path{until}")
    return OnPath(path.best(), score)
