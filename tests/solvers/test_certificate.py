"""Every solver on every kind of problem: what it reports is true, and it finds the optimum.

Primal, dual, weights and gaps are recomputed in plain NumPy from the definitions, with all
labellings enumerated; see ``taut_reference``.
"""

import clarabel
import numpy as np
import pytest
from scipy import sparse
from sparse_reference import sparse_pairs
from taut_reference import tiny_pairs

from taut.solvers import BCFW, FrankWolfe, Status, solve
from taut.solvers.objective import Objective

C = 0.6
PAIRS = tiny_pairs() | sparse_pairs()
ORDERS = ["cyclic", "permuted", "uniform", "gap"]
DIRECTIONS = ["toward", "pairwise", "away", "corrective"]

SOLVERS = {
    "batch": FrankWolfe(),
    "batch, averaging": FrankWolfe(averaging=True),
    **{f"{d}, {o}": BCFW(order=o, direction=d) for d in DIRECTIONS for o in ORDERS},
    **{f"{d}, cache": BCFW(direction=d, cache=True) for d in DIRECTIONS[:3]},
    **{f"{d}, safeguard": BCFW(direction=d, safeguard=True) for d in DIRECTIONS[1:3]},
    "pairwise, parabola": BCFW(direction="pairwise", step="parabola"),
    "toward, averaging": BCFW(order="uniform", averaging=True),
    "corrective, averaging": BCFW(direction="corrective", averaging=True),
    "toward, never refreshed": BCFW(order="permuted", refresh=None),
    "pairwise, small cache": BCFW(direction="pairwise", cache=True, cache_size=2),
    "corrective, no memory": BCFW(direction="corrective", cache_size=1),
    "corrective, uniform, no memory": BCFW(order="uniform", direction="corrective", cache_size=1),
    "corrective, no cheap passes": BCFW(direction="corrective", cheap_passes=0),
}
BOUNDS = {
    "tight": (-0.05, 0.1),
    "nonnegative": (0.0, np.inf),
    "without zero": (0.02, 0.3),
}
BOUNDED = [
    "batch", "toward, cyclic", "toward, cache", "toward, averaging", "pairwise, permuted",
    "pairwise, cache", "away, uniform", "corrective, gap", "corrective, averaging",
    "pairwise, safeguard", "away, safeguard", "pairwise, parabola",
]  # fmt: skip


def bounds_of(which, box):
    """The box as arrays; weights that only fill a row of observed features stay zero in it."""
    if box is None:
        return None
    problem = PAIRS[which][0]
    sides = [np.full(problem.dim, side) for side in BOUNDS[box]]
    for side in sides:
        side[problem.held_at_zero()] = 0.0
    return sides


TABLE = [(name, None) for name in SOLVERS] + [(name, box) for box in BOUNDS for name in BOUNDED]

problems = pytest.mark.parametrize("which", PAIRS)
table = pytest.mark.parametrize(
    ("name", "box"), TABLE, ids=[f"{name}; {box}" if box else name for name, box in TABLE]
)


def tolerance(solver):
    """Steps toward a corner converge like 1/t, the others linearly on a polytope."""
    slow = isinstance(solver, FrankWolfe) or solver.direction.name == "TOWARD"
    return 1e-2 if slow else 1e-7


_solutions = {}


def solution_of(which, name, box):
    if (which, name, box) not in _solutions:
        solver = SOLVERS[name]
        _solutions[which, name, box] = solve(
            PAIRS[which][0], solver, C=C, bounds=BOUNDS.get(box), tol=tolerance(solver),
            max_passes=20_000,
        )  # fmt: skip
    return _solutions[which, name, box]


@problems
@table
def test_the_gap_falls_below_the_tolerance(which, name, box):
    solution = solution_of(which, name, box)
    assert solution.status is Status.CONVERGED
    assert solution.gap + 1e-14 >= 0
    assert solution.gap <= tolerance(SOLVERS[name]) * solution.scale


@problems
@table
def test_primal_and_dual_are_what_their_definitions_say(which, name, box):
    solution, (problem, reference) = solution_of(which, name, box), PAIRS[which]
    bounds, state = bounds_of(which, box), solution.state
    assert solution.primal == pytest.approx(reference.primal(solution.w, C), abs=1e-9)
    last = solution.history[-1]
    assert last.iterate_primal == pytest.approx(reference.primal(state.w, C), abs=1e-9)
    assert last.iterate_dual == pytest.approx(reference.dual(state.mu, C, bounds), abs=1e-9)
    if not SOLVERS[name].averaging:
        assert solution.primal == solution.history.iterate_primal.min()
        assert solution.dual == solution.history.iterate_dual.max()
    worst = [reference.table(i)[0].max() for i in range(problem.n)]
    assert solution.scale == pytest.approx(reference.s @ worst / problem.n)


