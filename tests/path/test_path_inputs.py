"""What a path is asked for: wrong arguments are named, degenerate data have their simple path."""

import numpy as np
import pytest
from decomposition_reference import enumerated
from path_reference import PRECISE, PathReference, tiny_cases
from taut_reference import multiclass_pair

from taut import (
    ChainSVM,
    MulticlassSVM,
    Simplicial,
    regularization_grid,
    regularization_path,
)
from taut.path import PathStatus
from taut.solvers import BCFW
from taut.structures import multiclass_problem

CASES = tiny_cases()
PROBLEM = CASES["chain"].problem


def text(value):
    """Names of tests do not have addresses of functions in them."""
    return ", ".join(value) if isinstance(value, dict) else getattr(value, "__name__", value)


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (dict(eps=0), ValueError, "eps=0"),
        (dict(eps=-0.1), ValueError, "eps=-0.1"),
        (dict(eps=1.0), ValueError, "eps=1"),
        (dict(eps=np.nan), ValueError, "eps=nan"),
        (dict(eps=np.inf), ValueError, "eps=inf"),
        (dict(eps="small"), ValueError, "eps='small'"),
        (dict(lam_min=0.0), ValueError, "lam_min=0"),
        (dict(lam_min=-1), ValueError, "lam_min=-1"),
        (dict(lam_min=np.inf), ValueError, "lam_min=inf"),
        (dict(method="quadratic"), ValueError, "quadratic.*'linear', 'constant', 'heuristic'"),
        (dict(method=["linear"]), ValueError, "method="),
        (dict(kappa=0), ValueError, "kappa=0"),
        (dict(kappa=1.0), ValueError, "kappa=1"),
        (dict(kappa="half"), ValueError, "kappa='half'"),
        (dict(max_passes=0), ValueError, "max_passes=0"),
        (dict(time_limit=-1), ValueError, "time_limit=-1"),
        (dict(cpu_limit="long"), ValueError, "cpu_limit='long'"),
        (dict(callback=3), TypeError, "callback=3"),
        (dict(resume=True), ValueError, "resume=True needs a checkpoint"),
        (dict(validate=3), TypeError, "validate"),
        (dict(validate_at=[1.0]), ValueError, "validate_at"),
        (dict(validate=np.sum, validate_at=3.0), ValueError, "validate_at=3.0"),
        (dict(validate=np.sum, validate_at=[1.0, -1.0]), ValueError, "validate_at="),
        (dict(validate=lambda w: np.nan), ValueError, "not a number"),
        (dict(solver="fw"), ValueError, "'fw' cannot follow a path.*'bcfw'"),
        (dict(solver="unknown"), ValueError, "'unknown'"),
        (dict(solver=Simplicial()), TypeError, "cannot follow a path"),
        (dict(solver=BCFW(refresh=None)), ValueError, "refresh=None"),
        (dict(solver=BCFW(step="fixed")), ValueError, 'step="fixed": a path goes on'),
        (dict(bounds=(1.0, 0.0)), ValueError, "lower 1.0 is not at most upper 0.0"),
        (dict(X=[1], y=[1]), TypeError, "has its data"),
        (dict(sample_weight=[1.0]), TypeError, "sample_weight"),
    ],
    ids=text,
)  # fmt: skip
def test_wrong_arguments_are_named(wrong, error, message):
    with pytest.raises(error, match=message):
        regularization_path(PROBLEM, **wrong)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (dict(lambdas=[]), "lambdas="),
        (dict(lambdas=[1.0, 0.0]), "lambdas="),
        (dict(lambdas=[1.0, np.nan]), "lambdas="),
        (dict(lambdas=1.0), "lambdas=1.0"),
        (dict(lambdas="all"), "lambdas='all'"),
        (dict(lambdas=[1.0], warm_start="hot"), "warm_start='hot'"),
        (dict(lambdas=[1.0], eps=0.0), "eps=0"),
    ],
    ids=text,
)
def test_wrong_arguments_of_a_grid_are_named(wrong, message):
    with pytest.raises(ValueError, match=message):
        regularization_grid(PROBLEM, **wrong)


