"""A solver that refuses a problem names others: these take it."""

import re

import numpy as np
import pytest
from factor_problems import PROBLEMS
from python_models import Chain
from solvers.test_resume import chain

from taut import PythonProblem, smoothed
from taut.choice.registry import OWN, registered_solver
from taut.problem.capability import CRF, Capability
from taut.solvers.objective import Objective
from taut.structures import partly_labelled, slack_rescaled


def of_python(formulation):
    X, Y = [np.eye(2), np.ones((1, 2))], [(0, 1), (2,)]
    return PythonProblem(Chain(3, 2), X, Y, formulation=formulation)


KINDS = {
    "chain": chain(),
    "smoothed": smoothed(chain()),
    "partly labelled": partly_labelled(chain(), np.arange(len(chain().truth)) % 2 == 0),
    "slack rescaled": slack_rescaled(chain()),
    "Python": of_python("margin"),
    "Python, slack": of_python("slack"),
    **PROBLEMS,
}


def refusal(problem, name):
    """What the solver of this name says against the problem; "" if nothing."""
    try:
        registered_solver(name).check_fits(problem, Objective(1.0))
    except ValueError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("name", sorted(OWN))
@pytest.mark.parametrize("kind", KINDS)
def test_a_refusal_names_what_is_not_refused(kind, name):
    problem = KINDS[kind]
    said = refusal(problem, name)
    named = set(re.findall(r'"([a-z0-9-]+)"', said)) & OWN
    assert not said or named or "(problem" in said
    for other in named:
        assert refusal(problem, other) == ""
    if "smoothed(problem)" in said:
        assert Capability.SUM_ORACLE in problem.capabilities


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_a_crf_is_not_made_one_again(kind):
    problem = KINDS[kind]
    if problem.capabilities & CRF:
        for make in (smoothed, slack_rescaled, lambda problem: partly_labelled(problem, [])):
            with pytest.raises(ValueError, match="already"):
                make(problem)
