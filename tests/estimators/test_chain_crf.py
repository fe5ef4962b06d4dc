"""ChainCRF: every probability against enumeration, and the manners of an estimator."""

import pickle
from itertools import pairwise, product

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from taut import LBFGS, SDCA, ChainCRF, ChainCRFCV
from taut.metrics import span_report
from taut.solvers import Status

LABELS = ["B-x", "I-x", "O"]
LENGTHS = (1, 4, 3, 2, 5, 1)


@pytest.fixture(scope="module")
def data():
    """Sequences whose labels follow from their features, but for some noise."""
    random = np.random.default_rng(0)
    X = [random.normal(size=(length, 3)) for length in LENGTHS * 3]
    y = [[LABELS[k] for k in (x + random.normal(size=x.shape)).argmax(axis=1)] for x in X]
    return X, y


def scores_of(crf, x):
    """Of all labellings, by the weights' names."""
    theta = x @ crf.coef_.T + crf.intercept_
    theta[0] += crf.begin_
    theta[-1] += crf.end_
    found = {}
    for labels in product(range(len(crf.classes_)), repeat=len(x)):
        score = sum(theta[t, k] for t, k in enumerate(labels))
        score += sum(crf.transitions_[k, other] for k, other in pairwise(labels))
        found[labels] = score / crf.temperature
    return found


def is_valid(labels):
    """In IOB2: I-x only after B-x or I-x."""
    return all(k != 1 or before in (0, 1) for before, k in pairwise((2, *labels)))


def probabilities(crf, x, allowed=lambda labels: True):
    scores = {labels: score for labels, score in scores_of(crf, x).items() if allowed(labels)}
    top = max(scores.values())
    total = sum(np.exp(score - top) for score in scores.values())
    return {labels: np.exp(score - top) / total for labels, score in scores.items()}


def marginals_of(distribution, length, n_labels=3):
    found = np.zeros((length, n_labels))
    for labels, probability in distribution.items():
        found[np.arange(length), list(labels)] += probability
    return found


OPTIONS = {
    "plain": {},
    "temperature 1/2": {"temperature": 0.5},
    "only valid labellings": {"scheme": "IOB2"},
    "L-BFGS": {"solver": "lbfgs"},
}


@pytest.fixture(scope="module", params=OPTIONS.values(), ids=OPTIONS)
def fitted(request, data):
    return ChainCRF(C=2.0, random_state=0, **request.param).fit(*data)


def limits(crf):
    return is_valid if crf.scheme else (lambda labels: True)


def test_marginals_are_those_of_all_labellings(fitted, data):
    for x, found in zip(data[0], fitted.predict_proba(data[0]), strict=True):
        expected = marginals_of(probabilities(fitted, x, limits(fitted)), len(x))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
        np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=0, atol=1e-12)


def test_the_n_best_labellings_come_with_their_probabilities(fitted, data):
    for x, found in zip(data[0], fitted.predict_nbest(data[0], 5), strict=True):
        expected = probabilities(fitted, x, limits(fitted))
        assert len(found) == min(5, len(expected))
        for labels, probability in found:
            numbers = tuple(LABELS.index(label) for label in labels)
            assert probability == pytest.approx(expected.pop(numbers), abs=1e-12)
        # Whatever is left is less probable than what was found.
        assert all(p <= found[-1][1] + 1e-12 for p in expected.values())


def test_log_likelihoods_are_logarithms_of_probabilities(fitted, data):
    X, y = data
    for x, labels, found in zip(X, y, fitted.log_likelihood(X, y), strict=True):
        numbers = tuple(LABELS.index(label) for label in labels)
        expected = probabilities(fitted, x, limits(fitted)).get(numbers, 0.0)
        assert np.exp(found) == pytest.approx(expected, abs=1e-12)


def test_missing_labels_are_summed_over_in_a_likelihood(fitted, data):
    x = data[0][1]
    known = ["O", None, None, "B-x"]
    expected = sum(
        p
        for labels, p in probabilities(fitted, x, limits(fitted)).items()
        if labels[0] == 2 and labels[3] == 0
    )
    assert np.exp(fitted.log_likelihood([x], [known]))[0] == pytest.approx(expected, abs=1e-12)
    nothing = fitted.log_likelihood([x], [[None] * 4])
    np.testing.assert_allclose(nothing, 0.0, rtol=0, atol=1e-12)


def test_forced_labels_condition_the_probabilities(fitted, data):
    x, forced = data[0][1], [None, "B-x", None, None]

    def allowed(labels):
        return labels[1] == 0 and limits(fitted)(labels)

    expected = probabilities(fitted, x, allowed)
    found = fitted.predict_proba([x], forced=[forced])[0]
    np.testing.assert_allclose(found, marginals_of(expected, 4), rtol=0, atol=1e-12)
    assert all(labels[1] == "B-x" for labels, _ in fitted.predict_nbest([x], 100, [forced])[0])
    assert all(labels[1] == "B-x" for labels in fitted.sample([x], 20, [forced])[0])


