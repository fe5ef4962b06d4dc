"""MultilabelSVM keeps scikit-learn's conventions and finds the optimum of its definition."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MultiLabelBinarizer, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from taut import MultilabelSVM


@pytest.fixture(scope="module")
def data():
    X, Y = make_multilabel_classification(60, 5, n_classes=4, random_state=0)
    return StandardScaler().fit_transform(X), Y


STANDARD = dict(C=0.1, tol=1e-5, random_state=0)


@pytest.fixture(scope="module")
def fitted(data):
    return MultilabelSVM(**STANDARD).fit(*data)


def distance_bound(solution):
    """How far the weights can be from the optimum: the objective is lambda-strongly convex."""
    return np.sqrt(2 * max(solution.gap, 1e-14) / solution.lam)


# Targets of these checks are classes, or numbers, not label sets.
OF_CLASSES = [
    "check_classifier_data_not_an_array",
    "check_classifier_not_supporting_multiclass",
    "check_classifiers_classes",
    "check_classifiers_one_label",
    "check_classifiers_one_label_sample_weights",
    "check_classifiers_regression_target",
    "check_classifiers_train",
    "check_estimators_dtypes",
    "check_fit2d_1feature",
    "check_requires_y_none",
    "check_sample_weights_not_an_array",
    "check_sample_weights_not_overwritten",
    "check_sample_weights_shape",
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [MultilabelSVM(max_passes=50, random_state=0)],
    expected_failed_checks=lambda _: dict.fromkeys(OF_CLASSES, "its targets are not label sets"),
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


# --- what is learned --------------------------------------------------------------------------


def test_without_edges_labels_are_independent_binary_problems(data):
    """Presence scores 2 (<u, x> + b) over absence, so the margin is that of doubled features."""
    X, Y = data
    clf = MultilabelSVM(C=0.1, edges="none", tol=1e-8).fit(X, Y)
    doubled = 2.0 * np.hstack([X, np.ones((len(X), 1))])  # the bias is regularised too
    for k in range(Y.shape[1]):
        other = LinearSVC(
            C=0.1, loss="hinge", fit_intercept=False, tol=1e-9, max_iter=1_000_000, random_state=0
        ).fit(doubled, Y[:, k])
        ours = np.append(clf.coef_[k], clf.intercept_[k])
        assert np.linalg.norm(ours - other.coef_[0]) <= distance_bound(clf.solution_) + 1e-4
    one_by_one = [MultilabelSVM(C=0.1, tol=1e-8).fit(X, Y[:, [k]]).solution_ for k in range(4)]
    assert clf.solution_.dual <= sum(s.primal for s in one_by_one) + 1e-12
    assert clf.solution_.primal >= sum(s.dual for s in one_by_one) - 1e-12
    assert clf.inference_ == "max-sum"
    assert not clf.pair_scores_.any()


def test_pairs_of_labels_are_learned():
    """The second label is mostly the first's opposite, the third its copy; features are noisy."""
    rng = np.random.default_rng(0)
    first = rng.integers(0, 2, 200)
    Y = np.stack([first, 1 - first, first], axis=1)
    Y = np.where(rng.random(Y.shape) < 0.1, 1 - Y, Y)
    X = Y + rng.normal(size=Y.shape)
    clf = MultilabelSVM(C=0.05, random_state=0).fit(X, Y)
    assert clf.pair_scores_[0, 1] < -0.01 < 0.01 < clf.pair_scores_[0, 2]
    np.testing.assert_array_equal(clf.pair_scores_, clf.pair_scores_.T)
    alone = MultilabelSVM(C=0.05, edges="none", random_state=0).fit(X, Y)

    def contradictions(predicted):
        return np.sum(predicted[:, 0] == predicted[:, 1]) + np.sum(
            predicted[:, 0] != predicted[:, 2]
        )

    assert contradictions(clf.predict(X)) < contradictions(alone.predict(X))


def test_the_prediction_is_the_best_label_set(fitted, data):
    """By the attributes alone: presence against absence, and pairs that agree or not."""
    X, _ = data
    sets = np.array(np.meshgrid(*[[0, 1]] * 4)).reshape(4, -1).T
    # pair_scores_ is all that matters of "full" pairs beyond the labels' own scores.
    _, _, edge_coef = fitted._graph_model.weights(fitted.w_)
    unary = X @ fitted.coef_.T + fitted.intercept_
    for row, y in zip(unary, fitted.predict(X), strict=True):
        scores = [
            (2 * s - 1) @ row
            + sum(
                table.reshape(2, 2)[s[u], s[v]]
                for table, (u, v) in zip(edge_coef, fitted.edges_, strict=True)
            )
            for s in sets
        ]
        np.testing.assert_array_equal(y, sets[np.argmax(scores)])


