"""What a training run returns: weights, and a proof of how good they are."""

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np

HISTORY = np.dtype(
    [
        ("passes", "f8"),  # block steps / n
        ("seconds", "f8"),
        ("oracle_calls", "i8"),
        ("primal", "f8"),
        ("dual", "f8"),
        ("gap", "f8"),
        ("score", "f8"),  # on held-out data, the better of iterate and average; NaN without
    ]
)


class Status(Enum):
    """How a run ended; the text says what to do about it."""

    CONVERGED = "converged: the gap is within the tolerance"
    MAX_PASSES = (
        "stopped at max_passes before reaching the tolerance; "
        "raise max_passes, raise tol, or lower C"
    )
    TIME_LIMIT = (
        "stopped at time_limit before reaching the tolerance; "
        "raise time_limit, raise tol, or lower C"
    )
    INTERRUPTED = (
        "interrupted; this is the best model so far, "
        "fit again with warm_start (or resume from a checkpoint) to go on"
    )
    CALLBACK = "stopped by the callback"
    BEST_SCORE = (
        "training has converged; these are the weights with the best score on held-out data"
    )
    NO_BETTER_SCORE = (
        "stopped early: the score on held-out data no longer rises; "
        "these are the weights with the best one"
    )


@dataclass(frozen=True)
class Solution:
    """Weights with their certificate.

    ``primal`` is the objective at ``w``, ``dual`` a proved lower bound on the best possible
    objective, so the objective can be improved by at most ``gap``. ``relative_gap`` divides it by
    the objective at w = 0. ``history`` is a record array with one row per certificate.
    """

    w: np.ndarray = field(repr=False)
    primal: float
    dual: float
    status: Status
    history: np.recarray = field(repr=False)
    passes: float
    oracle_calls: int
    seconds: float
    C: float
    lam: float
    n_examples: int
    scale: float  # the objective at w = 0
    returned: str  # "last", "average" or "earlier": which iterate w is
    solver: Any  # or, in a loaded model, its description
    fingerprint: str = field(repr=False)  # of the problem
    inference: str = ""  # the method of the oracle, where there is a choice
    certifies: str = ""  # which relaxation primal and dual are those of; "" if of none
    state: Any = field(default=None, repr=False)  # for warm starts; None in a loaded model

    @property
    def gap(self) -> float:
        return self.primal - self.dual

    @property
    def relative_gap(self) -> float:
        return self.gap / self.scale if self.scale > 0 else self.gap

    def _about_inference(self) -> str:
        if not self.inference:
            return ""
        what = "exact"
        if self.certifies:
            what = f"objective and proof are those of the {self.certifies}"
        return f"  inference by {self.inference}: {what}\n"

    def __str__(self) -> str:
        which = {
            "last": "the last iterate",
            "average": "the weighted average of the iterates",
            "earlier": "the best iterate, from an earlier check",
        }[self.returned]
        return (
            f"{self.status.value}\n"
            f"  primal {self.primal:.6g}, dual {self.dual:.6g}, gap {self.gap:.3g}: "
            f"no weights can have an objective more than {self.gap:.3g} lower\n"
            f"{self._about_inference()}"
            f"  relative gap {self.relative_gap:.2e} (of the objective {self.scale:.6g} at w = 0)\n"
            f"  {self.passes:.1f} passes over {self.n_examples} examples, "
            f"{self.oracle_calls} oracle calls, {self.seconds:.2f} s\n"
            f"  {describe(self.solver)}, C = {self.C:g} (lambda = {self.lam:.6g}); "
            f"the weights are {which}"
        )


def describe(solver: Any) -> str:
    """A solver in words.

    >>> from taut.solvers import BCFW
    >>> describe(BCFW(cache=True))
    'block-coordinate Frank-Wolfe (order gap, direction toward, cache)'
    """
    if isinstance(solver, str):
        return solver
    if type(solver).__name__ != "BCFW":
        return "batch Frank-Wolfe"
    parts = [f"order {solver.order.name.lower()}", f"direction {solver.direction.name.lower()}"]
    parts += ["cache"] * solver.cache + ["averaging"] * solver.averaging
    return f"block-coordinate Frank-Wolfe ({', '.join(parts)})"
