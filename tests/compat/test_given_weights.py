"""A chain model from weights that somebody has."""

import numpy as np
import pytest
from scipy import sparse

import taut
from taut import ChainCRF, ChainSVM
from taut.datasets import make_appointments
from taut.solvers import Status

SENTENCES, TAGS = make_appointments(40)
X = [[{"w": word, "p": part} for word, part in rows] for rows in SENTENCES]
STATE = {("a", "X"): 1.0, ("b", "Y"): -2.0}
STEPS = {("X", "Y"): 0.5}


@pytest.fixture(scope="module")
def trained():
    return ChainCRF(C=1.0, tol=0.01, random_state=0).fit(X, TAGS)


def by_label(crf, weights):
    return dict(zip(crf.classes_.tolist(), weights.tolist(), strict=True))


def test_the_weights_of_a_model_make_that_model(trained, tmp_path):
    crf = ChainCRF.from_weights(
        trained.state_features_,
        trained.transition_features_,
        bias=by_label(trained, trained.intercept_),
        begin=by_label(trained, trained.begin_),
        end=by_label(trained, trained.end_),
    )
    assert crf.predict(X) == trained.predict(X)
    for one, other in zip(crf.predict_proba(X), trained.predict_proba(X), strict=True):
        assert np.abs(one - other).max() < 1e-12  # the sums are the same, in another order
    crf.save(tmp_path / "m.taut")
    assert taut.load(tmp_path / "m.taut").predict(X) == trained.predict(X)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_matrices_are_as_coef(trained, kind):
    coef = trained.coef_.toarray() if sparse.issparse(trained.coef_) else trained.coef_
    labels, names = trained.classes_.tolist(), trained.attributes_
    turned = coef[::-1]  # labels in any order
    crf = ChainCRF.from_weights(kind(turned), labels=labels[::-1], attributes=names)
    assert crf.state_features_ == trained.state_features_
    plain = ChainCRF.from_weights(kind(turned), STEPS_OF(labels), labels=labels[::-1])
    assert plain.n_features_in_ == len(names)
    rows = kind(np.eye(len(names))[:3])
    assert len(plain.predict([rows])[0]) == 3


def STEPS_OF(labels):
    return {(labels[0], labels[1]): 1.0}


def test_nothing_is_proved_of_them(tmp_path):
    crf = ChainCRF.from_weights(STATE, STEPS)
    assert crf.solution_.status is Status.GIVEN
    assert str(crf.solution_) == Status.GIVEN.value
    crf.save(tmp_path / "m.taut")
    assert taut.load(tmp_path / "m.taut").solution_.status is Status.GIVEN
    with pytest.raises(ValueError, match="has its weights but not the state of its training"):
        crf.partial_fit(X, TAGS)


def test_scores_are_sums_of_the_weights():
    crf = ChainCRF.from_weights(STATE, STEPS, bias={"Y": 0.25}, begin={"X": 1.0})
    scores = {"XX": 1.0 + 1.0, "XY": 1.0 + 1.0 + 0.5 + 0.25 - 2.0, "YX": 0.25, "YY": 0.5 - 2.0}
    total = sum(np.exp(score) for score in scores.values())
    for labels, score in scores.items():
        found = crf.log_likelihood([[["a"], ["b"]]], [list(labels)])
        assert found == pytest.approx([score - np.log(total)])


def test_many_labels_have_sparse_steps():
    labels = [f"L{k:02}" for k in range(60)]
    crf = ChainCRF.from_weights({("a", "L07"): 9.0}, {("L07", "L33"): 9.0}, labels=labels)
    assert crf.classes_.tolist() == labels
    assert crf.predict([[["a"], ["?"]]]) == [["L07", "L33"]]
    assert crf.transition_features_ == {("L07", "L33"): 9.0}


def test_an_svm_and_a_scheme():
    svm = ChainSVM.from_weights({("a", "I-X"): 2.0}, labels=["B-X", "I-X", "O"], scheme="IOB2")
    assert svm.predict([[["a"], ["a"]]]) == [["B-X", "I-X"]]


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (({("a", "X"): np.nan},), {}, r"weights\[\('a', 'X'\)\] is nan; give finite numbers"),
        (({("a", "X"): "1.x"},), {}, "weights has values that are not numbers"),
        (({"aX": 1.0},), {}, "weights has the key 'aX'; a pair"),
        ((STATE, {("X",): 1.0}), {}, r"transitions has the key \('X',\); a pair \(label, next"),
        ((STATE,), {"bias": {"X": np.inf}}, r"bias\['X'\] is inf"),
        ((STATE,), {"labels": ["X"]}, "the label 'Y' is not one of labels="),
        (({},), {}, "there are no labels; name them"),
        (({(1, "X"): 1.0},), {}, "the attribute 1 is not a string"),
        ((STATE,), {"attributes": ["a"]}, "a dict has its own"),
        ((np.eye(2),), {}, "labels= must name the rows"),
        ((np.eye(2),), {"labels": ["X"]}, r"shape \(2, 2\); a row for each of 1 labels"),
        ((np.eye(2),), {"labels": ["X", "Y"], "attributes": ["a"]}, "1 distinct attributes for 2"),
        ((np.full((2, 2), np.inf),), {"labels": ["X", "Y"]}, "values that are not finite"),
        ((STATE,), {"template": "w[0]"}, "without a template"),
        ((STATE,), {"scheme": "IOB2"}, "'X'"),
    ],
)
def test_what_is_wrong_is_named(arguments, options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        ChainCRF.from_weights(*arguments, **options).predict([[["a"]]])
