"""Estimators state their problem without training, and become the model of any solution of it."""

from dataclasses import replace

import numpy as np
import pytest
from python_models import Chain
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from taut import (
    ChainSVM,
    GraphCRF,
    GraphSVM,
    MulticlassSVM,
    MultilabelSVM,
    PoseSVM,
    StructuredSVM,
    solve,
)

SQUARE = np.array([[0, 1], [1, 2], [2, 3], [3, 0]])


def table(rng, width):
    X = rng.normal(size=(12, width))
    return X, np.array(["left", "right"])[(X[:, 0] > 0).astype(int)]


def label_sets(rng, width):
    X = rng.normal(size=(12, width))
    return X, (X[:, :2] > 0).astype(int)


def sequences(rng, width):
    X = [rng.normal(size=(3, width)) for _ in range(6)]
    return X, [["a" if value > 0 else "b" for value in x[:, 0]] for x in X]


def numbered(rng, width):
    X, y = sequences(rng, 2)
    return X, [tuple("ab".index(label) for label in part) for part in y]


def rings(rng, width):
    X = [rng.normal(size=(4, width)) for _ in range(6)]
    return [(x, SQUARE) for x in X], [(x[:, 0] > 0).astype(int) for x in X]


def poses(rng, width):
    joints = rng.integers(0, 6, (4, width, 2))
    maps = rng.normal(size=(4, width, 6, 6))
    for example, pose in zip(maps, joints, strict=True):
        example[np.arange(width), pose[:, 1], pose[:, 0]] += 3
    return maps, joints


CASES = {
    "classes": (MulticlassSVM(random_state=0), table),
    "sequences": (ChainSVM(C="scale", random_state=0), sequences),
    "rescaled": (ChainSVM(formulation="slack", random_state=0), sequences),
    "graphs": (GraphSVM(random_state=0), rings),
    "crf": (GraphCRF(random_state=0), rings),
    "label-sets": (MultilabelSVM(random_state=0), label_sets),
    "poses": (PoseSVM(random_state=0), poses),
    "python": (StructuredSVM(Chain(2, 2), random_state=0), numbered),
}


@pytest.fixture(scope="module", params=CASES)
def case(request):
    """A fitted estimator, its data, and other data that it could be fitted to."""
    estimator, make = CASES[request.param]
    X, y = make(np.random.default_rng(0), 3)
    return clone(estimator).fit(X, y), (X, y), make(np.random.default_rng(1), 4)


def public(clf):
    """What a fit leaves behind; a chain's weights have names by properties."""
    names = {name for name in (*vars(clf), *dir(type(clf))) if name.endswith("_")}
    return {name: getattr(clf, name) for name in names if name[0] != "_" and name != "solution_"}


def assert_same_model(one, other, X):
    assert vars(one).keys() == vars(other).keys()
    assert one.solution_ is other.solution_
    np.testing.assert_equal(public(one), public(other))
    np.testing.assert_equal(one.predict(X), other.predict(X))


def test_a_solution_makes_a_fitted_model_of_a_clone(case):
    fitted, (X, y), _ = case
    copy = clone(fitted)
    parameters = dict(vars(copy))
    prepared = copy.prepare(X, y)
    assert vars(copy) == parameters
    with pytest.raises(NotFittedError):
        copy.predict(X)
    assert prepared.problem.fingerprint() == fitted.solution_.fingerprint
    assert prepared.C == fitted.solution_.C
    prepared.complete(fitted.solution_)
    assert_same_model(copy, fitted, X)


def test_one_problem_makes_a_model_of_each_of_its_solutions(case):
    fitted, (X, y), _ = case
    first = fitted.solution_
    # Signs are kept, because springs that push have no best pose.
    shrunk = first.w * np.random.default_rng(0).uniform(0.1, 1.0, len(first.w))
    second = replace(first, w=shrunk)
    copy, only = clone(fitted), clone(fitted)
    prepared = copy.prepare(X, y)
    only.prepare(X, y).complete(second)
    prepared.complete(first)
    prepared.complete(second)
    assert_same_model(copy, only, X)
    prepared.complete(first)
    assert_same_model(copy, fitted, X)


def test_a_fit_that_fails_leaves_the_model_as_it_was(case):
    fitted, (X, y), (other_X, other_y) = case
    clf = clone(fitted)
    clf.prepare(X, y).complete(fitted.solution_)
    with pytest.raises(ValueError, match="C=-1"):
        clf.set_params(C=-1).fit(other_X, other_y)
    assert_same_model(clf, fitted, X)


