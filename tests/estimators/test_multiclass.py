"""MulticlassSVM keeps scikit-learn's conventions and finds the optimum scikit-learn finds."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from taut import MulticlassSVM, Status


# Some checks compare scores to 1e-7, so they want a tight certificate. Others train on features
# around 100 without scaling, where passes run out: the warning is then what a user should see.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([MulticlassSVM(tol=1e-12, max_passes=200, random_state=0)])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def distance_bound(solution):
    """How far the weights can be from the optimum: the objective is lambda-strongly convex."""
    return np.sqrt(2 * max(solution.gap, 0.0) / solution.lam) + 1e-6


def test_equals_crammer_singer(iris):
    X, y = iris
    clf = MulticlassSVM(C=0.3, bias=False, tol=1e-8).fit(X, y)
    other = LinearSVC(
        C=0.3, multi_class="crammer_singer", fit_intercept=False, tol=1e-9, max_iter=100_000
    ).fit(X, y)
    assert np.linalg.norm(clf.coef_ - other.coef_) <= distance_bound(clf.solution_) + 1e-4
    np.testing.assert_array_equal(clf.predict(X), other.predict(X))


def test_two_classes_equal_the_binary_svm(iris):
    """Two weight vectors u and -u share the margin 2u: |w|^2 = |2u|^2 / 2, so C counts twice."""
    X, y = iris
    X, y = X[y > 0], y[y > 0]
    clf = MulticlassSVM(C=0.1, tol=1e-8).fit(X, y)
    other = LinearSVC(C=0.2, loss="hinge", tol=1e-9, max_iter=100_000).fit(X, y)
    margin = np.append(clf.coef_[1] - clf.coef_[0], clf.intercept_[1] - clf.intercept_[0])
    expected = np.append(other.coef_, other.intercept_)
    assert np.linalg.norm(margin - expected) <= 2 * distance_bound(clf.solution_) + 1e-4
    assert clf.decision_function(X).shape == (len(X),)


def same_optimum(a, b):
    return np.linalg.norm(a.w_ - b.w_) <= distance_bound(a.solution_) + distance_bound(b.solution_)


def test_sample_weight_two_equals_a_duplicate(iris):
    X, y = iris
    weight = np.where(np.arange(len(y)) % 3 == 0, 2.0, 1.0)
    twice = np.repeat(np.arange(len(y)), weight.astype(int))
    weighted = MulticlassSVM(C=0.1, tol=1e-6).fit(X, y, sample_weight=weight)
    duplicated = MulticlassSVM(C=0.1, tol=1e-6).fit(X[twice], y[twice])
    assert same_optimum(weighted, duplicated)


def test_sample_weight_zero_equals_absence(iris):
    X, y = iris
    weight = (np.arange(len(y)) % 3 > 0).astype(float)
    weighted = MulticlassSVM(C=0.1, tol=1e-6).fit(X, y, sample_weight=weight)
    absent = MulticlassSVM(C=0.1, tol=1e-6).fit(X[weight > 0], y[weight > 0])
    assert same_optimum(weighted, absent)


def test_class_weight_is_a_sample_weight(iris):
    X, y = iris
    X, y = X[30:], y[30:]
    weight = len(y) / (3 * np.bincount(y))
    balanced = MulticlassSVM(C=0.1, tol=1e-6, class_weight="balanced").fit(X, y)
    named = MulticlassSVM(C=0.1, tol=1e-6, class_weight=dict(enumerate(weight))).fit(X, y)
    sampled = MulticlassSVM(C=0.1, tol=1e-6).fit(X, y, sample_weight=weight[y])
    assert same_optimum(balanced, named)
    assert same_optimum(balanced, sampled)
    assert not same_optimum(balanced, MulticlassSVM(C=0.1, tol=1e-6).fit(X, y))


def test_dearer_mistakes_are_avoided(iris):
    X, y = iris
    cost = 1.0 - np.eye(3)
    cost[2, 1] = 10  # calling class 2 class 1
    plain, dear = MulticlassSVM(C=0.1).fit(X, y), MulticlassSVM(C=0.1, cost=cost).fit(X, y)

    def mistakes(clf):
        return np.sum((y == 2) & (clf.predict(X) == 1))

    assert mistakes(dear) < mistakes(plain)


def test_sparse_equals_dense(iris):
    X, y = iris
    dense = MulticlassSVM(C=0.1, tol=1e-6).fit(X, y)
    thin = MulticlassSVM(C=0.1, tol=1e-6).fit(sparse.csr_array(X), y)
    bound = distance_bound(dense.solution_) + distance_bound(thin.solution_)
    assert np.linalg.norm(dense.coef_ - thin.coef_) <= bound
    np.testing.assert_array_equal(thin.predict(X), thin.predict(sparse.csr_array(X)))


def test_warm_start_after_convergence_takes_no_pass(iris):
    clf = MulticlassSVM(C=0.1, warm_start=True).fit(*iris)
    assert clf.n_iter_ > 0
    assert clf.fit(*iris).n_iter_ == 0
    assert clf.solution_.status is Status.CONVERGED
    X, y = iris
    with pytest.raises(ValueError, match="training data or the loss differ"):
        clf.fit(X + 1, y)
    with pytest.raises(ValueError, match="labels differ"):
        clf.fit(X, y + 1)


def test_warm_start_may_be_switched_on_later(iris):
    clf = MulticlassSVM(C=0.1).fit(*iris)
    assert clf.set_params(warm_start=True).fit(*iris).n_iter_ == 0


def test_a_failed_fit_leaves_the_model_alone(iris):
    X, y = iris
    clf = MulticlassSVM(C=0.1).fit(X, y)
    with pytest.raises(ValueError, match="C=-1"):
        clf.set_params(C=-1).fit(X, y + 5)
    np.testing.assert_array_equal(np.unique(clf.predict(X)), [0, 1, 2])


def test_bad_input(iris):
    X, y = iris
    with pytest.raises(ValueError, match="one class only, 3"):
        MulticlassSVM().fit(X, np.full(len(X), 3))
    with pytest.raises(ValueError, match=r"sample_weight\[7\] is -1"):
        MulticlassSVM().fit(X, y, sample_weight=np.where(np.arange(len(y)) == 7, -1.0, 1.0))
    with pytest.raises(ValueError, match="at least one non-zero"):
        MulticlassSVM().fit(X, y, sample_weight=np.zeros(len(y)))
    with pytest.raises(ValueError, match=r"bounds of weight 0: lower 1.0 is not at most upper 0.0"):
        MulticlassSVM(bounds=(1, 0)).fit(X, y)
    with pytest.raises(ValueError, match="solver='newton'; expected"):
        MulticlassSVM(solver="newton").fit(X, y)
    with pytest.raises(TypeError, match=r"solver=3; expected 'auto', .* or such an object"):
        MulticlassSVM(solver=3).fit(X, y)
    with pytest.raises(ValueError, match="warm_start='yes'; expected one of"):
        MulticlassSVM(warm_start="yes").fit(X, y)
    with pytest.raises(ValueError, match="n_jobs=0"):
        MulticlassSVM(n_jobs=0).fit(X, y)
