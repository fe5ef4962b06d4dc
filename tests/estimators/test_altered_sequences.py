"""Sequences that were altered after they were made are refused before compiled code follows them.

Kernels check no index: lengths beyond the rows ended the process, shorter ones gave wrong answers.
"""

import numpy as np
import pytest
from another_process import attempts
from scipy import sparse
from untrained import as_if_trained

from taut import ChainCRF, ChainCRFCV, ChainSVM, ChainSVMCV, Sequences

ROWS = np.arange(12.0).reshape(6, 2)
Y = [["a", "b"], ["a", "b", "b"], ["a"]]

METHODS = {
    "fit": lambda clf, X: clf.fit(X, Y),
    "partial_fit": lambda clf, X: clf.partial_fit(X, Y),
    "predict": lambda clf, X: clf.predict(X),
    "score": lambda clf, X: clf.score(X, Y),
    "predict_marginals": lambda clf, X: clf.predict_marginals(X),
    "predict_proba": lambda clf, X: clf.predict_proba(X),
    "predict_nbest": lambda clf, X: clf.predict_nbest(X, 2),
    "sample": lambda clf, X: clf.sample(X, 2),
    "log_likelihood": lambda clf, X: clf.log_likelihood(X, Y),
    "X_val": lambda clf, X: clf.fit(sequences(), Y, X_val=X, y_val=Y),
}
OF_CRF = tuple(METHODS)[:-1]
OF_SVM = OF_CRF[:4]


def sequences(kind=np.asarray, **altered):
    made = Sequences(kind(ROWS), [2, 3, 1])
    for name, value in altered.items():
        setattr(made, name, value)
    return made


@pytest.mark.parametrize("kind", ["np.asarray", "sparse.csr_array"])
def test_what_ended_the_process_is_an_error(kind):
    lines = attempts(f"""
def altered(lengths):
    made = taut.Sequences({kind}(np.ones((6, 2))), [2, 3, 1])
    made.lengths = np.array(lengths)
    return made

for clf in (taut.ChainSVM(), taut.ChainCRF()):
    as_if_trained(clf, altered([2, 3, 1]), {Y})
    attempt("beyond", lambda: clf.predict(altered([2, 3, 10**7])))
    attempt("all beyond", lambda: clf.predict(altered([10**7] * 3)))
    attempt("negative", lambda: clf.predict(altered([10**7, 7 - 10**7, -1])))
""")
    assert lines == 2 * [
        "beyond: X: lengths[2] is 10000000 but there are 6 rows",
        "all beyond: X: lengths[0] is 10000000 but there are 6 rows",
        "negative: X: lengths[1] is -9999993; a length is not negative",
    ]


@pytest.mark.parametrize(
    ("estimator", "method"),
    [(kind, name) for kind in (ChainSVM, ChainSVMCV) for name in OF_SVM]
    + [(kind, name) for kind in (ChainCRF, ChainCRFCV) for name in OF_CRF]
    + [(kind, "X_val") for kind in (ChainSVM, ChainCRF)],  # others have folds instead
)
def test_every_method_refuses_lengths_that_do_not_fit(estimator, method):
    clf = as_if_trained(estimator(), sequences(), Y)
    clf.solution_.state = "there"  # partial_fit asks for it
    with pytest.raises(ValueError, match=r"X(_val)?: lengths\[2\] is 7 but there are 6 rows"):
        METHODS[method](clf, sequences(lengths=np.array([2, 3, 7])))


@pytest.mark.parametrize("method", ["fit", "predict"])
@pytest.mark.parametrize(
    ("altered", "message"),
    [
        ({"lengths": np.array([2, 5, -1])}, r"X: lengths\[2\] is -1; a length is not negative"),
        ({"lengths": [2, 2, 1]}, "X: the lengths add up to 5 but there are 6 rows"),
        # The sum of these wraps around, to 6.
        ({"lengths": np.array([2**63 - 1, 2**63 - 1, 8])}, r"X: lengths\[0\] is 9223372036854775"),
        ({"lengths": np.array([2**63, 3, 1], np.uint64)}, r"X: lengths\[0\] is 9223372036854775"),
        ({"lengths": np.array([2.0, 3.0, 1.0])}, r"X: lengths .* type float64; one whole number"),
        ({"lengths": np.array([2.0, np.nan, 1.0])}, "X: lengths .* type float64"),
        ({"lengths": np.ones(3, bool)}, "X: lengths .* type bool"),
        ({"lengths": np.array([2, 3, 1], object)}, "X: lengths .* type object"),
        ({"lengths": np.array([[2, 3, 1]])}, r"X: lengths .* shape \(1, 3\)"),
        ({"lengths": None}, r"X: lengths .* shape \(\) and type object"),
        ({"rows": ROWS[:3]}, "X: the lengths add up to 6 but there are 3 rows"),
        ({"rows": ROWS[:, 0]}, r"X: rows have shape \(6,\); a matrix is expected"),
        ({"rows": None}, r"X: rows have shape \(\); a matrix is expected"),
        ({"rows": ROWS[:0], "lengths": []}, "X has no sequences"),
    ],
)
def test_lengths_and_rows_of_all_kinds(method, altered, message):
    clf = as_if_trained(ChainSVM(), sequences(), Y)
    with pytest.raises(ValueError, match=message):
        METHODS[method](clf, sequences(**altered))


def test_nan_does_not_hide_lengths_that_do_not_fit():
    """The place of a NaN was looked for by the lengths."""
    clf = as_if_trained(ChainSVM(), sequences(), Y)
    with pytest.raises(ValueError, match="the lengths add up to 3 but there are 6 rows"):
        clf.predict(sequences(rows=np.full((6, 2), np.nan), lengths=[2, 1]))


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_lengths_altered_to_others_that_fit_are_as_good(kind):
    altered = sequences(kind, lengths=[1, 5])
    prepared = ChainSVM().prepare(altered, [["a"], ["b"] * 5])
    assert prepared.problem.pointer.tolist() == [0, 1, 6]
