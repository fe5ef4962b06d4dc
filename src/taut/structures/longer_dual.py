"""The dual of a problem that is made of another one: that of the base problem, and then one more
number for each example, its loss or its entropy."""

from typing import Any

import numpy as np


def roomier(problem: Any, mu: np.ndarray, for_all: bool) -> np.ndarray:
    """With room for changes of the base problem's part."""
    part, more = np.split(mu, [mu.size - problem.n])
    longer = problem.base.with_room(part, for_all, problem.n)
    if longer is part:
        return mu
    longer[longer.size - problem.n :] = more
    return longer


def copied(problem: Any, source: np.ndarray, target: np.ndarray, n: int) -> np.ndarray:
    """``source``, of the first n examples, in place of the beginning of ``target``."""
    part, more = np.split(target, [target.size - problem.n])
    base, more[:n] = problem.base.copy_dual(source[:-n], part), source[-n:]
    return target if base is part else np.concatenate([base, more])


def saved(problem: Any, mu: np.ndarray) -> np.ndarray:
    """As a checkpoint has it."""
    return np.concatenate([problem.base.dual_array(mu[: -problem.n]), mu[-problem.n :]])
