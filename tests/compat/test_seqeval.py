"""seqeval's metrics: its own figures, where it is installed."""

import random
import warnings

import numpy as np
import pytest
from sklearn.exceptions import UndefinedMetricWarning

from taut.compat import seqeval

Y = [["O", "O", "O", "B-MISC", "I-MISC", "I-MISC", "O"], ["B-PER", "I-PER", "O"]]
Z = [["O", "O", "B-MISC", "I-MISC", "I-MISC", "I-MISC", "O"], ["B-PER", "I-PER", "O"]]
# Of seqeval's readers those of IOB1 and IOE1 say of themselves that they are not finished.
READINGS = [
    ("BIES", None), ("BI", None), ("BI", "IOB2"), ("IE", "IOE2"), ("BIES", "IOBES"),
    ("BILU", "BILOU"),
]  # fmt: skip


def drawn(prefixes, seed):
    draw = random.Random(seed)
    labels = ["O", *(f"{prefix}-{kind}" for prefix in prefixes for kind in "AB")]
    y = [[draw.choice(labels) for _ in range(draw.randint(1, 7))] for _ in range(4)]
    z = [[one if draw.random() < 0.6 else draw.choice(labels) for one in part] for part in y]
    return y, z


@pytest.mark.parametrize(("prefixes", "scheme"), READINGS)
def test_random_labels_have_seqevals_figures(prefixes, scheme):
    metrics = pytest.importorskip("seqeval.metrics")
    schemes = pytest.importorskip("seqeval.scheme")
    theirs = {} if scheme is None else {"mode": "strict", "scheme": getattr(schemes, scheme)}
    compared = 0
    for seed in range(15):
        y, z = drawn(prefixes, seed)
        names = ("precision_score", "recall_score", "f1_score")
        ours = theirs if seed % 2 else {**theirs, "scheme": scheme}  # its class, or its name
        for average in (None, "micro", "macro", "weighted"):
            for zero in (0, 1):
                for name in names:
                    options = {"average": average, "zero_division": zero}
                    with np.errstate(all="ignore"), warnings.catch_warnings():
                        warnings.simplefilter("ignore")  # of seqeval's means of nothing
                        expected = getattr(metrics, name)(y, z, **options, **theirs)
                    if not np.size(expected) or np.isnan(expected).any():
                        continue  # no spans at all
                    found = getattr(seqeval, name)(y, z, **options, **ours)
                    assert np.allclose(found, expected, atol=1e-12)
                    compared += 1
        assert seqeval.accuracy_score(y, z) == pytest.approx(metrics.accuracy_score(y, z))
    assert compared > 100


def test_the_report_is_seqevals():
    assert seqeval.classification_report(Y, Z) == (
        "              precision    recall  f1-score   support\n"
        "\n"
        "        MISC       0.00      0.00      0.00         1\n"
        "         PER       1.00      1.00      1.00         1\n"
        "\n"
        "   micro avg       0.50      0.50      0.50         2\n"
        "   macro avg       0.50      0.50      0.50         2\n"
        "weighted avg       0.50      0.50      0.50         2\n"
    )
    report = seqeval.classification_report(Y, Z, output_dict=True, mode="strict", scheme="IOB2")
    assert report["PER"] == {"precision": 1.0, "recall": 1.0, "f1-score": 1.0, "support": 1}
    assert report["micro avg"]["f1-score"] == 0.5


def test_suffixes_and_labels_without_a_type():
    turned = [["O" if label == "O" else f"{label[2:]}-{label[0]}" for label in y] for y in Y]
    assert seqeval.f1_score(turned, turned, suffix=True) == 1.0
    assert seqeval.f1_score([["B", "I", "O"]], [["B", "I", "O"]], average=None).tolist() == [1.0]


@pytest.mark.parametrize(
    ("labels", "scheme"),
    [(["B-A", "I-A"], "IOB2"), (["I-A", "E-A"], "IOE2"), (["S-A"], "IOBES"), (["U-A"], "BILOU")],
)
def test_a_scheme_is_told_from_its_prefixes(labels, scheme):
    found = seqeval.f1_score([labels], [labels], mode="strict")
    assert found == seqeval.f1_score([labels], [labels], mode="strict", scheme=scheme) == 1.0


def test_what_is_undefined_is_warned_of():
    y, z = [["B-A", "O"]], [["O", "O"]]
    with pytest.warns(UndefinedMetricWarning, match="without predicted spans: their precision"):
        assert seqeval.precision_score(y, z) == 0.0
    assert seqeval.precision_score(y, z, zero_division=1) == 1.0
    assert seqeval.recall_score(y, z) == 0.0
    assert seqeval.f1_score(y, z, average="weighted", zero_division=0) == 0.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"average": "samples"}, "average='samples'; expected None, 'micro'"),
        ({"mode": "loose"}, "mode='loose'; None or 'strict'"),
        ({"mode": "strict", "scheme": "XYZ"}, "'XYZ' is not a tagging scheme"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(ValueError, match=message):
        seqeval.f1_score(Y, Z, **options)
    with pytest.raises(ValueError, match="of no scheme that can be told from them; name it"):
        seqeval.f1_score([["I-A", "X-A"]], [["I-A", "O"]], mode="strict")