def test_samples_come_as_often_as_they_are_probable(fitted, data):
    x = data[0][3]
    expected = probabilities(fitted, x, limits(fitted))
    drawn = fitted.sample([x], 4000, random_state=0)[0]
    for labels, probability in expected.items():
        share = np.mean([tuple(LABELS.index(label) for label in y) == labels for y in drawn])
        # Six standard deviations of a share of 4000.
        assert abs(share - probability) <= 6.0 * np.sqrt(0.25 / 4000)


def test_posterior_decoding_is_right_most_often(fitted, data):
    crf = clone(fitted).set_params(decoding="posterior").fit(*data)
    for x, labels in zip(data[0], crf.predict(data[0]), strict=True):
        distribution = probabilities(crf, x, limits(crf))
        marginals = marginals_of(distribution, len(x))
        at = np.arange(len(x))
        found = marginals[at, [LABELS.index(label) for label in labels]].sum()
        best = max(marginals[at, list(other)].sum() for other in distribution)
        assert found == pytest.approx(best, abs=1e-12)


def test_the_objective_is_the_likelihood(data):
    X, y = data
    crf = ChainCRF(C=2.0, tol=1e-6, random_state=0).fit(X, y)
    likelihood = crf.log_likelihood(X, y)
    objective = crf.solution_.lam / 2 * crf.w_ @ crf.w_ - likelihood.mean()
    assert crf.solution_.primal == pytest.approx(objective, rel=1e-12)
    assert crf.solution_.scale == pytest.approx(np.mean([len(x) for x in X]) * np.log(3))
    assert crf.solution_.status is Status.CONVERGED


def test_samples_weights_count_examples(data):
    X, y = data
    twice = ChainCRF(C=1.0, tol=1e-8, random_state=0).fit([*X, X[1]], [*y, y[1]])
    weights = np.ones(len(X))
    weights[1] = 2.0
    weighted = ChainCRF(C=1.0, tol=1e-8, random_state=0).fit(X, y, sample_weight=weights)
    # Strong convexity: |w - w*|^2 <= 2 gap / lambda for both.
    bound = sum(np.sqrt(2 * s.gap / s.lam) for s in (twice.solution_, weighted.solution_))
    assert np.linalg.norm(twice.w_ - weighted.w_) <= bound


# --- missing labels -----------------------------------------------------------------------------


def test_missing_labels_are_learnt_from_what_is_known(data):
    X, y = data
    partial = [[None if t == 1 else label for t, label in enumerate(part)] for part in y]
    crf = ChainCRF(C=2.0, tol=1e-6, random_state=0).fit(X, partial)
    assert isinstance(crf.solution_.solver, LBFGS)
    objective = crf.solution_.lam / 2 * crf.w_ @ crf.w_ - crf.log_likelihood(X, partial).mean()
    assert crf.solution_.primal == pytest.approx(objective, rel=1e-12)
    assert "missing labels" in str(crf.solution_)
    with pytest.raises(ValueError, match="needs all labels"):
        ChainCRF(solver="sdca").fit(X, partial)
    with pytest.raises(ValueError, match="needs all labels"):
        ChainCRF(loss_augmented=True).fit(X, partial)


def test_with_held_out_data_the_bound_is_still_that_of_the_weights_kept(data):
    """At other weights missing labels are filled in otherwise, and another minimum is bounded."""
    X, y = data
    random = np.random.default_rng(1)
    partial = [[label if random.random() < 0.4 else None for label in part] for part in y[:12]]
    crf = ChainCRF(C=30.0, tol=1e-9, patience=15, verbose=False, random_state=0)
    crf.fit(X[:12], partial, X_val=X[12:], y_val=y[12:])
    solution = crf.solution_
    row = solution.history[solution.history.iterate_primal == solution.primal][0]
    assert solution.dual == row.iterate_dual


def test_a_label_can_say_that_it_is_missing(data):
    X, y = data
    numbers = [np.array([LABELS.index(label) for label in part]) for part in y]
    marked = [np.where(np.arange(len(part)) == 1, -1, part) for part in numbers]
    as_none = [[None if k < 0 else int(k) for k in part] for part in marked]
    a = ChainCRF(missing_label=-1, random_state=0).fit(X, marked)
    b = ChainCRF(random_state=0).fit(X, as_none)
    assert a.classes_.tolist() == b.classes_.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(a.w_, b.w_)


