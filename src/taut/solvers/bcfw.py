"""Block-coordinate Frank-Wolfe and its variants for the structured SVM dual.

Visit a block i, ask the oracle for y* = argmax_y H_i(y; w), and move mu_i by an exact line search

    toward    along  e(y*) - mu_i                  (Lacoste-Julien et al. 2013; Osokin's alg. 1)
    pairwise  along  e(y*) - e(y_a)                (Osokin's alg. 3)
    away      along  mu_i - e(y_a), if that promises more than toward   (Osokin's alg. 4)
    corrective  to the best point over all active labellings (see ``corrective``)

where y_a is the worst active labelling. With gain = H_i(d; w), the decrease of the dual objective
per unit step, and scale = C s_i, the step is clip(gain / (scale |Psi_i d|^2), 0, cap).

With a cache (Osokin's alg. 5) the best remembered labelling stands in for y* if its gap is at least
max(F * last exact gap of the block, nu/n * last exact total gap); the oracle is then not called.

Reference: Osokin, Alayrac, Lukasewitz, Dokania, Lacoste-Julien (2016), Minding the gaps for block
Frank-Wolfe optimization of structured SVMs.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

from taut._compile import Problem, both_modes, by_reference, compiled
from taut.accumulator import squared_norm
from taut.problem import (
    add_corner,
    add_loss,
    advance,
    argmax,
    attained,
    begin_change,
    block_value,
    forget,
    label_loss,
    length,
    project,
    scores,
    weight,
)
from taut.solvers.corners import best_and_worst, has_room, insert, rescale
from taut.solvers.sampling import Order, draw, set_gap, stored_gap
from taut.solvers.solver import Objective, Solver
from taut.solvers.state import (
    AVERAGED,
    GLOBAL_GAP,
    ORACLE_CALLS,
    STEPS,
    line_search,
    move,
)


def parsed(kind: Any, value: Any, name: str) -> Any:
    """An enumeration's member from itself or its name in lower case."""
    if isinstance(value, str):
        if value.upper() not in kind.__members__:
            raise ValueError(f"{name}={value!r}; expected {_names(kind)}")
        return kind[value.upper()]
    if value not in list(kind):
        raise ValueError(f"{name}={value!r}; expected {_names(kind)}")
    return kind(value)


def _names(kind: Any) -> str:
    return ", ".join(repr(member.lower()) for member in kind.__members__)


class Direction(IntEnum):
    TOWARD = 0
    PAIRWISE = 1
    AWAY = 2
    CORRECTIVE = 3


@dataclass(frozen=True)
class BCFW(Solver):
    """Options of block-coordinate Frank-Wolfe.

    ``order`` is "cyclic", "permuted", "uniform" or "gap"; ``direction`` is "toward", "pairwise",
    "away" or "corrective" (the last with up to ``cheap_passes`` sweeps over remembered labellings
    after each pass of the oracle). ``averaging`` returns the weighted average of the iterates,
    unless only the last one is within the tolerance. ``refresh`` is the number of passes between
    two exact computations of all gaps (None: the stored gaps are never refreshed, the certificate
    is still computed every 10 passes).
    """

    order: Order | str = Order.GAP
    direction: Direction | str = Direction.TOWARD
    cache: bool = False
    cache_factor: float = 0.25  # F
    cache_share: float = 0.01  # nu
    cache_size: int | None = (
        None  # labellings kept per block beyond active ones: 100, or 5 corrective
    )
    refresh: int | None = 10
    averaging: bool = False
    cheap_passes: int = 20

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", parsed(Order, self.order, "order"))
        object.__setattr__(self, "direction", parsed(Direction, self.direction, "direction"))
        if self.refresh is not None and self.refresh < 1:
            raise ValueError(f"refresh={self.refresh}; a number of passes, or None for never")
        if self.cheap_passes < 0:
            raise ValueError(f"cheap_passes={self.cheap_passes}; it must not be negative")

    @property
    def slots(self) -> int:
        """Beyond so many remembered labellings per block, unused ones are overwritten."""
        if self.cache_size is not None:
            return self.cache_size
        return 100 if self.cache else 5 if self.keeps_gram else 1

    @property
    def keeps_gram(self) -> bool:
        return self.direction is Direction.CORRECTIVE

    @property
    def check_every(self) -> int:
        return self.refresh or 10

    @property
    def keeps_alpha(self) -> bool:
        return self.direction is not Direction.TOWARD

    @property
    def keeps_corners(self) -> bool:
        return self.cache or self.keeps_alpha

    def describe(self) -> str:
        """
        >>> BCFW(cache=True).describe()
        'block-coordinate Frank-Wolfe (order gap, direction toward, cache)'
        """
        assert isinstance(self.order, Order)
        assert isinstance(self.direction, Direction)
        parts = [f"order {self.order.name.lower()}", f"direction {self.direction.name.lower()}"]
        parts += ["cache"] * self.cache + ["averaging"] * self.averaging
        return f"block-coordinate Frank-Wolfe ({', '.join(parts)})"

    def start(self, problem: Any, objective: Objective) -> Any:
        from taut.solvers.run import Run  # which knows this class

        return Run(problem, self, objective)


