"""Updates of multipliers and penalty, between passes."""

from taut._compile import compiled
from taut.solvers.factorwise.state import MOMENTUM, RHO, FactorState, view_of


@compiled
def update_multipliers(nu, delta, before, total, stretch, accelerated):
    """nu += stretch * B mu / rho; delta keeps B mu / rho beyond nu.

    If ``accelerated``, Nesterov's momentum is added; it restarts when the step points against the
    way the multipliers have gone.
    """
    ahead = 0.0
    if accelerated:
        for j in range(nu.size):
            gradient = delta[j] - nu[j]
            ahead += gradient * (nu[j] + stretch * gradient - before[j])
    momentum = 0.0
    if accelerated:
        t = total[MOMENTUM] if ahead >= 0.0 else 1.0
        following = 0.5 * (1.0 + (1.0 + 4.0 * t * t) ** 0.5)
        momentum = (t - 1.0) / following
        total[MOMENTUM] = following
    for j in range(nu.size):
        gradient = delta[j] - nu[j]
        point = nu[j] + stretch * gradient
        nu[j] = point
        if accelerated:
            nu[j] += momentum * (point - before[j])
            before[j] = point
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


def set_penalty(state: FactorState, rho: float) -> None:
    """Another rho; marginals, weights and multipliers stay."""
    state.delta[:] = state.nu + (state.total[RHO] / rho) * (state.delta - state.nu)
    state.total[RHO] = rho
