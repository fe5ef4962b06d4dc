"""What the metrics accept, and what they say about the rest."""

import numpy as np
import pytest

from taut.metrics import (
    Span,
    confusion_matrix,
    sequence_accuracy,
    span_f1,
    span_report,
    span_report_from_codes,
    spans,
    token_accuracy,
)
from taut.text.columns import Column
from taut.text.schemes import Scheme


def test_labels_of_any_kind():
    y_true = [np.array([1, 2]), np.array([3])]
    y_pred = [np.array([1, 2]), np.array([1])]
    assert token_accuracy(y_true, y_pred) == 2 / 3
    assert sequence_accuracy(y_true, y_pred) == 0.5
    assert confusion_matrix(y_true, y_pred)[1] == [1, 2, 3]
    assert confusion_matrix([[1, "a"]], [["a", 1]])[0].tolist() == [[0, 1], [1, 0]]
    assert token_accuracy(np.array([["a", "b"]]), [("a", "c")]) == 0.5
    assert spans([np.array(["B-X", "I-X"])]) == [Span(0, 0, 2, "X")]


@pytest.mark.parametrize("metric", [token_accuracy, sequence_accuracy, span_report, span_f1])
def test_sequences_must_correspond(metric):
    with pytest.raises(ValueError, match=r"y_true has 2 sequences but y_pred has 1; they must"):
        metric([["O"], ["O"]], [["O"]])
    with pytest.raises(ValueError, match=r"y_pred\[1\] has 1 labels but y_true\[1\] has 2; there"):
        metric([["O"], ["O", "O"]], [["O"], ["O"]])
    with pytest.raises(TypeError, match=r"y_true\[0\] is 'O'; .* put a single sequence into a lis"):
        metric(["O", "O"], ["O", "O"])
    with pytest.raises(TypeError, match=r"y_pred\[0\] is 3; a list of label sequences is expected"):
        metric([["O"]], np.array([3]))
    with pytest.raises(TypeError, match=r"y_true is a str; a list of label sequences is expected"):
        metric("O", [["O"]])
    with pytest.raises(TypeError, match=r"label \['O'\]; labels must be hashable"):
        metric([[["O"]]], [["O"]])


def test_readings_are_hard_to_confuse():
    y = [["B-X"]]
    with pytest.raises(ValueError, match=r"mode='strict' needs to know the scheme of the labels"):
        span_report(y, y, mode="strict")
    with pytest.raises(ValueError, match=r"scheme='IOB2' has no effect on mode='conlleval'"):
        span_report(y, y, scheme="IOB2")
    with pytest.raises(ValueError, match=r"mode is 'lenient'; it must be 'conlleval' or 'strict'"):
        spans(y, mode="lenient")
    with pytest.raises(ValueError, match=r"'IOB' is not a tagging scheme"):
        spans(y, mode="strict", scheme="IOB")
    with pytest.raises(ValueError, match=r"average is 'weighted'; it must be 'micro' or 'macro'"):
        span_f1(y, y, average="weighted")
    with pytest.raises(ValueError, match=r"'S-X' does not belong to IOB2"):
        span_report(y, [["S-X"]], mode="strict", scheme=Scheme.IOB2)
    with pytest.raises(ValueError, match=r"'NN' does not belong to any tagging scheme"):
        span_report([["NN"]], y)
    with pytest.raises(ValueError, match=r"labels names a label twice"):
        confusion_matrix(y, y, labels=["O", "O"])


def test_bad_numbers():
    good = Column(np.array([0, 1, 0]), ["O", "B-X"])
    for codes, error, message in (
        ([0, 1], ValueError, r"the lengths add up to 3 but predicted.codes has 2 numbers"),
        ([0, 0, 2], ValueError, r"sequence 2 has the label number 2 in predicted.codes, but"),
        ([0, -1, 0], ValueError, r"sequence 0 has the label number -1 in predicted.codes, but"),
        ([0.0, 1.0, 0.0], TypeError, r"predicted.codes is a 1-dimensional array of float64"),
        ([[0], [0], [0]], TypeError, r"predicted.codes is a 2-dimensional array of int64"),
    ):
        with pytest.raises(error, match=message):
            span_report_from_codes(good, Column(np.array(codes), ["O", "B-X"]), np.array([2, 0, 1]))
