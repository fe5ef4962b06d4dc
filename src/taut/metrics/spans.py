"""The spans that label sequences write, found for all tokens at once.

Whether a span starts, goes on or ends between two tokens depends on their two labels alone, so it
is read from tables with one entry for each pair of labels. Spans are then the runs of joined tokens
that start and end as their reading demands; the two readings differ in their tables only.
"""

from typing import Literal, NamedTuple

import numpy as np

from taut.metrics._inputs import Labelling, flatten, number
from taut.text.numbering import Numbering
from taut.text.schemes import Borders, Scheme, borders

Mode = Literal["conlleval", "strict"]


class Span(NamedTuple):
    """Tokens ``start .. stop`` (exclusive, as in a slice) of a sequence."""

    sequence: int
    start: int
    stop: int
    type: str


class SpanArrays(NamedTuple):
    """All spans of one labelling, in order; tokens count through all sequences."""

    start: np.ndarray  # int64
    stop: np.ndarray  # int64, exclusive
    type: np.ndarray  # int32: which of the types


def spans(
    y: Labelling,
    *,
    mode: Mode = "conlleval",
    scheme: str | Scheme | None = None,
) -> list[Span]:
    """The spans that label sequences write.

    Parameters
    ----------
    y : list of sequences of str
        Labels ``O`` and ``PREFIX-TYPE``; a type may contain hyphens, or be missing.
    mode : {"conlleval", "strict"}
        How labels are read where they do not follow their scheme. "conlleval" makes the best of
        them, as the CoNLL evaluation script does, and needs no scheme: a span starts at B, at S
        (U), and at I or E (L) after O, after E, S (L, U) or where the type changes; it ends where
        the next one starts, before O, and after E or S (L, U). (The script itself knows no S, L
        and U.) "strict" demands a scheme: a span exists if its own labels are those that the
        scheme writes for it, next to neighbours of these types; labels that are part of no such
        span are ignored.
    scheme : str or Scheme, only with mode="strict"
        IOB1, IOB2 (BIO), IOE1, IOE2, IOBES (BIOES) or BILOU.

    Returns
    -------
    list of Span
        (sequence, start, stop, type), in order.

    Examples
    --------
    >>> spans([["B-NP", "I-NP", "O", "I-PP"]])
    [Span(sequence=0, start=0, stop=2, type='NP'), Span(sequence=0, start=3, stop=4, type='PP')]
    >>> spans([["B-NP", "I-NP", "O", "I-PP"]], mode="strict", scheme="IOB2")
    [Span(sequence=0, start=0, stop=2, type='NP')]
    """
    reading = parse_reading(mode, scheme)
    labels, lengths = flatten(y, "y")
    numbering = Numbering()
    codes = number(numbering, labels)
    tables = borders(numbering.values, reading)
    found = find_spans(codes, lengths, tables)
    ends = np.cumsum(lengths)
    sequence = np.searchsorted(ends, found.start, "right")
    first = (ends - lengths)[sequence]
    return list(
        map(
            Span,
            sequence.tolist(),
            (found.start - first).tolist(),
            (found.stop - first).tolist(),
            [tables.types[k] for k in found.type],
        )
    )


def parse_reading(mode: str, scheme: str | Scheme | None) -> Scheme | None:
    """The scheme to read strictly, or None for the reading that needs none."""
    if mode not in ("conlleval", "strict"):
        raise ValueError(f"mode is {mode!r}; it must be 'conlleval' or 'strict'")
    if mode == "strict" and scheme is None:
        raise ValueError("mode='strict' needs to know the scheme of the labels: scheme='IOB2'")
    if mode == "conlleval" and scheme is not None:
        raise ValueError(
            f"scheme={scheme!r} has no effect on mode='conlleval', which reads all schemes alike; "
            "leave it out, or use mode='strict'"
        )
    return None if scheme is None else Scheme.parse(scheme)


def find_spans(codes: np.ndarray, lengths: np.ndarray, tables: Borders) -> SpanArrays:
    """The spans of all sequences, from their label numbers."""
    before, after = _neighbours(codes, lengths, outside=len(tables.type) - 1)
    start = np.flatnonzero(~tables.joined[before, codes])
    last = np.flatnonzero(~tables.joined[codes, after])
    is_span = tables.starts[before[start], codes[start]] & tables.ends[codes[last], after[last]]
    start, last = start[is_span], last[is_span]
    return SpanArrays(start, last + 1, tables.type[codes[start]])


def _neighbours(
    codes: np.ndarray, lengths: np.ndarray, outside: int
) -> tuple[np.ndarray, np.ndarray]:
    """The labels before and after each token of its sequence."""
    stops = np.cumsum(lengths)[lengths > 0]
    before, after = np.empty_like(codes), np.empty_like(codes)
    before[1:], after[:-1] = codes[:-1], codes[1:]
    before[stops - lengths[lengths > 0]] = outside
    after[stops - 1] = outside
    return before, after
