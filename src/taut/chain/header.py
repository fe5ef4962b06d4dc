"""What the header of a chain model's file says: labels, options, how probabilities are made.

JSON holds anything; here it becomes what the rest of taut may rely on, or a ValueError,
LookupError, TypeError or ArithmeticError says that it does not. Limits hold for writing as well:
what would be refused later is refused while the model is still there.
"""

import math
import re
from collections.abc import Collection
from reprlib import repr as short  # what a file says may be long
from typing import Any

import numpy as np

from taut.defaults import DECODINGS, LOWEST_TEMPERATURE
from taut.labels import LabelCodec, object_array

MOST_LABELS = 10_000
MOST_LABEL_BYTES = 1 << 24  # of an array of all labels, each as wide as the longest
LABEL_TYPE = re.compile(r"[<>|=]?(b1|[iu][1248]|f[248]|U\d{1,8})", re.ASCII)


# --- single values ------------------------------------------------------------------------------


def count(value: Any, most: int = 2**63 - 1, least: int = 0) -> int:
    if type(value) is not int or not least <= value <= most:  # True is an int, too
        raise ValueError(f"{short(value)} where a count from {least} to {most} is expected")
    return value


def number(value: Any) -> float:
    if type(value) not in (int, float) or not math.isfinite(value):
        raise ValueError(f"{short(value)} where a finite number is expected")
    return float(value)


def flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{short(value)} where true or false is expected")
    return value


def text(value: Any, known: Collection[str] | None = None) -> str:
    if not isinstance(value, str) or (known is not None and value not in known):
        expected = "text" if known is None else f"one of {', '.join(known)}"
        raise ValueError(f"{short(value)} where {expected} is expected")
    return value


# --- options ------------------------------------------------------------------------------------


def packed_options(options: dict[str, Any] | None) -> dict[str, Any]:
    """As plain values; JSON has no infinity, so an endless limit is left to the default."""
    plain = {
        name: value.item() if isinstance(value, np.generic) else value
        for name, value in (options or {}).items()
    }
    return {
        name: value
        for name, value in plain.items()
        if not isinstance(value, float) or math.isfinite(value)
    }


def check_options(options: Any) -> None:
    if not isinstance(options, dict):
        raise ValueError("its options are not named")
    for name, value in options.items():
        if not (value is None or isinstance(value, str | int | float)):
            raise ValueError(f"its option {short(name)} is {short(value)}")


# --- labels -------------------------------------------------------------------------------------


def packed_labels(labels: LabelCodec) -> dict[str, Any]:
    values = labels.classes.tolist()
    if not all(isinstance(value, str | int | float) for value in values):
        strange = next(value for value in values if not isinstance(value, str | int | float))
        raise TypeError(
            f"the label {strange!r} cannot be written to a model file; text, numbers and booleans "
            "can: train with such labels, or pickle the estimator"
        )
    if len(values) > MOST_LABELS:
        raise ValueError(
            f"the model has {len(values)} labels, a model file holds {MOST_LABELS}; "
            "pickle the estimator"
        )
    kind = labels.classes.dtype if labels.as_arrays and labels.classes.dtype != object else None
    if kind is not None and len(values) * kind.itemsize > MOST_LABEL_BYTES:
        raise ValueError(
            f"{len(values)} labels of the type {kind} take more than {MOST_LABEL_BYTES} bytes, "
            "the most that a model file's labels may; train with labels in lists, or shorter ones"
        )
    return {"values": values, "array_type": None if kind is None else kind.str,
            "as_arrays": labels.as_arrays}  # fmt: skip


def unpacked_labels(packed: Any) -> LabelCodec:
    values = packed["values"]
    if not isinstance(values, list) or not 1 <= len(values) <= MOST_LABELS:
        raise ValueError(f"it should have from 1 to {MOST_LABELS} labels")
    if not all(isinstance(value, str | int | float) for value in values):
        raise ValueError("its labels are not text or numbers")
    if not flag(packed["as_arrays"]):
        codec = LabelCodec([values])
    elif packed["array_type"] is None:
        codec = LabelCodec([object_array(values)])
    else:
        kind = _label_type(packed["array_type"], len(values))
        with np.errstate(over="ignore"):  # a number that is too large differs, see below
            codec = LabelCodec([np.array(values, kind)])
    if codec.classes.tolist() != values:
        raise ValueError("its labels are repeated or not in order")
    return codec


def _label_type(name: Any, n_labels: int) -> np.dtype:
    # Before memory is taken: the type says how wide a label is, and ten bytes can say any width.
    if not LABEL_TYPE.fullmatch(text(name)) or (
        n_labels * np.dtype(name).itemsize > MOST_LABEL_BYTES
    ):
        raise ValueError(f"its {n_labels} labels are of the type {short(name)}")
    return np.dtype(name)


def unpacked_probabilities(header: dict[str, Any]) -> tuple[float, str]:
    """Temperature and decoding; files from before there were CRFs say nothing of either."""
    temperature = number(header.get("temperature", 0.0))
    decoding = text(header.get("decoding", "viterbi"), DECODINGS)
    is_crf = temperature >= LOWEST_TEMPERATURE
    if not (is_crf or (temperature == 0.0 and decoding == "viterbi")):
        raise ValueError(f"its temperature is {temperature}, its decoding {decoding}")
    return temperature, decoding


def unpacked_change(header: dict[str, Any]) -> float:
    """How far weights may be from those that were trained; first files had all 64 bits."""
    change = number(header.get("weight_change", 0.0))
    if change < 0.0:
        raise ValueError(f"its weights changed by {change}")
    return change
