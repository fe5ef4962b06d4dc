"""Stochastic dual coordinate ascent: what it reports of a CRF is true, and it finds the optimum.

Primal, dual, entropies and optima are recomputed from the definitions, with all labellings
enumerated; see ``crf_reference``.
"""

from functools import cache

import numpy as np
import pytest
from altered_checkpoints import save_altered
from crf_reference import CRFReference, boxes, crf_pairs, flat
from slices import killed_at
from taut_reference import chain_pair

from taut import regularization_path
from taut.path import PathStatus
from taut.solvers import BCFW, LBFGS, SDCA, Status, solve
from taut.solvers.objective import Objective
from taut.structures import Pairwise, chain_problem, multiclass_problem, smoothed
from taut.structures.features import node_features

C, TOL = 0.6, 1e-7
PAIRS = crf_pairs()
BOXES = ("free", "tight", "nonnegative", "without zero")
ORDERS = ("gap", "permuted", "uniform", "cyclic")
problems = pytest.mark.parametrize("which", PAIRS)
table = pytest.mark.parametrize("box", BOXES)
# Sums of a hundred numbers of order one, and ten thousand small moves of the weights.
EXACT = dict(rel=0, abs=1e-9)


@cache
def box_of(which, box):
    return boxes(PAIRS[which][0])[box]


@cache
def solution_of(which, box="free", **options):
    solver = SDCA(**options)
    return solve(PAIRS[which][0], solver, C=C, bounds=box_of(which, box), tol=TOL, max_passes=5000)


# --- certificates --------------------------------------------------------------------------------


def parts(found, reference):
    """Marginals and entropies of a solution's dual point, or of a run's."""
    mu, n = found.state.mu, reference.of.n
    return mu[:-n], mu[-n:]


@problems
@table
def test_the_gap_falls_below_the_tolerance(which, box):
    solution, (_, reference) = solution_of(which, box), PAIRS[which]
    assert solution.status is Status.CONVERGED
    assert -1e-14 <= solution.gap <= TOL * solution.scale
    assert solution.scale == pytest.approx(reference.scale(), rel=1e-12)


@problems
@table
def test_primal_and_dual_are_what_their_definitions_say(which, box):
    solution, (_, reference) = solution_of(which, box), PAIRS[which]
    bounds = box_of(which, box)
    assert solution.primal == pytest.approx(reference.primal(solution.w, C), **EXACT)
    dual = reference.dual(*parts(solution, reference), C, bounds)
    assert solution.history.iterate_dual[-1] == pytest.approx(dual, **EXACT)
    assert solution.primal == solution.history.iterate_primal.min()
    assert solution.dual == solution.history.iterate_dual.max()


@problems
@table
def test_there_are_distributions_of_at_least_the_entropy_that_is_kept(which, box):
    """Without this the dual value would prove nothing."""
    solution, (_, reference) = solution_of(which, box), PAIRS[which]
    mu, entropy = parts(solution, reference)
    for i, image in enumerate(reference.of.images(mu)):
        assert reference.of.distance_to_polytope(i, image) < 1e-9
        # At the optimum it is nearly all of it, to the rounding of a general minimiser.
        most = reference.most_entropy(i, flat(image))
        assert entropy[i] <= most + 1e-6
        assert entropy[i] >= most - 1e-2


@problems
@table
def test_the_weights_follow_from_the_dual_point(which, box):
    """w = clip(C sum_i s_i Psi_i (truth_i - mu_i)): the incremental updates never lose track."""
    solution, (_, reference) = solution_of(which, box), PAIRS[which]
    state, bounds = solution.state, box_of(which, box)
    v = reference.of.weights(parts(solution, reference)[0], C)
    np.testing.assert_allclose(state.v, v, rtol=0, atol=1e-10)
    w = v if bounds is None else np.clip(v, *bounds)
    np.testing.assert_allclose(state.w, w, rtol=0, atol=1e-10)
    if bounds is not None:
        assert np.all((solution.w >= bounds[0]) & (solution.w <= bounds[1]))