@pytest.mark.parametrize("what", ["weights", "bound", "solution"])
def test_wrong_lambdas_are_named(what):
    path = regularization_path(PROBLEM, lam_min=0.1, eps=0.06)
    ask = getattr(path, what)
    for lam in (0.0, -1.0, np.nan, "1", True):
        with pytest.raises(ValueError, match="lam="):
            ask(lam)
    with pytest.raises(ValueError, match="C=-1"):
        ask(C=-1.0)
    with pytest.raises(ValueError, match="one of them"):
        ask(1.0, C=1.0)
    with pytest.raises(ValueError, match="one of them"):
        ask()
    with pytest.raises(ValueError, match=r"below the end.*extend\(lam_min=0.05\)"):
        ask(0.05)
    ask(path.end)
    ask(C=1.0 / (path.end * path.n_examples))  # rounding is not held against it


def test_wrong_arguments_of_extend_are_named():
    path = regularization_path(PROBLEM, lam_min=1.0)
    for wrong in (dict(lam_min=0), dict(max_passes=-1), dict(time_limit="long")):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            path.extend(**wrong)
    assert len(path.extend(lam_min=0.5)) > 0


# --- degenerate data -----------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["linear", "constant", "heuristic"])
def test_without_features_all_weights_are_zero(method):
    problem = multiclass_problem(np.zeros((4, 2)), np.array([0, 1, 2, 1], np.int32), 3, bias=False)
    path = regularization_path(problem, method=method)
    assert path.status is PathStatus.TO_LAM_MIN
    for lam in (1e6, path.lambdas[0], path.end):
        assert not path.weights(lam).any()
    assert np.all(path.true_gaps() == 0)
    assert path.bound(1e6) == 0


@pytest.mark.parametrize("method", ["linear", "constant"])
def test_one_example(method):
    problem, reference = multiclass_pair(1, 3, seed=1)
    of = PathReference(enumerated(reference))
    path = regularization_path(problem, eps=0.03, method=method, lam_min=1e-3)
    assert path.status is PathStatus.TO_ZERO  # one example can be learnt by heart
    for lam in np.geomspace(1e3, 1e-4, 100):
        bound = path.bound(lam)
        assert of.suboptimality(path.weights(lam), lam) <= bound + PRECISE
        assert bound <= 0.03 * path.scale + 1e-12


@pytest.mark.parametrize("method", ["linear", "constant"])
def test_a_path_that_ends_before_it_begins(method):
    """lam_min is above the first lambda: one breakpoint, at lam_min."""
    case = CASES["chain"]
    of = case.reference()
    path = regularization_path(case.problem, method=method, lam_min=1e4)
    assert path.lambdas.tolist() == [1e4]
    assert path.status is PathStatus.TO_LAM_MIN
    for lam in np.geomspace(1e6, path.end, 20):
        assert of.suboptimality(path.weights(lam), lam) <= path.bound(lam) + PRECISE
        assert path.bound(lam) <= path.eps * path.scale + 1e-12


@pytest.mark.parametrize("value", [0.0, 0.1])
@pytest.mark.parametrize("method", ["linear", "constant"])
def test_weights_that_cannot_move(method, value):
    path = regularization_path(PROBLEM, method=method, bounds=(value, value), lam_min=0.1)
    for lam in np.geomspace(1e3, path.end, 20):
        assert np.all(path.weights(lam) == value)
        assert path.bound(lam) <= path.eps * path.scale + 1e-12


def test_a_labelling_must_cost_something():
    problem = multiclass_problem(
        np.ones((2, 1)), np.array([0, 1], np.int32), 2, cost=np.zeros((2, 2))
    )
    with pytest.raises(ValueError, match="nothing to learn"):
        regularization_path(problem)