@problems
@table
def test_the_weights_follow_from_the_dual_point(which, name, box):
    """w = clip(Psi mu): the incremental updates never lose track."""
    solution, (_, reference) = solution_of(which, name, box), PAIRS[which]
    v = reference.weights(solution.state.mu, C)
    np.testing.assert_allclose(solution.state.v, v, rtol=0, atol=1e-9)
    w = v if box is None else np.clip(v, *bounds_of(which, box))
    np.testing.assert_allclose(solution.state.w, w, rtol=0, atol=1e-9)
    if box is not None:
        assert np.all(solution.w >= bounds_of(which, box)[0])
        assert np.all(solution.w <= bounds_of(which, box)[1])


@problems
@table
def test_the_dual_point_is_feasible(which, name, box):
    """mu_i is a convex combination of labellings, otherwise the dual value would bound nothing."""
    solution, (_, reference) = solution_of(which, name, box), PAIRS[which]
    for i, image in enumerate(reference.images(solution.state.mu)):
        np.testing.assert_allclose(image[0].sum(axis=1), 1.0, rtol=0, atol=1e-12)
        assert image[0].min() >= -1e-12
        assert reference.distance_to_polytope(i, image) <= 1e-9
    losses = [reference.loss_of(i, m) for i, m in enumerate(reference.images(solution.state.mu))]
    np.testing.assert_allclose(solution.state.ell, losses, rtol=0, atol=1e-12)


def active_sets(solution):
    """Per block the remembered labellings and their weights."""
    corners = solution.state.corners
    for i in range(len(solution.state.ell)):
        slot, members = corners.head[i], []
        while slot >= 0:
            members.append((corners.label_at[slot], corners.alpha[slot]))
            slot = corners.following[slot]
        yield i, members


@problems
@pytest.mark.parametrize("name", [n for n in SOLVERS if n.startswith(("pair", "away", "corr"))])
def test_the_active_set_is_the_dual_point(which, name):
    """alpha_i lies in the simplex, and mu_i = sum_y alpha_i(y) e(y)."""
    solution, (_, reference) = solution_of(which, name, None), PAIRS[which]
    images = list(reference.images(solution.state.mu))
    for i, members in active_sets(solution):
        labels = solution.state.corners.labels
        alpha = np.array([a for _, a in members])
        assert alpha.min() >= 0.0
        assert alpha.sum() == pytest.approx(1.0, abs=1e-12)
        T = len(reference.Y[i])
        corners = [reference.image(i, labels[at : at + T]) for at, _ in members]
        for part in (0, 1):
            mean = sum(a * corner[part] for a, corner in zip(alpha, corners, strict=True))
            np.testing.assert_allclose(mean, images[i][part], rtol=0, atol=1e-11)
        assert len({tuple(labels[at : at + T]) for at, _ in members}) == len(members)


@problems
@table
def test_the_history_brackets_the_optimum_and_the_dual_rises(which, name, box):
    history, solver = solution_of(which, name, box).history, SOLVERS[name]
    assert np.all(history.iterate_primal >= history.iterate_dual - 1e-14)
    np.testing.assert_allclose(history.gap, history.primal - history.dual, rtol=0, atol=1e-15)
    # Weak duality between any two rows: every dual value is below every objective.
    assert history.iterate_primal.min() >= history.iterate_dual.max() - 1e-14
    assert np.all(np.diff(history.passes) > 0)
    # An exact line search never loses; momentum (corrective) may, for a while.
    if isinstance(solver, FrankWolfe) or solver.direction.name != "CORRECTIVE":
        assert np.all(np.diff(history.iterate_dual) >= -1e-14)


