"""Precision, recall and F1 of spans: a predicted span is correct if it is exactly a true one.

    precision = correct / predicted,  recall = correct / support,
    F1 = 2 · correct / (predicted + support),

each 0.0 where the denominator is zero.
"""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from taut.metrics._inputs import Labelling, Pair, join_columns, number_pair
from taut.metrics.spans import Mode, find_spans, parse_reading
from taut.metrics.tokens import ratio, share_of_sequences, share_of_tokens
from taut.text.columns import Column
from taut.text.schemes import Scheme, borders


class Score(NamedTuple):
    precision: float
    recall: float
    f1: float
    support: int  # true spans
    predicted: int  # predicted spans
    correct: int  # spans that are both

    @classmethod
    def from_counts(cls, support: int, predicted: int, correct: int) -> "Score":
        return cls(
            ratio(correct, predicted),
            ratio(correct, support),
            ratio(2 * correct, predicted + support),
            int(support),
            int(predicted),
            int(correct),
        )

    @classmethod
    def mean(cls, scores: "list[Score]", support: int, predicted: int, correct: int) -> "Score":
        rates = np.mean([score[:3] for score in scores] or [(0.0, 0.0, 0.0)], axis=0)
        precision, recall, f1 = rates.tolist()
        return cls(precision, recall, f1, int(support), int(predicted), int(correct))


@dataclass(frozen=True)
class SpanReport:
    """Scores of spans; printed, it is a table of percentages.

    Attributes
    ----------
    types : dict
        The Score of each type that has a true or a predicted span, by name.
    micro : Score
        All types counted together: the figure that the CoNLL evaluation script reports.
    macro : Score
        Precision, recall and F1 are the means of those of the types; the counts are totals.
    token_accuracy, sequence_accuracy : float
        The shares of tokens with the right label, and of sequences without an error.
    n_tokens, n_sequences : int
    """

    types: dict[str, Score]
    micro: Score
    macro: Score
    token_accuracy: float
    sequence_accuracy: float
    n_tokens: int
    n_sequences: int

    def as_dict(self) -> dict[str, Any]:
        """Plain dicts and numbers, ready for JSON."""
        scores = {name: score._asdict() for name, score in self.types.items()}
        averages = {"micro": self.micro._asdict(), "macro": self.macro._asdict()}
        return {**vars(self), "types": scores, **averages}

    def __str__(self) -> str:
        scores = {name or "(no type)": score for name, score in self.types.items()}
        width = max(map(len, [*scores, "micro"]))
        header = f"{'':{width}}  precision   recall       F1   support  predicted   correct"
        return "\n".join(
            [
                header,
                *(_row(name, score, width) for name, score in scores.items()),
                "-" * len(header),
                _row("micro", self.micro, width),
                _row("macro", self.macro, width),
                "",
                f"{100 * self.token_accuracy:.2f}% of {self.n_tokens} tokens and "
                f"{100 * self.sequence_accuracy:.2f}% of {self.n_sequences} sequences are right",
            ]
        )


def span_report(
    y_true: Labelling,
    y_pred: Labelling,
    *,
    mode: Mode = "conlleval",
    scheme: str | Scheme | None = None,
) -> SpanReport:
    """Precision, recall and F1 of spans, by type and together.

    Parameters
    ----------
    y_true, y_pred : list of sequences of str
        Labels ``O`` and ``PREFIX-TYPE``.
    mode : {"conlleval", "strict"}
        How labels are read that do not follow their scheme: as the CoNLL evaluation script does,
        which makes the best of them and needs no scheme, or strictly by the scheme given. The
        rules of both are those of :func:`spans`.
    scheme : str or Scheme, only with mode="strict"
        IOB1, IOB2 (BIO), IOE1, IOE2, IOBES (BIOES) or BILOU.

    Returns
    -------
    SpanReport

    Examples
    --------
    >>> y_true = [["B-NP", "I-NP", "O"], ["B-NP", "B-VP"]]
    >>> y_pred = [["B-NP", "I-NP", "O"], ["B-NP", "I-NP"]]
    >>> report = span_report(y_true, y_pred)
    >>> report.types["NP"]
    Score(precision=0.5, recall=0.5, f1=0.5, support=2, predicted=2, correct=1)
    >>> print(report)
           precision   recall       F1   support  predicted   correct
    NP         50.00    50.00    50.00         2          2         1
    VP          0.00     0.00     0.00         1          0         0
    -----------------------------------------------------------------
    micro      50.00    33.33    40.00         3          2         1
    macro      25.00    25.00    25.00         3          2         1
    <BLANKLINE>
    80.00% of 5 tokens and 50.00% of 2 sequences are right
    """
    reading = parse_reading(mode, scheme)
    return _report(number_pair(y_true, y_pred), reading)


