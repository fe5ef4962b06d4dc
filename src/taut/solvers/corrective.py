"""Fully corrective block steps, and accelerated passes that never call the oracle.

For every remembered labelling a of block i, psi_a = phi(truth) - phi(a) is seen only through the
block's Gram matrix G = [<psi_a, psi_b>], which never changes, and the values
h_a = loss_a - <w, psi_a>. Moving weight gamma from labelling b to a changes

    alpha_a += gamma, alpha_b -= gamma;   h_c -= C s_i gamma (G_ca - G_cb) for all c,

so a block can be solved over its active set without touching w, which moves once at the end. A
labelling differs from the truth in a few places, and <w, psi_a> costs only those: a visit takes
about a microsecond where an oracle call takes ten.

Pair steps stop early, when little is left to gain. To solve a block exactly, by the master problem
of ``decomposition``, was tried: it takes no fewer passes (60 against 50 on OCR) and more time.

Under box constraints w = clip(v) moves no farther than v does. The Gram matrix then gives a lower
bound on the dual along every step, exact where nothing is clipped: what improves it improves the
dual (formulas: Osokin's appendix H, whose step is the same with one corner).

What then limits convergence is the coupling between blocks. Between two passes of the oracle the
remembered labellings are therefore swept several times (compare the multi-plane method of Shah,
Kolmogorov & Lampert 2015), with Nesterov's momentum: after a sweep that moved alpha from a to a',

    alpha_i <- a'_i + beta_i (a'_i - a_i),   beta_i <= beta the largest that keeps alpha_i >= 0,

which stays feasible block by block. Momentum carries over to the sweeps after the next oracle pass
and restarts when the dual value falls. (On OCR it halves the oracle passes twice over; Anderson
extrapolation did not help: clipping it to the simplex spoils its direction.)
"""

from typing import Any

import numpy as np

from taut._compile import Problem, both_modes, compiled, in_mode
from taut.arrays.accumulator import DENSE, add_to, clear
from taut.problem import (
    add_corner,
    add_loss,
    argmax,
    begin_change,
    begin_margins,
    dual_has_room,
    finish_shifts,
    label_loss,
    margin,
    project,
    remember,
    scores,
    shift,
    true_label,
    weight,
)
from taut.solvers.block_state import AVERAGED, MOMENTUM, ORACLE_CALLS, STEPS, move
from taut.solvers.corners import has_room, insert
from taut.solvers.sampling import draw, set_gap

# A visit ends when what it could still gain is this fraction of what it could at first.
ENOUGH = 0.05
# Sweeps end when the gap over remembered labellings is this fraction of the gap the oracle saw.
# (0.4 was best on both OCR, where a sweep costs a third of an oracle pass, and CoNLL, two thirds.)
WORTH_SWEEPING = 0.4
# Largest momentum, and the most of it (as Nesterov's t) that is carried over an oracle pass.
MOST_MOMENTUM = 0.95
MOST_CARRIED = 10.0


@both_modes
def remember_products(problem, state, i, slot):
    """Fill the Gram matrix's row and column of a labelling that has just been stored."""
    corners = state.corners
    truth = state.y_away
    true_label(problem, i, truth)
    begin_change(problem, i, state.mu, 0.0, state.work)
    add_corner(problem, i, truth, 1.0, state.work)
    add_corner(problem, i, corners.labels[corners.label_at[slot] :], -1.0, state.work)
    project(problem, i, state.work, 1.0, state.delta)
    if state.delta.count[0] != DENSE:
        add_to(state.delta, 1.0, state.plane)
    begin_margins(problem, i, state.work)
    rank = corners.rank[slot]
    other = corners.head[i]
    while other >= 0:
        y = corners.labels[corners.label_at[other] :]
        product = margin(problem, state.plane, i, y, state.work)
        if corners.rank[other] <= rank:
            corners.gram[corners.gram_at[slot] + corners.rank[other]] = product
        else:
            corners.gram[corners.gram_at[other] + rank] = product
        other = corners.following[other]
    if state.delta.count[0] != DENSE:
        for position in range(state.delta.count[0]):
            state.plane[state.delta.touched[position]] = 0.0
    clear(state.delta)