def test_fit_is_to_solve_what_is_prepared(case):
    fitted, (X, y), _ = case
    prepared = clone(fitted).prepare(X, y)
    solution = solve(prepared.problem, prepared.solver, **prepared.options)
    np.testing.assert_array_equal(solution.w, fitted.w_)
    assert solution.solver == prepared.solver == fitted.solution_.solver
    np.testing.assert_array_equal(prepared.solve().w, fitted.w_)


def test_options_that_are_changed_leave_the_others():
    X, y = table(np.random.default_rng(0), 3)
    prepared = MulticlassSVM(C=2.0, bounds=(-1.0, 1.0), n_jobs=2, random_state=0).prepare(X, y)
    other = prepared.changed(C=0.1, tol=1e-5)
    assert (prepared.C, other.C, other.options["bounds"]) == (2.0, 0.1, (-1.0, 1.0))
    assert prepared.options["n_threads"] == other.options["n_threads"] == 2
    fitted = MulticlassSVM(C=0.1, bounds=(-1.0, 1.0), tol=1e-5, random_state=0).fit(X, y)
    np.testing.assert_array_equal(other.solve().w, fitted.w_)


def test_held_out_data_are_prepared_too():
    X, y = sequences(np.random.default_rng(0), 3)
    clf = ChainSVM(patience=2, random_state=0)
    prepared = clf.prepare(X[:4], y[:4], X_val=X[4:], y_val=y[4:])
    clf.fit(X[:4], y[:4], X_val=X[4:], y_val=y[4:])
    assert prepared.options["patience"] == 2
    assert prepared.options["validate"](clf.w_) == clf.score(X[4:], y[4:])
    np.testing.assert_array_equal(prepared.solve().w, clf.w_)
    assert "validate" not in clf.prepare(X, y).options


def test_the_solver_is_chosen_when_it_is_asked_for():
    class Timed(Chain):
        calls = 0

        def oracle(self, w, x, y):
            Timed.calls += 1
            return super().oracle(w, x, y)

    X, y = numbered(np.random.default_rng(0), 2)
    # Where labels are averaged, the choice depends on how long the oracle takes.
    prepared = StructuredSVM(Timed(2, 2), averaging=True, random_state=0).prepare(X, y)
    assert (Timed.calls, prepared.named_solver) == (0, "auto")
    assert prepared.solver is prepared.solver
    assert 0 < Timed.calls <= 5


@pytest.mark.parametrize("name", ["classes", "sequences"])
def test_any_solver_may_solve_what_is_prepared(name):
    estimator, make = CASES[name]
    X, y = make(np.random.default_rng(0), 3)
    weight = np.arange(1.0, len(X) + 1)
    fitted, copy = clone(estimator).fit(X, y, sample_weight=weight), clone(estimator)
    prepared = copy.prepare(X, y, weight)
    prepared.complete(solve(prepared.problem, C=prepared.C, tol=1e-6))
    ours, theirs = copy.solution_, fitted.solution_
    assert max(ours.dual, theirs.dual) <= min(ours.primal, theirs.primal) + 1e-12
    assert copy.score(X, y) == fitted.score(X, y)


def test_weights_alone_are_no_start():
    fitted = clone(CASES["sequences"][0])
    X, y = sequences(np.random.default_rng(0), 3)
    prepared = fitted.prepare(X, y)
    prepared.complete(replace(solve(prepared.problem, tol=0.1), state=None))
    with pytest.raises(ValueError, match=r"taken from a path.* partial_fit needs it: fit again"):
        fitted.partial_fit(X, y)
    with pytest.raises(ValueError, match=r"warm_start: .* fit it without warm_start"):
        fitted.set_params(warm_start=True).fit(X, y)


def test_slacks_are_rescaled_once_when_sequences_are_added():
    X, y = sequences(np.random.default_rng(0), 3)
    whole = ChainSVM(C=1.0, formulation="slack", tol=1e-6, random_state=0).fit(X, y).solution_
    clf = ChainSVM(C=1.0, formulation="slack", tol=1e-6, random_state=0).fit(X[:4], y[:4])
    parts = clf.partial_fit(X[4:], y[4:]).solution_
    assert (parts.formulation, parts.fingerprint) == ("slack", whole.fingerprint)
    assert max(parts.dual, whole.dual) <= min(parts.primal, whole.primal) + 1e-12


def test_a_failed_fit_does_not_make_a_model():
    X, y = table(np.random.default_rng(0), 3)
    clf = MulticlassSVM()
    with pytest.raises(ValueError, match="one class only"):
        clf.fit(X, y[:1].repeat(12))
    with pytest.raises(NotFittedError):
        clf.predict(X)
