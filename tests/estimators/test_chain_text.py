"""ChainSVM on text: dicts, lists of strings, columns with a template, schemes, held-out data."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

import taut
from taut import ChainSVM, Columns
from taut.constraints import ImpossibleConstraint, InvalidTruth
from taut.metrics import span_f1

SENTENCES = [
    [("the", "DT"), ("cat", "NN"), ("sleeps", "VBZ")],
    [("a", "DT"), ("dog", "NN"), ("sees", "VBZ"), ("the", "DT"), ("cat", "NN")],
    [("dogs", "NNS"), ("sleep", "VBP")],
    [("the", "DT"), ("old", "JJ"), ("cat", "NN"), ("sees", "VBZ"), ("a", "DT"), ("dog", "NN")],
]
TAGS = [
    ["B-NP", "I-NP", "B-VP"],
    ["B-NP", "I-NP", "B-VP", "B-NP", "I-NP"],
    ["B-NP", "B-VP"],
    ["B-NP", "I-NP", "I-NP", "B-VP", "B-NP", "I-NP"],
]
DICTS = [[{"w": w, "p": {"os": p}, "n": len(w)} for w, p in x] for x in SENTENCES]
STRINGS = [[[f"w={w}", f"pos={p}"] for w, p in x] for x in SENTENCES]


def new(**options):
    return ChainSVM(**{"C": 1.0, "tol": 1e-4, "random_state": 0, **options})


@pytest.mark.parametrize(
    ("X", "options"),
    [(DICTS, {}), (STRINGS, {}), (SENTENCES, {"template": "chunking"})],
    ids=["dicts", "strings", "columns"],
)
def test_training_labels_are_learned(X, options):
    clf = new(**options).fit(X, TAGS)
    assert clf.solution_.relative_gap <= 1e-4
    assert clf.predict(X) == TAGS
    assert clf.score(X, TAGS) == 1.0
    assert clf.n_features_in_ == len(clf.attributes_) == clf.coef_.shape[1]


def test_dicts_mean_what_the_matrix_of_their_attributes_means():
    """The same optimum as with the indicator matrix built by hand."""
    clf = new(C=10).fit(STRINGS, TAGS)
    number = {name: k for k, name in enumerate(clf.attributes_)}
    X = [np.zeros((len(x), len(number))) for x in STRINGS]
    for rows, x in zip(X, STRINGS, strict=True):
        for row, token in zip(rows, x, strict=True):
            row[[number[name] for name in token]] = 1.0
    by_hand = new(C=10).fit(X, TAGS)
    gaps = clf.solution_.gap + by_hand.solution_.gap
    assert abs(clf.solution_.primal - by_hand.solution_.primal) <= gaps


def test_columns_can_be_given_in_numbers():
    text = Columns.from_sentences(SENTENCES)
    tags = Columns.from_sentences(TAGS).columns[0]
    clf = new(template="chunking").fit(text, tags)
    assert clf.predict(text) == TAGS
    assert np.array_equal(clf.w_, new(template="chunking").fit(SENTENCES, TAGS).w_)


def test_attributes_unseen_in_training_are_ignored():
    clf = new().fit(STRINGS, TAGS)
    with_more = [[[*token, "never=seen"] for token in x] for x in STRINGS]
    assert clf.predict(with_more) == clf.predict(STRINGS)


def test_min_freq_drops_rare_attributes():
    clf = new(min_freq=2).fit(STRINGS, TAGS)
    assert "w=old" not in clf.attributes_
    assert "w=the" in clf.attributes_
    assert new(min_freq=0).fit(STRINGS, TAGS).attributes_ == new().fit(STRINGS, TAGS).attributes_
    with pytest.raises(ValueError, match="lower min_freq"):
        new(min_freq=100).fit(STRINGS, TAGS)
    with pytest.raises(ValueError, match="min_freq=-1; a whole number"):
        new(min_freq=-1).fit(STRINGS, TAGS)


def test_state_features_have_the_names_of_attributes():
    clf = new(template="w[0]").fit(SENTENCES, TAGS)
    assert clf.state_features_[("w[0]=the", "B-NP")] > 0
    assert all(value != 0 for value in clf.state_features_.values())


def test_the_usual_tools_work():
    search = GridSearchCV(new(), {"C": [0.1, 1.0], "min_freq": [1, 2]}, cv=2).fit(DICTS, TAGS)
    assert search.best_score_ > 0
    again = clone(new(template="chunking", scheme="IOB2"))
    assert (again.template, again.scheme) == ("chunking", "IOB2")


@pytest.mark.parametrize("features", ["all", "observed"])
def test_partial_fit_with_text(features):
    clf = new(features=features).partial_fit(STRINGS[:2], TAGS[:2]).partial_fit(
        STRINGS[2:], TAGS[2:]
    )  # fmt: skip
    assert clf.solution_.n_examples == 4
    assert clf.solution_.relative_gap <= 1e-4


def test_wrong_text():
    with pytest.raises(TypeError, match="X holds columns of text; say which features"):
        new().fit(Columns.from_sentences(SENTENCES), TAGS)
    with pytest.raises(TypeError, match=r"X\[1\]\[0\] is \('a',\); .* rows of 2 strings"):
        new(template="chunking").fit([SENTENCES[0], [("a",)]], [TAGS[0], ["O"]])
    with pytest.raises(ValueError, match=r"the template uses column 1 .* but the text has 1"):
        new(template="chunking").fit([["a"], ["b"]], [["O"], ["B"]])
    with pytest.raises(ValueError, match=r"y\[1\] has 1 labels but X\[1\] has 0 rows"):
        new().fit([STRINGS[0], []], [TAGS[0], ["O"]])
    clf = new().fit(STRINGS, TAGS)
    with pytest.raises(TypeError, match="holds matrices; the model was fitted with dicts"):
        clf.predict([np.eye(3)])
    on_numbers = new().fit([np.eye(2)], [["a", "b"]])
    with pytest.raises(TypeError, match="holds dict objects"):
        on_numbers.predict([[{"a": 1}]])


FEW = [[["x"], ["y"]], [["y"], ["y"]], [["z"], ["z"], ["x"]]]
INVALID = [["O", "I-A"], ["B-A", "I-A"], ["I-A", "O", "B-A"]]


class TestScheme:
    def test_prediction_is_valid_whatever_was_learned(self):
        free = new(C=100).fit(FEW, INVALID)
        assert free.predict(FEW) == INVALID
        constrained = new(C=100, scheme="IOB2").fit(FEW, INVALID)
        assert np.array_equal(free.w_, constrained.w_)
        for labels in constrained.predict(FEW):
            for before, label in zip(["O", *labels], labels, strict=False):
                assert label != "I-A" or before in ("B-A", "I-A")

    def test_training_under_the_scheme_needs_valid_labels(self):
        with pytest.raises(InvalidTruth, match=r"sequence 0, position 1: 'I-A' may not follow 'O'"):
            new(scheme="IOB2", scheme_in_training=True).fit(FEW, INVALID)

    def test_training_under_the_scheme_has_a_certificate_of_its_own(self):
        # Tokens that are all alike: labellings that are not valid compete with the true one.
        X, y = [[["x"]] * 3] * 2, [["O", "B-A", "I-A"], ["O", "O", "O"]]
        free = new(C=0.1, scheme="IOB2").fit(X, y).solution_
        constrained = new(C=0.1, scheme="IOB2", scheme_in_training=True).fit(X, y).solution_
        assert max(free.relative_gap, constrained.relative_gap) <= 1e-4
        # Without them the optimum is lower, by more than both gaps.
        assert constrained.primal < free.dual

    def test_labels_must_be_of_the_scheme(self):
        with pytest.raises(ValueError, match="S-A"):
            new(scheme="IOB2").fit(FEW[:1], [["S-A", "O"]])
        with pytest.raises(ValueError, match="'XYZ' is not a tagging scheme"):
            new(scheme="XYZ").fit(STRINGS, TAGS)

    def test_forced_labels(self):
        clf = new(scheme="IOB2").fit(STRINGS, TAGS)
        forced = [None, [None, "B-NP", None, None, None], None, None]
        predicted = clf.predict(STRINGS, forced=forced)
        assert predicted[1][1] == "B-NP"
        assert predicted[0] == TAGS[0]
        assert clf.predict_single(STRINGS[2], forced=["B-VP", None])[0] == "B-VP"
        with pytest.raises(
            ImpossibleConstraint, match=r"sequence 0, position 1: .*'I-NP' is forced"
        ):
            clf.predict(STRINGS[:1], forced=[["B-VP", "I-NP", None]])
        with pytest.raises(ValueError, match=r"forced\[0\]\[0\] is 'B-PP', which is not one of"):
            clf.predict(STRINGS[:1], forced=[["B-PP", None, None]])
        with pytest.raises(ValueError, match=r"forced\[0\] has 1 entries but X\[0\] has 3"):
            clf.predict(STRINGS[:1], forced=[[None]])


class TestHeldOut:
    def test_the_best_scoring_weights_are_returned(self):
        rng = np.random.default_rng(0)
        X = [[[f"a{k}" for k in rng.integers(0, 30, 3)] for _ in range(5)] for _ in range(60)]
        y = [[str(rng.integers(0, 3)) for _ in x] for x in X]  # noise: fitting it cannot help
        solver = taut.BCFW(order="permuted", averaging=True, refresh=1)
        clf = new(solver=solver, C=100.0, tol=1e-6, patience=4, max_passes=100)
        clf.fit(X[:40], y[:40], X_val=X[40:], y_val=y[40:])
        history = clf.solution_.history
        assert clf.score(X[40:], y[40:]) == history.score.max()
        assert clf.solution_.status is taut.Status.NO_BETTER_SCORE
        best = int(np.argmax(history.score))
        assert len(history) == best + 5
        assert clf.solution_.gap >= 0

    def test_without_held_out_data_there_is_no_score(self):
        clf = new().fit(STRINGS, TAGS)
        assert np.isnan(clf.solution_.history.score).all()


@pytest.mark.parametrize("kind", ["dicts", "columns", "dense", "sparse", "steps"])
def test_a_saved_model_predicts_the_same(kind, tmp_path):
    from scipy import sparse

    rng = np.random.default_rng(1)
    dense = [rng.normal(size=(len(x), 4)) for x in SENTENCES]
    X, options = {
        "dicts": (DICTS, {}),
        "columns": (SENTENCES, {"template": "chunking", "scheme": "IOB2"}),
        "dense": (dense, {}),
        "sparse": ([sparse.csr_array(x * (x > 0)) for x in dense], {}),
        "steps": ([(x, x[1:, :2]) for x in dense], {"boundary": False}),
    }[kind]
    clf = new(**options).fit(X, TAGS)
    clf.save(tmp_path / "model.taut")
    loaded = taut.load(tmp_path / "model.taut")
    assert loaded.predict(X) == clf.predict(X)
    assert loaded.solution_.primal == clf.solution_.primal
    assert loaded.solution_.dual == clf.solution_.dual
    assert str(loaded.solution_) == str(clf.solution_)
    assert np.array_equal(loaded.transitions_, clf.transitions_)
    largest = np.abs(clf.coef_).max()
    for name, weight in clf.state_features_.items():  # files round them
        assert abs(loaded.state_features_.get(name, 0.0) - weight) < 1e-5 * largest
    assert loaded.C == clf.C
    with pytest.raises(ValueError, match="loaded from a file"):
        loaded.partial_fit(X, TAGS)
    loaded.set_params(warm_start=True)
    with pytest.raises(ValueError, match="warm_start: this model was loaded from a file"):
        loaded.fit(X, TAGS)
    loaded.set_params(warm_start=False).fit(X, TAGS)
    assert np.array_equal(loaded.w_, clf.w_)
    if kind == "steps":
        assert loaded.transitions_.shape[0] == 2


@pytest.mark.parametrize(
    "labels", [np.array([3, 7]), np.array(["a", "bc"]), [True, False], [1, "x"], [0.5, 2.5]]
)
def test_labels_come_back_as_they_were(labels, tmp_path):
    y = [labels, labels[::-1]]
    clf = new().fit([np.eye(2), np.eye(2)[::-1]], y)
    clf.save(tmp_path / "model.taut")
    for one, other in zip(
        taut.load(tmp_path / "model.taut").predict([np.eye(2)]), clf.predict([np.eye(2)]),
        strict=True,
    ):  # fmt: skip
        assert type(one) is type(other)
        assert list(one) == list(other)
        assert [type(a) for a in one] == [type(b) for b in other]


def test_labels_that_no_file_can_hold(tmp_path):
    clf = new().fit([np.eye(2)], [[("a", 1), ("b", 2)]])
    with pytest.raises(TypeError, match=r"the label \('a', 1\) cannot be written"):
        clf.save(tmp_path / "model.taut")


def test_conll2000_reaches_its_usual_accuracy(real_data):
    from taut.datasets import load_conll2000

    (X, y), (X_test, y_test) = load_conll2000("train"), load_conll2000("test")
    solver = taut.BCFW(order="permuted", averaging=True, refresh=4)
    with pytest.warns(ConvergenceWarning):
        clf = ChainSVM(
            template="chunking", scheme="IOB2", solver=solver, max_passes=4, random_state=0
        ).fit(X[:2000], y[:2000])
    # 91.0 was measured; other shuffles move it by 0.1.
    assert span_f1(y_test, clf.predict(X_test)) > 0.90


@pytest.mark.parametrize("features", ["all", "observed"])
def test_held_out_data_must_have_the_same_features(features):
    from scipy import sparse

    X = [sparse.csr_array(np.eye(4)), sparse.csr_array(np.eye(4)[:2])]
    y = [["a", "b", "a", "b"], ["a", "b"]]
    wide = [sparse.csr_array((np.ones(2), ([0, 1], [3, 90])), shape=(2, 400))]
    with pytest.raises(ValueError, match=r"X_val has 400 features per row, .* with 4"):
        new(features=features).fit(X, y, X_val=wide, y_val=[["a", "b"]])
    with pytest.raises(ValueError, match="X_val has 1 sequences but y_val has 2"):
        new().fit(X, y, X_val=X[:1], y_val=y)
    with pytest.raises(ValueError, match="one of them was given"):
        new().fit(X, y, y_val=y)


def test_tokens_without_attributes_can_be_labelled():
    clf = new().fit(STRINGS, TAGS)
    assert len(clf.predict([[[], []]])[0]) == 2


def test_a_file_cannot_choose_where_a_later_run_writes(tmp_path):
    from taut.files.model_file import read_model, write_model

    new(template="w[0]").fit(SENTENCES, TAGS).save(tmp_path / "model.taut")
    header, arrays, _ = read_model(tmp_path / "model.taut")
    victim = tmp_path / "victim"
    header["options"] |= {"checkpoint": str(victim), "resume": True, "template": str(victim)}
    write_model(tmp_path / "model.taut", header, arrays)
    loaded = taut.load(tmp_path / "model.taut")
    assert (loaded.checkpoint, loaded.resume, loaded.template) == (None, False, "w[0]")


def test_empty_sequences_have_empty_labellings():
    clf = new().fit(STRINGS, TAGS)
    assert clf.predict([]) == []
    assert clf.predict([[], STRINGS[0], []]) == [[], TAGS[0], []]
    assert clf.predict([[], STRINGS[0]], forced=[None, ["B-VP", None, None]])[1][0] == "B-VP"


def test_arrays_of_objects_are_lists():
    X = np.empty(len(DICTS), object)
    X[:] = DICTS
    clf = new().fit(X, TAGS)
    assert clf.predict(X) == TAGS


def test_a_scheme_in_which_the_labels_write_no_span_is_refused():
    with pytest.raises(ValueError, match="no span can be written in IOBES with the labels"):
        new(scheme="IOBES").fit(STRINGS, TAGS)
    with pytest.raises(ValueError, match="scheme_in_training=True needs a scheme"):
        new(scheme_in_training=True).fit(STRINGS, TAGS)


def test_held_out_labels_that_are_of_no_scheme_are_refused_at_once():
    with pytest.raises(ValueError, match="y_val: the label 'FOO' does not belong"):
        new().fit(STRINGS, TAGS, X_val=STRINGS[:1], y_val=[["FOO", *TAGS[0][1:]]])
    numbers = new().fit(STRINGS, TAGS, X_val=STRINGS[:1], y_val=[[7, *TAGS[0][1:]]])
    assert numbers.solution_.score == pytest.approx(1.0 - 1.0 / len(TAGS[0]))


def test_a_warm_start_at_a_smaller_tol_takes_the_solver_for_it():
    rng = np.random.default_rng(0)
    X = [[[f"a{k}" for k in rng.integers(0, 300, 3)] for _ in range(5)] for _ in range(60)]
    y = [[f"L{int(token[0][1:]) % 3}" for token in x] for x in X]
    clf = new(C=1.0, tol=0.03).fit(X, y)
    assert clf.solution_.solver.averaging
    clf.set_params(tol=5e-3, warm_start=True).fit(X, y)
    assert not clf.solution_.solver.averaging
    assert clf.solution_.relative_gap <= 5e-3
    clf.set_params(tol=0.1).fit(X, y)
    assert clf.solution_.solver.averaging


def test_options_changed_before_more_sequences_come_are_checked():
    for wrong in ({"features": "bogus"}, {"loss": "bogus"}, {"scheme_in_training": True}):
        clf = new().fit(STRINGS, TAGS).set_params(**wrong)
        with pytest.raises(ValueError, match=next(iter(wrong))):
            clf.partial_fit(STRINGS, TAGS)