@by_reference
class Options(NamedTuple):
    """What a compiled pass needs to know of ``BCFW``."""

    C: float
    n: int
    direction: int
    keeps_corners: bool
    cache: bool
    cache_factor: float
    cache_share: float
    cache_size: int


def pass_options(solver: BCFW, C: float, n: int) -> Options:
    return Options(
        C,
        n,
        int(solver.direction),
        bool(solver.keeps_corners),
        bool(solver.cache),
        float(solver.cache_factor),
        float(solver.cache_share),
        int(solver.slots),
    )


@compiled
def bcfw_steps(problem: Problem, state, options, n_steps):
    """Up to ``n_steps`` block steps; returns how many (fewer if the pool of corners is full)."""
    sampler = state.sampler
    for done in range(n_steps):
        if options.keeps_corners and not has_room(
            state.corners, state.y.size, state.scratch.slot.size
        ):
            return done
        i = draw(sampler.kind, sampler.permutation, sampler.position, sampler.tree, sampler.random)
        state.count[STEPS] += 1
        state.count[AVERAGED] += 1
        block_step(problem, state, options, i)
    return n_steps


@both_modes
def block_step(problem, state, options, i):
    w, work, corners = state.w, state.work, state.corners
    scores(problem, w, i, work)
    add_loss(problem, i, work)
    mean = block_value(problem, w, i, work, state.mu)

    plus, away = -1, -1
    plus_value, away_value = 0.0, mean
    if options.keeps_corners:
        plus, plus_value, away, away_value = best_and_worst(problem, corners, w, i, work)
    if options.cache and _worth_using(state, options, i, weight(problem, i) * (plus_value - mean)):
        corners.used_at[plus] = state.count[STEPS]
        found = corners.labels[corners.label_at[plus] :]
        for t in range(length(problem, i)):
            state.y[t] = found[t]
    else:
        bound = argmax(problem, w, i, work, state.y)
        plus_value = attained(problem, w, i, work, state.y, bound)
        state.count[ORACLE_CALLS] += 1
        set_gap(state.sampler.tree, i, weight(problem, i) * (bound - mean) / options.n)
        if options.keeps_corners:
            loss = label_loss(problem, i, state.y)
            plus, _ = insert(
                problem, corners, i, state.y, loss, options.cache_size, state.count[STEPS]
            )

    take_step(problem, state, options, i, mean, plus, plus_value, away, away_value)
    if not options.keeps_corners:
        forget(problem, i, state.y)


@both_modes
def _worth_using(state, options, i, gap):
    """Whether the best cached labelling promises enough not to call the oracle."""
    threshold = max(
        options.cache_factor * stored_gap(state.sampler.tree, i),
        options.cache_share / options.n * state.total[GLOBAL_GAP],
    )
    return gap / options.n >= threshold and gap > 0.0


@both_modes
def _is_mixed(alpha):
    """Whether others than this labelling are active; rounding leaves a lone one just below 1."""
    return alpha < 1.0 - 1e-12


@both_modes
def take_step(problem, state, options, i, mean, plus, plus_value, away, away_value):
    """Move mu_i and w along the chosen direction by the exact step."""
    corners = state.corners
    alpha = corners.alpha
    scale = options.C * weight(problem, i)

    # d = keep * mu_i + add * e(y) + drop * e(y_away)
    keep, add, drop = -1.0, 1.0, 0.0
    gain, most = plus_value - mean, 1.0
    if options.direction == 1:
        if plus == away:
            return
        keep, drop = 0.0, -1.0
        gain, most = plus_value - away_value, alpha[away]
    elif (
        options.direction == 2 and mean - away_value > plus_value - mean and _is_mixed(alpha[away])
    ):
        keep, add, drop = 1.0, 0.0, -1.0
        gain, most = mean - away_value, alpha[away] / (1.0 - alpha[away])
    if gain <= 0.0:
        return
    y_away = state.y
    if drop != 0.0:
        y_away = corners.labels[corners.label_at[away] :]

    begin_change(problem, i, state.mu, keep, state.work)
    if add != 0.0:
        add_corner(problem, i, state.y, add, state.work)
    if drop != 0.0:
        add_corner(problem, i, y_away, drop, state.work)
    project(problem, i, state.work, 1.0, state.delta)
    step = line_search(state, state.delta, scale, scale * squared_norm(state.delta), gain, most)
    loss_change = keep * state.ell[i]
    if add != 0.0:
        loss_change += label_loss(problem, i, state.y)
    if drop != 0.0:
        loss_change -= label_loss(problem, i, y_away)
    loss_change *= step
    advance(problem, i, state.mu, step, state.work)
    state.ell[i] += loss_change
    move(state, state.delta, scale, step, weight(problem, i) * loss_change)

    if options.direction != 0:
        if keep != 0.0:
            rescale(corners.head, corners.following, alpha, i, 1.0 + keep * step)
        if add != 0.0:
            alpha[plus] += step
        if drop != 0.0:
            # At the cap the corner leaves the active set, whatever rounding says.
            alpha[away] = 0.0 if step == most else alpha[away] - step
