"""The two rules by which subgradients move the weights, and what they do to the dual point.

The objective f(w) = lambda/2 |w|^2 + 1/n sum_i s_i h(xi_i(w)), xi_i = max_y H_i(y; w), has at w the
subgradient lambda w - 1/n sum_i s_i a_i psi_i(y_i), with y_i the oracle's labelling and
a_i = h'(xi_i): 1 with linear slacks, xi_i with squared ones.

**Pegasos** takes it on a batch of examples and a step 1 / (lambda t):

    w <- (1 - 1/t) w + 1/(lambda t) * mean over the batch of s_i a_i psi_i(y_i)

so that t w is a plain sum: after T visits in all, w = 1/(lambda T) * sum over visits of s_i a_i
psi_i(y). That sum is what is kept, and it says what a batch cut short at the end of a pass weighs.
Box constraints clip w, not the sum: "follow the regularised leader" has the guarantee of projected
steps. If every example was visited equally often, w is that of the dual point mu_i = mean of what
was found at the visits to i.

Squared slacks have slopes as large as themselves, and steps 1 / (lambda t) would overshoot further
each time until t exceeds s_i |psi_i|^2 / lambda. So a_i is the slack that the step will leave,
xi_i / (1 + s_i |psi_i|^2 / (lambda t)): an implicit step. Any a_i >= 0 gives a dual point.

**Polyak** takes all examples, and the step for which a lower bound on the optimum would be attained
if f were linear:

    step = lambda * (f(w) - lower) / |g|^2, at most 1;   mu_i <- (1 - step) mu_i + step e(y_i)

w is v(mu) throughout. Given the dual value of mu as the bound, the step is no other than batch
Frank-Wolfe's exact line search (without bounds, with linear slacks); a better bound shortens it.

References: Shalev-Shwartz, Singer, Srebro, Cotter (2011), Pegasos; Polyak (1969), Minimization of
unsmooth functionals; Bach (2015), Duality between subgradient and conditional gradient methods.
"""

from typing import NamedTuple

from taut._compile import Problem, both_modes, by_reference, compiled
from taut.accumulator import clear, squared_norm
from taut.problem import (
    add_corner,
    add_loss,
    advance,
    argmax,
    attained,
    begin_change,
    forget,
    label_loss,
    project,
    scores,
    true_label,
    weight,
)
from taut.solvers.sampling import draw
from taut.solvers.subgradient.state import AVERAGED, ORACLE_CALLS, STEPS, VISITS


@by_reference
class Rules(NamedTuple):
    """What the compiled steps of Pegasos need to know."""

    C: float
    n: int
    batch: int
    averaging: bool


@compiled
def pegasos_steps(problem: Problem, state, rules, n_steps):
    """Visit ``n_steps`` examples, or as many more as complete a batch."""
    end = state.count[STEPS] + n_steps
    while state.count[STEPS] < end:
        _batch_step(problem, state, rules)


@both_modes
def _batch_step(problem, state, rules):
    """A batch ends with the pass, so that a pass visits every example once."""
    sampler, count = state.sampler, state.count
    size = min(rules.batch, rules.n - count[STEPS] % rules.n)
    scale = pegasos_scale(rules.C, rules.n, count[VISITS] + size)
    for _ in range(size):
        i = draw(sampler.kind, sampler.permutation, sampler.position, sampler.tree, sampler.random)
        _visit(problem, state, rules, i, size * scale)
    count[STEPS] += size
    count[VISITS] += size
    count[ORACLE_CALLS] += size
    count[AVERAGED] += 1
    share = 2.0 / (count[AVERAGED] + 1.0)
    follow(state.found, scale, state.lower, state.upper, state.w, state.average, share)


@compiled(inline=True)
def pegasos_scale(C, n, visits):
    """1 / (lambda T)."""
    return C * n / visits if visits > 0 else 0.0


@compiled
def follow(found, scale, lower, upper, w, average, share):
    """w = clip(scale * found), and the average a share of the way to it."""
    for j in range(w.size):
        value = scale * found[j]
        if lower.size > 0:
            value = min(max(value, lower[j]), upper[j])
        w[j] = value
        if average.size > 0:
            average[j] += share * (value - average[j])


