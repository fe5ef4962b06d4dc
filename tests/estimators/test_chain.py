"""ChainSVM: labels come back as they went in, weights have names, and every run is certified."""

import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score

from taut import BCFW, ChainSVM, FrankWolfe, Sequences, Status
from taut.structures.features import node_features
from taut.structures.features_build import with_weights_of


@pytest.fixture(scope="module")
def words(digit_words):
    """Thirty words of a few pixels each, so that every fit takes milliseconds."""
    X, y = digit_words
    return [np.ascontiguousarray(x[:, 10:30]) for x in X[:30]], [word % 4 for word in y[:30]]


@pytest.fixture(scope="module")
def fitted(words):
    return ChainSVM(C=0.1, random_state=0).fit(*words)


def distance_bound(*fits):
    """How far apart weights of one problem can be: the objective is lambda-strongly convex."""
    return sum(np.sqrt(2 * clf.solution_.gap / clf.solution_.lam) for clf in fits) + 1e-9


def same_optimum(a, b):
    """Both certified intervals of the one optimal value overlap, and the weights are close."""
    one, other = a.solution_, b.solution_
    overlap = one.dual <= other.primal + 1e-12 and other.dual <= one.primal + 1e-12
    return overlap and np.linalg.norm(a.w_ - b.w_) <= distance_bound(a, b)


# --- scikit-learn's manners ---------------------------------------------------------------------


def test_clone_and_parameters():
    clf = ChainSVM(C=3, bounds=(0, np.inf), solver=BCFW(order="uniform"))
    copy = clone(clf)
    assert copy.get_params() == clf.get_params()
    assert copy.set_params(C=5, loss="hamming-sum").C == 5
    assert clf.C == 3


def test_model_selection(words):
    X, y = words
    scores = cross_val_score(ChainSVM(C=0.1, random_state=0), X, y, cv=3)
    assert scores.shape == (3,)
    assert scores.min() > 0.3
    clf = ChainSVM(loss="hamming", tol=1e-3, random_state=0)
    search = GridSearchCV(clf, {"C": [1e-4, 0.1]}, cv=2).fit(X, y)
    assert search.best_params_ == {"C": 0.1}
    assert len(search.predict(X[:2])) == 2
    joined = Sequences(np.concatenate(X), [len(x) for x in X])
    again = cross_val_score(ChainSVM(C=0.1, random_state=0), joined, y, cv=3)
    np.testing.assert_array_equal(again, scores)


def test_pickle(words, fitted):
    X, y = words
    again = pickle.loads(pickle.dumps(fitted))
    for one, other in zip(again.predict(X), fitted.predict(X), strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(again.fit(X, y).w_, fitted.w_)
    assert again.set_params(warm_start=True).fit(X, y).n_iter_ == 0


def test_not_fitted():
    clf = ChainSVM()
    assert not hasattr(clf, "coef_")
    with pytest.raises(NotFittedError):
        clf.predict([np.eye(2)])
    with pytest.raises(NotFittedError):
        clf.score([np.eye(2)], [[0, 1]])


# --- labels -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "names",
    [
        [0, 1, 2, 3],
        ["a", "b", "long name", ""],
        [(0, "a"), (0, "b"), (1, "a"), (1, "b")],
        [None, 1, "one", (1,)],
        [frozenset({1}), frozenset({2}), frozenset(), frozenset({1, 2})],
    ],
)
def test_lists_of_hashables_come_back(words, fitted, names):
    X, y = words
    given = [[names[k] for k in word] for word in y]
    clf = ChainSVM(C=0.1, tol=1e-2).fit(X, given)
    predicted = clf.predict(X)
    assert all(type(word) is list for word in predicted)
    assert {label for word in predicted for label in word} <= set(names)
    assert {type(label) for word in predicted for label in word} <= set(map(type, names))
    assert clf.score(X, given) == np.mean(
        [a == b for p, g in zip(predicted, given, strict=True) for a, b in zip(p, g, strict=True)]
    )
    assert clf.score(X, given) > 0.6


