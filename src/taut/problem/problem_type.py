"""Which classes are problems, and the one error where a problem lacks what is asked of it."""

import inspect
from typing import Any

import numpy as np

from taut.problem.any_problem import EVERY, AnyProblem
from taut.problem.capability import LACKING, Capability, remedy

MEMBERS = {name: member for name, member in vars(AnyProblem).items() if not name.startswith("_")}


def needed_by(member: Any) -> Capability:
    """The capabilities that take this member to be written; none if it has a default."""
    function = member.fget if isinstance(member, property) else member
    return vars(function).get("needed_by", Capability(0))


DEFAULTS = {name: member for name, member in MEMBERS.items() if not needed_by(member)}


def problem_type(cls: Any) -> Any:
    """Mark a class as that of a problem: members it does not write get their defaults.

    >>> from taut import PythonProblem
    >>> PythonProblem.certifies.__doc__
    'The relaxation, or the stand-in, that primal and dual values are those of.'
    """
    written = written_in(cls)
    for name, member in DEFAULTS.items():
        if name not in written:
            setattr(cls, name, member)
    return cls


def is_problem(value: Any) -> bool:
    """Whether its class is marked: it has whatever has a default."""
    return all(name in written_in(type(value)) for name in DEFAULTS)


def written_in(cls: Any) -> set[str]:
    """Members and fields of a class."""
    return set(dir(cls)).union(*(inspect.get_annotations(base) for base in cls.__mro__))


def require(problem: Any, needs: Capability, who: str) -> None:
    """Refuse a problem that lacks what ``who`` needs of it, and say what to do."""
    name = type(problem).__name__
    if isinstance(problem, type):
        raise TypeError(f"{problem.__name__} is a class; give one of its objects")
    if not is_problem(problem):
        raise TypeError(
            f"{name} is not a problem; give a problem, such as taut.structures make, or write "
            "@problem_type, from taut.problem.problem_type, above the class of your own"
        )
    for each in needs & ~problem.capabilities:
        what, then = LACKING[each][0], remedy(each, problem.capabilities)
        raise ValueError(f"{who} needs {what}, which {name} does not have; {then}")
    if missing := missing_members(problem):
        raise TypeError(
            f"{name} cannot be used by {who}: it lacks\n  - " + "\n  - ".join(missing) + "\n"
            'Write them in its class; the page "How a solver sees a problem" has an example'
        )


def weights_of(problem: Any, w: Any) -> np.ndarray:
    """Weights as compiled code wants them, which does not look how many there are.

    >>> from taut.structures import multiclass_problem
    >>> weights_of(multiclass_problem(np.eye(3), np.array([0, 1, 2]), n_states=3), np.ones(5))
    Traceback (most recent call last):
    ValueError: w has shape (5,), but the problem has 12 weights; give those that were trained on \
a problem with the same features and labels
    """
    w = np.require(w, np.float64, ["C", "A"])
    if w.shape != (problem.dim,):
        raise ValueError(
            f"w has shape {w.shape}, but the problem has {problem.dim} weights; give those that "
            "were trained on a problem with the same features and labels"
        )
    return w


def missing_members(problem: Any) -> list[str]:
    """What this problem's capabilities need of it and it does not have, with signatures."""
    # A named tuple that is interpreted has no dictionary.
    has, written = problem.capabilities, {*dir(type(problem)), *getattr(problem, "__dict__", {})}
    return [
        described(name, member)
        for name, member in MEMBERS.items()
        if name not in written and (needed_by(member) & has or needed_by(member) == EVERY)
    ]


def described(name: str, member: Any) -> str:
    """A member as its author would write it, and what it is."""
    what = " ".join((inspect.getdoc(member) or "").split("\n\n")[0].split())
    if isinstance(member, property):
        return f"{name}: {what}"
    return f"{name}({', '.join(inspect.signature(member).parameters)}): {what}"
