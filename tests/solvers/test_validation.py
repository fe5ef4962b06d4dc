"""Held-out scores during training: which weights come back, and what is claimed of them."""

import numpy as np
import pytest

from taut.solvers import BCFW, FrankWolfe, Status, solve
from taut.structures import chain_problem

SOLVERS = {
    "averaged": BCFW(order="permuted", averaging=True, refresh=1),
    "last": BCFW(order="permuted", refresh=1),
    "corrective, averaging": BCFW(direction="corrective", averaging=True, refresh=1),
    "batch, averaging": FrankWolfe(averaging=True),
}
solvers = pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS)


def random_chain(seed):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 5, 12)
    n = int(lengths.sum())
    return chain_problem(rng.normal(size=(n, 3)), lengths, rng.integers(0, 3, n), 3)


@solvers
@pytest.mark.parametrize("seed", range(20))
def test_converged_is_said_of_the_weights_that_are_returned(solver, seed):
    for tol in (0.2, 0.05):
        solution = solve(random_chain(seed), solver, C=2.0, tol=tol, seed=seed, max_passes=500)
        assert (solution.status is Status.CONVERGED) == (solution.relative_gap <= tol)


@solvers
def test_the_weights_with_the_best_score_are_returned(solver):
    target = np.random.default_rng(0).normal(size=random_chain(0).dim)
    scores = []

    def score(w):
        scores.append(float(w @ target))
        return scores[-1]

    solution = solve(
        random_chain(0), solver, C=2.0, tol=1e-3, max_passes=30, validate=score, patience=30
    )
    assert solution.w @ target == max(scores)
    assert np.nanmax(solution.history.score) == max(scores)
    assert solution.gap >= 0
    within = solution.relative_gap <= 1e-3
    iterates = solution.history.iterate_primal - solution.history.iterate_dual
    assert solution.status is (
        Status.CONVERGED if within else
        Status.BEST_SCORE if iterates.min() <= 1e-3 * solution.scale else
        Status.MAX_PASSES
    )  # fmt: skip


def test_it_stops_when_the_score_no_longer_rises():
    scores = iter([0.1, 0.2, 0.3, 0.3, 0.1, 0.2, 0.9])
    solution = solve(
        random_chain(1), SOLVERS["last"], C=2.0, tol=0.0, validate=lambda w: next(scores),
        patience=3,
    )  # fmt: skip
    assert solution.status is Status.NO_BETTER_SCORE
    assert solution.history.score.tolist() == [0.1, 0.2, 0.3, 0.3, 0.1, 0.2]


def test_resuming_scores_the_weights_anew(tmp_path):
    """A score on other data, or none, must not shut out better weights."""
    path, problem = tmp_path / "run.npz", random_chain(2)
    options = dict(solver=SOLVERS["last"], C=2.0, tol=0.05, checkpoint=path)
    first = solve(problem, **options, max_passes=2, validate=lambda w: 0.5 - np.abs(w).sum())
    assert first.primal > 0
    resumed = solve(problem, **options, max_passes=500, resume=True)
    assert resumed.status is Status.CONVERGED
    assert resumed.primal < first.primal


def test_a_resumed_run_returns_what_the_whole_run_returns(tmp_path):
    problem = random_chain(3)
    target = np.random.default_rng(3).normal(size=problem.dim)
    options = dict(
        solver=SOLVERS["averaged"], C=2.0, tol=1e-9, validate=lambda w: float(w @ target),
        patience=50,
    )  # fmt: skip
    whole = solve(problem, **options, max_passes=12)
    path = tmp_path / "run.npz"
    solve(problem, **options, max_passes=5, checkpoint=path)
    resumed = solve(problem, **options, max_passes=12, checkpoint=path, resume=True)
    assert np.array_equal(whole.w, resumed.w)


def test_a_warm_start_keeps_weights_with_a_better_score():
    problem = random_chain(4)
    first = solve(problem, SOLVERS["last"], C=2.0, tol=1e-2)

    def near(w):
        return -float(np.linalg.norm(w - first.w))

    again = solve(
        problem, SOLVERS["last"], C=2.0, tol=1e-6, warm_start=first, validate=near, max_passes=20
    )
    assert np.array_equal(again.w, first.w)


def test_what_is_not_a_score_is_refused():
    with pytest.raises(ValueError, match="the score on held-out data is not a number"):
        solve(random_chain(0), C=2.0, validate=lambda w: float("nan"))
    with pytest.raises(ValueError, match="patience=0; a number of certificates, at least 1"):
        solve(random_chain(0), C=2.0, patience=0)
    assert solve(random_chain(0), C=2.0, patience=np.int64(1), tol=0.5)
