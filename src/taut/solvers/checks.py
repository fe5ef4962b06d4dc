"""What options may be."""

from numbers import Integral, Real
from typing import Any

import numpy as np


def is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def is_count(value: Any) -> bool:
    """A whole number, at least one."""
    return is_number(value) and isinstance(value, Integral) and int(value) >= 1


def check_limits(time_limit: Any, cpu_limit: Any) -> None:
    """Of seconds, by the clock or of this process."""
    for name, limit in (("time_limit", time_limit), ("cpu_limit", cpu_limit)):
        if limit is not None and not (is_number(limit) and limit >= 0):
            raise ValueError(f"{name}={limit!r}; a number of seconds, or None for no limit")


def check_count(value: Any, name: str, what: str) -> None:
    """``None`` or a count of something."""
    if value is not None and not is_count(value):
        raise ValueError(f"{name}={value!r}; {what}, at least 1, or None")


def parsed(kind: Any, value: Any, name: str) -> Any:
    """An enumeration's member from itself or its name, in lower case and with hyphens."""
    names = {member.lower().replace("_", "-"): member for member in kind.__members__}
    if isinstance(value, str) and value.lower() in names:
        return kind[names[value.lower()]]
    if isinstance(value, str) or value not in list(kind):
        raise ValueError(f"{name}={value!r}; expected {', '.join(map(repr, names))}")
    return kind(value)
