"""The real files hold what their descriptions say."""

import time

import numpy as np
import pytest

from taut.datasets import load_conll2000, load_ocr_letters, load_usps


def test_ocr_letters(ocr_letters):
    X, y, fold = ocr_letters
    assert len(X) == len(y) == len(fold) == 6877
    lengths = [len(word) for word in y]
    assert [word.shape for word in X] == [(length, 128) for length in lengths]
    assert (sum(lengths), min(lengths), max(lengths)) == (52152, 3, 14)
    assert np.bincount(fold).tolist() == [626, 704, 684, 698, 693, 651, 739, 717, 690, 675]
    assert "".join(np.unique(np.concatenate(y))) == "abcdefghijklmnopqrstuvwxyz"
    assert np.unique(np.concatenate(X)).tolist() == [0.0, 1.0]
    assert "".join(y[0]) == "ommanding"


def test_the_words_are_views_of_one_array(ocr_letters):
    X, y, _ = ocr_letters
    assert len({id(word.base) for word in X}) == len({id(word.base) for word in y}) == 1


def test_ocr_letters_load_quickly(real_data):
    # CPU time, because the machine may be busy; the bound is about four times what it takes.
    start = time.process_time()
    load_ocr_letters(real_data)
    assert time.process_time() - start < 1.5


def test_ocr_small_is_fold_zero(ocr_small):
    X, y = ocr_small
    assert len(X) == len(y) == 626


@pytest.mark.parametrize(
    ("subset", "n_sentences", "n_tokens", "n_tags", "n_parts_of_speech", "longest"),
    [("train", 8936, 211727, 22, 44, 78), ("test", 2012, 47377, 19, 43, 70)],
)
def test_conll2000(real_data, subset, n_sentences, n_tokens, n_tags, n_parts_of_speech, longest):
    sentences, tags = load_conll2000(subset, real_data)
    lengths = [len(sentence) for sentence in sentences]
    assert lengths == [len(row) for row in tags]
    assert (len(lengths), sum(lengths), max(lengths)) == (n_sentences, n_tokens, longest)
    assert len({tag for row in tags for tag in row}) == n_tags
    assert len({pos for sentence in sentences for _, pos in sentence}) == n_parts_of_speech
    assert ("I-LST" in {tag for row in tags for tag in row}) == (subset == "test")


def test_usps(real_data):
    X_train, y_train, X_test, y_test = load_usps(real_data)
    assert X_train.shape == (7291, 256)
    assert X_test.shape == (2007, 256)
    counts = [1194, 1005, 731, 658, 652, 556, 664, 645, 542, 644]
    assert np.bincount(y_train).tolist() == counts
    assert np.bincount(y_test).tolist() == [359, 264, 198, 166, 200, 160, 170, 147, 166, 177]
    for X in (X_train, X_test):
        assert X.dtype == np.float64
        assert (X.min(), X.max()) == (-1.0, 1.0)
