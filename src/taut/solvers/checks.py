"""What options may be."""

from numbers import Integral, Real
from typing import Any

import numpy as np


def is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def is_count(value: Any) -> bool:
    """A whole number, at least one."""
    return is_number(value) and isinstance(value, Integral) and int(value) >= 1


def check_count(value: Any, name: str, what: str) -> None:
    """``None`` or a count of something."""
    if value is not None and not is_count(value):
        raise ValueError(f"{name}={value!r}; {what}, at least 1, or None")
