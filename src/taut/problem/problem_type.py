"""Which classes are problems, and the one error where a problem lacks what is asked of it."""

import inspect
from typing import Any

from taut.problem.any_problem import EVERY, AnyProblem
from taut.problem.capability import LACKING, Capability, remedy

MEMBERS = {name: member for name, member in vars(AnyProblem).items() if not name.startswith("_")}


def needed_by(member: Any) -> Capability:
    """The capabilities that take this member to be written; none if it has a default."""
    function = member.fget if isinstance(member, property) else member
    return vars(function).get("needed_by", Capability(0))


def problem_type(cls: Any) -> Any:
    """Mark a class as that of a problem: members it does not write get their defaults.

    >>> from taut import PythonProblem
    >>> PythonProblem.certifies.__doc__
    'The relaxation, or the stand-in, that primal and dual values are those of.'
    """
    written = set(dir(cls))
    for base in cls.__mro__:
        written |= set(inspect.get_annotations(base))
    for name, member in MEMBERS.items():
        if name not in written and not needed_by(member):
            setattr(cls, name, member)
    return cls


def is_problem(value: Any) -> bool:
    """Whether its class is marked."""
    return "capabilities" in dir(type(value))


def require(problem: Any, needs: Capability, who: str) -> None:
    """Refuse a problem that lacks what ``who`` needs of it, and say what to do."""
    name = type(problem).__name__
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