@compiled
def remember_all(problem: Problem, state, first):
    """Tell the problem of all labellings that are remembered, from this block on; returns the block
    at which its memory is full, or how many there are."""
    corners = state.corners
    for i in range(first, corners.head.size):
        slot = corners.head[i]
        while slot >= 0:
            if not dual_has_room(problem, state.mu, state.work):
                return i
            y = corners.labels[corners.label_at[slot] :]
            remember(problem, i, y, state.mu, state.work)
            slot = corners.following[slot]
    return corners.head.size


@both_modes
def load_block(problem, state, i):
    """Fill the scratch with block i; returns their number, sum_a alpha_a h_a and max_a h_a."""
    corners, scratch = state.corners, state.scratch
    mean, best = 0.0, -np.inf
    begin_margins(problem, i, state.work)
    slot = corners.head[i]
    while slot >= 0:
        r = corners.rank[slot]
        y = corners.labels[corners.label_at[slot] :]
        value = corners.loss[slot] - margin(problem, state.w, i, y, state.work)
        scratch.slot[r] = slot
        scratch.row[r] = corners.gram_at[slot]
        scratch.value[r] = value
        scratch.alpha[r] = corners.alpha[slot]
        scratch.change[r] = 0.0
        mean += corners.alpha[slot] * value
        best = max(best, value)
        slot = corners.following[slot]
    return corners.size[i], mean, best


@compiled
def _product(gram, row, a, b):
    return gram[row[a] + b] if a >= b else gram[row[b] + a]


@compiled
def _best_and_worst(scratch, size):
    """Ranks of the best labelling and of the worst active one."""
    best, worst = 0, -1
    for r in range(size):
        if scratch.value[r] > scratch.value[best]:
            best = r
        if scratch.alpha[r] > 0.0 and (worst < 0 or scratch.value[r] < scratch.value[worst]):
            worst = r
    return best, worst


@compiled
def _transfer(scratch, best, worst, step):
    """alpha_best += step, alpha_worst -= step; at the cap worst leaves the active set exactly."""
    left = scratch.alpha[worst] - step
    scratch.change[worst] -= step
    scratch.change[best] += step
    scratch.alpha[worst] = max(left, 0.0)
    scratch.alpha[best] += step


@compiled
def correct(scratch, size, gram, scale):
    """Pairwise steps on the loaded block until little is left to gain."""
    value, row = scratch.value, scratch.row
    enough = 0.0
    for count in range(4 * size):
        best, worst = _best_and_worst(scratch, size)
        gain = value[best] - value[worst]
        if count == 0:
            enough = ENOUGH * gain
        if gain <= enough:
            return
        curvature = scale * (
            _product(gram, row, best, best)
            + _product(gram, row, worst, worst)
            - 2.0 * _product(gram, row, best, worst)
        )
        step = scratch.alpha[worst]
        if curvature > 0.0:
            step = min(gain / curvature, step)
        _transfer(scratch, best, worst, step)
        for r in range(size):
            change = _product(gram, row, r, best) - _product(gram, row, r, worst)
            value[r] -= scale * step * change


@both_modes
def correct_block(problem, state, i, size, C):
    """Improve the loaded block and move mu_i and w with it."""
    scale = C * weight(problem, i)
    correct(state.scratch, size, state.corners.gram, scale)
    store_block(problem, state, i, size, scale)


@both_modes
def store_block(problem, state, i, size, scale):
    """Write the scratch's alpha back; move mu_i and w by its changes."""
    corners, scratch = state.corners, state.scratch
    plain = state.lower.size == 0 and state.average.size == 0
    loss_change = 0.0
    for r in range(size):
        change = scratch.change[r]
        if change != 0.0:
            slot = scratch.slot[r]
            y = corners.labels[corners.label_at[slot] :]
            corners.alpha[slot] = scratch.alpha[r]
            loss_change += change * corners.loss[slot]
            # The changes sum to zero, so what each takes from the truth cancels.
            if plain:
                shift(problem, i, y, change, scale, state.mu, state.direct, state.work)
            else:
                shift(problem, i, y, change, scale, state.mu, state.delta, state.work)
    if plain:
        finish_shifts(problem, i, scale, state.mu, state.direct, state.work)
    else:
        finish_shifts(problem, i, scale, state.mu, state.delta, state.work)
    state.ell[i] += loss_change
    if not plain:
        move(state, state.delta, -1.0, 1.0, weight(problem, i) * loss_change)