@pytest.mark.parametrize("names", [np.arange(4) * 10, np.array(list("abcd")), np.array([None] * 4)])
def test_arrays_come_back_as_arrays(words, names):
    X, y = words
    if names.dtype == object:
        for k, name in enumerate(["a", 1, (2, 3), None]):
            names[k] = name
    given = [names[word] for word in y]
    predicted = ChainSVM(C=0.1, tol=1e-2).fit(X, given).predict(X)
    assert all(isinstance(word, np.ndarray) and word.dtype == names.dtype for word in predicted)
    right = [
        a == b for p, g in zip(predicted, given, strict=True) for a, b in zip(p, g, strict=True)
    ]
    assert np.mean(right) > 0.6


def test_arrays_of_different_kinds_keep_their_labels():
    """Joined naively, the numbers would become strings."""
    X = [np.eye(2)[[0, 0]], np.eye(2)[[1, 1]]]
    y = [np.array([1, 1]), np.array(["1", "1"])]
    clf = ChainSVM(C=10).fit(X, y)
    assert [word.tolist() for word in clf.predict(X)] == [[1, 1], ["1", "1"]]


def test_a_fold_without_one_of_the_labels(words, fitted):
    X, y = words
    without = [i for i, word in enumerate(y) if 3 not in word]
    clf = ChainSVM(C=0.1, tol=1e-2).fit([X[i] for i in without], [y[i] for i in without])
    assert 3 not in clf.classes_
    predicted = clf.predict(X)
    right = np.concatenate([p == t for p, t in zip(predicted, y, strict=True)])
    assert clf.score(X, y) == right.mean() < 1


def test_unseen_labels_count_as_errors(words, fitted):
    X, y = words
    assert fitted.score(X, [["never seen"] * len(word) for word in y]) == 0
    weight = (np.arange(len(X)) == 4).astype(float)
    assert fitted.score(X, y, weight) == fitted.score(X[4:5], y[4:5])


# --- input --------------------------------------------------------------------------------------


def test_one_matrix_with_lengths_is_a_list_of_matrices(words, fitted):
    X, y = words
    joined = Sequences(np.concatenate(X), [len(x) for x in X])
    clf = ChainSVM(C=0.1, random_state=0).fit(joined, y)
    np.testing.assert_array_equal(clf.w_, fitted.w_)
    assert clf.score(joined, y) == fitted.score(X, y)


def test_consecutive_views_are_not_copied(words):
    X, y = words
    rows = np.concatenate(X)
    views = np.split(rows, np.cumsum([len(x) for x in X])[:-1])
    clf = ChainSVM(C=0.1).fit(views, y)
    assert np.shares_memory(clf._training.examples.features.rows.dense, rows)
    swapped = ChainSVM(C=0.1).fit(views[1::-1], y[1::-1])
    np.testing.assert_array_equal(
        swapped._training.examples.features.rows.dense, np.concatenate(views[1::-1])
    )


def test_dense_equals_sparse(words):
    X, y = words
    dense = ChainSVM(C=0.1, tol=1e-5).fit(X, y)
    thin = [sparse.csr_array(x) for x in X]
    full = ChainSVM(C=0.1, tol=1e-5, features="all").fit(thin, y)
    bound = distance_bound(dense, full)
    assert np.linalg.norm(dense.coef_ - full.coef_) <= bound
    assert np.linalg.norm(dense.transitions_ - full.transitions_) <= bound
    # A model takes either kind, whichever it was trained on.
    for clf in (dense, full):
        for one, other in zip(clf.predict(X), clf.predict(thin), strict=True):
            np.testing.assert_array_equal(one, other)


def test_observed_weights(words):
    X, y = words
    thin = [sparse.csr_array(np.where(x > 0.5, x, 0)) for x in X]
    observed = ChainSVM(C=0.1, features="observed", tol=1e-5).fit(thin, y)
    full = ChainSVM(C=0.1, tol=1e-5, features="all").fit(thin, y)
    seen = np.zeros((20, 4), bool)
    for x, word in zip(thin, y, strict=True):
        for t, k in enumerate(word):
            seen[x[[t]].indices, k] = True
    assert sparse.issparse(observed.coef_)
    assert not np.any(observed.coef_.toarray()[~seen.T])
    # Fewer weights cannot do better.
    assert observed.solution_.primal >= full.solution_.dual
    assert len(observed.predict([x.toarray() for x in thin])) == len(X)