def test_missing_labels_are_not_scored(data):
    X, y = data
    crf = ChainCRF(random_state=0).fit(X, y)
    hidden = [
        [true if found == true else None for found, true in zip(*both, strict=True)]
        for both in zip(crf.predict(X), y, strict=True)
    ]
    assert crf.score(X, y) < 1.0
    assert crf.score(X, hidden) == 1.0
    crf.fit(X, hidden, X_val=X, y_val=hidden)
    assert np.nanmax(crf.solution_.history.score) <= 1.0
    with pytest.raises(ValueError, match="no position has a label"):
        crf.score(X, [[None] * len(part) for part in y])


def test_more_sequences_need_all_labels(data):
    X, y = data
    crf = ChainCRF(random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="needs all labels"):
        crf.partial_fit(X[1:2], [[None, *y[1][1:]]])
    crf.fit(X, [[None, *part[1:]] for part in y])
    with pytest.raises(ValueError, match="needs all labels"):
        crf.partial_fit(X, y)


def test_nan_can_say_that_a_label_is_missing(data):
    X, y = data
    numbers = [np.array([LABELS.index(label) for label in part], float) for part in y]
    marked = [np.where(np.arange(len(part)) == 1, np.nan, part) for part in numbers]
    crf = ChainCRF(missing_label=np.nan, random_state=0).fit(X, marked)
    assert crf.classes_.tolist() == [0.0, 1.0, 2.0]


def test_some_label_must_be_there(data):
    X, y = data
    with pytest.raises(ValueError, match="no position has a label"):
        ChainCRF().fit(X, [[None] * len(part) for part in y])


def test_missing_labels_under_a_scheme(data):
    X, _ = data
    y = [[None] * len(x) for x in X]
    y[1], y[2] = ["B-x", None, "I-x", "O"], ["O", "B-x", "I-x"]
    crf = ChainCRF(scheme="IOB2", scheme_in_training=True, random_state=0).fit(X, y)
    objective = crf.solution_.lam / 2 * crf.w_ @ crf.w_ - crf.log_likelihood(X, y).mean()
    assert crf.solution_.primal == pytest.approx(objective, rel=1e-10)
    y[1] = ["O", "I-x", None, None]
    with pytest.raises(ValueError, match=r"sequence 1, position 1.*no label is possible"):
        clone(crf).fit(X, y)


# --- edges --------------------------------------------------------------------------------------


def test_a_single_label_leaves_nothing_to_learn():
    with pytest.raises(ValueError, match="y: there is one label only, 'a'; there is nothing"):
        ChainCRF().fit([np.ones((3, 2)), np.ones((1, 2))], [["a"] * 3, ["a"]])


def test_empty_sequences_have_empty_answers(data):
    crf = ChainCRF(random_state=0).fit(*data)
    X = [data[0][0], np.zeros((0, 3))]
    assert crf.predict(X)[1] == []
    assert crf.predict_proba(X)[1].shape == (0, 3)
    assert crf.predict_nbest(X, 3)[1] == [([], 1.0)]
    assert crf.sample(X, 2)[1] == [[], []]
    assert crf.predict_proba([]) == []
    found = crf.log_likelihood(X, [["O"], []])
    assert found[0] == crf.log_likelihood(X[:1], [["O"]])[0]
    assert found[1] == 0.0


def test_extreme_scores_are_no_trouble(data):
    X, y = data
    crf = ChainCRF(C=2.0, random_state=0).fit(X, y)
    for factor in (1e4, -1e4):
        found = np.concatenate(crf.predict_proba([factor * x for x in X]))
        np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=0, atol=1e-12)
        assert np.all((found >= 0.0) & (found <= 1.0 + 1e-12))


def test_an_impossible_constraint_says_so(data):
    crf = ChainCRF(scheme="IOB2", random_state=0).fit(*data)
    x = data[0][1]
    for ask in (
        crf.predict_proba,
        lambda X, forced: crf.predict_nbest(X, 2, forced),
        lambda X, forced: crf.sample(X, 2, forced),
    ):
        with pytest.raises(ValueError, match="'I-x' is forced"):
            ask([x], [["O", "I-x", None, None]])


BAD_OPTIONS = {
    "temperature": ({"temperature": 0.0}, "at 0 a CRF with"),
    "decoding": ({"decoding": "greedy"}, "decoding='greedy'"),
    "class weights": ({"class_weight": "balanced"}, "loss_augmented=True"),
    "a solver of SVMs": ({"solver": "bcfw"}, "expected 'auto', 'sdca', 'lbfgs'"),
    "a negative l1": ({"l1": -1.0}, "l1=-1"),
    "averages of L-BFGS": ({"solver": "lbfgs", "averaging": True}, "averaging=True"),
}