@problems
@table
def test_the_optimum_is_that_of_a_general_minimiser(which, box):
    lower, upper, _ = PAIRS[which][1].bracket(C, box_of(which, box))
    solution = solution_of(which, box)
    assert upper - lower < 1e-6
    assert max(lower, solution.dual) <= min(upper, solution.primal) + 1e-12


@problems
@pytest.mark.parametrize("order", ORDERS)
def test_the_dual_never_decreases_and_never_exceeds_the_primal(which, order):
    solution = solve(PAIRS[which][0], SDCA(order=order, refresh=1), C=C, tol=1e-9)
    assert solution.status is Status.CONVERGED
    history = solution.history
    assert np.all(np.diff(history.iterate_dual) >= -1e-14)
    assert np.all(history.iterate_primal >= history.iterate_dual - 1e-14)
    assert np.all(history.gap <= history.iterate_primal - history.iterate_dual + 1e-14)


@problems
def test_every_order_finds_the_same_optimum(which):
    solutions = [solution_of(which, order=order) for order in ORDERS]
    assert max(s.dual for s in solutions) <= min(s.primal for s in solutions) + 1e-14
    for one in solutions[1:]:
        # lambda/2 |w - w*|^2 <= gap for each.
        radius = sum(np.sqrt(2 * s.gap / s.lam) for s in (one, solutions[0]))
        assert np.linalg.norm(one.w - solutions[0].w) <= radius + 1e-12


@problems
def test_a_certificate_of_the_average_is_its_own(which):
    """Averages of dual points are dual points; their entropies average to a lower bound."""
    problem, reference = PAIRS[which]
    run = SDCA(averaging=True).start(problem, Objective(C, bounds=None, seed=0, n_threads=1))
    total, weights, losses = np.zeros(problem.dim), 0.0, 0.0
    for k in range(1, 3 * problem.n + 1):
        run.advance(1)
        total += k * run.state.w
        losses += k * (reference.s @ run.state.ell)
        weights += k
    point, certificate = run.certified_average()
    np.testing.assert_allclose(point.w, total / weights, rtol=0, atol=1e-12)
    assert certificate.primal == pytest.approx(reference.primal(total / weights, C), **EXACT)
    norm = 0.5 * (point.w @ point.w) / (C * problem.n)
    assert certificate.dual == pytest.approx(losses / weights / problem.n - norm, **EXACT)
    lower, _, _ = reference.bracket(C)
    assert certificate.dual <= lower + 1e-9
    solution = solution_of(which, averaging=True)
    assert solution.status is Status.CONVERGED
    assert solution.primal == pytest.approx(reference.primal(solution.w, C), **EXACT)


# --- sampling ------------------------------------------------------------------------------------


@problems
def test_the_first_pass_of_gap_sampling_visits_every_example_once(which):
    """Entropies are zero at the truth and positive after a visit; there are n visits."""
    problem, reference = PAIRS[which]
    run = SDCA().start(problem, Objective(C, bounds=None, seed=3, n_threads=1))
    run.advance(problem.n)
    assert run.oracle_calls == problem.n
    alone = [len(reference.of.labellings(i)) == 1 for i in range(problem.n)]
    np.testing.assert_array_equal(run.state.mu[-problem.n :] > 0, np.logical_not(alone))


def test_later_passes_visit_where_the_gap_is():
    """An example of weight zero has no gap, and is not visited again."""
    rng = np.random.default_rng(0)
    importance = np.array([1.0, 0.0, 1.0, 1.0])
    base = multiclass_problem(
        rng.normal(size=(4, 2)), np.array([0, 1, 2, 0]), 3, importance=importance
    )
    run = SDCA().start(smoothed(base), Objective(C, bounds=None, seed=0, n_threads=1))
    run.advance(4)
    before = run.state.mu[: -run.n].copy()
    run.advance(40)
    moved = (run.state.mu[: -run.n] != before).reshape(4, 3).any(1)
    assert moved.tolist() == [True, False, True, True]


# --- sample weights and small problems -----------------------------------------------------------


