"""Missing labels: a CRF whose examples are labelled in part.

The likelihood of what is known sums over all labellings that agree with it:

    minus log p(known) = T log Z(all labellings) - T log Z(labellings that agree), divided by T

The first part is the CRF's own smoothed maximum, the second that of the same problem with the known
labels forced. Their difference is not convex. At any weights it touches a convex function from
below: the second part replaced by its tangent, which fills in the missing labels as the weights
expect them. L-BFGS minimises the difference itself; the certificate is that of the convex function
at the final weights: no other weights are better for the labels so filled in.
"""

import hashlib
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from taut.problem.capability import Capability
from taut.problem.problem_type import problem_type, require
from taut.structures.smoothed import Smoothed, smoothed


@problem_type
@dataclass(frozen=True)
class PartlyLabelled:
    """Made by :func:`partly_labelled`."""

    free: Smoothed  # all labellings
    known: Smoothed  # those that agree with the known labels
    importance: np.ndarray  # (n,) sample weights
    n: int
    dim: int

    capabilities: ClassVar[Capability] = Capability.LIKELIHOOD
    formulation: ClassVar[str] = "likelihood"
    certifies: ClassVar[str] = "likelihood with the missing labels filled in as expected"

    @property
    def is_compiled(problem) -> bool:
        return problem.free.is_compiled

    def required_bounds(problem) -> tuple[np.ndarray, np.ndarray] | None:
        return problem.free.required_bounds()

    def held_at_zero(problem) -> np.ndarray:
        return problem.free.held_at_zero()

    def fingerprint(problem, n: int | None = None) -> str:
        both = problem.free.fingerprint(n) + problem.known.fingerprint(n)
        return hashlib.blake2b(both.encode(), digest_size=16).hexdigest()


def partly_labelled(problem: Any, known: np.ndarray, temperature: float = 1.0) -> PartlyLabelled:
    """The CRF of a problem of which only the true labels of ``known`` nodes are to be trusted.

    ``known`` is boolean, one for each node of all examples. The other labels may be any.

    >>> from taut.structures import chain_problem
    >>> problem = chain_problem(np.eye(4), [3, 1], np.array([0, 1, 0, 1]), n_states=2)
    >>> partly_labelled(problem, np.array([True, False, True, True])).n
    2
    """
    if isinstance(problem, Smoothed):
        raise ValueError("this problem is smoothed already; give the problem that was smoothed")
    require(problem, Capability.CLAMPING | Capability.SUM_ORACLE, "partly_labelled")
    known, nodes = np.asarray(known, bool), int(problem.pointer[-1])
    if known.shape != (nodes,):
        raise ValueError(
            f"known has shape {known.shape}; one boolean for each of the {nodes} nodes is expected"
        )
    clamped = smoothed(problem.clamped(known), temperature)
    free = smoothed(problem, temperature)
    return PartlyLabelled(free, clamped, free.importance, problem.n, problem.dim)
