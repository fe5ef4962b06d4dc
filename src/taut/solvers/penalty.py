"""What a slack costs: as it is, or half its square.

With xi_i = max_y H_i(y; w) the objective is 1/2 |w|^2 + C sum_i s_i h(xi_i). In the dual h appears
as its conjugate at the mass A_i = sum_y alpha_i(y) of an example's labellings other than the truth:

    linear    h(xi) = xi          A_i <= 1, which costs nothing   (a simplex)
    squared   h(xi) = xi^2 / 2    any A_i >= 0, at A_i^2 / 2      (a cone)
"""

from enum import Enum

import numpy as np


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
