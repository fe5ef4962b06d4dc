"""What a run minimises, beside what the problem says: C, l1, box constraints, the cost of a slack.

A slack costs what it is, or half its square. With xi_i = max_y H_i(y; w) the objective is
1/2 |w|^2 + C sum_i s_i h(xi_i). In the dual h appears as its conjugate at the mass
A_i = sum_y alpha_i(y) of an example's labellings other than the truth:

    linear    h(xi) = xi          A_i <= 1, which costs nothing   (a simplex)
    squared   h(xi) = xi^2 / 2    any A_i >= 0, at A_i^2 / 2      (a cone)
"""

from enum import Enum
from typing import Any, NamedTuple

import numpy as np

Bounds = tuple[Any, Any]


class SlackPenalty(Enum):
    LINEAR = "linear"
    SQUARED = "squared"

    def cost(self, slack: np.ndarray) -> np.ndarray:
        """h(xi), of slacks that are not negative."""
        return slack if self is SlackPenalty.LINEAR else 0.5 * slack * slack

    def slope(self, slack: np.ndarray) -> np.ndarray:
        """h'(xi)."""
        return np.ones_like(slack) if self is SlackPenalty.LINEAR else slack

    def conjugate(self, mass: np.ndarray) -> np.ndarray:
        """h*(A), of masses that the penalty allows."""
        return 0.0 * mass if self is SlackPenalty.LINEAR else 0.5 * mass * mass


def named_penalty(name: str | SlackPenalty) -> SlackPenalty:
    """
    >>> named_penalty("squared").cost(np.array([2.0]))
    array([2.])
    """
    try:
        return SlackPenalty(name)
    except ValueError:
        raise ValueError(f'slack_penalty={name!r}; expected "linear" or "squared"') from None


class Objective(NamedTuple):
    """What is minimised, beside what the problem says, and what a run has to itself."""

    C: float
    penalty: SlackPenalty = SlackPenalty.LINEAR
    l1: float = 0.0
    bounds: Bounds | None = None
    seed: int = 0
    n_threads: int = 1


# --- box constraints: the user's, and those a structure cannot do without ------------------------


def problem_bounds(
    problem: Any, bounds: Bounds | None, l1: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """The user's bounds together with those the structure cannot do without.

    With an l1 norm there always are some, if only endless ones: w is another array than v.
    """
    lower, upper = _both_bounds(problem, bounds)
    if l1 and not lower.size:
        return np.full(problem.dim, -np.inf), np.full(problem.dim, np.inf)
    return lower, upper


def _both_bounds(problem: Any, bounds: Bounds | None) -> tuple[np.ndarray, np.ndarray]:
    lower, upper = checked_bounds(bounds, problem.dim, problem.held_at_zero())
    required = problem.required_bounds()
    if required is None:
        return lower, upper
    if not lower.size:
        return checked_bounds(required, problem.dim, problem.held_at_zero())
    both = np.maximum(lower, required[0]), np.minimum(upper, required[1])
    wrong = np.flatnonzero(both[0] > both[1])
    if wrong.size:
        p = wrong[0]
        raise ValueError(
            f"bounds= keeps weight {p} of {problem.dim} between {lower[p]} and {upper[p]}, but "
            f"inference is right only if it is between {required[0][p]} and {required[1][p]} "
            "(attractive edges, springs that pull); widen bounds= there"
        )
    return both


def placed(v: np.ndarray, lower: np.ndarray, upper: np.ndarray, l1: float = 0.0) -> np.ndarray:
    """The weights of a dual point's v; v itself where nothing limits them."""
    if l1:
        v = v - np.clip(v, -l1, l1)
    return np.clip(v, lower, upper) if lower.size else v


def checked_bounds(
    bounds: Bounds | None, dim: int, held_at_zero: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper bounds as arrays; empty arrays without bounds."""
    if bounds is None:
        return np.zeros(0), np.zeros(0)
    try:
        lower, upper = (
            np.array(np.broadcast_to(np.asarray(side, np.float64), dim)) for side in bounds
        )
    except (TypeError, ValueError):
        raise ValueError(
            f"bounds={bounds!r}; expected (lower, upper), each a number or an array of "
            f"{dim} weights"
        ) from None
    wrong = np.flatnonzero(~(lower <= upper))
    if wrong.size:
        p = wrong[0]
        raise ValueError(f"bounds of weight {p}: lower {lower[p]} is not at most upper {upper[p]}")
    lower[held_at_zero] = upper[held_at_zero] = 0.0
    return lower, upper
