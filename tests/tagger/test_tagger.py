"""A Tagger answers as the compiled model does: label for label, ties included."""

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import taut
from taut import ChainCRF, ChainSVM
from taut.constraints import ImpossibleConstraint
from taut.tagger import Tagger, tagger, weights
from taut.tagger.best_labels import best_labels, steps_of
from taut.tagger.items import ItemReader
from taut.tagger.ties import viterbi

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
WORDS = ["the", "cat", "sat", "on", "a", "mat", "dog", "ran", "New", "York"]


def sentences(n=40, seed=0):
    """Random words with labels that depend on them and on what came before."""
    random = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        words = random.choice(WORDS, random.integers(1, 8)).tolist()
        numbers = [WORDS.index(word) for word in words]
        before = [0, *numbers[:-1]]
        y.append([f"L{(k + (b % 3 == 0)) % 5}" for k, b in zip(numbers, before, strict=True)])
        X.append(words)
    return X, y


def as_dicts(words):
    tokens = [
        {"w": word, "cap": word[0].isupper(), "n": len(word), "s": [word[:1], word[-1:]]}
        for word in words
    ]
    for t, token in enumerate(tokens[1:]):
        token["before"] = {"w": tokens[t]["w"], "cap": tokens[t]["cap"]}
    return tokens


def as_plain_dicts(words):
    tokens = [{"w": word, "cap": word[0].isupper(), "bias": 1.0} for word in words]
    for t in range(1, len(tokens)):
        tokens[t] = {**tokens[t], "before": dict(tokens[t - 1], **{"before": "no"})}
    return tokens


def as_lists(words):
    return [[f"w={word}", f"s={word[-1]}", "bias"] for word in words]


def as_numbers(words):
    return np.eye(len(WORDS))[[WORDS.index(word) for word in words]] + 0.25


FORMS = {
    "words": list,
    "dicts": as_dicts,
    "plain dicts": as_plain_dicts,
    "lists": as_lists,
    "numbers": as_numbers,
}
TEMPLATES = {
    "template": "w[-1..1]; w[0]|w[1]",
    "template with steps": "w[0]; step: w[0]",
    "crf++": "U00:%x[0,0]\nU01:%x[-1,0]/%x[0,0]\nB\n",
}
KINDS = {
    "svm": lambda **options: ChainSVM(random_state=0, **options),
    "crf": lambda **options: ChainCRF(random_state=0, max_passes=5, tol=1e-2, **options),
}


def saved(clf, folder):
    clf.save(folder / "model.taut")
    return Tagger(folder / "model.taut"), taut.load(folder / "model.taut")


def trained(kind, form, labels=None, **options):
    X, y = sentences()
    make = FORMS.get(form, list)
    if form in TEMPLATES:
        options["template"] = TEMPLATES[form]
    y = y if labels is None else [[labels(label) for label in part] for part in y]
    return KINDS[kind](**options).fit([make(x) for x in X], y), make


ALL = [(kind, form) for kind in KINDS for form in (*FORMS, *TEMPLATES)]


@pytest.fixture(scope="module", params=ALL, ids=str)
def pair(request, tmp_path_factory):
    kind, form = request.param
    clf, make = trained(kind, form)
    return (*saved(clf, tmp_path_factory.mktemp("model")), make)


def test_labels_are_those_of_the_compiled_model(pair):
    found, model, make = pair
    X = [make(x) for x in sentences(60, seed=1)[0]]
    expected = [list(y) for y in model.predict(X)]
    assert [list(found.tag(x)) for x in X] == expected
    assert [list(y) for y in found.tag_many(X)] == expected


def test_labels_under_forced_ones(pair):
    found, model, make = pair
    X = [make(x) for x in sentences(20, seed=2)[0]]
    forced = [[label if t % 2 else None for t, label in enumerate(["L1"] * len(x))] for x in X]
    expected = [list(y) for y in model.predict(X, forced)]
    assert [list(found.tag(x, f)) for x, f in zip(X, forced, strict=True)] == expected
    assert [list(y) for y in found.tag_many(X, forced)] == expected