@compiled
def corrective_steps(problem: Problem, state, C, n, cache_size, n_steps):
    """Up to ``n_steps`` visits with an oracle call; returns how many (fewer: no room)."""
    sampler = state.sampler
    for done in range(n_steps):
        if not dual_has_room(problem, state.mu, state.work):
            return done
        if not has_room(state.corners, state.y.size, state.scratch.slot.size):
            return done
        i = draw(sampler.kind, sampler.permutation, sampler.position, sampler.tree, sampler.random)
        state.count[STEPS] += 1
        state.count[AVERAGED] += 1
        scores(problem, state.w, i, state.work)
        add_loss(problem, i, state.work)
        value = argmax(problem, state.w, i, state.work, state.y)
        state.count[ORACLE_CALLS] += 1
        loss = label_loss(problem, i, state.y)
        slot, is_new = insert(
            problem, state.corners, i, state.y, loss, cache_size, state.count[STEPS]
        )
        if is_new:
            remember(problem, i, state.y, state.mu, state.work)
            remember_products(problem, state, i, slot)
        size, mean, _ = load_block(problem, state, i)
        set_gap(sampler.tree, i, weight(problem, i) * (value - mean) / n)
        correct_block(problem, state, i, size, C)
    return n_steps


@both_modes
def extrapolate(problem, state, C, n, beta):
    """Momentum: continue the last sweep's movement of every block as far as it is feasible."""
    corners, scratch = state.corners, state.scratch
    for i in range(n):
        if corners.size[i] > 1:
            feasible = beta
            slot = corners.head[i]
            while slot >= 0:
                moved = corners.alpha[slot] - corners.before[slot]
                if moved < 0.0:
                    feasible = min(feasible, corners.alpha[slot] / -moved)
                slot = corners.following[slot]
            slot = corners.head[i]
            while slot >= 0:
                r = corners.rank[slot]
                moved = corners.alpha[slot] - corners.before[slot]
                scratch.slot[r] = slot
                scratch.change[r] = feasible * moved
                scratch.alpha[r] = max(corners.alpha[slot] + feasible * moved, 0.0)
                corners.before[slot] = corners.alpha[slot]
                slot = corners.following[slot]
            if feasible > 0.0:
                store_block(problem, state, i, corners.size[i], C * weight(problem, i))


@compiled
def sweep(problem: Problem, state, C, n, beta):
    """Go on as the last sweep did, by momentum beta (none if it is negative); then correct every
    block on its remembered labellings. Returns the gap over them before that."""
    if beta >= 0.0:
        extrapolate(problem, state, C, n, beta)
    total = 0.0
    for i in range(n):
        if state.corners.size[i] > 1:
            size, mean, best = load_block(problem, state, i)
            total += weight(problem, i) * (best - mean)
            correct_block(problem, state, i, size, C)
    return total / n


def cheap_passes(problem: Any, state: Any, C: float, n: int, most: int) -> None:
    """Up to ``most`` sweeps with momentum; fewer when what is left to gain needs the oracle."""
    one_sweep, beta = in_mode(sweep, problem), -1.0
    corners, importance = state.corners, np.asarray(problem.importance)
    t = min(max(state.total[MOMENTUM], 1.0), MOST_CARRIED)
    last_dual = -np.inf
    for count in range(most):
        gap = one_sweep(problem, state, C, n, beta)
        dual = C * (importance @ state.ell) - (state.v - 0.5 * state.w) @ state.w
        if dual < last_dual:
            t = 1.0
            corners.before[:] = corners.alpha
        last_dual = dual
        t, carried = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * t * t)), t - 1.0
        if count + 1 == most or gap <= WORTH_SWEEPING * state.sampler.tree[1]:
            break
        beta = min(carried / t, MOST_MOMENTUM)
    state.total[MOMENTUM] = t
    corners.before[:] = corners.alpha