def test_pair_scores_are_what_agreeing_adds(fitted):
    _, _, edge_coef = fitted._graph_model.weights(fitted.w_)
    for table, (u, v) in zip(edge_coef, fitted.edges_, strict=True):
        t = table.reshape(2, 2)
        expected = t[0, 0] + t[1, 1] - t[0, 1] - t[1, 0]
        assert fitted.pair_scores_[u, v] == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize(
    ("edges", "n_edges", "inference"),
    [("full", 6, "exhaustive"), ("tree", 3, "max-sum"), ("none", 0, "max-sum")],
)
def test_label_graphs(data, edges, n_edges, inference):
    clf = MultilabelSVM(C=0.1, edges=edges, random_state=0).fit(*data)
    assert clf.edges_.shape == (n_edges, 2)
    assert clf.inference_ == inference
    assert clf.score(*data) > 0.2


def test_own_edges(data):
    clf = MultilabelSVM(**STANDARD, edges=np.array([[3, 0], [1, 2]])).fit(*data)
    assert np.argwhere(clf.pair_scores_).tolist() == [[0, 3], [1, 2], [2, 1], [3, 0]]


def test_on_a_tree_the_relaxation_is_exact(data):
    exact = MultilabelSVM(**STANDARD, edges="tree").fit(*data)
    relaxed = MultilabelSVM(**STANDARD, edges="tree", inference="roof-duality").fit(*data)
    a, b = exact.solution_, relaxed.solution_
    assert max(a.dual, b.dual) <= min(a.primal, b.primal) + 1e-12
    assert (a.certifies, b.certifies) == ("", "LP relaxation")


def test_the_relaxation_costs_at_least_as_much(fitted, data):
    relaxed = MultilabelSVM(**STANDARD, inference="roof-duality").fit(*data)
    assert relaxed.solution_.primal >= fitted.solution_.dual


def test_sparse_features_are_the_same_features(fitted, data):
    X, Y = data
    clf = MultilabelSVM(**STANDARD).fit(sparse.csr_matrix(X), sparse.csr_matrix(Y))
    a, b = clf.solution_, fitted.solution_
    assert max(a.dual, b.dual) <= min(a.primal, b.primal) + 1e-12
    bound = distance_bound(a) + distance_bound(b)
    assert np.linalg.norm(clf.coef_ - fitted.coef_) <= bound
    np.testing.assert_array_equal(clf.predict(X), clf.predict(sparse.csr_array(X)))


@pytest.mark.parametrize("inference", ["roof-duality", "message-passing", "lp"])
def test_prediction_by_other_methods(fitted, data, inference):
    """A rounded relaxation may lose a little; most label sets are the best."""
    X, _ = data
    best, other = fitted.predict(X), fitted.predict(X, inference=inference)
    assert other.shape == best.shape
    assert (best == other).all(axis=1).mean() > 0.9


def test_attractive_pairs(data):
    clf = MultilabelSVM(**STANDARD, pairwise="potts", attractive=True, inference="graph-cut")
    clf.fit(*data)
    assert clf.pair_scores_.min() >= 0
    np.testing.assert_array_equal(
        clf.predict(data[0]), clf.predict(data[0], inference="exhaustive")
    )


def test_sample_weight_two_equals_a_duplicate(data):
    X, Y = data
    weight = np.where(np.arange(len(Y)) % 3 == 0, 2.0, 1.0)
    twice = np.repeat(np.arange(len(Y)), weight.astype(int))
    one = MultilabelSVM(**STANDARD).fit(X, Y, sample_weight=weight)
    two = MultilabelSVM(**STANDARD).fit(X[twice], Y[twice])
    bound = distance_bound(one.solution_) + distance_bound(two.solution_)
    assert np.linalg.norm(one.w_ - two.w_) <= bound


def test_label_weights_are_costs(data):
    X, Y = data
    clf = MultilabelSVM(**STANDARD, label_weight=[1.0, 2.0, 0.0, 0.5]).fit(X, Y)
    assert clf.solution_.scale == pytest.approx(3.5)


# --- manners ----------------------------------------------------------------------------------


def test_a_grid_search_over_a_pipeline(data):
    X, Y = data
    search = GridSearchCV(
        make_pipeline(StandardScaler(), MultilabelSVM(tol=1e-2, random_state=0)),
        {"multilabelsvm__C": [1e-3, 0.1], "multilabelsvm__edges": ["tree", "none"]},
        scoring="f1_micro",
        cv=3,
    ).fit(X, Y)
    assert search.predict(X).shape == Y.shape
    assert search.best_score_ > 0.5