def test_probabilities_are_those_of_the_compiled_model(pair):
    found, model, make = pair
    X, y = ([make(x) for x in sentences(10, seed=3)[0]], sentences(10, seed=3)[1])
    if not isinstance(model, ChainCRF):
        for ask, more in ((found.marginals, ()), (found.nbest, (2,)), (found.probability, (y[0],))):
            with pytest.raises(ValueError, match="the model is an SVM, which has scores and no"):
                ask(X[0], *more)
        return
    for x, expected in zip(X, model.predict_marginals(X), strict=True):
        assert found.marginals(x) == pytest.approx(expected, abs=1e-12)
    for x, expected in zip(X, model.predict_nbest(X, 5), strict=True):
        got = found.nbest(x, 5)
        assert [list(labels) for labels, _ in got] == [list(labels) for labels, _ in expected]
        assert [p for _, p in got] == pytest.approx([p for _, p in expected], abs=1e-12)
        assert found.probability(x, got[0][0]) == pytest.approx(got[0][1], abs=1e-12)


def test_marginals_under_forced_labels(tmp_path):
    clf, make = trained("crf", "lists")
    found, model = saved(clf, tmp_path)
    x, forced = make(["the", "cat", "sat"]), [None, "L2", None]
    expected = model.predict_marginals([x], [forced])[0]
    assert found.marginals(x, forced) == pytest.approx(expected, abs=1e-12)


def test_posterior_decoding(tmp_path):
    clf, make = trained("crf", "lists", decoding="posterior")
    found, model = saved(clf, tmp_path)
    X = [make(x) for x in sentences(30, seed=4)[0]]
    assert found.tag_many(X) == model.predict(X)


# --- schemes --------------------------------------------------------------------------------------


def bio(label):
    return {"L0": "O", "L1": "B-X", "L2": "I-X", "L3": "B-Y", "L4": "I-Y"}[label]


def legal(y):
    """The labels with every misplaced I made a B."""
    out, before = [], "O"
    for label in y:
        if label[0] == "I" and before[1:] != label[1:]:
            label = "B" + label[1:]
        out.append(label)
        before = label
    return out


@pytest.fixture(scope="module", params=["viterbi", "posterior"])
def of_scheme(request, tmp_path_factory):
    X, y = sentences()
    clf = ChainCRF(random_state=0, max_passes=5, tol=1e-2, scheme="IOB2", decoding=request.param)
    clf.fit([as_lists(x) for x in X], [legal(map(bio, part)) for part in y])
    return saved(clf, tmp_path_factory.mktemp("scheme"))


def test_labels_keep_to_the_scheme(of_scheme):
    found, model = of_scheme
    X = [as_lists(x) for x in sentences(40, seed=5)[0]]
    assert found.tag_many(X) == [found.tag(x) for x in X] == model.predict(X)
    for x, expected in zip(X, model.predict_marginals(X), strict=True):
        assert found.marginals(x) == pytest.approx(expected, abs=1e-12)
    assert [y for y, _ in found.nbest(X[0], 3)] == [y for y, _ in model.predict_nbest(X[:1], 3)[0]]


def test_what_cannot_be_is_an_error_that_says_where(of_scheme):
    found, model = of_scheme
    x, forced = as_lists(["the", "cat"]), ["O", "I-X"]
    with pytest.raises(ImpossibleConstraint) as expected:
        model.predict([x, x], [None, forced])
    with pytest.raises(ImpossibleConstraint) as got:
        found.tag_many([x, x], [None, forced])
    assert str(got.value) == str(expected.value)
    with pytest.raises(ImpossibleConstraint, match="'I-X' is forced, before it there can only be"):
        found.marginals(x, forced)


# --- ties -----------------------------------------------------------------------------------------


def rounded_model(n_labels, form, kind="svm"):
    """Weights that are multiples of 1/4: many labellings are as good as each other."""
    random = np.random.default_rng(n_labels)
    X = [FORMS[form](x) for x in sentences(60)[0]]
    y = [random.integers(0, n_labels, len(x)).tolist() for x in X]
    clf = KINDS[kind]().fit(X, y)
    w = clf.solution_.w
    w[:] = random.choice([-0.25, 0.0, 0.25, 0.5], len(w))
    return clf


