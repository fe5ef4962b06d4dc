"""Updates of multipliers and penalty, between passes.

The direct step nu += B mu / rho is a proximal-point step if the inner problem was solved. After a
pass or two it is not, and from a point far from the inner optimum the steps may cycle for ever: the
more so the weaker the penalty. Their length is therefore judged: it is cut to a quarter when
the updates from one power of two to the next were no better, by penalties and by what block steps
gained in between, than those before. Once short enough, they are gradient steps that converge.
"""

import numpy as np

from taut._compile import compiled
from taut.solvers.factorwise.state import (
    EARLIER_MERIT,
    JOINED,
    LENGTH,
    MERIT,
    PROGRESS,
    RHO,
    UPDATES,
    FactorState,
    View,
    view_of,
)

# After so many updates their length is judged: what is progress, and what happens without.
FIRST_JUDGED = 16
ENOUGH, SHORTER = 0.7, 0.25


@compiled
def update_multipliers(nu, delta, message_at, active, step):
    """nu += step * B mu / rho; delta keeps B mu / rho beyond nu.

    If there are ``active`` edges, those of others rest.
    """
    for factor in range(message_at.size - 1):
        if factor < active.size and not active[factor]:
            continue
        for j in range(message_at[factor], message_at[factor + 1]):
            gradient = delta[j] - nu[j]
            nu[j] += step * gradient
            delta[j] = nu[j] + gradient


@compiled
def penalties(view):
    """sum_i s_i |B mu_i|^2 / (2 rho), what inconsistency costs at the moment."""
    view = view_of(view)
    factors, state = view.factors, view.state
    n_nodes = factors.node_at.size - 1
    total = 0.0
    for factor in range(factors.message_at.size - 1):
        square = 0.0
        for j in range(factors.message_at[factor], factors.message_at[factor + 1]):
            square += (state.delta[j] - state.nu[j]) ** 2
        total += view.importance[factors.owner[n_nodes + factor]] * square
    return 0.5 * state.total[RHO] * total


def take_direct_step(view: View, frozen: np.ndarray) -> None:
    """Move all multipliers, by a length that has proved itself."""
    state, rules = view.state, view.rules
    state.count[UPDATES] += 1
    state.total[MERIT] += state.total[PROGRESS] + penalties(frozen)
    state.total[PROGRESS] = 0.0
    updates = int(state.count[UPDATES])
    if updates & (updates - 1) == 0:  # a power of two
        _judge(state.total, updates)
    # The full length is 1 / L_d = 1 / rho + 2 gamma / |B|^2.
    full = 1.0 + 2.0 * rules.temperature * float(state.total[RHO]) / rules.norm
    step = full * float(state.total[LENGTH])
    update_multipliers(state.nu, state.delta, view.factors.message_at, state.active, step)


def _judge(total: np.ndarray, updates: int) -> None:
    """Shorten the step if the later half of all updates was no better than the one before it.

    Edges that join a working set are allowed to make things worse.
    """
    merit = float(total[MERIT]) / max(updates // 2, 1)
    if updates >= FIRST_JUDGED and total[JOINED] == 0 and merit > ENOUGH * total[EARLIER_MERIT]:
        total[LENGTH] *= SHORTER
    total[EARLIER_MERIT], total[MERIT], total[JOINED] = merit, 0.0, 0.0


def set_penalty(state: FactorState, rho: float) -> None:
    """Another rho; marginals, weights and multipliers stay."""
    state.delta[:] = state.nu + (state.total[RHO] / rho) * (state.delta - state.nu)
    state.total[RHO] = rho
