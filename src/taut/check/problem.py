"""Is a model right? Tries it on a few examples and says in words what is wrong."""

from typing import Any

import numpy as np

from taut._compile import check_compiles, interpreting
from taut.check.functions import check_data, function_findings
from taut.check.python_model import model_findings
from taut.problem.capability import STEPS, Capability
from taut.problem.problem_type import require
from taut.problem.python_problem import PythonProblem
from taut.solvers.objective import problem_bounds


def check_problem(problem: Any, n_examples: int = 10, random_state: int = 0) -> None:
    """Raise a ValueError that lists everything found wrong with a problem; else do nothing.

    Looks at ``n_examples`` examples, from the first to the last, under several weight vectors.

    Of a model in plain Python (:class:`taut.PythonProblem`): features and losses are finite and
    repeatable, the truth costs nothing, inputs are not modified, and neither the oracle of the
    problem's formulation nor ``predict`` is beaten by a label they or another weight vector came up
    with.

    Of any other problem: the truth costs nothing, no oracle is beaten by another labelling
    (``choices`` says which there are), what one function says of a labelling or a dual point agrees
    with what the others say, answers do not depend on what was asked before, and nothing is changed
    but what should be. Its functions run interpreted, with Python's errors and index checks; in the
    end they are compiled, which may fail.
    """
    require(problem, Capability(0), "check_problem")
    random = np.random.default_rng(random_state)
    if isinstance(problem, PythonProblem):
        findings = model_findings(problem, n_examples, some_weights(problem, random))
    elif problem.capabilities & STEPS:
        with interpreting(), np.errstate(all="ignore"):
            findings = check_data(problem)
            if not findings:
                weights = some_weights(problem, random)
                findings = function_findings(problem, n_examples, weights, random)
        if problem.is_compiled and not findings:
            check_compiles(problem)
    elif Capability.LIKELIHOOD in problem.capabilities:  # missing labels: two problems in one
        parts = [part for part in (problem.free, problem.known) if part is not None]
        if any(part is problem for part in parts):
            raise ValueError(
                "free and known are problems of their own, such as smoothed() makes; one of these "
                "is the problem itself"
            )
        for part in parts:
            check_problem(part, n_examples, random_state)
        return
    else:  # trained without inference: no oracle that could be wrong
        with interpreting(), np.errstate(all="ignore"):
            findings = check_data(problem)
    if findings:
        what = "model" if isinstance(problem, PythonProblem) else "problem"
        raise ValueError(f"the {what} is not right:\n  - " + "\n  - ".join(summary(findings)))


def some_weights(problem: Any, random: np.random.Generator) -> list[np.ndarray]:
    """Weights that a run could have: none, ordinary ones, large ones."""
    weights = [np.zeros(problem.dim), *random.normal(size=(3, problem.dim))]
    weights.append(random.normal(size=problem.dim) * 100)
    lower, upper = problem_bounds(problem, (-np.inf, np.inf))
    return [np.clip(w, lower, upper) for w in weights]


def summary(findings: list[str]) -> list[str]:
    """The first finding of each kind, and how many more there are of it.

    >>> summary(["example 0: loss is 1", "example 1: loss is 2", "example 1: oracle fails"])
    ['example 0: loss is 1 (and 1 more like this)', 'example 1: oracle fails']
    """
    kinds: dict[tuple, list[str]] = {}
    for finding in dict.fromkeys(findings):
        kinds.setdefault(tuple(finding.split()[2:4]), []).append(finding)
    return [
        first + (f" (and {len(rest)} more like this)" if rest else "")
        for first, *rest in kinds.values()
    ]
