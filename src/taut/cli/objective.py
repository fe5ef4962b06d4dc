"""What ``taut train`` minimises, an SVM's objective or a CRF's, and how."""

from argparse import Namespace
from dataclasses import replace
from typing import Any

from taut import defaults
from taut.chain.model import scaled_C
from taut.choice.named import named_solver
from taut.solvers import BCFW
from taut.structures.pairwise import Pairwise
from taut.structures.slack_rescaled import slack_rescaled
from taut.structures.smoothed import smoothed

TEMPERATURE = 1.0  # at which a CRF's objective is its likelihood
# Parameters that the estimators have by the names of their options.
OF_BOTH = (
    "C", "features", "min_freq", "scheme", "scheme_in_training", "solver", "averaging", "tol",
    "max_passes", "time_limit", "cpu_limit", "patience",
)  # fmt: skip
OF_SVM = ("loss", "formulation", "slack_penalty")
OF_CRF = ("l1",)


def objective_of(problem: Pairwise, options: Namespace) -> Any:
    """The problem as solvers are to see it."""
    if options.crf:
        return smoothed(problem, TEMPERATURE)
    return slack_rescaled(problem) if options.formulation == "slack" else problem


def probabilities_of(options: Namespace) -> dict[str, Any]:
    """What a CRF's model has and an SVM's does not."""
    if not options.crf:
        return {}
    return {"temperature": TEMPERATURE, "decoding": options.decoding}


def parameters_of(options: Namespace) -> dict[str, Any]:
    """Those of the estimator, ChainSVM or ChainCRF, that would train the same model."""
    names = OF_BOTH + (OF_CRF if options.crf else OF_SVM)
    return {name: getattr(options, name) for name in names} | probabilities_of(options)


def solver_of(problem: Pairwise, objective: Any, options: Namespace) -> Any:
    # With held-out text training ends early, and SDCA is the one with a good model early.
    C = scaled_C(options.C, problem) if options.dev is None else None
    solver = named_solver(
        options.solver,
        objective if options.crf else problem,
        options.averaging,
        slack_penalty=options.slack_penalty,
        C=C,
        l1=options.l1,
    )
    often = solver.check_every <= defaults.CHECK_EVERY
    if options.dev is None or often or not isinstance(solver, BCFW):
        return solver
    return replace(solver, refresh=defaults.CHECK_EVERY)  # so as not to miss the best score
