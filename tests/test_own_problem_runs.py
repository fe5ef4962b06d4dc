"""What else works with a problem written in one file: prediction, checkpoints, paths, CRFs."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from taut import (
    BCFW,
    LBFGS,
    SDCA,
    CuttingPlane,
    FrankWolfe,
    PythonProblem,
    Simplicial,
    Subgradient,
    check_problem,
    regularization_path,
    smoothed,
    solve,
)
from taut._compile.records import Nothing
from taut.decode import decode
from taut.posterior import posterior, posterior_labels
from taut.problem.capability import SVM, Capability
from taut.solvers.checkpoint import CheckpointFile
from taut.structures import chain_problem, slack_rescaled

SOURCE = Path(__file__).parents[1] / "docs" / "ordinal.py"
spec = importlib.util.spec_from_file_location("ordinal", SOURCE)
ordinal = importlib.util.module_from_spec(spec)
spec.loader.exec_module(ordinal)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 3))
Y = np.clip((X @ [1.0, -0.5, 0.2] + 2).round(), 0, 3).astype(int)
PROBLEM = ordinal.ordinal_problem(X, Y)


class WithSums(ordinal.Ordinal):
    """What its author adds for CRFs: the sum oracle, whose image is P(grade >= j)."""

    capabilities = SVM | Capability.SUM_ORACLE

    def image_size(problem, i):
        return problem.n_grades - 1

    def true_image(problem, i, image):
        for j in range(problem.n_grades - 1):
            image[j] = 1.0 if problem.truth[i] > j else 0.0

    def add_marginals(problem, i, image, amount, work):
        for j in range(work.change.size):
            work.change[j] += amount * image[j]

    def image_value(problem, w, i, work, image):
        total = work.theta[0] - work.theta[problem.truth[i]]
        for k in range(1, problem.n_grades):
            total += image[k - 1] * (work.theta[k] - work.theta[k - 1])
        return total

    def image_loss(problem, i, image):
        total = 0.0
        for j in range(problem.n_grades - 1):
            total += 1.0 - image[j] if problem.truth[i] > j else image[j]
        return total

    def expected(problem, w, i, work, sums, sharpness, image):
        best = total = 0.0
        for k in range(problem.n_grades):
            best = max(best, work.theta[k])
        for j in range(problem.n_grades - 1, -1, -1):
            total += np.exp(sharpness * (work.theta[j] - best))
            if j > 0:
                image[j - 1] = total
        for j in range(problem.n_grades - 1):
            image[j] /= total
        return np.log(total) / sharpness + best - work.theta[problem.truth[i]]

    def new_sums(problem) -> Nothing:
        return Nothing()

    def dual_size(problem, n):
        return n * (problem.n_grades - 1)

    def log_counts(problem):
        return np.full(problem.n, np.log(problem.n_grades))

    @property
    def largest_image(problem):
        return problem.n_grades - 1


CRF = smoothed(WithSums(*PROBLEM), 0.7)


def test_decode_answers_as_the_scores_do():
    w = solve(PROBLEM, C=0.3).w
    v, t = w[:3], w[3:]
    scores = np.concatenate([np.zeros((30, 1)), np.cumsum((X @ v)[:, None] - t, axis=1)], axis=1)
    for n_threads in (1, 2):
        np.testing.assert_array_equal(decode(PROBLEM, w, n_threads), scores.argmax(axis=1))


def test_where_no_labelling_has_a_finite_score_decode_says_so():
    class Impossible(ordinal.Ordinal):
        def argmax(problem, w, i, work, y):
            return -np.inf if i == 3 else 0.0

    with pytest.raises(ValueError, match="example 3: no labelling has a finite score"):
        decode(Impossible(*PROBLEM), np.zeros(PROBLEM.dim))


class Sign:
    def joint_feature(self, x, y):
        return np.array([x * y])

    loss = oracle = predict = joint_feature


@pytest.mark.parametrize(
    "problem",
    [CRF, PythonProblem(Sign(), [1.0], [1.0])],
    ids=["of distributions", "loss is part of the oracle"],
)
def test_what_cannot_be_decoded_is_refused_with_a_remedy(problem):
    with pytest.raises(ValueError, match=r"decode needs .* does not have; predict with"):
        decode(problem, np.zeros(problem.dim))


RUNS = {
    "toward": (PROBLEM, BCFW(refresh=2), {}),
    "averaged": (PROBLEM, BCFW(order="permuted", averaging=True, refresh=2), {}),
    "pairwise, cache": (PROBLEM, BCFW(direction="pairwise", cache=True, refresh=2), {}),
    "corrective": (PROBLEM, BCFW(direction="corrective", refresh=2), {}),
    "batch": (PROBLEM, FrankWolfe(), {}),
    "simplicial": (PROBLEM, Simplicial(), {}),
    "squared": (PROBLEM, Simplicial(), {"slack_penalty": "squared"}),
    "one slack": (PROBLEM, CuttingPlane(slacks="one"), {}),
    "subgradient": (PROBLEM, Subgradient(check_every=2), {}),
    "crf": (CRF, SDCA(refresh=2), {}),
    "crf, l1": (CRF, LBFGS(), {"l1": 0.05}),
}


class Killed(Exception):
    pass


def killing(monkeypatch, saves):
    """The process dies when so many checkpoints were written."""
    write, written = CheckpointFile.try_to_write, []

    def killed(self, *arguments):
        write(self, *arguments)
        written.append(1)
        if len(written) == saves:
            raise Killed

    monkeypatch.setattr(CheckpointFile, "try_to_write", killed)


@pytest.mark.parametrize(("problem", "solver", "options"), RUNS.values(), ids=list(RUNS))
def test_a_killed_run_is_resumed_to_the_same_bits(problem, solver, options, tmp_path, monkeypatch):
    def run(**more):
        return solve(problem, solver, C=1.0, tol=0.0, max_passes=8, seed=3, **options, **more)

    whole = run()
    for saves in (1, 3):
        checkpoint = tmp_path / str(saves)
        with monkeypatch.context() as patch:
            killing(patch, saves)
            with pytest.raises(Killed):
                run(checkpoint=checkpoint, checkpoint_seconds=0.0)
        again = run(checkpoint=checkpoint, resume=True)
        np.testing.assert_array_equal(again.w, whole.w)
        assert (again.primal, again.dual, again.passes) == (whole.primal, whole.dual, whole.passes)


def test_a_checkpoint_with_labels_that_do_not_exist_is_refused(tmp_path):
    """Compiled code looks up scores by them: that is what ``n_states`` is for."""
    file = tmp_path / "run"
    solver = BCFW(direction="corrective", refresh=2)

    class MoreGrades(ordinal.Ordinal):
        n_states = 1  # as if only the lowest grade existed

    solve(PROBLEM, solver, max_passes=4, tol=0.0, checkpoint=file, checkpoint_seconds=0.0)
    with pytest.raises(ValueError, match="the active sets are inconsistent"):
        solve(MoreGrades(*PROBLEM), solver, max_passes=8, checkpoint=file, resume=True)


def test_a_warm_start_adds_examples():
    first = solve(ordinal.ordinal_problem(X[:20], Y[:20])._replace(dim=PROBLEM.dim), C=0.3)
    again = solve(PROBLEM, C=0.3, warm_start=first)
    cold = solve(PROBLEM, C=0.3)
    assert max(again.dual, cold.dual) <= min(again.primal, cold.primal) + 1e-14


def test_a_path_and_its_checkpoint(tmp_path, monkeypatch):
    file = tmp_path / "path"
    options = dict(eps=0.05, lam_min=0.02, seed=1)
    whole = regularization_path(PROBLEM, **options)
    assert whole.guaranteed
    with monkeypatch.context() as patch:
        killing(patch, 3)
        with pytest.raises(Killed):
            regularization_path(PROBLEM, **options, checkpoint=file, checkpoint_seconds=0.0)
    again = regularization_path(PROBLEM, **options, checkpoint=file, resume=True)
    np.testing.assert_array_equal(again.lambdas, whole.lambdas)
    for lam in whole.lambdas:
        np.testing.assert_array_equal(again.weights(lam), whole.weights(lam))


def test_a_sum_oracle_of_ones_own_makes_a_crf():
    check_problem(WithSums(*PROBLEM))
    check_problem(CRF)
    one, other = (solve(CRF, solver, C=0.5, tol=1e-5) for solver in (SDCA(), LBFGS()))
    assert max(one.dual, other.dual) <= min(one.primal, other.primal) + 1e-12

    class Interpreted(WithSums):
        is_compiled = False

    slow = solve(smoothed(Interpreted(*PROBLEM), 0.7), SDCA(), C=0.5, tol=1e-3)
    np.testing.assert_allclose(slow.w, solve(CRF, SDCA(), C=0.5, tol=1e-3).w, rtol=1e-9)


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (lambda: smoothed(PROBLEM), r"smoothed needs a sum oracle, which Ordinal\w* does not have"),
        (lambda: slack_rescaled(PROBLEM), "slack_rescaled needs an exact oracle of slack resc"),
        (lambda: solve(PROBLEM, SDCA()), r"stochastic dual .* needs a CRF, which Ordinal\w* does"),
        (
            lambda: solve(CRF, BCFW()),
            "block-coordinate .* needs a max oracle, .* by SDCA .* or LBFGS",
        ),
        (
            lambda: regularization_path(PROBLEM, solver=SDCA()),
            r"needs a CRF, which Ordinal\w* does",
        ),
    ],
    ids=["smoothed", "slack", "SDCA", "BCFW", "path"],
)
def test_what_is_needed_and_missing_is_one_error(call, what):
    with pytest.raises(ValueError, match=what):
        call()


def test_what_is_declared_must_be_written():
    class Boasting(ordinal.Ordinal):
        capabilities = SVM | Capability.RESCALED_ORACLE

    with pytest.raises(TypeError, match=r"it lacks\n  - dual_size\(problem, n\): How many numbers"):
        slack_rescaled(Boasting(*PROBLEM))


@pytest.mark.parametrize("shape", [(), (1,), (5003,), (1, PROBLEM.dim)], ids=str)
def test_weights_of_another_size_are_refused(shape):
    """Compiled code would read beyond their end."""
    w, problem = np.ones(shape), chain_problem(X, [15, 15], Y, 4)
    for call in (
        lambda: decode(PROBLEM, w),
        lambda: decode(problem, w),
        lambda: posterior(problem, w, 1.0),
        lambda: posterior_labels(problem, w, 1.0),
    ):
        with pytest.raises(ValueError, match=r"w has shape \(.*\), but the problem has \d+ wei"):
            call()


def test_to_predict_a_problem_has_the_grades_of_training():
    w = solve(PROBLEM, C=0.3).w
    few = ordinal.ordinal_problem(X[:2], np.zeros(2), n_grades=4)
    np.testing.assert_array_equal(decode(few, w), decode(PROBLEM, w)[:2])


def test_a_wrong_size_of_duals_is_named():
    class Wrong(ordinal.Ordinal):
        capabilities = SVM | Capability.RESCALED_ORACLE

        def dual_size(problem, n):
            return 2 * n * (problem.n_grades - 1)

        def rescaled_argmax(problem, w, i, work, search, y):
            y[0] = problem.truth[i]

    with pytest.raises(ValueError, match=r"dual_size\(n\) is 180, but new_dual has 90 numbers"):
        check_problem(Wrong(*PROBLEM))
    problem = slack_rescaled(Wrong(*PROBLEM))
    with pytest.raises(ValueError, match=r"by dual_size of Wrong.* must agree"):
        solve(problem, BCFW(), max_passes=1, warm_start=solve(problem, BCFW(), max_passes=1))