@pytest.mark.parametrize("form", ["lists", "dicts", "words"])
@pytest.mark.parametrize("n_labels", [2, 5, 13, 70])
def test_ties_are_decided_alike(n_labels, form, tmp_path):
    found, model = saved(rounded_model(n_labels, form), tmp_path)
    X = [FORMS[form](x) for x in sentences(80, seed=6)[0]]
    assert found.tag_many(X) == [found.tag(x) for x in X] == model.predict(X)


@given(st.lists(st.integers(1, 5), min_size=1, max_size=5), st.integers(1, 4), st.randoms())
@settings(max_examples=100)
def test_the_search_finds_the_best_or_says_that_there_is_a_tie(lengths, n_labels, random):
    lengths = np.array(lengths)
    scores = [-np.inf, 0.0, 0.5, 1.0, 1.25]
    pair, theta = (
        np.array([[random.choice(scores) for _ in range(n_labels)] for _ in range(n)])
        for n in (n_labels, int(lengths.sum()))
    )
    pair[0] = np.maximum(pair[0], 0.0)
    pair[:, 0] = np.maximum(pair[:, 0], 0.0)
    theta[:, 0] = np.maximum(theta[:, 0], 0.0)
    labels, ties = best_labels(theta, lengths, steps_of(pair))
    first = np.cumsum(lengths) - lengths
    for i, (at, n) in enumerate(zip(first, lengths, strict=True)):
        if i not in ties:
            assert labels[at : at + n].tolist() == viterbi(theta[at : at + n], pair[None]).tolist()


# --- what may be asked ----------------------------------------------------------------------------


def test_labels_that_are_arrays_come_back_as_arrays(tmp_path):
    X, y = sentences()
    numbers = [np.array([int(label[1]) for label in part]) for part in y]
    clf = ChainSVM(random_state=0).fit([as_numbers(x) for x in X], numbers)
    found, model = saved(clf, tmp_path)
    (expected,) = model.predict([as_numbers(["the", "cat"])])
    got = found.tag(as_numbers(["the", "cat"]))
    assert got.dtype == expected.dtype
    assert got.tolist() == expected.tolist()


def test_nothing_has_no_labels(tmp_path):
    found, _ = saved(trained("crf", "lists")[0], tmp_path)
    assert found.tag([]) == []
    assert found.tag_many([]) == []
    assert found.tag_many([[], [["w=the"]], []])[::2] == [[], []]
    assert found.marginals([]).shape == (0, 5)
    assert found.nbest([], 3) == [([], 1.0)]
    assert found.probability([], []) == 1.0


def test_a_token_without_known_attributes_has_a_label(tmp_path):
    found, model = saved(trained("svm", "lists")[0], tmp_path)
    X = [[[], ["never seen"]], [["w=the"], []]]
    assert found.tag_many(X) == [found.tag(x) for x in X] == model.predict(X)


def test_a_batch_may_hold_all_kinds_of_tokens(tmp_path, monkeypatch):
    clf, make = trained("crf", "dicts")
    found, model = saved(clf, tmp_path)
    X = [make(x) for x in sentences(30, seed=8)[0]]
    X[3:3] = [[{}, {"w": "cat", "n": 2.5}], [["cap"], "w:cat", {"w": "the"}], [{"new": "?"}], []]
    expected = model.predict(X)
    assert found.tag_many(X) == [found.tag(x) for x in X] == expected
    monkeypatch.setattr(weights, "ROWS_AT_ONCE", 7)
    assert found.tag_many(X) == expected
    with pytest.raises(TypeError, match=r"sequences\[2\]\[1\]: a token is a int"):
        found.tag_many([X[0], X[3], [{}, 3]])


