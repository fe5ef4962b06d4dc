"""Slack rescaling: any problem that has an oracle for it, seen by solvers as a problem like others.

Margin rescaling asks for a margin as wide as the loss, slack rescaling for a margin of one, and
weighs its violation by the loss:

    H_i(y; w) = loss_i(y) (1 + <w, phi_i(y) - phi_i(truth)>)

That is loss_i(y) + <w, psi> with the features loss_i(y) (phi_i(y) - phi_i(truth)), and these are
those of a corner that lies in the base problem's image space, on the line from the truth's to y's:

    corner(y) = e(truth) + loss_i(y) (e(y) - e(truth))

So whatever a solver asks is answered by the base problem, except for the oracle. Only the loss of a
dual point is no longer linear in its image, and is kept beside it. A corner's share of the truth is
added once for all corners of a change: where labellings agree with it, amounts then cancel exactly.

Reference: Tsochantaridis, Joachims, Hofmann, Altun (2005); the corners are those of Yu, Rousu
(2007).
"""

import hashlib
from typing import Any, NamedTuple

import numpy as np

from taut._compile import Labels, Opaque, Problem, Vector, both_modes, by_reference
from taut.arrays.accumulator import Accumulator
from taut.problem import (
    add_corner,
    advance,
    begin_change,
    begin_margins,
    block_value,
    dual_has_room,
    finish_shifts,
    forget,
    label_loss,
    label_value,
    length,
    margin,
    project,
    remember,
    rescaled_argmax,
    scores,
    shift,
    true_label,
    weight,
)
from taut.problem.capability import Capability
from taut.problem.problem_type import problem_type, require
from taut.structures.longer_dual import copied, roomier, saved

# Positions in RescaledWork.change.
LOSS, CORNERS, SHARES, SHIFTED = 0, 1, 2, 3

FORMULATIONS = ("margin", "slack")  # what is rescaled by the loss


@by_reference
class RescaledWork(NamedTuple):
    """Scratch memory of one thread."""

    base: Opaque
    search: Opaque  # of the oracle
    truth: Labels  # a labelling
    # Of a prepared change: its loss, the sum of its corners' amounts, and the part of that which
    # went to their labellings; of the shifts of a visit: the sum of their scaled amounts.
    change: Vector

    def __reduce__(self) -> tuple:
        return type(None), ()  # scratch is made anew


@by_reference
class SlackRescaledFields(NamedTuple):
    base: Problem
    importance: Vector  # (n,) sample weights
    n: int
    dim: int


