"""Span scores agree with the CoNLL evaluation rules, written out here as a slow loop."""

import json
import sys
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taut.datasets import load_conll2000
from taut.metrics import (
    Score,
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

TAGS = ["O", *(f"{prefix}-{type_}" for prefix in "BIESLU" for type_ in ("X", "Y")), "B", "I"]


def starts(previous, current):
    """Does a chunk start at the second of two labels?"""
    (tag_before, _, type_before), (tag, _, type_) = previous.partition("-"), current.partition("-")
    if tag == "O":
        return False
    if tag in ("B", "S", "U"):
        return True
    return tag_before in ("O", "E", "S", "L", "U") or type_before != type_


def ends(current, following):
    """Does a chunk end at the first of two labels?"""
    (tag, _, type_), (tag_after, _, type_after) = current.partition("-"), following.partition("-")
    if tag == "O":
        return False
    if tag in ("E", "S", "L", "U"):
        return True
    return tag_after in ("O", "B", "S", "U") or type_after != type_


def conlleval(y_true, y_pred):
    """Counts of true, predicted and correct chunks by type: both labellings read in step."""
    support, predicted, correct = Counter(), Counter(), Counter()
    for true, guess in zip(y_true, y_pred, strict=True):
        common = None  # the type of a chunk that started in both and has ended in neither
        for t in range(len(true)):
            before = (true[t - 1], guess[t - 1]) if t > 0 else ("O", "O")
            after = (true[t + 1], guess[t + 1]) if t + 1 < len(true) else ("O", "O")
            types = true[t].partition("-")[2], guess[t].partition("-")[2]
            both_start = starts(before[0], true[t]), starts(before[1], guess[t])
            support[types[0]] += both_start[0]
            predicted[types[1]] += both_start[1]
            if any(both_start):
                common = types[0] if all(both_start) and types[0] == types[1] else None
            both_end = ends(true[t], after[0]), ends(guess[t], after[1])
            if common is not None and any(both_end):
                correct[common] += all(both_end)
                common = None
    return {
        type_: (support[type_], predicted[type_], correct[type_])
        for type_ in (+support | +predicted)
    }


def counts(report):
    return {type_: tuple(score[3:]) for type_, score in report.types.items()}


pairs_of_sequences = st.lists(
    st.lists(st.tuples(st.sampled_from(TAGS), st.sampled_from(TAGS)), max_size=8), max_size=5
).map(lambda y: ([[a for a, _ in part] for part in y], [[b for _, b in part] for part in y]))

TRICKY = {
    "I after O starts a span": (["O", "I-X", "I-X"], [(1, 3, "X")]),
    "I at the beginning starts a span": (["I-X", "O"], [(0, 1, "X")]),
    "a change of type starts a span": (["B-X", "I-Y", "I-Y"], [(0, 1, "X"), (1, 3, "Y")]),
    "B after I of its type": (["I-X", "B-X", "I-X"], [(0, 1, "X"), (1, 3, "X")]),
    "B after B": (["B-X", "B-X"], [(0, 1, "X"), (1, 2, "X")]),
    "E ends a span": (["I-X", "E-X", "I-X"], [(0, 2, "X"), (2, 3, "X")]),
    "E after E": (["E-X", "E-X"], [(0, 1, "X"), (1, 2, "X")]),
    "E of another type": (["B-X", "E-Y"], [(0, 1, "X"), (1, 2, "Y")]),
    "S is alone": (["B-X", "S-X", "I-X"], [(0, 1, "X"), (1, 2, "X"), (2, 3, "X")]),
    "U is alone": (["U-X", "U-X", "L-X"], [(0, 1, "X"), (1, 2, "X"), (2, 3, "X")]),
    "B I L": (["B-X", "I-X", "L-X"], [(0, 3, "X")]),
    "B without E": (["B-X", "I-X", "O"], [(0, 2, "X")]),
    "B after E": (["B-X", "E-X", "B-X"], [(0, 2, "X"), (2, 3, "X")]),
    "no spans": (["O", "O"], []),
}


@pytest.mark.parametrize("case", TRICKY)
def test_tricky_cases_of_conlleval(case):
    labels, expected = TRICKY[case]
    assert [(s.start, s.stop, s.type) for s in spans([labels])] == expected


def test_a_span_does_not_cross_the_end_of_a_sequence():
    y = [["B-X", "I-X"], [], ["I-X"], ["I-X", "O"]]
    assert spans(y) == [Span(0, 0, 2, "X"), Span(2, 0, 1, "X"), Span(3, 0, 1, "X")]
    assert spans(y, mode="strict", scheme="IOB2") == [Span(0, 0, 2, "X")]


@pytest.mark.parametrize(
    ("scheme", "labels", "expected"),
    [
        ("IOB2", ["O", "I-X", "B-X", "I-Y"], [(2, 3)]),
        ("IOB1", ["B-X", "I-X", "B-X"], [(2, 3)]),
        ("IOE2", ["I-X", "O", "I-X", "E-X"], [(2, 4)]),
        ("IOE1", ["I-X", "E-X", "O", "I-X"], [(3, 4)]),
        ("IOBES", ["B-X", "I-X", "S-X", "E-X", "B-X", "E-X"], [(2, 3), (4, 6)]),
        ("BILOU", ["B-X", "L-Y", "U-Y", "B-Y", "L-Y"], [(2, 3), (3, 5)]),
    ],
)
def test_spans_that_violate_the_scheme_do_not_exist(scheme, labels, expected):
    found = spans([labels], mode="strict", scheme=scheme)
    assert [(s.start, s.stop) for s in found] == expected


@given(pairs_of_sequences)
def test_agrees_with_the_rules_written_out(pair):
    assert counts(span_report(*pair)) == conlleval(*pair)


@given(pairs_of_sequences)
def test_numbered_labels_give_the_same_report(pair):
    y_true, y_pred = pair
    lengths = np.array([len(part) for part in y_true], np.int64)
    number = {label: k for k, label in enumerate(TAGS)}
    true = Column(np.array([number[a] for part in y_true for a in part], np.int32), TAGS)
    # Another order of labels, and more of them than occur.
    other = ["B-unused", *TAGS[::-1]]
    number = {label: k for k, label in enumerate(other)}
    predicted = Column(np.array([number[a] for part in y_pred for a in part], np.int64), other)
    assert span_report_from_codes(true, predicted, lengths) == span_report(y_true, y_pred)


@given(pairs_of_sequences)
def test_the_report_counts_the_spans_that_are_listed(pair):
    report = span_report(*pair)
    true, predicted = map(set, map(spans, pair))
    assert report.micro[3:] == (len(true), len(predicted), len(true & predicted))
    assert report.token_accuracy == token_accuracy(*pair)
    assert report.sequence_accuracy == sequence_accuracy(*pair)
    assert span_f1(*pair) == report.micro.f1
    assert span_f1(*pair, average="macro") == report.macro.f1


@pytest.fixture(scope="module")
def conll2000(real_data):
    """The chunk tags of the test sentences, and the same with one in ten replaced at random."""
    _, y = load_conll2000("test", real_data)
    random = np.random.default_rng(0)
    tags = sorted({tag for part in y for tag in part})
    perturbed = [
        [tags[random.integers(len(tags))] if random.random() < 0.1 else tag for tag in part]
        for part in y
    ]
    return y, perturbed


def test_conll2000_against_the_rules_written_out(conll2000):
    y, perturbed = conll2000
    report = span_report(y, perturbed)
    assert counts(report) == conlleval(y, perturbed)
    assert 0.5 < report.micro.f1 < 0.9


def test_conll2000_against_itself(conll2000):
    y, _ = conll2000
    for reading in ({}, {"mode": "strict", "scheme": "IOB2"}):
        report = span_report(y, y, **reading)
        assert report.micro == report.macro == Score(1.0, 1.0, 1.0, *[23852] * 3)
        assert report.types["NP"].support == 12422
        assert report.token_accuracy == report.sequence_accuracy == 1.0
        assert (report.n_tokens, report.n_sequences) == (47377, 2012)


def test_the_tokens_of_a_report_are_not_visited_one_by_one(conll2000):
    """Ten times the tokens, and hardly more operations: counted as calls in Python."""
    y, perturbed = conll2000

    def calls(function):
        count = 0

        def profile(frame, event, argument):
            nonlocal count
            count += event in ("call", "c_call")

        sys.setprofile(profile)
        try:
            function()
        finally:
            sys.setprofile(None)
        return count

    def report_of(n):
        labels = sorted({tag for part in y for tag in part})
        number = {label: k for k, label in enumerate(labels)}
        columns = [
            Column(np.array([number[tag] for part in side[:n] for tag in part]), labels)
            for side in (y, perturbed)
        ]
        lengths = np.array([len(part) for part in y[:n]])
        return calls(lambda: span_report_from_codes(*columns, lengths))

    assert report_of(2000) <= report_of(200) + 10


def test_precision_recall_and_f1():
    y_true = [["B-X", "I-X", "O", "B-X"], ["B-Y", "O", "B-X"]]
    y_pred = [["B-X", "I-X", "O", "O"], ["B-X", "B-X", "B-X"]]
    report = span_report(y_true, y_pred)
    # X: 3 true, 4 predicted, 2 correct. Y: 1 true, none predicted.
    assert report.types == {
        "X": Score(2 / 4, 2 / 3, 4 / 7, 3, 4, 2),
        "Y": Score(0.0, 0.0, 0.0, 1, 0, 0),
    }
    assert report.micro == Score(2 / 4, 2 / 4, 4 / 8, 4, 4, 2)
    assert report.macro == Score(1 / 4, 1 / 3, 2 / 7, 4, 4, 2)
    assert report.token_accuracy == 4 / 7
    assert report.sequence_accuracy == 0.0


def test_nothing_to_divide_by_is_zero():
    nothing = Score(0.0, 0.0, 0.0, 0, 0, 0)
    for y in ([], [[]], [["O", "O"]]):
        report = span_report(y, y)
        assert (report.types, report.micro, report.macro) == ({}, nothing, nothing)
        assert str(report)
    assert token_accuracy([], []) == sequence_accuracy([], []) == token_accuracy([[]], [[]]) == 0.0
    assert sequence_accuracy([[]], [[]]) == 1.0
    assert span_report([["O"]], [["B-X"]]).micro == Score(0.0, 0.0, 0.0, 0, 1, 0)


def test_the_printed_table_is_aligned():
    report = span_report([["B-LONGTYPE", "B-X", "B"]], [["B-LONGTYPE", "O", "B"]])
    assert str(report).splitlines() == [
        "           precision   recall       F1   support  predicted   correct",
        "(no type)     100.00   100.00   100.00         1          1         1",
        "LONGTYPE      100.00   100.00   100.00         1          1         1",
        "X               0.00     0.00     0.00         1          0         0",
        "-" * 69,
        "micro         100.00    66.67    80.00         3          2         2",
        "macro          66.67    66.67    66.67         3          2         2",
        "",
        "66.67% of 3 tokens and 0.00% of 1 sequences are right",
    ]


def test_the_report_as_json():
    report = span_report([["B-X", "B-Y"]], [["B-X", "O"]])
    read = json.loads(json.dumps(report.as_dict()))
    assert read["types"]["X"]["support"] == 1
    assert read["micro"]["f1"] == pytest.approx(2 / 3)
    assert read["macro"]["f1"] == 0.5
    assert read["token_accuracy"] == 0.5


def test_scores_a_grid_search():
    from sklearn.base import BaseEstimator
    from sklearn.metrics import make_scorer
    from sklearn.model_selection import GridSearchCV

    class Same(BaseEstimator):
        def __init__(self, label="O"):
            self.label = label

        def fit(self, X, y):
            self.is_fitted_ = True
            return self

        def predict(self, X):
            return [[self.label] * len(part) for part in X]

    y = [["B-X"], ["B-X", "B-X"], ["B-Y"], ["B-X"]]
    search = GridSearchCV(
        Same(), {"label": ["O", "B-X", "B-Y"]}, scoring=make_scorer(span_f1), cv=2
    )
    assert search.fit(y, y).best_params_ == {"label": "B-X"}
    assert search.best_score_ == pytest.approx((1.0 + 0.5) / 2)


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abcd")), max_size=20),
    st.permutations("dcba").map(lambda order: order[:3]),
)
def test_confusion_matrix_counts_pairs(pairs, chosen):
    y_true, y_pred = [[a for a, _ in pairs]], [[b for _, b in pairs]]
    matrix, labels = confusion_matrix(y_true, y_pred)
    assert labels == sorted(set(y_true[0] + y_pred[0]))
    assert matrix.dtype == np.int64
    assert matrix.tolist() == [[pairs.count((a, b)) for b in labels] for a in labels]
    matrix, labels = confusion_matrix(y_true, y_pred, labels=chosen)
    assert labels == list(chosen)
    assert matrix.tolist() == [[pairs.count((a, b)) for b in labels] for a in labels]
