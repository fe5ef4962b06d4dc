"""Labels that are missing: marked by None, or by a label that says so."""

from typing import Any

import numpy as np

from taut.labels import LabelCodec
from taut.text.columns import Column


def as_parts(y: Any) -> Any:
    """Labels as a list of lists; those of a column as one."""
    return [[y.values[code] for code in y.codes]] if isinstance(y, Column) else y


def is_labelled(labels: Any, missing: Any) -> np.ndarray:
    """Which of all nodes have a label; NaN marks what is missing if it is said to."""
    labels, is_nan = as_parts(labels), missing != missing

    def has_label(label: Any) -> bool:
        return label is not None and label != missing and not (is_nan and label != label)

    known = [
        (part == part if is_nan else part != missing)
        if isinstance(part, np.ndarray) and part.dtype != object
        else np.array([has_label(label) for label in part], bool)
        for part in labels
    ]
    return np.concatenate([np.broadcast_to(k, len(p)) for k, p in zip(known, labels, strict=True)])


def known_parts(labels: Any, known: np.ndarray) -> list:
    """The labels that are known, example by example, arrays as arrays."""
    parts = []
    at = 0
    for part in as_parts(labels):
        mask = known[at : at + len(part)]
        at += len(part)
        if isinstance(part, np.ndarray):
            parts.append(part[mask])
        else:
            parts.append([label for label, is_known in zip(part, mask, strict=True) if is_known])
    return parts


def numbered(codec: LabelCodec, y: Any, missing: Any) -> np.ndarray:
    """Label numbers of all positions, 0 where the label is missing."""
    known = is_labelled(y, missing)
    numbers = np.zeros(len(known), np.int32)
    if known.any():
        numbers[known] = codec.encode_known(known_parts(y, known))
    return numbers