def test_boolean_indicators_are_numbers(words):
    X, y = words
    flags = [sparse.csr_array(x > 0.5) for x in X]
    numbers = [sparse.csr_array((x > 0.5).astype(float)) for x in X]
    one, other = (ChainSVM(C=0.1, random_state=0).fit(x, y) for x in (flags, numbers))
    np.testing.assert_array_equal(one.w_, other.w_)


# --- weights by name ----------------------------------------------------------------------------


def score_by_name(clf, x, word, steps=None):
    """The score of a labelling, from the named weights alone."""
    state, transition = clf.state_features_, clf.transition_features_
    number = {label: k for k, label in enumerate(clf.classes_.tolist())}
    total = clf.begin_[number[word[0]]] + clf.end_[number[word[-1]]]
    for t, label in enumerate(word):
        total += clf.intercept_[number[label]]
        total += sum(value * state.get((f, label), 0.0) for f, value in enumerate(x[t]))
        if t > 0 and steps is None:
            total += transition.get((word[t - 1], label), 0.0)
        elif t > 0:
            for f, value in enumerate(steps[t - 1]):
                total += value * transition.get((f, word[t - 1], label), 0.0)
    return total


def joint_feature(clf, x, word, steps=None):
    """phi(x, word), by the layout the problem itself uses."""
    stacked = _stacked(x, steps)
    features = with_weights_of(
        node_features(clf._model.rows_like_fitted(stacked.rows)), clf._training.examples.features
    )
    problem = clf._training.examples.for_prediction(features, np.array([len(word)]), stacked.steps)
    phi = np.zeros(problem.dim)
    for p in range(problem.dim):
        w = np.zeros(problem.dim)
        w[p] = 1.0
        work = problem.new_work()
        type(problem).scores(problem, w, 0, work)
        y = np.searchsorted(clf.classes_, word).astype(np.int32)
        phi[p] = sum(work.theta[t, k] for t, k in enumerate(y))
        for t in range(len(y) - 1):
            phi[p] += work.pair[min(t, len(work.pair) - 1), y[t], y[t + 1]]
    return phi


def _stacked(x, steps):
    from taut.chain.stacking import stack

    return stack([x if steps is None else (x, steps)])


def test_named_weights_give_the_score(words, fitted):
    X, y = words
    score = score_by_name(fitted, X[0], y[0].tolist())
    np.testing.assert_allclose(score, fitted.w_ @ joint_feature(fitted, X[0], y[0]), rtol=1e-9)
    assert fitted.coef_.shape == (4, 20)
    assert fitted.transitions_.shape == (4, 4)


def test_the_prediction_has_the_best_named_score(words, fitted):
    X, _ = words
    random = np.random.default_rng(0)
    for x, best in zip(X[:5], fitted.predict(X[:5]), strict=True):
        top = score_by_name(fitted, x, best.tolist())
        for _ in range(20):
            other = random.integers(0, 4, len(best)).tolist()
            assert score_by_name(fitted, x, other) <= top + 1e-9


def test_step_features(words):
    X, y = words
    random = np.random.default_rng(0)
    pairs = [(x, random.normal(size=(len(x) - 1, 2))) for x in X]
    clf = ChainSVM(C=0.1).fit(pairs, y)
    assert clf.transitions_.shape == (2, 4, 4)
    score = score_by_name(clf, *pairs[0][:1], y[0].tolist(), pairs[0][1])
    phi = joint_feature(clf, pairs[0][0], y[0], pairs[0][1])
    np.testing.assert_allclose(score, clf.w_ @ phi, rtol=1e-9)
    assert clf.score(pairs, y) > 0.6
    with pytest.raises(ValueError, match="there are 0 step features, the model was fitted with 2"):
        clf.predict(X)


def test_a_constant_step_feature_is_a_transition(words):
    X, y = words
    plain = ChainSVM(C=0.1, tol=1e-5).fit(X, y)
    steps = ChainSVM(C=0.1, tol=1e-5).fit([(x, np.ones((len(x) - 1, 1))) for x in X], y)
    assert same_optimum(plain, steps)


def test_absent_groups_of_weights(words):
    X, y = words
    clf = ChainSVM(C=0.1, bias=False, boundary=False).fit(X, y)
    assert not clf.intercept_.any()
    assert not clf.begin_.any()
    assert len(clf.w_) == 20 * 4 + 16
    np.testing.assert_allclose(
        score_by_name(clf, X[0], y[0].tolist()), clf.w_ @ joint_feature(clf, X[0], y[0]), rtol=1e-9
    )


