"""Fully corrective block steps, and cheap passes that never call the oracle.

For every remembered labelling a of block i keep psi_a, seen only through the block's Gram matrix
G = [<psi_a, psi_b>] (which never changes) and the values h_a = loss_a - <w, psi_a>. Moving weight
gamma from labelling b to a changes

    alpha_a += gamma, alpha_b -= gamma;   h_c -= C s_i gamma (G_ca - G_cb) for all c,

so any number of pairwise steps can be taken without touching w, which moves once at the end. A
labelling usually differs from the truth in a few places, and <w, psi_a> costs only those places:
a visit costs about a microsecond where an oracle call costs ten. What then limits convergence is
the coupling between blocks; it is resolved by sweeping over the active sets many times between two
passes of the oracle (compare the multi-plane method of Shah, Kolmogorov & Lampert 2015).
"""

from typing import NamedTuple

import numpy as np

from taut._compile import both_modes, compiled
from taut.accumulator import clear
from taut.problem import (
    add_corner,
    advance,
    begin_change,
    begin_margins,
    margin,
    project,
    true_label,
    weight,
)

# A visit ends when what it could still gain is this fraction of what it could at first.
ENOUGH = 0.05


class Scratch(NamedTuple):
    """One block's labellings by rank."""

    slot: np.ndarray
    row: np.ndarray  # where the Gram matrix's row starts
    value: np.ndarray  # h
    alpha: np.ndarray
    change: np.ndarray  # of alpha


def new_scratch(size: int) -> Scratch:
    return Scratch(
        np.zeros(size, np.int64),
        np.zeros(size, np.int64),
        np.zeros(size),
        np.zeros(size),
        np.zeros(size),
    )


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
    begin_margins(problem, i, state.work)
    rank = corners.rank[slot]
    other = corners.head[i]
    while other >= 0:
        product = margin(problem, state.delta.value, i, corners.labels[corners.label_at[other] :], state.work)
        if corners.rank[other] <= rank:
            corners.gram[corners.gram_at[slot] + corners.rank[other]] = product
        else:
            corners.gram[corners.gram_at[other] + rank] = product
        other = corners.following[other]
    clear(state.delta)


@both_modes
def load_block(problem, state, i):
    """Fill the scratch with block i; returns the number of labellings and sum_a alpha_a h_a."""
    corners, scratch = state.corners, state.scratch
    mean = 0.0
    begin_margins(problem, i, state.work)
    slot = corners.head[i]
    while slot >= 0:
        r = corners.rank[slot]
        value = corners.loss[slot] - margin(
            problem, state.w, i, corners.labels[corners.label_at[slot] :], state.work
        )
        scratch.slot[r] = slot
        scratch.row[r] = corners.gram_at[slot]
        scratch.value[r] = value
        scratch.alpha[r] = corners.alpha[slot]
        scratch.change[r] = 0.0
        mean += corners.alpha[slot] * value
        slot = corners.following[slot]
    return corners.size[i], mean


@compiled
def _product(gram, row, a, b):
    return gram[row[a] + b] if a >= b else gram[row[b] + a]


@compiled
def correct(scratch, size, gram, scale):
    """Pairwise steps on the loaded block until little is left to gain."""
    value, alpha, row = scratch.value, scratch.alpha, scratch.row
    enough = 0.0
    for count in range(4 * size):
        best, worst = 0, -1
        for r in range(size):
            if value[r] > value[best]:
                best = r
            if alpha[r] > 0.0 and (worst < 0 or value[r] < value[worst]):
                worst = r
        gain = value[best] - value[worst]
        if count == 0:
            enough = ENOUGH * gain
        if gain <= enough or best == worst:
            return
        curvature = scale * (
            _product(gram, row, best, best)
            + _product(gram, row, worst, worst)
            - 2.0 * _product(gram, row, best, worst)
        )
        most = alpha[worst]
        step = most if curvature <= 0.0 else min(gain / curvature, most)
        alpha[worst] = 0.0 if step == most else alpha[worst] - step
        alpha[best] += step
        scratch.change[best] += step
        scratch.change[worst] -= step
        for r in range(size):
            value[r] -= scale * step * (_product(gram, row, r, best) - _product(gram, row, r, worst))


@both_modes
def store_block(problem, state, i, size, scale):
    """Write the corrected alpha back; move mu_i and w accordingly."""
    corners, scratch = state.corners, state.scratch
    loss_change = 0.0
    begin_change(problem, i, state.mu, 0.0, state.work)
    for r in range(size):
        change = scratch.change[r]
        if change != 0.0:
            slot = scratch.slot[r]
            corners.alpha[slot] = scratch.alpha[r]
            loss_change += change * corners.loss[slot]
            add_corner(problem, i, corners.labels[corners.label_at[slot] :], change, state.work)
    advance(problem, i, state.mu, 1.0, state.work)
    project(problem, i, state.work, -scale, state.direct)
    state.ell[i] += loss_change


@compiled
def cheap_pass(problem, state, C, n):
    """Correct every block on its remembered labellings; returns the gap over them, before."""
    scratch, total = state.scratch, 0.0
    for i in range(n):
        if state.corners.size[i] > 1:
            scale = C * weight(problem, i)
            size, mean = load_block(problem, state, i)
            total += weight(problem, i) * (scratch.value[:size].max() - mean)
            correct(scratch, size, state.corners.gram, scale)
            store_block(problem, state, i, size, scale)
    return total / n
