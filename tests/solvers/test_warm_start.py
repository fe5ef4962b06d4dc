"""Starting from an earlier solution: other C, more examples, other weights of the examples."""

import numpy as np
import pytest
from python_models import Chain
from sparse_reference import sparse_pair, sparse_pairs
from taut_reference import chain_pair, tiny_pairs

from taut import PythonProblem
from taut.solvers import BCFW, FrankWolfe, Status, solve
from taut.solvers.objective import Objective
from taut.structures import chain_problem

PAIRS = tiny_pairs() | sparse_pairs()
SOLVERS = {
    "batch": FrankWolfe(),
    "toward": BCFW(),
    "toward, cache": BCFW(cache=True),
    "pairwise": BCFW(direction="pairwise"),
    "away": BCFW(direction="away"),
    "corrective": BCFW(direction="corrective"),
}
solvers = pytest.mark.parametrize("name", SOLVERS)


def radius(solution):
    """|w - w*| <= sqrt(2 gap / lambda), by strong convexity; a gap below rounding counts as it."""
    return np.sqrt(2 * max(solution.gap, 1e-14) / solution.lam)


def active_weights(state):
    """The sum of alpha over every block's active set."""
    sums = []
    for head in state.corners.head:
        total, slot = 0.0, head
        while slot >= 0:
            total += state.corners.alpha[slot]
            slot = state.corners.following[slot]
        sums.append(total)
    return np.array(sums)


@solvers
@pytest.mark.parametrize("which", PAIRS)
def test_a_converged_solution_needs_no_more_steps(which, name):
    problem, _ = PAIRS[which]
    first = solve(problem, SOLVERS[name], C=0.6, tol=1e-2, max_passes=10_000)
    # A warm start begins at the last iterate; where the objective is not monotone an earlier one
    # may have been better, so its own gap is what counts.
    last = first.history[-1]
    gap = last.iterate_primal - last.iterate_dual
    tol = max(1.01 * gap / first.scale, 1e-12)
    again = solve(problem, SOLVERS[name], C=0.6, tol=tol, warm_start=first)
    assert again.status is Status.CONVERGED
    assert again.passes == 0
    # One certificate; under constraints, the objective at zero takes the oracle too.
    assert again.oracle_calls == (1 if problem.worst_losses() is not None else 2) * problem.n
    np.testing.assert_allclose(again.state.w, first.state.w, rtol=0, atol=1e-11)


@solvers
def test_keeping_the_dual_scales_the_weights(name):
    """v = C Psi mu: with mu kept, the weights grow like C."""
    problem, _ = PAIRS["chain"]
    first = solve(problem, SOLVERS[name], C=0.6, tol=1e-2, max_passes=10_000)
    for C in (0.3, 1.5):
        run = SOLVERS[name].start(problem, Objective(C, bounds=None, seed=0, n_threads=1))
        run.continue_from(first, "dual")
        np.testing.assert_allclose(run.state.w, C / 0.6 * first.state.w, rtol=0, atol=1e-12)
        np.testing.assert_array_equal(run.state.mu, first.state.mu)
        assert run.certify().gap >= 0


@solvers
@pytest.mark.parametrize(
    "which",
    ["multiclass", "weighted chain", "chain with step features", "sparse steps", "step attributes"],
)
def test_keeping_the_primal_leaves_the_weights_when_c_grows(which, name):
    """mu <- rho mu + (1 - rho) truth with rho = C / C': w stays, the loss of mu shrinks by rho."""
    problem, reference = PAIRS[which]
    first = solve(problem, SOLVERS[name], C=0.2, tol=1e-2, max_passes=10_000)
    run = SOLVERS[name].start(problem, Objective(0.8, bounds=None, seed=0, n_threads=1))
    run.continue_from(first, "primal")
    np.testing.assert_allclose(run.state.w, first.state.w, rtol=0, atol=1e-12)
    np.testing.assert_allclose(run.state.ell, 0.25 * first.state.ell, rtol=0, atol=1e-13)
    certificate = run.certify()
    assert certificate.primal == pytest.approx(reference.primal(first.state.w, 0.8), abs=1e-10)
    assert certificate.dual == pytest.approx(reference.dual(run.state.mu, 0.8), abs=1e-10)
    if name in ("pairwise", "away", "corrective"):
        np.testing.assert_allclose(active_weights(run.state), 1.0, rtol=0, atol=1e-12)


