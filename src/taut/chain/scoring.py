"""How good labels are, in the terms of their kind: spans where labels write spans, else tokens."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from taut.metrics import span_report_from_codes
from taut.metrics._inputs import flatten, join_columns, number
from taut.metrics.tokens import share_of_tokens
from taut.text.columns import Column
from taut.text.numbering import Numbering
from taut.text.schemes import parse_labels

SPAN_F1, ACCURACY = "span F1", "token accuracy"


def write_spans(labels: Sequence[Any]) -> bool:
    """Whether these labels are of a tagging scheme.

    >>> write_spans(["O", "B-NP", "I-NP"]), write_spans(["NN", "VB"]), write_spans(["O", "I"])
    (True, False, False)
    """
    if not all(isinstance(label, str) for label in labels):
        return False
    try:
        parse_labels(labels, None)
    except ValueError:
        return False
    return any("-" in label for label in labels)


def score(true: Column, predicted: Column, lengths: np.ndarray, metric: str) -> float:
    if metric == SPAN_F1:
        return span_report_from_codes(true, predicted, lengths).micro.f1
    return share_of_tokens(join_columns(true, predicted, lengths))


def all_text(y: Any) -> bool:
    """Whether every label is a string."""
    values = y.values if isinstance(y, Column) else (label for part in y for label in part)
    return all(isinstance(label, str) for label in values)


def as_column(y: Any) -> Column:
    """Labels of all positions, as a column of text has them."""
    if isinstance(y, Column):
        return y
    numbering = Numbering()
    return Column(number(numbering, flatten(y, "y")[0]), numbering.values)