def span_report_from_codes(
    true: Column,
    predicted: Column,
    lengths: np.ndarray,
    *,
    mode: Mode = "conlleval",
    scheme: str | Scheme | None = None,
) -> SpanReport:
    """:func:`span_report` of labels that are numbers already: no string is touched.

    Parameters
    ----------
    true, predicted : Column
        The label numbers of all tokens, and the labels that they stand for; the two need not be
        numbered alike.
    lengths : array of int
        The number of tokens of each sequence.
    mode, scheme
        As in :func:`span_report`.

    Examples
    --------
    >>> true = Column(np.array([1, 2, 0]), ["O", "B-NP", "I-NP"])
    >>> predicted = Column(np.array([0, 1, 1]), ["B-NP", "O"])
    >>> span_report_from_codes(true, predicted, [3]).micro.correct
    0
    """
    reading = parse_reading(mode, scheme)
    return _report(join_columns(true, predicted, lengths), reading)


def span_f1(
    y_true: Labelling,
    y_pred: Labelling,
    *,
    average: Literal["micro", "macro"] = "micro",
    mode: Mode = "conlleval",
    scheme: str | Scheme | None = None,
) -> float:
    """F1 of spans in one number, as for ``make_scorer(span_f1)`` of scikit-learn.

    ``average`` is "micro" (all spans count alike) or "macro" (all types do); ``mode`` and
    ``scheme`` are those of :func:`span_report`.

    >>> span_f1([["B-NP", "I-NP", "B-VP"]], [["B-NP", "B-NP", "B-VP"]])
    0.4
    """
    if average not in ("micro", "macro"):
        raise ValueError(f"average is {average!r}; it must be 'micro' or 'macro'")
    report = span_report(y_true, y_pred, mode=mode, scheme=scheme)
    return (report.micro if average == "micro" else report.macro).f1


def _report(pair: Pair, reading: Scheme | None) -> SpanReport:
    tables = borders(pair.labels, reading)
    true = find_spans(pair.true, pair.lengths, tables)
    predicted = find_spans(pair.predicted, pair.lengths, tables)
    # Spans of one labelling do not overlap: at most one of them starts at a token.
    stop = np.zeros(len(pair.true), np.int64)
    type_ = np.full(len(pair.true), -1, np.int32)
    stop[predicted.start], type_[predicted.start] = predicted.stop, predicted.type
    is_correct = (stop[true.start] == true.stop) & (type_[true.start] == true.type)

    counts = np.stack(
        [
            np.bincount(found, minlength=len(tables.types))
            for found in (true.type, predicted.type, true.type[is_correct])
        ]
    )
    scores = {
        tables.types[k]: Score.from_counts(*counts[:, k])
        for k in sorted(np.flatnonzero(counts.any(axis=0)), key=tables.types.__getitem__)
    }
    totals = counts.sum(axis=1)
    return SpanReport(
        types=scores,
        micro=Score.from_counts(*totals),
        macro=Score.mean(list(scores.values()), *totals),
        token_accuracy=share_of_tokens(pair),
        sequence_accuracy=share_of_sequences(pair),
        n_tokens=len(pair.true),
        n_sequences=len(pair.lengths),
    )


def _row(name: str, score: Score, width: int) -> str:
    return (
        f"{name:{width}}  {100 * score.precision:9.2f}{100 * score.recall:9.2f}"
        f"{100 * score.f1:9.2f}{score.support:10}{score.predicted:11}{score.correct:10}"
    )
