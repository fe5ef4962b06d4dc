"""What a subgradient run moves, and the kernels that move it; ``subgradient`` has the method.

The dual point averages what the oracle found at its visits: mu_i the points
e(truth) + a_i (e(y) - e(truth)), ``ell`` their losses a_i loss_i(y), ``mass`` the a_i, which are
slopes of the slack's penalty (all 1 with linear slacks).
"""

from typing import NamedTuple

from taut._compile import (
    Integers,
    Labels,
    Opaque,
    Problem,
    Vector,
    both_modes,
    by_reference,
    compiled,
)
from taut.arrays.accumulator import Accumulator, clear, squared_norm
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
from taut.solvers.block_state import AVERAGED, ORACLE_CALLS, STEPS
from taut.solvers.sampling import Sampler, draw

VISITS = 3  # position in State.count, of visits also in the runs that this one continues
# positions in State.total: Polyak's lower bound, and the loss of its averaged dual points
LOWER, MEAN_LOSS = 0, 1


@by_reference
class State(NamedTuple):
    w: Vector
    v: Vector  # of mu; Pegasos computes it for certificates only
    lower: Vector  # (dim,), or empty without bounds
    upper: Vector
    mu: Vector  # the dual, as the problem keeps it
    ell: Vector  # (n,) loss of mu_i
    mass: Vector  # (n,) of squared slacks, or empty
    visits: Integers  # (n,) to each example; empty for Polyak
    found: Vector  # (dim,) sum over all visits of s_i a_i psi_i(y); likewise
    sampler: Sampler
    average: Vector  # (dim,) of the iterates, or empty
    mean_mass: Vector  # (n,) average of ``mass`` over Polyak's iterates, or empty
    count: Integers  # type: ignore[assignment]
    total: Vector
    delta: Accumulator  # psi_i of one labelling
    direct: Accumulator  # adds to v itself
    pull: Accumulator  # adds to found itself
    work: Opaque
    y: Labels  # a labelling
    truth: Labels  # another


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