@problem_type
class SlackRescaled(SlackRescaledFields):
    """Made by :func:`slack_rescaled`."""

    __slots__ = ()
    capabilities = Capability.MAX_ORACLE
    formulation = "slack"

    # --- what a solver calls; see taut.problem.any_problem for them -------------------------------

    def scores(problem, w, i, work):
        scores(problem.base, w, i, work.base)

    def add_loss(problem, i, work):
        pass  # it multiplies

    def argmax(problem, w, i, work, y):
        rescaled_argmax(problem.base, w, i, work.base, work.search, y)
        return label_value(problem, w, i, work, y)

    def label_value(problem, w, i, work, y):
        value = label_value(problem.base, w, i, work.base, y)
        return label_loss(problem.base, i, y) * (1.0 + value)

    def block_value(problem, w, i, work, mu):
        return mu[mu.size - problem.n + i] + block_value(problem.base, w, i, work.base, mu)

    def label_loss(problem, i, y):
        return label_loss(problem.base, i, y)

    def begin_change(problem, i, mu, keep, work):
        begin_change(problem.base, i, mu, keep, work.base)
        work.change[LOSS] = keep * mu[mu.size - problem.n + i]
        work.change[CORNERS] = work.change[SHARES] = 0.0

    def add_corner(problem, i, y, amount, work):
        share = amount * label_loss(problem.base, i, y)
        if share != 0.0:
            add_corner(problem.base, i, y, share, work.base)
        work.change[CORNERS] += amount
        work.change[SHARES] += share
        work.change[LOSS] += share

    def project(problem, i, work, amount, delta):
        add_truth(problem, i, work)
        project(problem.base, i, work.base, amount, delta)

    def advance(problem, i, mu, step, work):
        add_truth(problem, i, work)
        advance(problem.base, i, mu, step, work.base)
        mu[mu.size - problem.n + i] += step * work.change[LOSS]

    def dual_has_room(problem, mu, work):
        return dual_has_room(problem.base, mu, work.base)

    def remember(problem, i, y, mu, work):
        remember(problem.base, i, y, mu, work.base)

    def begin_margins(problem, i, work):
        begin_margins(problem.base, i, work.base)

    def margin(problem, w, i, y, work):
        return label_loss(problem.base, i, y) * margin(problem.base, w, i, y, work.base)

    def shift(problem, i, y, amount, scale, mu, delta, work):
        share = amount * label_loss(problem.base, i, y)
        if share != 0.0:
            shift(problem.base, i, y, share, scale, mu, delta, work.base)
        work.change[SHIFTED] += share
        mu[mu.size - problem.n + i] += share

    def finish_shifts(problem, i, scale, mu, delta, work):
        # Amounts that sum to zero no longer do so when scaled; the truth takes the rest.
        true_label(problem.base, i, work.truth)
        rest = -work.change[SHIFTED]
        shift(problem.base, i, work.truth, rest, scale, mu, delta, work.base)
        finish_shifts(problem.base, i, scale, mu, delta, work.base)
        work.change[SHIFTED] = 0.0

    def length(problem, i):
        return length(problem.base, i)

    def true_label(problem, i, y):
        true_label(problem.base, i, y)

    def forget(problem, i, y):
        forget(problem.base, i, y)

    def weight(problem, i):
        return weight(problem.base, i)

    # --- what a run allocates ------------------------------------------------------------------

    @property
    def is_compiled(problem) -> bool:
        return problem.base.is_compiled

    @property
    def n_numbers(problem) -> int:
        return problem.base.n_numbers

    @property
    def longest(problem) -> int:
        return problem.base.longest

    def new_dual(problem) -> np.ndarray:
        """That of the base problem, made of corners scaled by their losses, then these losses."""
        return np.concatenate([problem.base.new_dual(), np.zeros(problem.n)])

    def new_work(problem) -> RescaledWork:
        return RescaledWork(
            base=problem.base.new_work(),
            search=problem.base.new_rescaled_search(),
            truth=np.zeros(problem.longest, np.int32),
            change=np.zeros(4),
        )

    def new_delta(problem) -> Accumulator:
        return problem.base.new_delta()

    # --- what a run asks -----------------------------------------------------------------------

    @property
    def n_states(problem) -> int | None:
        return problem.base.n_states

    @property
    def inference(problem) -> str:
        return problem.base.inference

    @property
    def memory(problem) -> np.ndarray:
        return problem.base.memory

    def required_bounds(problem) -> tuple[np.ndarray, np.ndarray] | None:
        return problem.base.required_bounds()

    def held_at_zero(problem) -> np.ndarray:
        return problem.base.held_at_zero()

    def worst_losses(problem) -> np.ndarray | None:
        """max_y loss_i(y), which is the oracle's value at w = 0 here, too."""
        return problem.base.worst_losses()

    def hold(problem, i: int, y: np.ndarray, mu: Any) -> None:
        problem.base.hold(i, y, mu)

    def fingerprint(problem, n: int | None = None) -> str:
        """A dual point under margin rescaling proves nothing here, so it is another one's hash."""
        text = f"slack rescaling of {problem.base.fingerprint(n)}"
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

    @property
    def dual_grows(problem) -> bool:
        return problem.base.dual_grows

    def with_room(problem, mu: np.ndarray, for_all: bool) -> np.ndarray:
        return roomier(problem, mu, for_all)

    def copy_dual(problem, source: np.ndarray, target: np.ndarray) -> np.ndarray:
        n = problem.base.examples_in(source)
        if not np.all(np.isfinite(source[-n:])):
            raise ValueError("losses must be finite numbers")
        return copied(problem, source, target, n)

    def dual_array(problem, mu: np.ndarray) -> np.ndarray:
        return saved(problem, mu)


@both_modes
def add_truth(problem, i, work):
    """Give the truth its share of the corners added since: amount * (1 - loss) of each."""
    share = work.change[CORNERS] - work.change[SHARES]
    if share != 0.0:
        true_label(problem.base, i, work.truth)
        add_corner(problem.base, i, work.truth, share, work.base)
    work.change[CORNERS] = work.change[SHARES] = 0.0


def checked_formulation(name: str) -> str:
    if name not in FORMULATIONS:
        raise ValueError(f"formulation={name!r}; expected one of {FORMULATIONS}")
    return name


def slack_rescaled(problem: Any) -> SlackRescaled:
    """The same problem under slack rescaling, for every solver that has an oracle.

    Exact oracles exist for single nodes and small graphs whatever the loss, and for chains and
    forests where costs and weights of nodes are whole multiples of one unit, as under Hamming loss.
    Elsewhere this raises a ValueError. A compiled problem of one's own needs ``rescaled_argmax``
    and declares it (see :mod:`taut.problem.any_problem`).

    >>> from taut import BCFW, solve
    >>> from taut.structures import multiclass_problem
    >>> cost = np.array([[0.0, 1.0, 4.0], [1.0, 0.0, 1.0], [4.0, 1.0, 0.0]])
    >>> problem = multiclass_problem(np.eye(3), np.array([0, 1, 2]), 3, cost=cost, bias=False)
    >>> solution = solve(slack_rescaled(problem), BCFW(direction="corrective"), tol=1e-6)
    >>> solution.status.name
    'CONVERGED'
    """
    if isinstance(problem, SlackRescaled):
        raise ValueError("this problem is slack rescaled already")
    require(problem, Capability.RESCALED_ORACLE, "slack_rescaled")
    problem.new_rescaled_search()  # raises an error that says why there is no exact oracle
    return SlackRescaled(
        base=problem,
        importance=np.require(problem.importance, np.float64, ["C", "A"]),
        n=problem.n,
        dim=problem.dim,
    )