# --- losses and weights -------------------------------------------------------------------------


def test_sample_weight_two_equals_a_duplicate(words):
    X, y = words
    weight = np.where(np.arange(len(X)) % 3 == 0, 2.0, 1.0)
    twice = np.repeat(np.arange(len(X)), weight.astype(int))
    weighted = ChainSVM(C=0.1, tol=1e-5).fit(X, y, weight)
    duplicated = ChainSVM(C=0.1, tol=1e-5).fit([X[i] for i in twice], [y[i] for i in twice])
    assert np.linalg.norm(weighted.w_ - duplicated.w_) <= distance_bound(weighted, duplicated)


def test_class_weights_are_a_cost_matrix(words):
    X, y = words
    counts = np.bincount(np.concatenate(y))
    weight = counts.sum() / (4 * counts)
    balanced = ChainSVM(C=0.1, tol=1e-5, class_weight="balanced").fit(X, y)
    named = ChainSVM(C=0.1, tol=1e-5, class_weight=dict(enumerate(weight))).fit(X, y)
    matrix = ChainSVM(C=0.1, tol=1e-5, loss=weight[:, None] * (1 - np.eye(4))).fit(X, y)
    assert same_optimum(balanced, named)
    assert same_optimum(balanced, matrix)
    assert not same_optimum(balanced, ChainSVM(C=0.1, tol=1e-5).fit(X, y))


def test_summed_hamming_weighs_long_words_more(words):
    X, y = words
    clf = ChainSVM(C=0.1).fit(X, y)
    assert clf.solution_.scale == pytest.approx(np.mean([len(word) for word in y]))
    assert ChainSVM(C=0.1, loss="hamming").fit(X, y).solution_.scale == pytest.approx(1.0)


# --- runs ---------------------------------------------------------------------------------------


def test_same_random_state_same_bits_for_any_number_of_threads(words, fitted):
    X, y = words
    for n_jobs in (None, 2, 3, -1):
        clf = ChainSVM(C=0.1, random_state=0, n_jobs=n_jobs).fit(X, y)
        np.testing.assert_array_equal(clf.w_, fitted.w_)
        assert clf.solution_.primal == fitted.solution_.primal
        np.testing.assert_array_equal(
            np.concatenate(clf.predict(X)), np.concatenate(fitted.predict(X))
        )
    one, other = (
        ChainSVM(C=0.1, solver="corrective", random_state=seed, n_jobs=2).fit(X, y)
        for seed in (0, 1)
    )
    assert not np.array_equal(one.w_, other.w_)
    assert same_optimum(one, fitted)
    assert same_optimum(other, fitted)


@pytest.mark.parametrize("solver", ["fw", "bcfw", "bcpfw", "bcafw", "corrective", FrankWolfe()])
def test_every_solver_finds_the_optimum(words, fitted, solver):
    clf = ChainSVM(C=0.1, solver=solver, tol=2e-2, max_passes=20_000).fit(*words)
    assert clf.solution_.status is Status.CONVERGED
    assert same_optimum(clf, fitted)


@pytest.mark.parametrize("keep", ["dual", "primal"])
def test_warm_start_across_C(words, keep):
    clf = ChainSVM(C=0.05, warm_start=keep).fit(*words)
    for C in (0.1, 0.2, 0.1):
        warm = clf.set_params(C=C).fit(*words)
        assert same_optimum(warm, ChainSVM(C=C).fit(*words))


def test_keeping_the_primal_keeps_the_weights(words):
    clf = ChainSVM(C=0.05, warm_start="primal", tol=1e-4).fit(*words)
    before = clf.w_.copy()
    with pytest.warns(ConvergenceWarning):
        clf.set_params(C=0.1, max_passes=0, tol=0).fit(*words)
    np.testing.assert_allclose(clf.w_, before, atol=1e-9)


def test_refit_when_converged_takes_no_pass(words):
    clf = ChainSVM(C=0.1, tol=1e-3, warm_start=True).fit(*words)
    before = clf.w_.copy()
    assert clf.fit(*words).solution_.passes == 0
    np.testing.assert_allclose(clf.w_, before, atol=1e-9)