def stacked(importance=None, repeat=False):
    rng = np.random.default_rng(8)
    rows, truth = rng.normal(size=(6, 3)), rng.integers(0, 3, 6).astype(np.int32)
    if repeat:
        rows, truth = np.vstack([rows, rows[2:]]), np.concatenate([truth, truth[2:]])
    lengths = [2, 4, 4] if repeat else [2, 4]
    return smoothed(chain_problem(rows, lengths, truth, 3, importance=importance))


def test_weight_two_is_the_example_twice():
    """In the sum form |w|^2 / 2 + C sum_i s_i value_i the two are the same function."""
    weighted = solve(stacked(np.array([1.0, 2.0])), C=0.7, tol=1e-9)
    twice = solve(stacked(repeat=True), C=0.7, tol=1e-9)
    forms = [(s.dual / s.lam, s.primal / s.lam) for s in (weighted, twice)]
    assert max(low for low, _ in forms) <= min(high for _, high in forms) + 1e-12


def test_an_example_of_weight_zero_does_not_matter():
    rng = np.random.default_rng(9)
    rows, truth = rng.normal(size=(6, 3)), rng.integers(0, 3, 6).astype(np.int32)
    silent = chain_problem(rows, [4, 2], truth, 3, importance=np.array([1.0, 0.0]))
    alone = chain_problem(rows[:4], [4], truth[:4], 3)
    one, two = (solve(smoothed(base), C=0.7, tol=1e-10) for base in (silent, alone))
    radius = sum(np.sqrt(2 * s.gap / s.lam) for s in (one, two))
    assert np.linalg.norm(one.w - two.w) <= radius + 1e-12


@pytest.mark.parametrize("solver", [SDCA(), LBFGS()], ids=["SDCA", "LBFGS"])
def test_with_one_label_all_is_known(solver):
    base = chain_problem(np.ones((5, 2)), [3, 1, 1], np.zeros(5, np.int32), 1)
    solution = solve(smoothed(base), solver)
    assert solution.status is Status.CONVERGED
    assert not solution.w.any()
    assert solution.primal == solution.dual == solution.scale == 0.0


def test_chains_of_one_node_are_a_multiclass_problem():
    rng = np.random.default_rng(2)
    rows, truth = rng.normal(size=(7, 3)), rng.integers(0, 3, 7).astype(np.int32)
    chains = smoothed(chain_problem(rows, [1] * 7, truth, 3, boundary=False))
    nodes = smoothed(multiclass_problem(rows, truth, 3))
    one, two = (solve(problem, C=C, tol=1e-9) for problem in (chains, nodes))
    assert max(one.dual, two.dual) <= min(one.primal, two.primal) + 1e-14


@pytest.mark.parametrize("size", [1e4, 1e-4])
def test_features_of_any_size(size):
    """Weights of length C times ten thousand make scores of up to 1e8: nothing overflows."""
    base, reference = chain_pair([3, 4, 2], 3, seed=1)
    base = base._replace(features=node_features(size * base.features.rows.dense))
    reference.X = [size * x for x in reference.X]
    solution = solve(smoothed(base), C=C, tol=1e-3, max_passes=300)
    assert np.all(np.isfinite(solution.w))
    value = CRFReference(reference).primal(solution.w, C)
    assert solution.primal == pytest.approx(value, rel=1e-9, abs=1e-9)
    assert -1e-9 <= solution.gap < np.inf


# --- the run -------------------------------------------------------------------------------------


class Interpreted(Pairwise):
    """The same arrays; solvers then run the functions' Python source."""

    is_compiled = False

    def new_dual(problem):
        return Pairwise(*problem).new_dual()