@pytest.mark.parametrize(
    ("items", "error"),
    [
        ([{"w": None}], r"items\[0\]: 'w' is None; a string, a number"),
        ([["w"], 3], r"items\[1\]: a token is a int; a dict or a list"),
        ([{3: "w"}], r"items\[0\]: the attribute name 3 is not a string"),
        ([{"w": float("nan")}], r"items\[0\]: 'w' is nan; replace it or leave it out"),
        ("word", "items is a string; a list of tokens is expected"),
    ],
)
def test_what_is_no_token_is_an_error_that_names_it(items, error, tmp_path):
    found, _ = saved(trained("svm", "lists")[0], tmp_path)
    with pytest.raises((TypeError, ValueError), match=error):
        found.tag(items)


def test_forced_labels_that_do_not_fit(tmp_path):
    found, _ = saved(trained("svm", "lists")[0], tmp_path)
    with pytest.raises(ValueError, match=r"forced\[1\] is 'X', which is not one of the labels"):
        found.tag([["a"], ["b"]], [None, "X"])
    with pytest.raises(ValueError, match="forced has 1 labels for 2 positions"):
        found.tag([["a"], ["b"]], [None])
    with pytest.raises(ValueError, match="k=0; expected the number of labellings"):
        saved(trained("crf", "lists")[0], tmp_path)[0].nbest([["a"]], 0)


def test_rows_of_numbers_that_do_not_fit(tmp_path):
    found, _ = saved(trained("svm", "numbers")[0], tmp_path)
    with pytest.raises(ValueError, match="the model was fitted with rows of 10 numbers"):
        found.tag(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="not finite"):
        found.tag(np.full((2, 10), np.nan))


def test_tables_grow_by_attributes_of_the_model_alone():
    reader = ItemReader(["w:the", "cap", "before:w:the"])
    for k in range(50):
        inner = {"w": str(k), f"k{k}": 1}
        reader.read([[{"w": f"x{k}", f"key{k}": "the", "before": inner, f"d{k}": {"w": "the"}}]])
    assert not reader._keys
    known = {"w": "the", "cap": True, "before": {"w": "the"}}
    assert reader.read([[known]]).ids.tolist() == [0, 1, 2]
    assert set(reader._keys) == {"w", "cap", "before"}
    for k in range(50):
        reader.read([[{"w": f"x{k}", "before": {"w": str(k)}}]])
    assert sum(map(len, (reader._keys["w"], reader._keys["cap"], reader._keys["before"].inner))) < 8


def test_many_threads_ask_at_once(tmp_path):
    clf, make = trained("crf", "plain dicts")
    found, model = saved(clf, tmp_path)
    X = [make(x) for x in sentences(60, seed=7)[0]]
    expected, start = model.predict(X), threading.Barrier(4)

    def ask(_):
        start.wait(60)
        return [found.tag(x) for x in X], [found.marginals(x) for x in X[:5]]

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(ask, range(4)))
    assert all(labels == expected for labels, _ in answers)


def test_it_says_what_it_is(tmp_path):
    assert "CRF with 5 labels" in repr(saved(trained("crf", "lists")[0], tmp_path)[0])


ALONE = """
import sys
for name in ("numba", "scipy", "sklearn", "llvmlite", "pandas"):
    sys.modules[name] = None  # importing it is an error
import taut
found = taut.Tagger(sys.argv[1])
print(found.tag(eval(sys.argv[2])))
"""


@pytest.mark.parametrize("form", ["lists", "dicts", "words", "numbers", *TEMPLATES])
def test_numpy_is_all_it_needs(form, tmp_path):
    clf, make = trained("svm", form)
    _, model = saved(clf, tmp_path)
    x = make(["the", "cat", "sat"]) if form != "numbers" else as_numbers(["the", "cat"])
    shown = repr(x.tolist() if form == "numbers" else x)
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(0o500)
    environment = {
        "PYTHONPATH": os.pathsep.join(sys.path), "HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", ALONE, str(tmp_path / "model.taut"), shown],
        capture_output=True, text=True, env=environment, cwd=tmp_path,
    )  # fmt: skip
    assert done.stderr == ""
    assert done.stdout.strip() == str(list(model.predict([x])[0]))
    assert list(home.iterdir()) == []


def test_the_public_name():
    assert taut.Tagger is tagger.Tagger
