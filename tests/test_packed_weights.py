"""Weights in model files: few bytes, and no score that differs by more than is said."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as of_numpy
from scipy import sparse

import taut
from taut import ChainCRF, ChainSVM
from taut.chain.file import load_chain, save_chain
from taut.chain.packed_weights import HALF_A_BIT, SMALLEST, laid_out, pack_weights, rounded
from taut.chain.stored_weights import sparse_weights
from taut.datasets import load_conll2000, make_appointments
from taut.files.model_file import ModelFileError, read_model, write_model

WEIGHTS = st.floats(allow_nan=False, allow_infinity=False)


@given(
    of_numpy.arrays(np.float64, of_numpy.array_shapes(min_dims=2, max_dims=2), elements=WEIGHTS),
    st.sampled_from([0.0, 1e-5, 1.0, 1e300]),
)
@example(np.array([[1e300, 1.0]]), 1e-5)  # more than 32 bits hold
@example(np.array([[1e-60, 1e-300]]), 0.0)  # less
@example(np.array([[1e-42, 3.3e-43]]), 0.0)  # few of the 32 bits
@example(np.array([[1e-42, 1.0]]), 1e-5)
@example(np.zeros((2, 3)), 1.0)
def test_large_weights_are_rounded_and_small_ones_left_out(exact, limit):
    stored, change = rounded(sparse.csr_array(exact), limit)
    weights = stored.toarray().astype(np.float64)
    differences = np.abs(weights - exact)
    assert differences.max() == change
    is_large = np.abs(exact) >= limit
    assert np.all(differences[is_large] <= HALF_A_BIT * np.abs(exact[is_large]))
    assert np.all(weights[~is_large] == 0)
    assert np.all(stored.data != 0)
    again, nothing = rounded(stored.astype(np.float64), 0.0)
    assert nothing == 0
    assert np.array_equal(again.toarray(), stored.toarray())


@given(st.integers(1, 40), st.floats(0.02, 1.0), st.integers(0, 99))
def test_weights_come_back_in_either_form(n_labels, share, seed):
    weights = sparse.random_array((30, n_labels), density=share, rng=seed, format="csr")
    weights = weights[np.diff(weights.indptr) > 0]
    arrays = pack_weights(weights)
    (pointer, state), w = laid_out(
        sparse_weights(arrays, *weights.shape, numbered=False), *weights.shape
    )
    attribute = np.repeat(np.arange(weights.shape[0]), np.diff(pointer))
    kept = state >= 0
    back = np.zeros(weights.shape)
    back[attribute[kept], state[kept]] = w[kept]
    assert np.array_equal(back, weights.toarray())
    smaller = min(weights.shape[0] + weights.nnz, weights.shape[0] * -(-n_labels // 8))
    assert sum(array.nbytes for array in arrays.values()) == smaller + weights.data.nbytes


TEXT = make_appointments(60)


@pytest.fixture(scope="module")
def crf():
    return ChainCRF(template="chunking", random_state=0).fit(*TEXT)


def largest_difference(trained, stored):
    assert stored.keys() <= trained.keys()
    return max(abs(weight - stored.get(name, 0.0)) for name, weight in trained.items())


def test_a_model_says_how_far_its_weights_are_from_the_trained_ones(crf, tmp_path):
    crf.save(tmp_path / "crf.taut")
    again = taut.load(tmp_path / "crf.taut")
    change = read_model(tmp_path / "crf.taut").header["weight_change"]
    assert 0 < largest_difference(crf.state_features_, again.state_features_) == change
    assert change < SMALLEST
    for name in ("transitions_", "intercept_", "begin_", "end_"):  # few, and whole
        assert np.array_equal(getattr(again, name), getattr(crf, name))


def test_an_SVM_keeps_its_small_weights(tmp_path):
    clf = ChainSVM(template="chunking", C=1e-7, random_state=0).fit(*TEXT)
    clf.save(tmp_path / "svm.taut")
    stored = taut.load(tmp_path / "svm.taut").state_features_
    assert stored.keys() == clf.state_features_.keys()
    assert 0 < max(map(abs, stored.values())) < SMALLEST


@pytest.mark.parametrize("value", [1e-2, 1e4])
def test_what_is_small_depends_on_the_values(value, tmp_path):
    """Attributes of value 10,000 have weights of 1/10,000, and the same scores."""
    X = [[{word: value for word in (*row, "all")} for row in rows] for rows in TEXT[0]]
    clf = ChainCRF(C=1 / value**2, solver="lbfgs", tol=1e-3).fit(X, TEXT[1])
    clf.save(tmp_path / "crf.taut")
    again = taut.load(tmp_path / "crf.taut")
    difference = largest_difference(clf.state_features_, again.state_features_)
    assert difference * value < SMALLEST
    np.testing.assert_allclose(
        np.concatenate(again.predict_proba(X)), np.concatenate(clf.predict_proba(X)), atol=1e-3
    )


def test_attributes_with_tiny_weights_alone_are_left_out(crf, tmp_path):
    crf.save(tmp_path / "crf.taut")
    model, _ = load_chain(tmp_path / "crf.taut")
    w = model.w.copy()
    w[: model.layout.features.weight_pointer[1]] *= 1e-5
    tiny = replace(model, solution=replace(model.solution, w=w))
    save_chain(tiny, tmp_path / "all.taut")
    save_chain(replace(tiny, largest_value=1.0), tmp_path / "less.taut")
    every, less = (load_chain(tmp_path / name)[0] for name in ("all.taut", "less.taut"))
    assert list(every.attribute_names()) == list(model.attribute_names())
    assert list(less.attribute_names()) == list(model.attribute_names())[1:]


def test_what_is_saved_again_is_the_same(crf, tmp_path):
    crf.save(tmp_path / "once.taut")
    model, header = load_chain(tmp_path / "once.taut")
    save_chain(model, tmp_path / "twice.taut", header["options"])
    assert (tmp_path / "once.taut").read_bytes() == (tmp_path / "twice.taut").read_bytes()


def test_weights_of_dense_features_are_whole(tmp_path):
    X = [np.eye(3)[[0, 1, 2]] / 3, np.eye(3)[[1, 0, 2]]]
    clf = ChainSVM(random_state=0).fit(X, [["a", "b", "a"], ["b", "a", "b"]])
    clf.save(tmp_path / "dense.taut")
    assert np.array_equal(taut.load(tmp_path / "dense.taut").w_, clf.w_)
    assert read_model(tmp_path / "dense.taut").header["weight_change"] == 0


@pytest.mark.parametrize("of_one", [1e-60, 1e60])
def test_weights_beyond_32_bits_are_whole(of_one, tmp_path):
    X = [sparse.csr_array(np.eye(3)[[0, 1, 2]] * of_one)] * 2
    clf = ChainSVM(random_state=0, C=1.0 / of_one).fit(X, [["a", "b", "a"]] * 2)
    clf.save(tmp_path / "large.taut")
    again = taut.load(tmp_path / "large.taut")
    assert again.state_features_ == clf.state_features_
    assert read_model(tmp_path / "large.taut").arrays["weights.value"].dtype == np.float64


def test_bits_are_of_labels_that_there_are(crf, tmp_path):
    path = tmp_path / "bits.taut"
    crf.save(path)
    header, arrays, _ = read_model(path)
    bits = arrays["weights.labels"]
    assert bits.shape[1] == 2  # 9 labels
    for wrong in (
        bits | np.array([0, 128], np.uint8),
        bits & 0,
        bits[:, :1],
        bits[:-1],
        np.hstack([bits, bits]),
        bits.astype(np.int32),
        bits.ravel(),
        bits ^ np.eye(*bits.shape, dtype=np.uint8),  # as many labels too many or too few
    ):
        write_model(path, header, {**arrays, "weights.labels": wrong})
        with pytest.raises(ModelFileError, match=r"weight|bit"):
            taut.load(path)


@pytest.mark.parametrize("estimator", [ChainSVM, ChainCRF])
def test_real_text_is_tagged_as_before(estimator, real_data, tmp_path):
    X, y = load_conll2000("train", real_data)
    held_out, _ = load_conll2000("test", real_data)
    clf = estimator(template="chunking", random_state=0).fit(X[:1500], y[:1500])
    clf.save(tmp_path / "m.taut")
    again = taut.load(tmp_path / "m.taut")
    assert again.predict(held_out) == clf.predict(held_out)
    if estimator is ChainCRF:
        ours, theirs = (np.concatenate(one.predict_proba(held_out)) for one in (again, clf))
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-4)