def test_an_eps_of_almost_one_needs_hardly_any_training():
    path = regularization_path(PROBLEM, eps=0.99)
    assert path.end == 0
    assert len(path) == 1


# --- estimators ----------------------------------------------------------------------------------


def rows_of_three_classes():
    rng = np.random.default_rng(0)
    y = np.array(["a", "b", "c"])[rng.integers(0, 3, 30)]
    return rng.normal(size=(30, 2)) + 2.0 * np.stack([y == "a", y == "b"], axis=1), y


def test_an_estimator_of_the_path_predicts_with_its_weights():
    X, y = rows_of_three_classes()
    model = MulticlassSVM(random_state=0)
    path = regularization_path(model, X, y, eps=0.05)
    assert not hasattr(model, "coef_")
    first = path.estimator(C=0.01)
    before = first.predict(X).copy()
    coef = first.coef_.copy()
    for C in (0.01, 0.1, 10.0):
        fitted = path.estimator(C=C)
        w = path.weights(C=C)
        scores = X @ w[:6].reshape(3, 2).T + w[6:]
        np.testing.assert_array_equal(
            fitted.predict(X), np.array(["a", "b", "c"])[scores.argmax(1)]
        )
        assert fitted.get_params()["C"] == pytest.approx(C)
        direct = MulticlassSVM(C=C, tol=1e-6, random_state=0).fit(X, y)
        assert direct.solution_.dual - 1e-9 <= path.solution(C=C).primal
        assert path.solution(C=C).dual <= direct.solution_.primal + 1e-9
    np.testing.assert_array_equal(first.coef_, coef)
    np.testing.assert_array_equal(first.predict(X), before)


def test_sample_weights_of_an_estimator_count():
    X, y = rows_of_three_classes()
    s = np.random.default_rng(1).uniform(0.2, 3.0, len(y))
    path = regularization_path(MulticlassSVM(random_state=0), X, y, sample_weight=s, eps=0.02)
    direct = MulticlassSVM(C=0.3, tol=1e-6, random_state=0).fit(X, y, sample_weight=s)
    solution = path.solution(C=0.3)
    assert solution.dual - 1e-9 <= direct.solution_.primal <= solution.primal + 1e-9


def test_a_chain_of_the_path_tags_like_the_model_with_its_weights(digit_words):
    X, y = (part[:20] for part in digit_words)
    path = regularization_path(ChainSVM(random_state=0), X, y, eps=0.1)
    for C in (0.01, 1.0):
        fitted = path.estimator(C=C)
        np.testing.assert_array_equal(fitted.solution_.w, path.weights(C=C))
        assert fitted.solution_.gap == pytest.approx(path.bound(C=C))
        again = path.estimator(C=C)
        assert [list(word) for word in fitted.predict(X)] == [
            list(word) for word in again.predict(X)
        ]
    assert path.estimator(C=1.0).score(X, y) > path.estimator(C=1e-6).score(X, y)


def test_estimators_need_data_and_problems_have_theirs():
    X, _ = rows_of_three_classes()
    with pytest.raises(TypeError, match="needs data"):
        regularization_path(MulticlassSVM())
    with pytest.raises(TypeError, match="needs data"):
        regularization_path(MulticlassSVM(), X)
    path = regularization_path(PROBLEM, lam_min=1.0)
    with pytest.raises(TypeError, match="problem"):
        path.estimator(1.0)


def test_squared_slacks_have_no_path():
    X, y = rows_of_three_classes()
    with pytest.raises(ValueError, match=r"slack_penalty='squared'.*linear"):
        regularization_path(MulticlassSVM(slack_penalty="squared"), X, y)


def test_the_path_in_words():
    path = regularization_path(PROBLEM, eps=0.1, lam_min=0.1)
    assert "complete" in str(path)
    assert f"{len(path)} breakpoints" in str(path)
    assert len(path.table().splitlines()) == len(path) + 1
    assert "linear" in repr(path)