def test_scores_and_cross_validation(fitted, data):
    X, Y = data
    predicted = fitted.predict(X)
    assert fitted.score(X, Y) == np.mean((predicted == Y).all(axis=1))
    assert f1_score(Y, predicted, average="micro") > 0.7
    assert len(cross_val_score(clone(fitted).set_params(tol=1e-2), X, Y, cv=2)) == 2


def test_label_sets_of_names():
    names = MultiLabelBinarizer()
    Y = names.fit_transform([{"red"}, {"red", "big"}, {"big"}, set()])
    X = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.0, 0.0]])
    clf = MultilabelSVM(C=100.0, random_state=0).fit(X, Y)
    assert names.inverse_transform(clf.predict(X)) == [("red",), ("big", "red"), ("big",), ()]


def test_one_label_and_no_variation():
    X = np.arange(4.0)[:, None]
    assert MultilabelSVM(C=10).fit(X, [[0], [0], [1], [1]]).predict(X).tolist() == [
        [0],
        [0],
        [1],
        [1],
    ]
    always = MultilabelSVM().fit(X, np.ones((4, 2), int))
    assert always.predict(X).tolist() == [[1, 1]] * 4


@pytest.mark.parametrize("Y_type", [int, float, bool], ids=["int", "float", "bool"])
def test_indicators_of_any_type(fitted, data, Y_type):
    X, Y = data
    np.testing.assert_array_equal(MultilabelSVM(**STANDARD).fit(X, Y.astype(Y_type)).w_, fitted.w_)


def test_the_same_random_state_gives_the_same_bits_whatever_the_threads(fitted, data):
    clf = MultilabelSVM(**STANDARD, n_jobs=3).fit(*data)
    np.testing.assert_array_equal(clf.w_, fitted.w_)


def test_a_warm_start_goes_on(fitted, data):
    clf = MultilabelSVM(C=0.1, tol=1e-2, random_state=0, warm_start=True).fit(*data)
    clf.set_params(tol=1e-5).fit(*data)
    bound = distance_bound(clf.solution_) + distance_bound(fitted.solution_)
    assert np.linalg.norm(clf.w_ - fitted.w_) <= bound
    with pytest.raises(ValueError, match="the label graph differs"):
        clf.set_params(edges="tree").fit(*data)


X_SMALL = np.eye(3)


@pytest.mark.parametrize(
    ("Y", "message"),
    [
        ([0, 1, 2], r"y has shape \(3,\); indicators"),
        ([[0, 1], [1, 2], [0, 0]], r"y\[1, 1\] is .*2.*; 1 where an example has the label"),
        ([[0.0, 0.5], [1, 1], [0, 0]], r"y\[0, 1\] is .*0.5"),
        ([[0, 1], [1, -1], [0, 0]], r"y\[1, 1\] is .*-1"),
        ([[0, 1]], "X has 3 rows but y has 1"),
        (np.zeros((3, 0)), r"y has shape \(3, 0\)"),
        ([[0, 1], [1, np.nan], [0, 0]], r"y\[1, 1\] is nan"),
        ([[0, 1], [1, np.inf], [0, 0]], r"y\[1, 1\] is inf"),
        ([[0, 1], [1, None], [0, 0]], "y has values of type object"),
        ([["a", "b"], ["a", "b"], ["a", "b"]], "y has values of type <U1"),
        (None, r"y has shape \(\)"),
    ],
    ids=[
        "classes", "two", "half", "minus one", "rows", "no labels", "NaN", "infinite", "nothing",
        "strings", "None",
    ],
)  # fmt: skip
def test_label_sets_that_are_none_are_refused(Y, message):
    with pytest.raises((TypeError, ValueError), match=message):
        MultilabelSVM().fit(X_SMALL, Y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(edges="ring"), "edges='ring'"),
        (dict(edges=[[0, 2]]), r"edge 0 joins labels \[0, 2\]"),
        (dict(pairwise="ising"), "pairwise='ising'"),
        (dict(pairwise="full", attractive=True), "edge type 0 is not attractive"),
        (dict(inference="graph-cut"), "set attractive=True"),
        (dict(inference="max-cut"), "inference='max-cut'"),
        (dict(label_weight=[1.0]), "label_weight must be 2 finite numbers"),
        (dict(label_weight=[1.0, -1.0]), "label_weight must be 2 finite numbers"),
        (dict(pairwise="potts", attractive=True, bounds=(-5, -1)), "keeps weight 8 of 9 between"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_models_that_cannot_be_trained_say_why(options, message):
    with pytest.raises(ValueError, match=message):
        MultilabelSVM(**options).fit(X_SMALL, [[0, 1], [1, 1], [0, 0]])


def test_other_features_are_refused(fitted):
    with pytest.raises(ValueError, match="expecting 5 features"):
        fitted.predict(np.ones((2, 3)))
    with pytest.raises(ValueError, match="NaN"):
        fitted.predict(np.full((1, 5), np.nan))
