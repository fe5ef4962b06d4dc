"""Bad input is refused before any work, by a message that names place, expectation and remedy."""

import numpy as np
import pytest
from scipy import sparse

from taut import ChainSVM, Sequences

X = [np.eye(3), np.eye(3)[:2]]
Y = [["a", "b", "a"], ["b", "a"]]


def with_value(value, kind=np.asarray):
    x = np.eye(3)[:2].copy()
    x[1, 2] = value
    return [kind(np.eye(3)), kind(x)]


def test_the_good_input_is_good():
    ChainSVM().fit(X, Y)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (with_value(np.nan), Y, r"X\[1\] has a value that is NaN or infinite in row 1; replace"),
        (with_value(-np.inf), Y, r"X\[1\] has a value that is NaN or infinite in row 1"),
        (with_value(np.nan, sparse.csr_array), Y, r"X\[1\] has a value that is NaN .* row 1"),
        (Sequences(np.concatenate(with_value(np.inf)), [3, 2]), Y, r"X\[1\] .* row 1"),
        (X, Y[:1], r"X has 2 sequences but y has 1; they must correspond"),
        (X, [["a", "b", "a"], ["b"]], r"y\[1\] has 1 labels but X\[1\] has 2 rows"),
        ([[], np.zeros((0, 3))], [[], []], r"X\[0\] is an empty sequence; leave"),
        ([], [], "X has no sequences"),
        ([np.eye(3), np.eye(4)], Y, r"X\[1\] has 4 features per row but X\[0\] has 3"),
        ([np.eye(3), np.ones(3)], Y, r"X\[1\] has shape \(3,\); a matrix of numbers with one row"),
        (X, [["a"] * 3, ["a"] * 2], "y: there is one label only, 'a'; there is nothing to learn"),
        (X, [np.array(["a", "b", "a"]), np.array([["b", "a"]] * 2)], r"y\[1\] has shape \(2, 2\)"),
        (
            [(np.eye(3), np.ones((2, 1))), (np.eye(3)[:2], np.ones((2, 1)))],
            Y,
            r"X\[1\] has 2 rows and 2 rows of step features; there are 1 steps",
        ),
        (
            [(np.eye(3), np.ones((2, 1))), (np.eye(3)[:2], np.ones((1, 2)))],
            Y,
            r"X\[1\] has 2 features per step but X\[0\] has 1",
        ),
        (
            [(np.eye(3), np.ones((2, 1))), (np.eye(3)[:2], np.full((1, 1), np.nan))],
            Y,
            r"step features of X\[1\] has a value that is NaN",
        ),
        (X, [np.array([0.0, 1.0, np.nan]), np.array([0.0, 1.0])], "labels that are NaN"),
    ],
)
def test_wrong_values(X, y, message):
    with pytest.raises(ValueError, match=message):
        ChainSVM().fit(X, y)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.eye(3), Y, r"X is one matrix; a list of sequences is expected .* taut.Sequences"),
        (sparse.csr_array(np.eye(3)), Y, "X is one matrix; a list of sequences is expected"),
        ({"a": 1}, Y, "X is a dict; a list of sequences is expected"),
        ("words", Y, r"X\[0\] is not a matrix of numbers; a matrix of numbers with one row per"),
        ([np.eye(3), [{"b": 1}] * 2], Y, r"X\[1\] holds dict objects; a matrix of numbers"),
        ([[{"a": None}] * 3, [{"b": 1}] * 2], Y, r"X\[0\]\[0\]: 'a' is None; a string, a number"),
        ([np.eye(3) * 1j, np.eye(3)[:2]], Y, r"X\[0\] is not a matrix of numbers"),
        (Sequences(np.array([["a"], ["b"]]), [1, 1]), Y, "X has values of type <U1"),
        ([np.eye(3), sparse.csr_array(np.eye(3)[:2])], Y, r"X\[1\] and X\[0\] mix dense and"),
        ([np.eye(3), (np.eye(3)[:2], np.ones((1, 1)))], Y, r"X\[1\]: either every sequence is"),
        (X, ["aba", "ba"], r"y\[0\] is 'aba'; a list of labels is expected, one per row of X\[0\]"),
        (X, "ab", "y is a str; a list of label sequences is expected"),
        (X, iter(Y), "y is a list_iterator; a list of label sequences is expected"),
        (X, [0, 1], r"y\[0\] is 0; a list of labels is expected"),
        (X, [["a", "b", ["a"]], ["b", "a"]], r"y\[0\] has the label \['a'\]; .* use a tuple"),
    ],
)
def test_wrong_types(X, y, message):
    with pytest.raises(TypeError, match=message):
        ChainSVM().fit(X, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"C": 0}, "C=0; it must be a positive number"),
        ({"C": -1.0}, "C=-1.0; it must be a positive number"),
        ({"C": np.nan}, "C=nan; it must be a positive number"),
        ({"C": "1"}, "C='1'; it must be a positive number"),
        ({"tol": -1}, "tol=-1; it must be a number, not negative"),
        ({"bounds": (1, -1)}, "bounds of weight 0: lower 1.0 is not at most upper -1.0"),
        (
            {"bounds": (np.zeros(3), 1)},
            r"bounds=.*; expected \(lower, upper\), each a number or an",
        ),
        ({"bounds": 3}, r"bounds=3; expected \(lower, upper\)"),
        ({"loss": "zero-one"}, "loss='zero-one'; expected \"hamming\""),
        ({"loss": np.eye(3)}, r"the cost matrix has shape \(3, 3\); with 2 labels it must be"),
        ({"loss": np.eye(2)}, "the cost of label number 0 for itself is 1.0"),
        ({"class_weight": {"z": 1}}, r"class_weight names 'z', which is not one of the labels"),
        ({"class_weight": "even"}, "class_weight='even'; expected \"balanced\""),
        ({"features": "some"}, "features='some'; expected"),
        ({"features": "observed"}, r'features="observed" needs sparse'),
        ({"solver": "lbfgs"}, "solver='lbfgs' trains CRFs; expected 'auto', 'averaged'"),
        ({"warm_start": 2}, "warm_start=2; expected one of"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(ValueError, match=message):
        ChainSVM(**options).fit(X, Y)


def test_sample_weights():
    for weight, message in [
        ([1.0], r"sample_weight has shape \(1,\); expected \(2,\)"),
        ([1.0, np.nan], r"sample_weight\[1\] is nan; it must be finite and not negative"),
        ([0.0, 0.0], "all sample weights are zero"),
    ]:
        with pytest.raises(ValueError, match=message):
            ChainSVM().fit(X, Y, sample_weight=weight)


def test_prediction_expects_the_features_of_training():
    clf = ChainSVM().fit(X, Y)
    with pytest.raises(ValueError, match="X has 4 features per row, the model was fitted with 3"):
        clf.predict([np.eye(4)])
    with pytest.raises(ValueError, match=r"X\[0\] has a value that is NaN or infinite in row 0"):
        clf.predict([np.full((1, 3), np.nan)])
    with pytest.raises(ValueError, match=r"y\[0\] has 1 labels but X\[0\] has 3 rows"):
        clf.score(X, [["a"], ["b"]])


def test_a_failed_fit_leaves_the_model_alone():
    clf = ChainSVM().fit(X, Y)
    with pytest.raises(ValueError, match="y: there is one label"):
        clf.fit(X, [["c"] * 3, ["c"] * 2])
    with pytest.raises(ValueError, match="y has 1"):
        clf.fit(X, [["c", "d", "c"]])
    with pytest.raises(ValueError, match="C=0"):
        clf.set_params(C=0).fit([np.eye(5)] * 2, [list("cdefg")] * 2)
    assert clf.predict(X) == Y
