"""``--C best``: the C whose weights along the regularisation path score best on held-out text."""

from argparse import Namespace
from collections.abc import Callable
from typing import Any

import numpy as np

from taut.cli import say

# The path is scored at so many lambdas: more of them cost tagging, not training.
N_LAMBDAS = 40
EPS = 0.1


def best_C(problem: Any, validate: Callable[[np.ndarray], float], options: Namespace) -> float:
    """Of equal scores, that of the strongest regularisation."""
    # With scikit-learn, whose import takes a second: not for those who give --C.
    from taut.path.regularization import new_path
    from taut.path.task import Task

    progress = False if options.quiet else None
    task = Task(
        problem, None, None, seed=options.seed, n_threads=options.threads, progress=progress
    )
    path = new_path(task, eps=EPS, keep_weights=False)
    path.extend(callback=lambda first: True)  # which says where to look
    if len(path):
        path.score_at(np.geomspace(path.lambdas[0], path.lam_min, N_LAMBDAS), validate)
        path.extend(time_limit=options.time_limit)
    if not len(path) or np.all(np.isnan(path.scores)):
        raise ValueError("the search was stopped before any C was scored; give it time, or --C")
    best = int(np.nanargmax(path.scores))
    C = 1.0 / (float(path.score_lambdas[best]) * path.n_examples)
    if not options.quiet:
        stopped = f"; it was stopped at lambda {path.end:.3g}" if path.end > path.lam_min else ""
        seen = f"best of {np.sum(~np.isnan(path.scores))} along the path{stopped}"
        say(f"note: C = {C:.4g} scores {path.scores[best]:.4f} on {options.dev}, {seen}")
    return C
