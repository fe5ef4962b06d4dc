"""What a training run returns: weights, and a proof of how good they are."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from taut.spelling import OptionText, in_python


class Row(NamedTuple):
    """What is recorded at a certificate.

    Primal, dual and gap are those of the weights that would be returned if the run ended here: the
    last row's are the solution's. Where the solver itself stands (its dual never falls under an
    exact line search, its objective may rise) is in the columns of the iterate.
    """

    passes: float  # over all blocks
    seconds: float
    oracle_calls: int
    primal: float
    dual: float  # the best lower bound so far
    gap: float
    score: float  # on held-out data, of the average if there is one; NaN without such data
    soft_gap: float  # of solvers without inference; NaN for others
    violation: float  # largest disagreement of an edge with its nodes, likewise
    squared_violation: float  # |B mu|^2: the sum of squares of all disagreements, likewise
    iterate_primal: float  # NaN in a loaded model
    iterate_dual: float


HISTORY = np.dtype([(name, "i8" if name == "oracle_calls" else "f8") for name in Row._fields])


ORACLE = "oracle"  # among ``seconds_in``, part of the others


class Status(OptionText):
    """How a run ended; the text says what to do about it."""

    CONVERGED = "converged: the gap is within the tolerance"
    SOFT_CONVERGED = (
        "converged: the soft gap is within the tolerance; the bracket of the hard problem stays "
        'open, lower rho or use solver="augmented-lagrangian" to close it'
    )
    MAX_PASSES = (
        "stopped at ‹max_passes› before reaching the tolerance; "
        "raise ‹max_passes›, raise ‹tol›, or lower ‹C›"
    )
    TIME_LIMIT = (
        "stopped at ‹time_limit› before reaching the tolerance; "
        "raise ‹time_limit›, raise ‹tol›, or lower ‹C›"
    )
    CPU_LIMIT = (
        "stopped at ‹cpu_limit› before reaching the tolerance; "
        "raise ‹cpu_limit›, raise ‹tol›, or lower ‹C›"
    )
    NO_VIOLATION = (
        "converged: the oracle finds no labelling that violates its constraint (by more than "
        "epsilon)"
    )
    NO_WAY_DOWN = (
        "stopped: no step lowers the objective any more, within rounding; raise ‹tol› to stop "
        "earlier"
    )
    INTERRUPTED = (
        "interrupted; this is the best model so far, "
        "‹resume=True› goes on with it if there was a ‹checkpoint›"
    )
    TERMINATED = (
        "terminated by a signal; this is the best model so far, "
        "‹resume=True› goes on with it if there was a ‹checkpoint›"
    )
    CALLBACK = "stopped by the callback"
    ON_PATH = "taken from a regularisation path"
    GIVEN = "given: these weights were not trained here, and nothing is proved of them"
    BEST_SCORE = (
        "training has converged; these are the weights with the best score on held-out data"
    )
    NO_BETTER_SCORE = (
        "stopped early: the score on held-out data no longer rises; "
        "these are the weights with the best one"
    )

    @property
    def is_interruption(self) -> bool:
        """Whether Ctrl-C or SIGTERM ended the run."""
        return self in (Status.INTERRUPTED, Status.TERMINATED)


# A run that ended so might have gone on to better weights.
UNFINISHED = (
    Status.MAX_PASSES,
    Status.TIME_LIMIT,
    Status.CPU_LIMIT,
    Status.INTERRUPTED,
    Status.TERMINATED,
)


@dataclass(frozen=True)
class Solution:
    """Weights with their certificate.

    ``primal`` is the objective at ``w``, or an upper bound on it where inference is approximate or
    there is none; ``dual`` a proved lower bound on the best possible
    objective, so the objective can be improved by at most ``gap``. ``relative_gap`` divides it by
    the objective at w = 0. ``history`` is a record array with one row per certificate; its last row
    has this ``primal``, ``dual`` and ``gap``.

    ``seconds_in`` says where the ``seconds`` went: "steps", "certificates", "scores" (on held-out
    data) and "checkpoints", if there are any. Steps call the oracle, and compiled ones keep no time
    of it; of a model in Python "oracle" is known, which is part of the others.
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
    returned: str  # "last", "average", "earlier" or "path": which iterate w is
    solver: Any  # or, in a loaded model, its description
    fingerprint: str = field(repr=False)  # of the problem
    found_at: float = 0.0  # after how many passes w was there
    score: float = np.nan  # of w on held-out data; NaN without such data
    is_worse_than_zero: bool = False  # whether w = 0 would have a lower primal value
    inference: str = ""  # the method of the oracle, where there is a choice
    formulation: str = "margin"  # or "slack": what is rescaled by the loss
    slack_penalty: str = "linear"  # or "squared"
    l1: float = 0.0  # lambda l1 |w|_1 is part of the objective
    certifies: str = ""  # which relaxation primal and dual are those of; "" if of none
    soft_gap: float = np.nan  # of a solver with soft constraints, at the last certificate
    violation: float = np.nan  # how far its marginals are from agreeing, likewise
    seconds_in: dict[str, float] = field(default_factory=dict)  # empty of a path
    state: Any = field(default=None, repr=False)  # for warm starts; None in a loaded model

    @property
    def gap(self) -> float:
        return self.primal - self.dual

    @property
    def doubt(self) -> str:
        """Why these weights may be no model, with options marked; "" if nothing speaks for that."""
        if self.status is Status.GIVEN:
            return ""
        if not self.w.any():
            return (
                "all weights are zero, so this is no model: give training more time, raise ‹C›, or "
                "look at the features"
            )
        if self.is_worse_than_zero:
            return (
                "the bound proved of these weights is worse than that of w = 0, so they may be no "
                "model yet: raise ‹max_passes› or the time limit, lower ‹C› (or rho, where there "
                "is one), or use another ‹solver›"
            )
        if self.found_at == 0 and self.passes > 0 and not np.isnan(self.score):
            return (
                "no weights scored better on held-out data than those that training began with; "
                "look at the data, or raise ‹patience›"
            )
        return ""

    @property
    def relative_gap(self) -> float:
        return self.gap / self.scale if self.scale > 0 else self.gap

    def _remarks(self) -> list[str]:
        """What not every solution has to say of itself, one line each."""
        remarks = []
        slacks = ["rescaled by the loss"] * (self.formulation == "slack")
        slacks += ["squared"] * (self.slack_penalty == "squared")
        if slacks:
            remarks.append(f"slacks are {' and '.join(slacks)}")
        if self.formulation in ("likelihood", "softmax margin"):
            loss = " with the loss added" * (self.formulation == "softmax margin")
            missing = f"; the proof is of the {self.certifies}" if self.certifies else ""
            sparse = f", l1 = {self.l1:g}" if self.l1 else ""
            remarks.append(f"a conditional random field{loss}{sparse}{missing}")
        if self.inference == "none":
            remarks.append(f"without inference: bounds are those of the {self.certifies}")
        elif self.inference:
            of = f"objective and proof are those of the {self.certifies}"
            remarks.append(f"inference by {self.inference}: {of if self.certifies else 'exact'}")
        if not np.isnan(self.soft_gap):
            agree = f"edges and nodes disagree by at most {self.violation:.3g}"
            remarks.append(f"soft gap {self.soft_gap:.3g}, {agree}")
        return [f"  {remark}\n" for remark in remarks]

    def _about_seconds(self) -> str:
        """Whatever else there was, such as callbacks and checkpoints, is the rest."""
        parts = [
            f"{what} {spent:.2f} s" for what, spent in self.seconds_in.items() if what != ORACLE
        ]
        text = f" ({', '.join(parts)})" if parts else ""
        if ORACLE in self.seconds_in:
            text += f", {self.seconds_in[ORACLE]:.2f} s of them in the oracle"
        return text

    def __str__(self) -> str:
        return self.text()

    def text(self, spell: Callable[[str], str] = in_python) -> str:
        """In words; ``spell`` says how options are written."""
        if self.status is Status.GIVEN:
            return spell(self.status.marked)
        which = {
            "last": "the last iterate",
            "average": "the weighted average of the iterates",
            "earlier": f"the best ones, those of pass {self.found_at:.0f}",
            "path": "those of the path",
        }[self.returned]
        doubt = f"  {spell(self.doubt)}\n" if self.doubt else ""
        return (
            f"{spell(self.status.marked)}\n{doubt}"
            f"  primal {self.primal:.6g}, dual {self.dual:.6g}, gap {self.gap:.3g}: "
            f"no weights can have an objective more than {self.gap:.3g} lower\n"
            f"{''.join(self._remarks())}"
            f"  relative gap {self.relative_gap:.2e} (of the objective {self.scale:.6g} at w = 0)\n"
            f"  {self.passes:.1f} passes over {self.n_examples} examples, "
            f"{f'{self.oracle_calls} oracle calls, ' if self.oracle_calls else ''}"
            f"{self.seconds:.2f} s{self._about_seconds()}\n"
            f"  {describe(self.solver)}, C = {self.C:g} (lambda = {self.lam:.6g}); "
            f"the weights are {which}"
        )


def given_solution(w: np.ndarray) -> Solution:
    """Of weights that nobody proves anything about: an objective is at least 0, and finite."""
    return Solution(
        w=w,
        primal=float(np.finfo(np.float64).max),
        dual=0.0,
        status=Status.GIVEN,
        history=np.zeros(0, HISTORY).view(np.recarray),
        passes=0.0,
        oracle_calls=0,
        seconds=0.0,
        C=1.0,
        lam=1.0,
        n_examples=0,
        scale=0.0,
        returned="last",
        solver="none",
        fingerprint="",
    )


def describe(solver: Any) -> str:
    """A solver in words.

    >>> from taut.solvers import BCFW
    >>> describe(BCFW(cache=True))
    'block-coordinate Frank-Wolfe (order gap, direction toward, cache)'
    """
    if isinstance(solver, str):  # of a loaded model
        return solver
    return solver.describe()
