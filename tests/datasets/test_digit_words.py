"""Digit words: real images in a language in which context helps."""

from itertools import pairwise

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from taut.datasets import make_digit_words
from taut.datasets.digit_words import FOLLOWER_PROBABILITIES, FOLLOWERS


@pytest.fixture(scope="module")
def transitions():
    """P[a, b]: the probability that b follows a."""
    P = np.zeros((10, 10))
    for followers, probability in zip(FOLLOWERS, FOLLOWER_PROBABILITIES, strict=True):
        P[np.arange(10), followers] += probability
    return P


def test_every_digit_has_three_followers_other_than_itself(transitions):
    assert (np.count_nonzero(transitions, axis=1) == 3).all()
    assert not np.diag(transitions).any()


def test_all_digits_are_equally_frequent_and_any_can_lead_to_any(transitions):
    # Doubly stochastic, up to the rounding of a sum of three numbers.
    np.testing.assert_allclose(transitions.sum(axis=0), 1.0, rtol=1e-15)
    np.testing.assert_allclose(transitions.sum(axis=1), 1.0, rtol=1e-15)
    assert (np.linalg.matrix_power(transitions, 5) > 0).all()


def test_words_have_the_promised_shape():
    X, y = make_digit_words(200, lengths=(2, 5))
    assert {len(word) for word in y} == {2, 3, 4, 5}
    assert [word.shape for word in X] == [(len(word), 64) for word in y]
    assert all(word.dtype == np.float64 for word in X)
    assert all(word.dtype == np.int64 for word in y)
    assert min(word.min() for word in X) >= 0.0
    assert max(word.max() for word in X) <= 1.0


def test_words_obey_the_language(transitions):
    _, y = make_digit_words(300)
    assert all(transitions[a, b] > 0 for word in y for a, b in pairwise(word))


def test_the_seed_fixes_everything():
    (X, y), (X_again, y_again) = make_digit_words(20), make_digit_words(20)
    np.testing.assert_array_equal(np.concatenate(X), np.concatenate(X_again))
    np.testing.assert_array_equal(np.concatenate(y), np.concatenate(y_again))
    _, y_other = make_digit_words(20, random_state=1)
    assert [word.tolist() for word in y] != [word.tolist() for word in y_other]


def test_train_and_test_share_neither_images_nor_words():
    clean = {"noise": 0.0, "occlusion": 0.0}
    X_train, y_train = make_digit_words(600, **clean)
    X_test, y_test = make_digit_words(600, images="test", **clean)
    train = {row.tobytes() for row in np.concatenate(X_train)}
    test = {row.tobytes() for row in np.concatenate(X_test)}
    assert not train & test
    assert y_train[0].tolist() != y_test[0].tolist()


def test_clean_images_show_their_digit():
    X, y = make_digit_words(100, noise=0.0, occlusion=0.0)
    pixels, digits = load_digits(return_X_y=True)
    shown = {(row / 16.0).tobytes(): digit for row, digit in zip(pixels, digits, strict=True)}
    assert [shown[row.tobytes()] for row in np.concatenate(X)] == np.concatenate(y).tolist()


def test_occlusion_blanks_one_half():
    X, _ = make_digit_words(50, noise=0.0, occlusion=1.0)
    for square in np.concatenate(X).reshape(-1, 8, 8):
        halves = (square[:4], square[4:], square[:, :4], square[:, 4:])
        assert any(not half.any() for half in halves)


def test_context_helps(transitions):
    """Decoding with the language removes more than half of the errors of reading digit by digit."""
    X, y = make_digit_words(300)
    reader = LogisticRegression(C=0.3, max_iter=1000).fit(np.concatenate(X), np.concatenate(y))
    X_test, y_test = make_digit_words(300, images="test")
    with np.errstate(divide="ignore"):
        log_transitions = np.log(transitions)
    alone = in_context = 0
    for images, digits in zip(X_test, y_test, strict=True):
        scores = reader.predict_log_proba(images)
        alone += np.count_nonzero(scores.argmax(axis=1) != digits)
        in_context += np.count_nonzero(best_path(scores, log_transitions) != digits)
    n_digits = sum(len(word) for word in y_test)
    # Seen: 21 % and 5 %. The bounds leave room for other versions of the classifier.
    assert alone > 0.15 * n_digits
    assert in_context < 0.5 * alone


def best_path(scores, transitions):
    """argmax over paths of the summed scores and transitions, in plain NumPy."""
    best, choices = scores[0], []
    for row in scores[1:]:
        through = best[:, None] + transitions
        choices.append(through.argmax(axis=0))
        best = through.max(axis=0) + row
    path = [best.argmax()]
    for choice in reversed(choices):
        path.append(choice[path[-1]])
    return np.array(path[::-1])


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"n_words": 0}, "n_words must be at least 1, not 0"),
        ({"lengths": (5, 4)}, r"lengths .* not \(5, 4\)"),
        ({"images": "both"}, "images must be 'train' or 'test', not 'both'"),
        ({"noise": -0.1}, r"noise .* -0\.1"),
        ({"occlusion": 1.5}, r"occlusion .* 1\.5"),
    ],
)
def test_impossible_options_are_named(options, complaint):
    with pytest.raises(ValueError, match=complaint):
        make_digit_words(**options)
