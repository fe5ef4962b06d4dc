"""seqeval's metrics under their names, computed by :mod:`taut.metrics`.

Without a mode labels are read as the CoNLL evaluation script reads them; ``mode="strict"`` reads
them by a scheme: ``IOB2``, ``"IOB2"``, or, as in seqeval, the one that the prefixes of the true
labels suggest. Beside seqeval's prefixes (B, I, E, S) those of BILOU are read without a mode, too.

>>> y = [["O", "B-MISC", "I-MISC"], ["B-PER", "I-PER", "O"]]
>>> z = [["B-MISC", "I-MISC", "I-MISC"], ["B-PER", "I-PER", "O"]]
>>> f1_score(y, z), accuracy_score(y, z)
(0.5, 0.6666666666666666)
>>> print(classification_report(y, z))
              precision    recall  f1-score   support
<BLANKLINE>
        MISC       0.00      0.00      0.00         1
         PER       1.00      1.00      1.00         1
<BLANKLINE>
   micro avg       0.50      0.50      0.50         2
   macro avg       0.50      0.50      0.50         2
weighted avg       0.50      0.50      0.50         2
<BLANKLINE>
"""

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from taut.metrics import span_report, token_accuracy
from taut.text.schemes import OUTSIDE, Scheme

Labels = Sequence[Sequence[str]]

IOB1, IOB2, IOE1, IOE2 = Scheme.IOB1, Scheme.IOB2, Scheme.IOE1, Scheme.IOE2
IOBES, BILOU = Scheme.IOBES, Scheme.BILOU
AVERAGES = ("micro", "macro", "weighted")
# Which scheme labels with these prefixes are of, the first that has them all.
DETECTED = ((IOB2, "BI"), (IOE2, "IE"), (IOBES, "BIES"), (BILOU, "BILU"))


class _Counts(NamedTuple):
    """Of spans, one number for each type."""

    types: list[str]
    correct: np.ndarray
    predicted: np.ndarray
    support: np.ndarray


class _Scores(NamedTuple):
    precision: Any  # a number, or one for each type
    recall: Any
    f1: Any
    support: Any


def accuracy_score(y_true: Labels, y_pred: Labels) -> float:
    """The share of tokens that have the right label."""
    return token_accuracy(y_true, y_pred)


def precision_score(
    y_true: Labels,
    y_pred: Labels,
    *,
    average: str | None = "micro",
    suffix: bool = False,
    mode: str | None = None,
    zero_division: Any = "warn",
    scheme: Any = None,
) -> Any:
    """The share of predicted spans that are true ones; ``average`` is "micro", "macro", "weighted",
    or None for an array with a number for each type, in alphabetical order."""
    counts = _counts(y_true, y_pred, suffix, mode, scheme)
    return _scores(counts, average, zero_division, "precision").precision


def recall_score(
    y_true: Labels,
    y_pred: Labels,
    *,
    average: str | None = "micro",
    suffix: bool = False,
    mode: str | None = None,
    zero_division: Any = "warn",
    scheme: Any = None,
) -> Any:
    """The share of true spans that were predicted."""
    counts = _counts(y_true, y_pred, suffix, mode, scheme)
    return _scores(counts, average, zero_division, "recall").recall


def f1_score(
    y_true: Labels,
    y_pred: Labels,
    *,
    average: str | None = "micro",
    suffix: bool = False,
    mode: str | None = None,
    zero_division: Any = "warn",
    scheme: Any = None,
) -> Any:
    """The harmonic mean of precision and recall."""
    counts = _counts(y_true, y_pred, suffix, mode, scheme)
    return _scores(counts, average, zero_division, "f-score").f1


def classification_report(
    y_true: Labels,
    y_pred: Labels,
    digits: int = 2,
    suffix: bool = False,
    output_dict: bool = False,
    mode: str | None = None,
    *,
    zero_division: Any = "warn",
    scheme: Any = None,
) -> Any:
    """A table of all of these scores, for each type and averaged; or a dict of dicts."""
    counts = _counts(y_true, y_pred, suffix, mode, scheme)
    each = _scores(counts, None, zero_division, "all")
    rows: list[tuple[Any, ...]] = list(zip(counts.types, *each, strict=True))
    averages = [(f"{name} avg", *_scores(counts, name, zero_division, "all")) for name in AVERAGES]
    if output_dict:
        names = ("precision", "recall", "f1-score", "support")
        return {name: dict(zip(names, values, strict=True)) for name, *values in rows + averages}
    width = max(map(len, [*counts.types, "weighted avg"]))
    width = max(width, digits)
    head = (
        " " * width
        + " "
        + "".join(f" {name:>9}" for name in ("precision", "recall", "f1-score", "support"))
    )
    lines = [head, ""]
    for part in (rows, averages):
        for name, precision, recall, f1, support in part:
            shown = "".join(f" {score:>9.{digits}f}" for score in (precision, recall, f1))
            lines.append(f"{name:>{width}} {shown} {support:>9}")
        lines.append("")
    return "\n".join(lines)