@pytest.mark.parametrize("box", ["free", "tight"])
@pytest.mark.parametrize(
    "which", ["chain", "loss-augmented chain", "chain with step features", "observed chain"]
)
def test_interpreted_it_walks_the_same_trajectory(which, box):
    """The two differ by the order of vectorised sums only, about 1e-16 each."""
    compiled = PAIRS[which][0]
    interpreted = compiled._replace(base=Interpreted(*compiled.base))
    runs = [
        SDCA().start(one, Objective(C, bounds=box_of(which, box), seed=4, n_threads=1))
        for one in (compiled, interpreted)
    ]
    for _ in range(3):
        one, two = (run.certify() for run in runs)
        assert one.primal == pytest.approx(two.primal, abs=1e-10)
        assert one.dual == pytest.approx(two.dual, abs=1e-10)
        for run in runs:
            run.advance(compiled.n)
    one, two = (run.state for run in runs)
    np.testing.assert_allclose(one.w, two.w, rtol=0, atol=1e-10)
    np.testing.assert_allclose(one.mu, two.mu, rtol=0, atol=1e-10)
    assert one.count.tolist() == two.count.tolist()
    assert one.sampler.random[0] == two.sampler.random[0]


@problems
def test_the_number_of_threads_changes_no_bit(which):
    one, two = (solve(PAIRS[which][0], C=C, tol=1e-5, n_threads=k) for k in (1, 2))
    np.testing.assert_array_equal(one.w, two.w)
    for name in ("passes", "primal", "dual", "oracle_calls"):
        assert one.history[name].tolist() == two.history[name].tolist()


@pytest.mark.parametrize("other", [0.3, 2.0])
@pytest.mark.parametrize("keep", ["dual", "primal"])
def test_a_warm_start_at_another_C(other, keep):
    problem, reference = PAIRS["weighted chain"]
    first = solution_of("weighted chain")
    before = first.state.mu.copy()
    run = SDCA().start(problem, Objective(other, bounds=None, seed=0, n_threads=1))
    run.continue_from(first, keep)
    if keep == "dual" or other < C:
        np.testing.assert_allclose(run.state.w, other / C * first.state.w, rtol=0, atol=1e-10)
    else:
        np.testing.assert_allclose(run.state.w, first.state.w, rtol=0, atol=1e-10)
    certificate = run.certify()
    assert certificate.dual == pytest.approx(reference.dual(*parts(run, reference), other), **EXACT)
    warm = solve(problem, C=other, tol=1e-7, warm_start=first, keep=keep, max_passes=5000)
    cold = solve(problem, C=other, tol=1e-7, max_passes=5000)
    assert warm.status is cold.status is Status.CONVERGED
    assert max(warm.dual, cold.dual) <= min(warm.primal, cold.primal) + 1e-14
    np.testing.assert_array_equal(first.state.mu, before)


@problems
def test_a_warm_start_of_the_same_problem_does_no_work(which):
    first = solution_of(which)
    again = solve(PAIRS[which][0], C=C, tol=TOL, warm_start=first)
    assert again.passes == 0
    assert again.status is Status.CONVERGED
    np.testing.assert_allclose(again.w, first.w, rtol=0, atol=1e-10)
    assert again.primal <= first.primal
    assert again.dual >= first.dual


def test_more_examples_start_at_their_truth():
    problem, reference = PAIRS["chain"]
    whole, parts = problem.base, (4, 2)
    few = smoothed(
        chain_problem(whole.features.rows.dense[: parts[0]], [3, 1], whole.truth[: parts[0]], 3)
    )
    first = solve(few, C=C, tol=TOL)
    run = SDCA().start(problem, Objective(C, bounds=None, seed=0, n_threads=1))
    run.continue_from(first, "dual")
    np.testing.assert_array_equal(run.state.mu[-problem.n :][2:], 0.0)
    np.testing.assert_allclose(run.state.w, first.state.w, rtol=0, atol=1e-10)
    more = solve(problem, C=C, tol=TOL, warm_start=first)
    assert more.primal == pytest.approx(reference.primal(more.w, C), **EXACT)
    cold = solution_of("chain")
    assert max(more.dual, cold.dual) <= min(more.primal, cold.primal) + 1e-14


