"""sklearn-crfsuite's interface."""

import pickle
from collections import UserDict

import numpy as np
import pytest
from compat.conftest import labels_of, sentences
from sklearn.base import clone
from sklearn.model_selection import RandomizedSearchCV, cross_val_score

from taut.compat.sklearn_crfsuite import CRF, metrics, scorers

X = sentences(40, seed=5)
Y = labels_of(X, 3, seed=6)


@pytest.fixture(scope="module")
def crf():
    return CRF(c1=0.1, c2=0.1).fit(X, Y)


def test_nothing_is_known_before_it_is_fitted():
    crf = CRF()
    for name in (
        "tagger_", "size_", "classes_", "num_attributes_", "attributes_", "state_features_",
        "transition_features_",
    ):  # fmt: skip
        assert getattr(crf, name) is None
    with pytest.raises(ValueError, match="not fitted; call fit, or name a model"):
        crf.predict(X)


def test_labels_and_dicts_of_probabilities(crf):
    found = crf.predict(X)
    assert isinstance(found, np.ndarray)
    assert [len(labels) for labels in found] == [len(x) for x in X]
    assert crf.score(X, Y) > 0.8
    marginals = crf.predict_marginals(X)
    for labels, of_items in zip(found, marginals, strict=True):
        assert all(of.keys() == set(crf.classes_) for of in of_items)
        assert all(sum(of.values()) == pytest.approx(1.0) for of in of_items)
        assert crf.predict_marginals_single(X[0]) == marginals[0]
        assert len(labels) == len(of_items)


def test_what_is_in_the_model(crf):
    assert crf.classes_ == ["L0", "L1", "L2"]
    assert crf.num_attributes_ == len(crf.attributes_) > 50
    assert crf.size_ > 1000
    assert set(crf.state_features_) <= {(a, y) for a in crf.attributes_ for y in crf.classes_}
    assert set(crf.transition_features_) <= {(y, z) for y in crf.classes_ for z in crf.classes_}


def test_copies_and_pickles(crf):
    assert clone(crf).get_params() == crf.get_params()
    again = pickle.loads(pickle.dumps(crf))
    assert again.predict_single(X[0]) == crf.predict_single(X[0])
    assert again.state_features_ == crf.state_features_


def test_a_named_file_is_written_and_read(tmp_path, crf):
    path = str(tmp_path / "model")
    CRF(c1=0.1, c2=0.1, model_filename=path).fit(X, Y)
    assert CRF(model_filename=path).predict_single(X[0]) == crf.predict_single(X[0])
    assert pickle.loads(pickle.dumps(CRF(model_filename=path))).size_ == crf.size_


def test_a_model_of_crfsuite_is_read(crfsuite):
    crf = CRF(model_filename=str(crfsuite.path))
    assert crf.predict_single(crfsuite.X[0]) == crfsuite.tagger.tag(crfsuite.X[0])


def test_both_norms_are_searched_independently():
    space = {"c1": [0.01, 1.0], "c2": [0.01, 1.0]}
    search = RandomizedSearchCV(
        CRF(), space, n_iter=3, cv=2, random_state=0, scoring=scorers.flat_accuracy
    ).fit(X, Y)
    assert len({(p["c1"], p["c2"]) for p in search.cv_results_["params"]}) == 3
    assert search.best_score_ > 0.3
    assert cross_val_score(CRF(), X, Y, cv=2, scoring=scorers.sequence_accuracy).mean() > 0


def test_held_out_data_are_scored(capsys):
    crf = CRF(verbose=True).fit(X[:30], Y[:30], X_dev=X[30:], y_dev=Y[30:])
    out = capsys.readouterr().out
    assert "Iter 1 " in out
    assert "Label  Precision  Recall     F1  Support\n" in out
    assert crf.training_log_.last_iteration["scores"]["L0"].ref > 0
    with pytest.raises(ValueError, match="one of them was given, not both"):
        CRF().fit(X, Y, X_dev=X)


def test_generators_and_what_is_wrong():
    generated = CRF(c1=0.1, c2=0.1).fit(iter(X), iter(Y))
    assert generated.predict(iter(X)).tolist() == CRF(c1=0.1, c2=0.1).fit(X, Y).predict(X).tolist()
    with pytest.raises(ValueError, match=r"X\[1\]: The numbers of items and labels differ"):
        CRF().fit(X, [Y[0], ["L0"] * 99])
    with pytest.raises(ValueError, match="X and its labels are not equally many"):
        CRF().fit(X, Y[:-1])
    with pytest.raises(TypeError, match=r"X\[0\]: item 0: 'w' is"):
        CRF().fit([[{"w": object()}]], [["L0"]])
    with pytest.raises(ValueError, match="there is nothing to train on"):
        CRF().fit([], [])
    assert len(CRF().fit([[UserDict(a=1)], [["b"]]], [["X"], ["Y"]]).classes_) == 2


def test_metrics_are_of_all_items():
    one, other = [["x", "z", "y"], ["x", "x"]], [["y", "z", "y"], ["x", "y"]]
    assert metrics.flat_accuracy_score(one, other) == 0.6
    for score in (metrics.flat_precision_score, metrics.flat_recall_score):
        assert score(one, other, average="micro") == pytest.approx(0.6)
    f1 = metrics.flat_f1_score(one, other, average="macro")
    assert f1 == metrics.flat_fbeta_score(one, other, beta=1, average="macro")
    assert "weighted avg" in metrics.flat_classification_report(one, other, labels=["x", "z"])
    assert metrics.sequence_accuracy_score(one, other) == 0.0
    assert metrics.sequence_accuracy_score([[1, 2], [3]], [[1, 2], [4]]) == 0.5
    assert metrics.sequence_accuracy_score([], []) == 0.0