def test_warm_start_refuses_other_data(words):
    X, y = words
    clf = ChainSVM(C=0.1, warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="training data or the loss differ"):
        clf.fit([x + 1 for x in X], y)
    with pytest.raises(ValueError, match="labels differ"):
        clf.fit(X, [word + 1 for word in y])
    with pytest.raises(ValueError, match="warm_start='both'"):
        clf.set_params(warm_start="both").fit(X, y)


def test_partial_fit_reaches_the_optimum_of_all(words):
    X, y = words
    clf = ChainSVM(C=0.1, tol=1e-4)
    for part in (slice(0, 10), slice(10, 20), slice(20, 30)):
        clf.partial_fit(X[part], y[part], classes=np.arange(4))
    whole = ChainSVM(C=0.1, tol=1e-4).fit(X, y)
    assert clf.solution_.n_examples == 30
    assert same_optimum(clf, whole)


def test_partial_fit_takes_sparse_weighted_examples(words):
    X, y = words
    thin = [sparse.csr_array(x) for x in X]
    weight = np.linspace(0.5, 2, len(X))
    clf = ChainSVM(C=0.1, tol=1e-4, features="all")
    clf.partial_fit(thin[:20], y[:20], sample_weight=weight[:20])
    clf.partial_fit(X[20:], y[20:], sample_weight=weight[20:])  # dense ones join as well
    assert same_optimum(clf, ChainSVM(C=0.1, tol=1e-4, features="all").fit(thin, y, weight))


def test_partial_fit_names_labels_that_come_later(words):
    X, y = words
    few = [i for i, word in enumerate(y) if 3 not in word]
    clf = ChainSVM(C=0.1).partial_fit([X[i] for i in few], [y[i] for i in few])
    with pytest.raises(ValueError, match=r"y\[\d+\] has the label 3, .*classes= at the first call"):
        clf.partial_fit(X, y)
    clf = ChainSVM(C=0.1).partial_fit([X[i] for i in few], [y[i] for i in few], classes=range(4))
    assert 3 in np.concatenate(clf.partial_fit(X, y).predict(X))


def test_averaging_says_which_iterate_is_returned(words):
    with pytest.warns(ConvergenceWarning):
        clf = ChainSVM(C=0.1, solver="bcfw", averaging=True, max_passes=3, tol=0).fit(*words)
    assert clf.solution_.returned in ("last", "average", "earlier")
    assert clf.solution_.solver.averaging
    phrase = {"last": "last iterate", "average": "weighted average", "earlier": "earlier"}
    assert phrase[clf.solution_.returned] in str(clf.solution_)


def test_convergence_warning_names_the_remedy(words):
    with pytest.warns(ConvergenceWarning, match=r"ChainSVM: .*raise max_passes.*relative gap"):
        ChainSVM(C=10, max_passes=1, tol=1e-9).fit(*words)
    with pytest.warns(ConvergenceWarning, match="raise time_limit"):
        ChainSVM(C=10, time_limit=0, tol=1e-9).fit(*words)
    with pytest.warns(ConvergenceWarning, match="raise cpu_limit"):
        ChainSVM(C=10, cpu_limit=0, tol=1e-9).fit(*words)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stopped = ChainSVM(C=10, tol=1e-9, callback=lambda row: row.passes >= 10).fit(*words)
    assert stopped.solution_.status is Status.CALLBACK


def test_silent_unless_asked(words, capfd):
    ChainSVM(C=0.1).fit(*words)
    ChainSVM(C=0.1, verbose=False).fit(*words)
    assert capfd.readouterr() == ("", "")


def test_bounds_hold(words, fitted):
    X, y = words
    clf = ChainSVM(C=0.1, bounds=(0, 0.05)).fit(X, y)
    assert clf.w_.min() >= 0
    assert clf.w_.max() <= 0.05
    assert clf.solution_.status is Status.CONVERGED
    assert clf.solution_.primal >= fitted.solution_.dual
    loose = ChainSVM(C=0.1, bounds=(-100, 100)).fit(X, y)
    assert same_optimum(loose, fitted)


def test_the_example_of_one_position():
    """Sequences of one position have no steps; first and last fall together."""
    clf = ChainSVM(C=1).fit([np.eye(2)[[0]], np.eye(2)[[1]]], [["a"], ["b"]])
    assert clf.predict([np.eye(2)[[1]]]) == [["b"]]
