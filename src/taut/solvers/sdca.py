"""Stochastic dual coordinate ascent for conditional random fields.

Visit an example i, let the sum oracle find the distribution q over its labellings under the current
weights, and move its dual block toward q by an exact line search:

    mu_i <- mu_i + step (q - mu_i),        step = clip(gain / (C s_i |Psi_i (q - mu_i)|^2), 0, 1)

with gain = T log Z_i(w) - [value of mu_i with its entropy] the block's gap. It is block-coordinate
Frank-Wolfe on the problem that :mod:`taut.structures.smoothed` makes of a CRF, where the entropy of
a mixture is bounded below by the mixture of the entropies: the dual is then quadratic along the
step, and its maximum is known without a search. Sampling by gaps (Osokin et al. 2016) is as useful
here as it is for the SVM.

Any distribution whose value exceeds that of mu_i will do in the place of q. Where labels are many a
problem may name one over few labels that promises nearly as much (``nearly_argmax``): it is found
in a fraction of the time, and the dual block keeps less of it. Certificates ask the oracle itself.

References: Shalev-Shwartz, Zhang (2013), Stochastic dual coordinate ascent methods for regularized
loss minimization; Le Priol, Piché, Lacoste-Julien (2018), Adaptive stochastic dual coordinate
ascent for conditional random fields.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from taut._compile import Problem, both_modes, compiled, in_mode
from taut.arrays.accumulator import squared_norm
from taut.problem import (
    add_corner,
    add_loss,
    advance,
    argmax,
    begin_change,
    block_value,
    dual_has_room,
    label_loss,
    nearly_argmax,
    project,
    scores,
    thinned,
    weight,
)
from taut.problem.capability import CRF, Capability
from taut.solvers.block_solver import BlockRun, BlockSolver
from taut.solvers.block_state import AVERAGED, ORACLE_CALLS, STEPS, line_search, move
from taut.solvers.objective import Objective
from taut.solvers.sampling import Order, draw, set_gap, stored_gap

# Compiled code compares with plain numbers.
# A step toward some labels is taken if it promises more than this part of the gap that was known.
WORTH_A_STEP = 0.1
PERMUTED, GAP = int(Order.PERMUTED), int(Order.GAP)


@dataclass(frozen=True)
class SDCA(BlockSolver):
    """Options of stochastic dual coordinate ascent, for :func:`taut.smoothed` problems.

    ``order`` is "gap", "permuted", "uniform" or "cyclic". ``refresh`` is the number of passes
    between two certificates, which also compute all gaps anew (None: the gaps that are sampled by
    stay those of the last visits). ``averaging`` returns the weighted average of the iterates,
    unless only the last one is within the tolerance.

    >>> SDCA(order="permuted").describe()
    'stochastic dual coordinate ascent (order permuted)'
    """

    follows_paths: ClassVar[bool] = True
    needs: ClassVar[Capability] = CRF

    order: Order | str = Order.GAP
    refresh: int | None = 5
    averaging: bool = False

    def __post_init__(self) -> None:
        self.check_options()

    def describe(self) -> str:
        assert isinstance(self.order, Order)
        parts = [f"order {self.order.name.lower()}", *["averaging"] * self.averaging]
        return f"stochastic dual coordinate ascent ({', '.join(parts)})"

    def start(self, problem: Any, objective: Objective) -> "SDCARun":
        return SDCARun(problem, self, objective)


class SDCARun(BlockRun):
    stops_when_full = True

    def visit(self, n_blocks: int) -> None:
        steps = in_mode(sdca_steps, self.problem)
        steps(self.problem, self.state, self.C, self.n, n_blocks)


@compiled
def sdca_steps(problem: Problem, state, C, n, n_steps):
    sampler = state.sampler
    for _ in range(n_steps):
        if not dual_has_room(problem, state.mu, state.work):
            return
        order = sampler.kind[0]
        # Gaps are worth sampling by once every example has been visited.
        if order == GAP and state.count[STEPS] < n:
            sampler.kind[0] = PERMUTED
        i = draw(sampler.kind, sampler.permutation, sampler.position, sampler.tree, sampler.random)
        sampler.kind[0] = order
        state.count[STEPS] += 1
        state.count[AVERAGED] += 1
        state.count[ORACLE_CALLS] += 1
        sdca_step(problem, state, C, n, i)


@both_modes
def sdca_step(problem, state, C, n, i):
    w, work, y = state.w, state.work, state.y
    scores(problem, w, i, work)
    add_loss(problem, i, work)
    gain = -block_value(problem, w, i, work, state.mu)
    share = weight(problem, i) / n
    gap = stored_gap(state.sampler.tree, i) / share if share > 0.0 else 0.0
    # The gaps of the first pass are those of no weights, which no step makes up for.
    least = WORTH_A_STEP * gap if state.count[STEPS] > n else 0.0
    near = nearly_argmax(problem, w, i, work, y, least - gain, gap)
    if near > -np.inf:
        gain += near
        set_gap(state.sampler.tree, i, share * gain)
    else:
        gain += argmax(problem, w, i, work, y)
        set_gap(state.sampler.tree, i, weight(problem, i) * gain / n)
        gain = thinned(problem, w, i, work, y, gain)
    if gain <= 0.0:
        return
    begin_change(problem, i, state.mu, -1.0, work)
    add_corner(problem, i, y, 1.0, work)
    project(problem, i, work, 1.0, state.delta)
    scale = C * weight(problem, i)
    step = line_search(state, state.delta, scale, scale * squared_norm(state.delta), gain, 1.0)
    change = step * (label_loss(problem, i, y) - state.ell[i])
    advance(problem, i, state.mu, step, work)
    state.ell[i] += change
    move(state, state.delta, scale, step, weight(problem, i) * change)
