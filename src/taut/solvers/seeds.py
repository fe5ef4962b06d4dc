"""Seeds that a run was given, and seeds that nobody chose."""

from numbers import Integral
from typing import Any

import numpy as np


class DrawnSeed(int):
    """Drawn where ``random_state`` is None or a generator: it differs from fit to fit.

    A checkpoint must be there for the next fit all the same.
    """


def drawn_seed(random: np.random.RandomState) -> int:
    """What a run draws from the generator that a ``random_state`` is."""
    return int(random.randint(2**31 - 1))


def seed_of(drawn: int, random_state: Any) -> int:
    """A seed that was drawn from ``random_state``; only an integer draws the same again."""
    return int(drawn) if isinstance(random_state, Integral) else DrawnSeed(drawn)


def known_seed(seed: int) -> int | None:
    """What a checkpoint says of the seed; None if nobody chose it.

    >>> known_seed(seed_of(7, random_state=0)), known_seed(seed_of(7, random_state=None))
    (7, None)
    """
    return None if isinstance(seed, DrawnSeed) else int(seed)