@both_modes
def _visit(problem, state, rules, i, rate):
    """Ask the oracle at w, which stays; add what it finds to the sum and to mu_i.

    ``rate`` is 1 / (lambda t).
    """
    y, work = state.y, state.work
    scores(problem, state.w, i, work)
    add_loss(problem, i, work)
    bound = argmax(problem, state.w, i, work, y)
    true_label(problem, i, state.truth)
    amount = 1.0
    if state.mass.size > 0:
        slack = max(attained(problem, state.w, i, work, y, bound), 0.0)
        _project_psi(problem, state, i, 1.0, state.delta)
        amount = slack / (1.0 + rate * weight(problem, i) * squared_norm(state.delta))
        clear(state.delta)
    _project_psi(problem, state, i, amount * weight(problem, i), state.pull)
    state.visits[i] += 1
    # Visits to i so far count alike, or the k-th one k times.
    k = float(state.visits[i])
    _prepare_change(problem, state, i, y, amount)
    move_block(problem, state, i, y, amount, 2.0 / (k + 1.0) if rules.averaging else 1.0 / k)
    forget(problem, i, y)


@both_modes
def _project_psi(problem, state, i, amount, delta):
    """delta += amount * psi_i(y); the state has both y and the truth."""
    begin_change(problem, i, state.mu, 0.0, state.work)
    add_corner(problem, i, state.truth, 1.0, state.work)
    add_corner(problem, i, state.y, -1.0, state.work)
    project(problem, i, state.work, amount, delta)


@both_modes
def _prepare_change(problem, state, i, y, amount):
    """d = e(truth) + amount * (e(y) - e(truth)) - mu_i."""
    begin_change(problem, i, state.mu, -1.0, state.work)
    if amount != 1.0:
        true_label(problem, i, state.truth)
        add_corner(problem, i, state.truth, 1.0 - amount, state.work)
    add_corner(problem, i, y, amount, state.work)


@both_modes
def move_block(problem, state, i, y, amount, step):
    """mu_i += step * d, with the loss and the mass of it."""
    advance(problem, i, state.mu, step, state.work)
    state.ell[i] += step * (amount * label_loss(problem, i, y) - state.ell[i])
    if state.mass.size > 0:
        state.mass[i] += step * (amount - state.mass[i])


@compiled
def polyak_step(problem: Problem, state, C, gain, amounts, labels, label_at, whole):
    """Move every block; ``gain`` is n (f(w) - lower), ``whole`` collects the direction."""
    for i in range(label_at.size):
        _prepare_change(problem, state, i, labels[label_at[i] :], amounts[i])
        project(problem, i, state.work, weight(problem, i), whole)
    step = _polyak_length(gain, C * squared_norm(whole))
    for i in range(label_at.size):
        y = labels[label_at[i] :]
        _prepare_change(problem, state, i, y, amounts[i])
        move_block(problem, state, i, y, amounts[i], step)
        forget(problem, i, y)
    for j in range(state.v.size):
        state.v[j] -= C * step * whole.value[j]
        if state.lower.size > 0:
            state.w[j] = min(max(state.v[j], state.lower[j]), state.upper[j])


@both_modes
def _polyak_length(gain, curvature):
    if gain <= 0.0:
        return 0.0
    # Without a slope w is optimal, and what was found proves it.
    return min(gain / curvature, 1.0) if curvature > 0.0 else 1.0


@compiled
def shrink_toward_truth(problem: Problem, state, rho, n_blocks):
    """mu_i <- rho mu_i + (1 - rho) e(truth) for the first ``n_blocks`` blocks."""
    for i in range(n_blocks):
        true_label(problem, i, state.truth)
        _prepare_change(problem, state, i, state.truth, 1.0)
        advance(problem, i, state.mu, 1.0 - rho, state.work)
        state.ell[i] *= rho
        if state.mass.size > 0:
            state.mass[i] *= rho
