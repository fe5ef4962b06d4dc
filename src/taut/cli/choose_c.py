"""``--C best``: of three models the one that scores best on held-out text.

They are the best along the regularisation path, what training finds with its C, and what it finds
with the default C: a search never ends worse than none.
"""

from argparse import Namespace
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from taut import defaults
from taut.chain.training import HeldOut, Training
from taut.cli import Terminated, say
from taut.cli.learning import solved, wanted_progress
from taut.cli.text_files import name_of_all
from taut.solvers import Solution
from taut.solvers.watch import Interrupt

# The path is scored at so many lambdas: more of them cost tagging, not training.
N_LAMBDAS = 40
# Of the optimum at each lambda, and of the objective at w = 0.
EPS, FLOOR = 0.1, 1e-3


class OnPath(NamedTuple):
    solution: Solution
    score: float


class Found(NamedTuple):
    """The model that is kept."""

    training: Training  # with its C
    solution: Solution
    score: float  # on held-out text
    trained: Solution  # the run of training, which is the solution unless that is the path's


def better_of_path_and_default(
    training: Training, held_out: HeldOut, on_path: OnPath, options: Namespace, noted: Interrupt
) -> Found:
    """Of equal scores, that of the path's C."""
    with_its_C = training.at(on_path.solution.C)
    trained = solved(with_its_C, held_out, options, options.checkpoint)
    found = Found(with_its_C, trained, trained.score, trained)
    if on_path.score > trained.score:
        found = found._replace(solution=on_path.solution, score=on_path.score)
    if noted.requested:  # whoever interrupts wants no further run
        return found
    plain = training.at(defaults.C)
    trained = solved(plain, held_out, options)
    is_better = trained.score > found.score
    if not options.quiet:
        kept = "more than that; its model is kept" if is_better else "no more than that"
        say(f"note: the default, C = {trained.C:.4g}, scores {trained.score:.4f}, {kept}")
    return Found(plain, trained, trained.score, trained) if is_better else found


def best_on_path(
    problem: Any, validate: Callable[[np.ndarray], float], options: Namespace
) -> OnPath:
    """Of equal scores, that of the strongest regularisation."""
    # With scikit-learn, whose import takes a second: not for those who give --C.
    from taut.path.result import RegularizationPath
    from taut.path.task import PathOptions, Task
    from taut.path.walk import PathStatus

    task = Task(
        problem, seed=options.seed, n_threads=options.threads, progress=wanted_progress(options)
    )
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
            f"the search for C ended at {C:.3g}, where scores on {name_of_all(options.dev)} were "
            "still rising; "
            "give it more time, or --C"
        )
    score = float(np.nanmax(path.scores))
    if not options.quiet:
        until = f"; the search was stopped at lambda {path.end:.3g}" * stopped
        held_out = name_of_all(options.dev)
        say(f"note: C = {C:.4g} scores {score:.4f} on {held_out}, best along the path{until}")
    return OnPath(path.best(), score)
