"""Theorems 4.1, 4.2 and 5.1 of Meshi, Srebro and Hazan (2015), on problems solved by clarabel.

M examples, lambda = 1 / (C M), and the paper's rho, which is taut's divided by M. Clarabel's optima
are exact to 1e-9 relative. Theorem 5.1 is about an expectation: the mean over 30 seeds stands for
it, and is below the bound by far more than it varies.
"""

from functools import cache
from itertools import combinations

import numpy as np
import pytest
from factor_problems import point_of, problem_of
from factor_reference import FactorReference
from graph_reference import complete, cycle, path, random_reference

from taut.graph_training import SoftBCFW
from taut.graph_training.factor_solver import FactorRun
from taut.solvers import solve
from taut.solvers.objective import Objective

C = 0.6
EXACT = 1e-8
PENALTIES = (0.01, 0.1, 1.0, 10.0)  # taut's
GRAPHS = {
    "cycles": random_reference([cycle(3), complete(4), cycle(4)], states=(3,), seed=5),
    "binary, dense": random_reference([complete(5), complete(4)], unary="binary", seed=6),
    "trees": random_reference([path(4), (4, [(1, 0), (1, 2), (1, 3)])], states=(3,), seed=7),
}
which = pytest.mark.parametrize("name", GRAPHS)


@cache
def reference(name):
    return FactorReference(GRAPHS[name], C)


@cache
def hard(name):
    return reference(name).hard_optimum()


def centred(F, delta):
    """The messages of each sender to each node sum to zero: of optimal ones, these are shortest."""
    parts = []
    for one, d in zip(F.examples, delta, strict=True):
        out, at = np.array(d), 0
        for u, v in one.ends:
            for size in (one.states[u], one.states[v]):
                out[at : at + size] -= out[at : at + size].mean()
                at += size
        assert at == len(out)
        parts.append(out)
    return parts


def squared_norm(delta):
    return sum(float(d @ d) for d in delta)


def largest_h(F, w, per_block_scores):
    """h of theorem 4.1 and the tighter one of its proof, where max |theta| stands for 2BR + L.

    R must bound the features of each block, not only those of a labelling: they may cancel there.
    """
    q = max(len(one.blocks()) for one in F.examples)
    most = max(max(one.states) for one in F.examples)
    B, R, L = np.linalg.norm(w), 0.0, 0.0
    for one in F.examples:
        R = max(R, np.linalg.norm(one.psi, axis=0).max())
        L = max(L, np.abs(one.losses).max())
    printed = F.n * (8.0 * most * q * (B * R + L)) ** 2
    tight = sum((4.0 * most * q * scores) ** 2 for scores in per_block_scores)
    return printed, tight


def scores_of(F, w):
    """max |theta_alpha(y_alpha; w)| of each example, relative to the truth's."""
    return [np.abs(one.psi.T @ w + one.losses - relative(one, w)).max() for one in F.examples]


def relative(one, w):
    """Of each state, the score of the truth in its block."""
    scores, out = one.psi.T @ w, np.zeros(one.size)
    for _, where in one.blocks():
        out[where] = scores[where] @ one.truth[where]
    return out


@which
@pytest.mark.parametrize("rho", PENALTIES)
def test_theorem_4_1_the_soft_optimum_is_near_the_hard_one(name, rho):
    F, best = reference(name), hard(name)
    soft = F.soft_optimum(rho).value
    messages = centred(F, best.delta)
    assert F.hard_primal(best.w, messages) == pytest.approx(best.value, abs=1e-6)
    length, per_m = squared_norm(messages), rho / F.n
    printed, tight = largest_h(F, best.w, scores_of(F, best.w))
    assert best.value - EXACT <= soft <= best.value + 0.5 * per_m * length + 1e-6
    assert length <= tight <= printed


@which
@pytest.mark.parametrize("rho", PENALTIES)
def test_theorem_4_2_a_nearly_solved_soft_problem_is_nearly_optimal(name, rho):
    """After few passes and after many: g(w, delta) - g* is at most the soft gap + rho/2 |delta*|^2,
    and so at most the soft gap + rho/2 h."""
    F, best = reference(name), hard(name)
    problem, length = problem_of(GRAPHS[name]), squared_norm(centred(F, best.delta))
    for passes in (1, 5, 50, 500):
        solver = SoftBCFW(rho=rho, direction="toward", anneal=1.0, check_every=passes)
        found = solve(problem, solver, C=C, tol=0.0, max_passes=passes)
        last = found.history[-1]
        excess = last.iterate_primal - best.value
        assert -EXACT <= excess <= last.soft_gap + 0.5 * rho / F.n * length + 1e-6


def curvature(F, rho):
    """The sum over blocks of the largest d' H d over changes d from one state to another."""
    total = 0.0
    for one, s in zip(F.examples, F.s, strict=True):
        B, _ = one.consistency_matrix()
        for _, where in one.blocks():
            states = range(where.start, where.stop)
            of_block = [
                C * s * np.sum((one.psi[:, y] - one.psi[:, z]) ** 2)
                + np.sum((B[:, y] - B[:, z]) ** 2) / rho
                for y, z in combinations(states, 2)
            ]
            total += s * max(of_block, default=0.0) / F.n
    return total


@pytest.mark.parametrize("rho", [0.1, 1.0])
@which
def test_theorem_5_1_the_dual_and_the_gap_converge_as_it_says(name, rho):
    """Frank-Wolfe steps toward corners, blocks drawn uniformly, rho fixed: the listing as it is."""
    F, problem = reference(name), problem_of(GRAPHS[name])
    optimum = F.soft_optimum(rho).value
    blocks = sum(len(one.blocks()) for one in F.examples)
    constant = curvature(F, rho) + optimum  # the dual begins at 0
    at = np.unique(np.geomspace(1, 200 * blocks, 25).astype(int))
    solver = SoftBCFW(rho=rho, direction="toward", order="uniform", anneal=1.0)
    short, gaps = np.zeros((30, len(at))), np.zeros((30, len(at)))
    for seed in range(30):
        run = FactorRun(problem, solver, Objective(C, bounds=None, seed=seed, n_threads=1))
        run.compile()
        for k, t in enumerate(at):
            run.advance(int(t) - run.steps)
            short[seed, k] = optimum - F.soft_dual(point_of(F, run.state), rho)
            gaps[seed, k] = run.certify().soft_gap
    assert short.min() >= -EXACT
    assert np.all(short.mean(axis=0) <= 2 * blocks / (at + 2 * blocks) * constant)
    best_so_far = np.minimum.accumulate(gaps.mean(axis=0))
    assert np.all(best_so_far <= 6 * blocks / (at + 1) * constant)


def test_the_printed_curvature_is_too_small_on_dense_graphs():
    """Erratum M6: for two states 4 (1 + |Y_c| / |Y_i|) = 12; a node of nine edges has 2 N = 18."""
    F = FactorReference(random_reference([complete(10)], unary="binary", seed=1), C)
    one = F.examples[0]
    B, _ = one.consistency_matrix()
    node = one.at_node[0]
    change = B[:, node.start] - B[:, node.start + 1]
    assert change @ change == pytest.approx(2 * 9)
    assert change @ change > 4 * (1 + 4 / 2)
