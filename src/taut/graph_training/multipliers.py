"""Updates of multipliers and penalty, between passes.

The direct step nu += B mu / rho is a proximal-point step if the inner problem was solved. After a
pass or two it may be far from it, and then the steps can cycle for ever, the more so the weaker the
penalty. Their length is therefore judged: it is halved when, over the updates from one power of two
to the next, block steps still gained as much as the penalties amount to, and the two together did
not fall. Once the inner problem is solved well enough between updates, the length stays.
"""

import numpy as np

from taut._compile import compiled
from taut.graph_training.factor_state import (
    EARLIER,
    GAINED,
    JOINED,
    LENGTH,
    PENALISED,
    PROGRESS,
    RHO,
    UPDATES,
    FactorState,
    View,
)

# After so many updates their length is judged.
FIRST_JUDGED = 16
# Gains beyond this fraction of the penalties say that the inner problem is not solved; sums beyond
# that fraction of the ones before, that things do not get better.
UNSOLVED, NO_BETTER = 0.5, 0.7


@compiled
def move_multipliers(nu, delta, message_at, active, step):
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
    factors, state = view.factors, view.state
    n_nodes = factors.node_at.size - 1
    total = 0.0
    for factor in range(factors.message_at.size - 1):
        square = 0.0
        for j in range(factors.message_at[factor], factors.message_at[factor + 1]):
            square += (state.delta[j] - state.nu[j]) ** 2
        total += view.importance[factors.owner[n_nodes + factor]] * square
    return 0.5 * state.total[RHO] * total


def rho_over_L_d(view: View) -> float:
    """L_d bounds the curvature of max_mu D_rho(mu, nu) in nu: 1 / L_d = 1 / rho + 2 gamma / s."""
    rules = view.rules
    return 1.0 + 2.0 * rules.temperature * float(view.state.total[RHO]) / rules.norm


def update_multipliers(view: View, length: float) -> None:
    """nu += length * B mu / rho, or by a shorter step that has proved itself."""
    state = view.state
    state.count[UPDATES] += 1
    state.total[GAINED] += state.total[PROGRESS]
    state.total[PENALISED] += penalties(view)
    state.total[PROGRESS] = 0.0
    updates = int(state.count[UPDATES])
    if updates & (updates - 1) == 0:  # a power of two
        _judge(state.total, updates)
    step = length * float(state.total[LENGTH])
    move_multipliers(state.nu, state.delta, view.factors.message_at, state.active, step)


def _judge(total: np.ndarray, updates: int) -> None:
    """Halve the step if the later half of all updates cycled; new edges may make things worse."""
    mean = float(total[GAINED] + total[PENALISED]) / max(updates // 2, 1)
    unsolved = total[GAINED] > UNSOLVED * total[PENALISED]
    no_better = mean > NO_BETTER * total[EARLIER]
    if updates >= FIRST_JUDGED and unsolved and no_better and total[JOINED] == 0:
        total[LENGTH] *= 0.5
    total[EARLIER] = mean
    total[GAINED] = total[PENALISED] = total[JOINED] = 0.0


def set_penalty(state: FactorState, rho: float) -> None:
    """Another rho; marginals, weights and multipliers stay."""
    state.delta[:] = state.nu + (state.total[RHO] / rho) * (state.delta - state.nu)
    state.total[RHO] = rho
