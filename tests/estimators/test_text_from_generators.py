"""Text may come from a generator: the model is the same, and no more is held than a block."""

import weakref

import numpy as np
import pytest

from taut import ChainCRF, ChainSVM
from taut.datasets import make_appointments
from taut.text.dicts import BLOCK

SENTENCES, TAGS = make_appointments(60)
FEW = {"C": 0.1, "tol": 0.5, "random_state": 0, "verbose": False}
DICTS = [[{"w": word, "p": part} for word, part in rows] for rows in SENTENCES]
NAMES = [[[f"w={word}", part] for word, part in rows] for rows in SENTENCES]
MATRICES = [np.eye(7)[[len(word) % 7 for word, _ in rows]] for rows in SENTENCES]


@pytest.mark.parametrize("estimator", [ChainSVM, ChainCRF])
@pytest.mark.parametrize(
    ("X", "options"),
    [
        (DICTS, {}),
        (NAMES, {}),
        (SENTENCES, {"template": "w[-1..1]; pos[0]"}),
        (MATRICES, {}),
        ([[[], *tokens] for tokens in NAMES], {}),  # the first token does not tell what it is
    ],
)
def test_a_generator_gives_the_same_model_as_a_list(estimator, X, options):
    y = [tags + ["O"] * (len(x) - len(tags)) for x, tags in zip(X, TAGS, strict=True)]
    one = estimator(**FEW, **options).fit(X, y)
    other = estimator(**FEW, **options).fit((x for x in X), y)
    assert np.array_equal(one.solution_.w, other.solution_.w)
    assert other.predict(x for x in X) == one.predict(X)
    assert other.score(iter(X), y) == one.score(X, y)


def test_held_out_text_and_more_text_may_be_generated_too():
    first, rest = slice(0, 40), slice(40, None)
    found = []
    for given in (list, iter):
        clf = ChainSVM(**FEW)
        held_out = {"X_val": given(DICTS[rest]), "y_val": TAGS[rest]}
        clf.fit(given(DICTS[first]), TAGS[first], **held_out)
        scores = clf.solution_.history.score.tolist()
        clf.partial_fit(given(DICTS[rest]), TAGS[rest])
        found.append((scores, clf.solution_.w.tolist()))
    assert found[0] == found[1]


def test_empty_sequences_are_predicted_from_a_generator_as_from_a_list():
    clf = ChainSVM(**FEW).fit(DICTS, TAGS)
    some = [[], *DICTS[:2], []]
    assert clf.predict(iter(some)) == clf.predict(some)


@pytest.mark.parametrize("given", [list, iter])
@pytest.mark.parametrize(
    ("X", "options"),
    [
        (DICTS, {}),
        (SENTENCES, {"template": "w[0]"}),
        (MATRICES, {}),
        ([list(map(list, x)) for x in MATRICES], {}),
    ],
)
def test_nothing_is_learned_from_empty_sequences(given, X, options):
    some, y = [[], *X[:30], [], *X[30:]], [[], *TAGS[:30], [], *TAGS[30:]]
    weights = [9.0, *[1.0] * 30, 9.0, *[1.0] * 30]
    options = {**FEW, "C": 10.0, "tol": 0.01, **options}
    clf = ChainCRF(**options).fit(given(some), y, weights, X_val=given(some), y_val=y)
    without = ChainCRF(**options).fit(X, TAGS, X_val=X, y_val=TAGS)
    assert np.array_equal(clf.solution_.w, without.solution_.w)
    assert clf.score(given(some), y, weights) == without.score(X, TAGS)
    assert clf.partial_fit(given([[], X[0]]), [[], TAGS[0]]).solution_.n_examples == 61


def test_sequences_may_be_generators_of_tokens():
    def generated():
        return [(token for token in x) for x in DICTS]

    clf = ChainSVM(**FEW).fit(generated(), TAGS)
    assert np.array_equal(clf.solution_.w, ChainSVM(**FEW).fit(DICTS, TAGS).solution_.w)
    assert clf.predict(generated()) == clf.predict(DICTS) == clf.predict(iter(generated()))


class Sentence(list):
    """A list that can be watched."""


@pytest.mark.parametrize("template", [None, "w[0]"])
def test_no_more_sentences_are_held_than_a_block_has(template):
    alive: weakref.WeakSet = weakref.WeakSet()
    n, most = 4 * BLOCK, 0

    def sentences():
        nonlocal most
        for i in range(n):
            word = str(i % 50)
            sentence = Sentence([{"w": word}] if template is None else [word])
            alive.add(Alive(sentence))
            most = max(most, len(alive))
            yield sentence

    class Alive:
        """In the set as long as the sentence is."""

        def __init__(self, sentence):
            sentence.itself = self

    ChainSVM(**FEW, template=template).fit(sentences(), [["A"], ["B"]] * (n // 2))
    assert 1 < most <= 2 * BLOCK


@pytest.mark.parametrize(
    ("wrong", "options", "place"),
    [
        ([{"w": None}], {}, r"X\[2500\]\[0\]: 'w' is None"),
        ([{"w": "a"}, 3], {}, r"X\[2500\]\[1\]: a token is a int"),
        ((), {}, r"y\[2500\] has 1 labels but X\[2500\] has 0 rows"),
        (np.eye(2), {}, "X holds matrices"),
        ([("a", "b")], {"template": "w[0]"}, r"X\[2500\]\[0\] is \('a', 'b'\); all tokens must"),
    ],
)
def test_errors_name_the_place_however_far_it_is(wrong, options, place):
    right = [("a",)] if options else [{"w": "a"}]

    def sentences():
        for _ in range(2500):
            yield right
        yield wrong

    with pytest.raises((TypeError, ValueError), match=place):
        ChainSVM(**FEW, **options).fit(sentences(), [["A"]] * 2501)


def test_a_generator_can_be_used_once():
    used = iter(DICTS)
    ChainSVM(**FEW).fit(used, TAGS)
    with pytest.raises(ValueError, match="X has no sequences"):
        ChainSVM(**FEW).fit(used, TAGS)


def test_labels_are_a_list():
    with pytest.raises(TypeError, match="y is a generator; a list of label sequences"):
        ChainSVM(**FEW).fit(DICTS, (tags for tags in TAGS))
