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
    from taut.path.regularization import regularization_path  # with scikit-learn: takes a second

    how: dict[str, Any] = {
        "eps": EPS,
        "seed": options.seed,
        "n_threads": options.threads,
        "progress": False if options.quiet else None,
        "keep_weights": False,
    }
    beginning = regularization_path(problem, time_limit=0.0, **how)
    lambdas = np.geomspace(beginning.lambdas[0], beginning.lam_min, N_LAMBDAS)
    path = regularization_path(
        problem,
        validate=validate,
        validate_at=lambdas,
        lam_min=beginning.lam_min,
        time_limit=options.time_limit,
        **how,
    )
    if np.all(np.isnan(path.scores)):
        raise ValueError("--time-limit is too short to choose C; raise it, or give --C")
    best = int(np.nanargmax(path.scores))
    C = 1.0 / (float(lambdas[best]) * path.n_examples)
    if not options.quiet:
        seen = int(np.sum(~np.isnan(path.scores)))
        say(f"note: C = {C:.4g} scores best on {options.dev}, {path.scores[best]:.4f}, of {seen}")
    return C