def _counts(y_true: Labels, y_pred: Labels, suffix: bool, mode: str | None, scheme: Any) -> _Counts:
    if mode not in (None, "strict"):
        raise ValueError(f"mode={mode!r}; None or 'strict' is expected")
    true, predicted = (_read(y, suffix) for y in (y_true, y_pred))
    if mode is None:
        report = span_report(true, predicted)
    else:
        chosen = _detected(true) if scheme is None else _scheme(scheme)
        report = span_report(true, predicted, mode="strict", scheme=chosen)
    scores = sorted((name or "_", score) for name, score in report.types.items())
    numbers = np.array([[s.correct, s.predicted, s.support] for _, s in scores], np.int64)
    return _Counts([name for name, _ in scores], *numbers.reshape(-1, 3).T)


def _read(y: Labels, suffix: bool) -> Any:
    """Labels with the prefix before the type."""
    if not suffix:
        return y
    return [[label if label == OUTSIDE else _turned(label) for label in part] for part in y]


def _turned(label: str) -> str:
    kind, _, prefix = label.rpartition("-")
    return f"{prefix}-{kind}" if kind else label


def _scheme(scheme: Any) -> Scheme:
    """A scheme, its name, or seqeval's class of this name."""
    return Scheme.parse(scheme.__name__ if isinstance(scheme, type) else scheme)


def _detected(y: Any) -> Scheme:
    found = {label[:1] for part in y for label in part} - {OUTSIDE}
    for scheme, prefixes in DETECTED:
        if found <= set(prefixes) and found != {"I"}:
            return scheme
    raise ValueError(
        f"labels with the prefixes {', '.join(sorted(found))} are of no scheme that can be told "
        "from them; name it: scheme='IOB2'"
    )


def _scores(counts: _Counts, average: str | None, zero_division: Any, of: str) -> _Scores:
    """``of`` says which of them are asked for: a warning is about no others."""
    if average is not None and average not in AVERAGES:
        raise ValueError(f"average={average!r}; expected None, {', '.join(map(repr, AVERAGES))}")
    sums: list[np.ndarray] = list(counts[1:])
    if average == "micro":
        sums = [part.sum(keepdims=True) for part in sums]
    correct, predicted, support = sums
    precision = _share(correct, predicted, zero_division, "precision", of, "predicted")
    recall = _share(correct, support, zero_division, "recall", of, "true")
    both = precision + recall
    f1 = 2 * precision * recall / np.where(both == 0, 1.0, both)
    scores = (precision, recall, f1)
    if average is None:
        return _Scores(*scores, support)
    weights = support if average == "weighted" and support.sum() else None
    if average == "weighted" and weights is None:
        value = 0.0 if zero_division == "warn" else float(zero_division)
        lost = 0.0 if predicted.sum() else value
        return _Scores(lost, value, lost, 0)
    mean_precision, mean_recall, mean_f1 = (
        float(np.average(part, weights=weights)) if part.size else 0.0 for part in scores
    )
    return _Scores(mean_precision, mean_recall, mean_f1, int(support.sum()))


def _share(
    part: np.ndarray, whole: np.ndarray, zero_division: Any, name: str, of: str, what: str
) -> np.ndarray:
    empty = whole == 0
    if empty.any() and zero_division == "warn" and of in (name, "all"):
        warnings.warn(
            f"there are types without {what} spans: their {name} is undefined and set to 0.0; "
            "zero_division=0 or 1 says what it is to be",
            UndefinedMetricWarning,
            stacklevel=4,
        )
    value = 0.0 if zero_division == "warn" else float(zero_division)
    return np.where(empty, value, part / np.where(empty, 1, whole))
