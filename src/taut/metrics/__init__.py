"""How good predicted label sequences are: by token, by sequence, and by span.

Labels come as sequence labellers return them, a list of label sequences; spans are written in them
by a tagging scheme (:mod:`taut.text.schemes`). A ratio whose denominator is zero, such as the
precision where nothing was predicted, is 0.0, without a warning.
"""

from taut.metrics.report import (
    Score,
    SpanReport,
    span_f1,
    span_report,
    span_report_from_codes,
)
from taut.metrics.spans import Span, spans
from taut.metrics.tokens import confusion_matrix, sequence_accuracy, token_accuracy

__all__ = [
    "Score",
    "Span",
    "SpanReport",
    "confusion_matrix",
    "sequence_accuracy",
    "span_f1",
    "span_report",
    "span_report_from_codes",
    "spans",
    "token_accuracy",
]
