"""Block-coordinate Frank-Wolfe and its variants for the structured SVM dual.

Visit a block i, ask the oracle for y* = argmax_y H_i(y; w), and move mu_i by an exact line search

    toward    along  e(y*) - mu_i                  (Lacoste-Julien et al. 2013; Osokin's alg. 1)
    pairwise  along  e(y*) - e(y_a)                (Osokin's alg. 3)
    away      along  mu_i - e(y_a), if that promises more than toward   (Osokin's alg. 4)
    corrective  to the best point over all active labellings (see ``corrective``)

where y_a is the worst active labelling (see ``directions``). With gain = H_i(d; w), the decrease of
the dual objective per unit step, and scale = C s_i, the step is clip(gain / (scale |Psi_i d|^2), 0,
cap), if no box constrains the weights (see ``step_length``).

With a cache (Osokin's alg. 5) the best remembered labelling stands in for y* if its gap is at least
max(F * last exact gap of the block, nu/n * last exact total gap); the oracle is then not called.

Reference: Osokin, Alayrac, Lukasewitz, Dokania, Lacoste-Julien (2016), Minding the gaps for block
Frank-Wolfe optimization of structured SVMs.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from taut._compile import Problem, both_modes, compiled, in_mode, ready
from taut.problem import (
    add_loss,
    argmax,
    attained,
    block_value,
    dual_has_room,
    forget,
    label_loss,
    length,
    scores,
    weight,
)
from taut.solvers.any_run import check_follows
from taut.solvers.block_solver import BlockRun, BlockSolver
from taut.solvers.block_state import AVERAGED, GLOBAL_GAP, ORACLE_CALLS, STEPS
from taut.solvers.certificate import Certificate
from taut.solvers.checks import parsed
from taut.solvers.corners import (
    Corners,
    are_weights,
    best_and_worst,
    grown,
    has_room,
    held,
    insert,
    losses_of,
    new_corners,
    new_scratch,
    no_corners,
    saved_corners,
    with_new_blocks,
)
from taut.solvers.corrective import cheap_passes, corrective_steps, remember_all, sweep
from taut.solvers.directions import Direction, Options, safer_direction, seen_of, take_step
from taut.solvers.objective import Objective
from taut.solvers.sampling import Order, draw, set_gap, stored_gap
from taut.solvers.solution import Solution, describe
from taut.solvers.step_length import StepLength, named


@dataclass(frozen=True)
class BCFW(BlockSolver):
    """Options of block-coordinate Frank-Wolfe.

    ``order`` is "cyclic", "permuted", "uniform" or "gap"; ``direction`` is "toward", "pairwise",
    "away" or "corrective" (the last with up to ``cheap_passes`` sweeps over remembered labellings
    after each pass of the oracle). With ``safeguard`` a pairwise or an away step is taken only if a
    toward step would not raise the dual more. ``step`` is "line-search"; "parabola", which is
    another one only within bounds, where it is shorter; or "fixed", 2n / (k + 2n) after k steps.
    ``averaging`` returns the weighted average of the iterates,
    unless only the last one is within the tolerance. ``refresh`` is the number of passes between
    two exact computations of all gaps (None: the stored gaps are never refreshed, the certificate
    is still computed every 10 passes).
    """

    follows_paths: ClassVar[bool] = True

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
    safeguard: bool = False
    step: StepLength | str = StepLength.LINE_SEARCH

    def __post_init__(self) -> None:
        self.check_options()
        object.__setattr__(self, "direction", parsed(Direction, self.direction, "direction"))
        object.__setattr__(self, "step", parsed(StepLength, self.step, "step"))
        if self.cheap_passes < 0:
            raise ValueError(f"cheap_passes={self.cheap_passes}; it must not be negative")
        self._check_steps()

    def _check_steps(self) -> None:
        assert isinstance(self.direction, Direction)
        assert isinstance(self.step, StepLength)
        direction, step = self.direction.name.lower(), named(self.step)
        if not isinstance(self.safeguard, bool | np.bool_):
            raise TypeError(f"safeguard={self.safeguard!r}; expected True or False")
        if self.safeguard and self.direction not in (Direction.PAIRWISE, Direction.AWAY):
            raise ValueError(
                f'safeguard=True with direction="{direction}": it is for direction="pairwise" and '
                '"away", beside which it tries a toward step; leave it out'
            )
        if self.step is StepLength.FIXED and self.direction is not Direction.TOWARD:
            raise ValueError(
                f'step="{step}" with direction="{direction}": steps of a fixed length go '
                'toward the oracle\'s labelling; use direction="toward", or step="line-search"'
            )
        if self.step is StepLength.PARABOLA and self.keeps_gram:
            raise ValueError(
                f'step="{step}" with direction="{direction}": corrective steps have lengths of '
                'their own; use direction="toward", "pairwise" or "away", or step="line-search"'
            )

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
        assert isinstance(self.step, StepLength)
        parts += ["safeguard"] * self.safeguard + ["cache"] * self.cache
        parts += [f"step {named(self.step)}"] * (self.step is not StepLength.LINE_SEARCH)
        parts += ["averaging"] * self.averaging
        return f"block-coordinate Frank-Wolfe ({', '.join(parts)})"

    def start(self, problem: Any, objective: Objective) -> "BCFWRun":
        return BCFWRun(problem, self, objective)


class BCFWRun(BlockRun):
    solver: BCFW
    stops_when_full = True

    def first_corners(self) -> Corners:
        if not self.solver.keeps_corners:
            return no_corners()
        return new_corners(self.problem, self.lengths, self.solver.keeps_gram)

    def compile_steps(self) -> None:
        super().compile_steps()
        if self.solver.keeps_gram:
            ready(sweep, self.problem, self.state, self.C, 0, 0.0)

    @property
    def early_looks(self) -> tuple[int, ...]:
        """A certificate costs a tenth of a corrective pass where the oracle is a Viterbi run, half
        of a pass of other steps; so only the former show more of the curve, for 1 or 2 %."""
        solver = self.solver
        if not (self.is_compiled and solver.keeps_gram and not self.inference) or solver.averaging:
            return ()
        return tuple(passes for passes in (1, 3) if 2 * passes <= solver.check_every)

    def advance(self, n_steps: int) -> None:
        solver, before = self.solver, self.steps
        self.visit_all(n_steps)
        if solver.keeps_gram and self.steps // self.n > before // self.n:
            cheap_passes(self.problem, self.state, self.C, self.n, solver.cheap_passes)

    def make_room(self, for_all: bool = False) -> None:
        state = self.state
        if self.solver.keeps_corners and not has_room(
            state.corners, state.y.size, state.scratch.slot.size
        ):
            self._put_corners(grown(state.corners))
        super().make_room(for_all)

    def visit(self, n_blocks: int) -> None:
        problem, state, solver = self.problem, self.state, self.solver
        if solver.keeps_gram:
            steps = in_mode(corrective_steps, problem)
            steps(problem, state, self.C, self.n, solver.slots, n_blocks)
        else:
            options = Options(
                C=self.C,
                n=self.n,
                direction=int(solver.direction),
                safeguard=bool(solver.safeguard),
                step=int(solver.step),
                keeps_corners=bool(solver.keeps_corners),
                cache=bool(solver.cache),
                cache_factor=float(solver.cache_factor),
                cache_share=float(solver.cache_share),
                cache_size=int(solver.slots),
            )
            in_mode(bcfw_steps, problem)(problem, state, options, n_blocks)

    def _put_corners(self, corners: Corners) -> None:
        """With scratch memory to match."""
        scratch = new_scratch(2 * int(corners.used[3]) + 32)
        self.state = self.state._replace(corners=corners, scratch=scratch)

    def take_memory(self, earlier: Solution) -> None:
        before, now = earlier.solver, self.solver
        if not now.keeps_alpha:
            return
        if not before.keeps_alpha or (now.keeps_gram and not before.keeps_gram):
            raise ValueError(
                f"the earlier run, {describe(before)}, did not keep the active sets that "
                f"{describe(now)} needs; warm-start with the same solver, or start cold"
            )
        corners = earlier.state.corners
        if not now.keeps_gram:
            corners = corners._replace(gram=np.zeros(0))
        if not self.is_compiled:
            corners = held(self.problem, corners, earlier.state.mu)
        first = len(earlier.state.ell)
        self._put_corners(with_new_blocks(self.problem, corners, self.lengths, first))

    def _shrink(self, share: float, n_blocks: int) -> None:
        super()._shrink(share, n_blocks)
        self._remember_all()

    def _remember_all(self) -> None:
        """A dual that grows may have none of the numbers of a labelling whose weight is zero."""
        if self.solver.keeps_gram and self.problem.dual_grows:
            at = 0
            while at < self.n:
                self.make_room()
                at = in_mode(remember_all, self.problem)(self.problem, self.state, at)

    @property
    def unsavable(self) -> str:
        if not self.solver.keeps_corners or self.is_compiled:
            return ""
        return (
            "a checkpoint cannot hold the labels of a Python model (they may be any object); "
            'use solver="bcfw", which remembers none, or no checkpoint'
        )

    def put(self, arrays: dict[str, np.ndarray]) -> None:
        solver = self.solver
        if solver.keeps_corners:
            corners = saved_corners(
                "corners.", "active sets", arrays, self.lengths, self.problem.n_states
            )
            # Momentum starts from the weights before.
            weights = [corners.alpha] * solver.keeps_alpha + [corners.before] * solver.keeps_gram
            if (corners.gram.size > 0) != solver.keeps_gram or not all(
                are_weights(corners, alpha) for alpha in weights
            ):
                raise ValueError("the active sets are inconsistent")
            self._put_corners(corners)
        super().put(arrays)
        self._remember_all()

    def check(self, arrays: dict[str, np.ndarray], certificate: Certificate) -> None:
        super().check(arrays, certificate)
        corners = self.state.corners
        if self.solver.keeps_corners:
            found = losses_of(self.problem, corners)
            check_follows(corners.loss, found, "losses and labellings of the active sets")


@compiled
def bcfw_steps(problem: Problem, state, options, n_steps):
    """Up to ``n_steps`` block steps; returns how many (fewer where memory is full)."""
    sampler = state.sampler
    for done in range(n_steps):
        if not dual_has_room(problem, state.mu, state.work):
            return done
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

    seen = seen_of(mean, plus, plus_value, away, away_value)
    direction = options.direction
    if options.safeguard:
        direction = safer_direction(problem, state, options, i, seen)
    take_step(problem, state, options, i, direction, seen)
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