@pytest.mark.parametrize(("options", "message"), BAD_OPTIONS.values(), ids=BAD_OPTIONS)
def test_bad_options_are_named(data, options, message):
    with pytest.raises(ValueError, match=message):
        ChainCRF(**options).fit(*data)


def test_bad_questions_are_named(data):
    crf = ChainCRF(random_state=0).fit(*data)
    with pytest.raises(ValueError, match="n=0"):
        crf.predict_nbest(data[0], 0)
    with pytest.raises(ValueError, match=r"n=1\.5"):
        crf.sample(data[0], 1.5)


def test_a_label_never_seen_has_no_probability(data):
    X, y = data
    crf = ChainCRF(random_state=0).fit(X, y)
    found = crf.log_likelihood(X[:3], [y[0], ["Z", *y[1][1:]], y[2]])
    np.testing.assert_array_equal(np.isfinite(found), [True, False, True])


def test_where_single_examples_pull_hard_the_solver_is_l_bfgs(data):
    X, y = data
    assert isinstance(ChainCRF(C=1.0).fit(X, y).solution_.solver, SDCA)
    assert isinstance(ChainCRF(C=1e4).fit(X, y).solution_.solver, LBFGS)


# --- an estimator's manners ---------------------------------------------------------------------


def test_threads_change_no_bit(data):
    for solver in ("sdca", "lbfgs"):
        one, two = (ChainCRF(solver=solver, n_jobs=n, random_state=0).fit(*data) for n in (1, 2))
        np.testing.assert_array_equal(one.w_, two.w_)
        for a, b in zip(one.predict_proba(data[0]), two.predict_proba(data[0]), strict=True):
            np.testing.assert_array_equal(a, b)


def test_search_copies_and_pickles(data):
    X, y = data
    search = GridSearchCV(ChainCRF(random_state=0), {"C": [0.1, 1.0]}, cv=2).fit(X, y)
    assert search.best_params_["C"] in (0.1, 1.0)
    crf = pickle.loads(pickle.dumps(search.best_estimator_))
    assert crf.predict(X) == search.predict(X)


def test_more_sequences_go_on_from_where_training_was(data):
    X, y = data
    crf = ChainCRF(C=1.0, tol=1e-4, random_state=0).partial_fit(X[:9], y[:9])
    crf.partial_fit(X[9:], y[9:])
    whole = ChainCRF(C=1.0, tol=1e-4, random_state=0).fit(X, y)
    assert crf.solution_.n_examples == len(X)
    low, high = max(crf.solution_.dual, whole.solution_.dual), crf.solution_.primal
    assert low <= high + 1e-12
    assert abs(crf.solution_.primal - whole.solution_.primal) <= max(
        crf.solution_.gap, whole.solution_.gap
    )


def test_a_warm_start_does_no_work(data):
    crf = ChainCRF(tol=1e-4, warm_start=True, random_state=0).fit(*data)
    assert crf.fit(*data).solution_.passes == 0
    assert crf.set_params(averaging=True).fit(*data).solution_.solver.averaging


def test_an_l1_norm_makes_weights_zero(data):
    a = ChainCRF(C=1.0, l1=0.5, tol=1e-7, random_state=0).fit(*data)
    b = ChainCRF(C=1.0, l1=0.5, tol=1e-7, solver="lbfgs").fit(*data)
    assert abs(a.solution_.primal - b.solution_.primal) <= a.solution_.gap + b.solution_.gap
    assert 0 < np.count_nonzero(a.w_) < np.count_nonzero(ChainCRF(C=1.0).fit(*data).w_)
    likelihood = -a.log_likelihood(*data).mean()
    norm = a.w_ @ a.w_ / 2 + 0.5 * np.abs(a.w_).sum()
    assert a.solution_.primal == pytest.approx(a.solution_.lam * norm + likelihood, rel=1e-12)


def test_C_by_cross_validation(data):
    X, y = data
    crf = ChainCRFCV(cv=2, n_lambdas=5, random_state=0).fit(X, y)
    assert crf.C_ in crf.Cs_
    assert isinstance(crf.solution_.solver, SDCA)
    assert len(crf.predict_proba(X)) == len(X)


def test_text_with_missing_labels_has_only_observed_weights():
    X = [[["a"], ["b"], ["c"]], [["a"], ["b"]]]
    crf = ChainCRF(features="observed", random_state=0).fit(X, [["x", None, "y"], ["x", "y"]])
    pairs = {(attribute, label) for attribute, label in crf.state_features_}
    assert pairs <= {("a", "x"), ("b", "y"), ("c", "y")}


def test_predictions_under_a_scheme_are_valid_spans(data):
    crf = ChainCRF(scheme="IOB2", random_state=0).fit(*data)
    for labels in crf.sample(data[0], 3, random_state=1):
        span_report(labels, labels, mode="strict", scheme="IOB2")  # raises otherwise