# The same examples, with weights for all steps or for those that are seen, whose duals grow.
KINDS = {
    "all steps": lambda: chain_pair([3, 3, 2, 3, 3, 2, 3, 3], 3, seed=2),
    "sparse steps": lambda: sparse_pair([3, 3, 2, 3, 3, 2, 3, 3], 3, seed=2),
    "step attributes": lambda: sparse_pair([3, 3, 2, 3, 3, 2, 3, 3], 3, n_attributes=2, seed=2),
}
kinds = pytest.mark.parametrize("kind", KINDS)


@kinds
@pytest.mark.parametrize("name", ["pairwise", "away", "corrective"])
def test_keeping_the_primal_works_where_the_truth_was_dropped_from_every_block(name, kind):
    """With a large C no weight is left on the truth, and its place has been given away."""
    problem, reference = KINDS[kind]()
    solver = BCFW(direction=SOLVERS[name].direction, cache_size=1)
    first = solve(problem, solver, C=50.0, tol=1e-6, max_passes=10_000)
    run = solver.start(problem, Objective(100.0, bounds=None, seed=0, n_threads=1))
    run.continue_from(first, "primal")
    slots, labels, products, _ = run.state.corners.used
    assert slots <= run.state.corners.alpha.size
    assert labels <= run.state.corners.labels.size
    assert products <= run.state.corners.gram.size or not solver.keeps_gram
    np.testing.assert_allclose(run.state.w, first.state.w, rtol=0, atol=1e-10)
    second = solve(
        problem, solver, C=100.0, tol=1e-4, max_passes=10_000, warm_start=first, keep="primal"
    )
    assert second.status is Status.CONVERGED
    assert second.primal == pytest.approx(reference.primal(second.w, 100.0), abs=1e-9)
    cold = solve(problem, BCFW(direction="pairwise"), C=100.0, tol=1e-4, max_passes=10_000)
    assert max(cold.dual, second.dual) <= min(cold.primal, second.primal) + 1e-12


# Solvers differ in what they keep of a dual point; a warm start with another one must either
# refuse or be right. Cached labellings of "toward" carry no weights, pairwise sets no products.


@kinds
@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("toward", "batch"),
        ("batch", "toward"),
        ("toward", "pairwise"),
        ("toward, cache", "pairwise"),
        ("toward, cache", "away"),
        ("toward, cache", "corrective"),
        ("toward, cache", "toward"),
        ("pairwise", "away"),
        ("pairwise", "toward"),
        ("pairwise", "toward, cache"),
        ("pairwise", "corrective"),
        ("corrective", "pairwise"),
    ],
)
def test_a_warm_start_with_another_solver_is_refused_or_right(earlier, later, kind):
    problem, reference = KINDS[kind]()
    first = solve(problem, SOLVERS[earlier], C=1.0, tol=3e-2, max_passes=10_000)
    try:
        second = solve(
            problem, SOLVERS[later], C=1.0, tol=1e-2, max_passes=10_000, warm_start=first
        )
    except ValueError as refusal:
        assert "warm-start with the same solver" in str(refusal)  # noqa: PT017
        return
    assert second.status is Status.CONVERGED
    assert second.gap >= -1e-14
    for image in reference.images(second.state.mu):
        assert image[0].min() >= -1e-12
    v = reference.weights(second.state.mu, 1.0)
    np.testing.assert_allclose(second.state.w, v, rtol=0, atol=1e-9)
    assert second.dual <= first.primal + 1e-14
    assert second.primal == pytest.approx(reference.primal(second.w, 1.0), abs=1e-9)


