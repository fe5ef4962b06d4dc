"""``taut inspect --weights``: every weight that is not zero, as a table for other programs.

Columns, apart by tabs, below a line of their names:

    kind        name                  label
    attribute   the attribute         of the token that has it
    bias        (empty)               of any token
    begin, end  (empty)               of the first, the last token
    transition  the label before      the label after
    transition:ATTRIBUTE              likewise, where the token after has this attribute of steps

Of models of matrices an attribute is the number of a column, and ``transition:3`` a weight of the
step feature 3. A backslash, a tab and line ends within names are written as ``\\\\``, ``\\t``,
``\\n`` and ``\\r``. Weights have all their digits: read back, they are the same numbers.
"""

import gzip
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import BinaryIO

import numpy as np
from scipy import sparse

from taut.chain.model import ChainModel
from taut.files.atomic import atomic_write

HEADER = "kind\tname\tlabel\tweight"
LINES_AT_ONCE = 10_000
_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


def write_weights(model: ChainModel, path: str, label: str | None) -> None:
    """To a file, whole or not at all, or ("-") to standard output; ``label`` chooses one."""
    lines = _lines(model, label)
    if path == "-":
        _write(lines, sys.stdout.buffer)
        return
    with atomic_write(path) as file:
        if path.endswith(".gz"):
            # Without time and name the same model gives the same bytes.
            with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
                _write(lines, packed)  # type: ignore[arg-type]
        else:
            _write(lines, file)


def _write(lines: Iterable[str], file: BinaryIO) -> None:
    waiting = iter(lines)
    while block := list(islice(waiting, LINES_AT_ONCE)):
        file.write("".join(f"{line}\n" for line in block).encode("utf-8"))


def _lines(model: ChainModel, only: str | None) -> Iterator[str]:
    labels = [escaped(str(label)) for label in model.labels.classes.tolist()]
    chosen = None if only is None else escaped(only)
    yield HEADER
    for kind, name, label, weight in _weights(model, labels):
        if chosen is None or label == chosen:
            yield f"{kind}\t{name}\t{label}\t{weight!r}"


def _weights(model: ChainModel, labels: list[str]) -> Iterator[tuple[str, str, str, float]]:
    matrix = sparse.csr_array(model.node_weights())
    matrix.sort_indices()
    for at, name in enumerate(model.attribute_names()):
        span = slice(matrix.indptr[at], matrix.indptr[at + 1])
        text = escaped(str(name))
        for k, weight in zip(
            matrix.indices[span].tolist(), matrix.data[span].tolist(), strict=True
        ):
            if weight:
                yield "attribute", text, labels[k], weight
    layout = model.layout
    for kind, place in (
        ("bias", layout.bias_at),
        ("begin", layout.begin_at),
        ("end", layout.end_at),
    ):
        for label, weight in zip(labels, model.label_weights(place).tolist(), strict=True):
            if weight:
                yield kind, "", label, weight
    for feature, steps in enumerate(model.step_weights()):
        kind = f"transition:{feature}" if model.has_step_features else "transition"
        for before, after in np.argwhere(steps).tolist():
            yield kind, labels[before], labels[after], float(steps[before, after])
    for attribute, before, after, weight in model.step_attribute_weights():
        if weight:
            yield f"transition:{escaped(attribute)}", labels[before], labels[after], weight


def escaped(text: str) -> str:
    r"""
    >>> print(escaped("a\tb\\"))
    a\tb\\
    """
    return text.translate(_ESCAPES)