@problems
@pytest.mark.parametrize("box", [None, *BOUNDS])
@pytest.mark.parametrize(
    "name", ["batch", "toward, gap", "pairwise, uniform", "corrective, cyclic"]
)
def test_block_gaps_sum_to_primal_minus_dual(which, name, box):
    problem, reference = PAIRS[which]
    run = SOLVERS[name].start(problem, Objective(C, bounds=BOUNDS.get(box), seed=3, n_threads=1))
    for _ in range(4):
        certificate = run.certify()
        expected = reference.block_gaps(run.state.mu, run.state.w)
        np.testing.assert_allclose(certificate.block_gaps, expected, rtol=0, atol=1e-12)
        assert certificate.block_gaps.min() >= -1e-15
        assert certificate.block_gaps.sum() == pytest.approx(certificate.gap, abs=1e-13)
        run.advance(problem.n + 1 if name != "batch" else problem.n)


def quadratic_program(reference, bounds):
    """min 1/(2 C n) |w|^2 + 1/n sum_i s_i xi_i over all labellings' constraints."""
    dim, n = reference.dim, reference.n
    rows, right = [], []
    for i in range(n):
        loss, psi = reference.table(i)
        slack = np.zeros((len(loss), n))
        slack[:, i] = 1.0
        rows.append(np.hstack([-psi, -slack]))  # -<psi, w> - xi <= -loss
        right.append(-loss)
    if bounds is not None:
        for sign, bound in zip((-1.0, 1.0), bounds, strict=True):
            finite = np.flatnonzero(np.isfinite(bound))
            rows.append(np.hstack([sign * np.eye(dim), np.zeros((dim, n))])[finite])
            right.append(sign * bound[finite])
    A, b = np.vstack(rows), np.concatenate(right)
    P = sparse.diags(np.r_[np.full(dim, 1.0 / (C * n)), np.zeros(n)], format="csc")
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    q = np.r_[np.zeros(dim), reference.s / n]
    found = clarabel.DefaultSolver(
        P, q, sparse.csc_matrix(A), b, [clarabel.NonnegativeConeT(len(b))], settings
    ).solve()
    assert str(found.status) == "Solved"
    return found.obj_val, np.array(found.x)[:dim]


@problems
@pytest.mark.parametrize("box", [None, *BOUNDS])
def test_a_generic_quadratic_program_solver_finds_the_same_optimum(which, box):
    """Its accuracy is 1e-8; ours is the gap."""
    optimum, w = quadratic_program(PAIRS[which][1], bounds_of(which, box))
    for name, other in TABLE:
        if other == box:
            solution = solution_of(which, name, box)
            assert solution.dual - 1e-7 <= optimum <= solution.primal + 1e-7
            # Strong convexity: lambda/2 |w - w*|^2 <= primal - optimum.
            distance = 0.5 * solution.lam * np.sum((solution.w - w) ** 2)
            assert distance <= solution.gap + 1e-7


@problems
@pytest.mark.parametrize("box", [None, *BOUNDS])
def test_all_solvers_agree_within_their_gaps(which, box):
    solutions = [solution_of(which, name, other) for name, other in TABLE if other == box]
    assert max(s.dual for s in solutions) <= min(s.primal for s in solutions) + 1e-14


@problems
@pytest.mark.parametrize("name", ["toward, averaging", "corrective, averaging"])
def test_the_average_is_the_weighted_average_of_the_iterates(which, name):
    """w_bar = 2/(K(K+1)) sum_k k w_k, kept without touching all weights at every step."""
    problem, _ = PAIRS[which]
    run = SOLVERS[name].start(problem, Objective(C, bounds=None, seed=1, n_threads=1))
    total, total_loss = np.zeros(problem.dim), 0.0
    for k in range(1, 26):
        run.advance(1)
        total += k * run.state.w
        total_loss += k * (run.importance @ run.state.ell)
    average = run.average_point()
    np.testing.assert_allclose(average.w, 2 / (25 * 26) * total, rtol=0, atol=1e-12)
    assert average.loss == pytest.approx(2 / (25 * 26) * total_loss, abs=1e-12)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_an_infinite_box_changes_nothing(direction):
    """Clipping that never happens gives the same steps, up to the rounding of the line search.

    Corrective visits take one bounded step instead of several, so there only the optimum is equal.
    """
    problem, _ = PAIRS["weighted chain"]
    solver = BCFW(order="permuted", direction=direction)
    free = solve(problem, solver, C=C, tol=0, max_passes=20)
    boxed = solve(problem, solver, C=C, tol=0, max_passes=20, bounds=(-np.inf, np.inf))
    if direction == "corrective":
        assert max(free.dual, boxed.dual) <= min(free.primal, boxed.primal) + 1e-14
    else:
        np.testing.assert_allclose(boxed.w, free.w, rtol=0, atol=1e-10)