@kinds
def test_labellings_without_any_weight_can_get_some_again(kind):
    """Next to nothing of the dual point is kept, the remembered labellings all are: a dual that
    grows has forgotten their numbers, and knows them again when they are needed."""
    problem, reference = KINDS[kind]()
    solver = SOLVERS["corrective"]
    run = solver.start(problem, Objective(5.0, bounds=None, seed=0, n_threads=1))
    for _ in range(3):
        run.certify()
        run.advance(problem.n)
    for shrink in (1e-150, 0.0, 0.5):
        run.change_C(5.0, shrink)
        for _ in range(3):
            run.certify()
            run.advance(problem.n)
        v = reference.weights(run.state.mu, 5.0)
        np.testing.assert_allclose(run.state.w, v, rtol=0, atol=1e-9)
        losses = [reference.loss_of(i, m) for i, m in enumerate(reference.images(run.state.mu))]
        np.testing.assert_allclose(run.state.ell, losses, rtol=0, atol=1e-11)
        np.testing.assert_allclose(active_weights(run.state), 1.0, rtol=0, atol=1e-12)


def test_products_of_labellings_added_in_between_are_not_forgotten():
    """corrective -> pairwise -> corrective: the Gram matrix knows all labellings."""
    problem, reference = chain_pair([3, 3, 2, 3, 3, 2, 3, 3], 3, seed=2)
    solution = None
    for direction, C in [("corrective", 0.1), ("pairwise", 2.0), ("corrective", 3.0)]:
        try:
            solution = solve(
                problem, BCFW(direction=direction), C=C, tol=1e-4, warm_start=solution,
                max_passes=10_000,
            )  # fmt: skip
        except ValueError as refusal:
            assert "warm-start with the same solver" in str(refusal)  # noqa: PT017
            return
        assert solution.status is Status.CONVERGED
    state, corners = solution.state, solution.state.corners
    for i, head in enumerate(corners.head):
        members, slot = {}, head
        while slot >= 0:
            y = corners.labels[corners.label_at[slot] :][: len(reference.Y[i])]
            members[corners.rank[slot]] = (
                slot,
                reference.phi(i, reference.Y[i]) - reference.phi(i, y),
            )
            slot = corners.following[slot]
        for rank, (slot, psi) in members.items():
            for other in range(rank + 1):
                kept = corners.gram[corners.gram_at[slot] + other]
                assert kept == pytest.approx(psi @ members[other][1], abs=1e-10)
    assert len(state.ell) == problem.n


@solvers
@pytest.mark.parametrize("only_seen", [False, True])
def test_more_examples_keep_the_weights(name, only_seen):
    """A new block starts at the truth and adds nothing to w = C sum_i s_i Psi_i (truth - mu_i)."""
    rng = np.random.default_rng(7)
    rows, truth = rng.normal(size=(9, 3)), rng.integers(0, 3, 9).astype(np.int32)
    part = chain_problem(rows[:5], [3, 2], truth[:5], 3, only_seen_steps=only_seen)
    more = chain_problem(rows[5:], [1, 3], truth[5:], 3, only_seen_steps=only_seen)
    whole = part.extended(more)
    first = solve(part, SOLVERS[name], C=0.6, tol=1e-2, max_passes=10_000)
    run = SOLVERS[name].start(whole, Objective(0.6, bounds=None, seed=0, n_threads=1))
    run.continue_from(first, "dual")
    np.testing.assert_allclose(run.state.w, first.state.w, rtol=0, atol=1e-13)
    continued = solve(whole, SOLVERS[name], C=0.6, tol=1e-2, warm_start=first, max_passes=10_000)
    cold = solve(whole, SOLVERS[name], C=0.6, tol=1e-2, max_passes=10_000)
    assert continued.status is cold.status is Status.CONVERGED
    assert max(continued.dual, cold.dual) <= min(continued.primal, cold.primal) + 1e-14