def test_another_objective_is_no_start():
    base = PAIRS["chain"][0].base
    first = solve(smoothed(base), C=C, tol=1e-3)
    for other in (smoothed(base, 0.5), smoothed(base, loss_augmented=True)):
        with pytest.raises(ValueError, match="proves nothing here"):
            solve(other, warm_start=first)
    svm = solve(base, BCFW(), C=C, tol=1e-2)
    with pytest.raises(ValueError, match="proves nothing here"):
        solve(smoothed(base), warm_start=svm)
    with pytest.raises(ValueError, match="proves nothing here"):
        solve(base, BCFW(), warm_start=first)
    gradient = solve(smoothed(base), LBFGS(), C=C, tol=1e-3)
    with pytest.raises(ValueError, match="kept no labellings or marginals"):
        solve(smoothed(base), SDCA(), warm_start=gradient)


@pytest.mark.parametrize("at", [2, 9])
@pytest.mark.parametrize("which", ["loss-augmented chain", "observed chain"])
def test_a_resumed_run_ends_where_an_uninterrupted_one_does(which, at, tmp_path):
    """Killed at any moment, the rest of the run is the same, bit for bit."""
    problem = PAIRS[which][0]
    options = dict(solver=SDCA(averaging=True), C=C, tol=0.0, max_passes=13)
    whole = solve(problem, **options)
    saving = dict(checkpoint=tmp_path / "run.npz", checkpoint_seconds=0.0)
    with killed_at(SDCA, at):
        solve(problem, **options, **saving)
    resumed = solve(problem, **options, **saving, resume=True)
    np.testing.assert_array_equal(resumed.w, whole.w)
    np.testing.assert_array_equal(resumed.state.mu, whole.state.mu)
    assert (resumed.primal, resumed.dual) == (whole.primal, whole.dual)
    assert resumed.history.iterate_dual.tolist() == whole.history.iterate_dual.tolist()


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("mu", lambda a: a[:-1]),
        ("mu", lambda a: a * np.nan),
        ("mu", lambda a: np.r_[a[:-1], a[-1] + 1.0]),  # more entropy than its loss says
        ("ell", lambda a: a + 1.0),
        ("v", lambda a: a + 1.0),
        ("best_w", lambda a: a + 1.0),
    ],
    ids=["short mu", "mu", "entropy", "ell", "v", "best w"],
)
def test_a_checkpoint_that_lies_is_refused(name, change, tmp_path):
    problem, path = PAIRS["chain"][0], tmp_path / "run.npz"
    solve(problem, C=C, tol=0.0, max_passes=6, checkpoint=path)
    with np.load(path) as archive:
        arrays = {key: archive[key] for key in archive.files}
    arrays[name] = change(arrays[name])
    save_altered(path, arrays)
    with pytest.raises(ValueError, match=r"run\.npz"):
        solve(problem, C=C, tol=0.0, max_passes=8, checkpoint=path, resume=True)


# --- paths ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["linear", "constant"])
@pytest.mark.parametrize("which", ["multiclass", "weighted chain", "loss-augmented chain"])
def test_a_path_keeps_its_promise(which, method):
    problem, reference = PAIRS[which]
    path = regularization_path(problem, solver=SDCA(), eps=0.05, lam_min=0.05, method=method)
    assert path.guaranteed
    assert path.status in (PathStatus.TO_LAM_MIN, PathStatus.TO_ZERO)
    assert path.scale == pytest.approx(reference.scale(), rel=1e-12)
    for lam in np.geomspace(50.0, 0.05, 7):
        lower, upper, _ = reference.bracket(1.0 / (lam * problem.n))
        assert upper - lower < 1e-7
        excess = reference.primal(path.weights(lam), 1.0 / (lam * problem.n)) - lower
        assert -1e-12 <= excess <= path.bound(lam) + (upper - lower) + 1e-12
        assert path.bound(lam) <= 0.05 * path.scale + 1e-12


def test_a_path_chooses_its_solver_by_itself():
    problem, reference = PAIRS["multiclass"]
    path = regularization_path(problem, eps=0.1, lam_min=0.1)
    for lam in (10.0, 0.5, 0.1):
        lower, _, _ = reference.bracket(1.0 / (lam * problem.n))
        excess = reference.primal(path.weights(lam), 1.0 / (lam * problem.n)) - lower
        assert excess <= path.bound(lam) + 1e-7