def test_weight_two_is_the_example_twice():
    """In the sum form 1/2 |w|^2 + C sum_i s_i hinge_i the two objectives are the same function."""
    rng = np.random.default_rng(8)
    rows, truth = rng.normal(size=(6, 3)), rng.integers(0, 3, 6).astype(np.int32)
    weighted = chain_problem(rows, [2, 4], truth, 3, importance=np.array([1.0, 2.0]))
    twice = chain_problem(
        np.vstack([rows, rows[2:]]), [2, 4, 4], np.concatenate([truth, truth[2:]]), 3
    )
    solver = BCFW(direction="corrective")
    one, two = (solve(p, solver, C=0.7, tol=1e-9, max_passes=10_000) for p in (weighted, twice))
    # Sum form = objective / lambda = objective * C n; both are within their gap of the optimum.
    slack = (one.gap / one.lam) + (two.gap / two.lam)
    assert abs(one.primal / one.lam - two.primal / two.lam) <= slack + 1e-12
    # 1/2 |w - w*|^2 <= gap / lambda for each.
    assert np.linalg.norm(one.w - two.w) <= radius(one) + radius(two)


def test_an_example_of_weight_zero_does_not_matter():
    rng = np.random.default_rng(9)
    rows, truth = rng.normal(size=(6, 3)), rng.integers(0, 3, 6).astype(np.int32)
    silent = chain_problem(rows, [4, 2], truth, 3, importance=np.array([1.0, 0.0]))
    alone = chain_problem(rows[:4], [4], truth[:4], 3)
    solver = BCFW(direction="pairwise")
    one, two = (solve(p, solver, C=0.7, tol=1e-9, max_passes=10_000) for p in (silent, alone))
    assert np.linalg.norm(one.w - two.w) <= radius(one) + radius(two)


def test_without_active_sets_pairwise_steps_cannot_continue():
    problem, _ = PAIRS["chain"]
    first = solve(problem, BCFW(), C=0.6, max_passes=10)
    with pytest.raises(ValueError, match="did not keep the active sets"):
        solve(problem, BCFW(direction="pairwise"), C=0.6, warm_start=first)


def test_the_earlier_solution_is_not_changed():
    problem, _ = PAIRS["chain"]
    first = solve(problem, BCFW(direction="corrective"), C=0.6, tol=1e-2)
    before = first.w.copy(), first.state.mu.copy(), first.state.corners.alpha.copy()
    solve(problem, BCFW(direction="corrective"), C=6.0, tol=1e-6, warm_start=first, keep="primal")
    for old, now in zip(before, (first.w, first.state.mu, first.state.corners.alpha), strict=True):
        np.testing.assert_array_equal(now, old)


def python_chain():
    random = np.random.default_rng(2)
    X = [random.normal(size=(random.integers(1, 4), 2)) for _ in range(8)]
    Y = [tuple(random.integers(0, 3, len(x)).tolist()) for x in X]
    return PythonProblem(Chain(3, 2), X, Y)


@pytest.mark.parametrize("has_other_labels", [False, True])
@solvers
def test_an_equal_problem_made_anew_goes_on_with_the_labels_of_a_model_in_python(
    name, has_other_labels
):
    """Labels are known by the order in which they came up, which is another there."""
    run = dict(solver=SOLVERS[name], tol=0.0)
    problem, anew = python_chain(), python_chain()
    first = solve(problem, C=0.7, max_passes=5, seed=1, **run)
    labels = first.state.corners.labels.copy()
    if has_other_labels:
        solve(anew, C=50.0, max_passes=8, seed=7, **run)
    again = solve(anew, C=0.7, max_passes=0, warm_start=first, **run)
    last = first.history[-1]
    assert again.history[0].iterate_primal == pytest.approx(last.iterate_primal, rel=1e-12)
    assert again.history[0].iterate_dual == pytest.approx(last.iterate_dual, rel=1e-12)
    further = dict(C=0.7, max_passes=6, seed=3, warm_start=first)
    here, there = solve(problem, **run, **further), solve(anew, **run, **further)
    np.testing.assert_allclose(there.w, here.w, rtol=1e-9, atol=1e-12)
    assert there.dual <= here.primal + 1e-12
    np.testing.assert_array_equal(first.state.corners.labels, labels)
