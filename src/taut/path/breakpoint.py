"""A value of lambda at which the path was solved, and all that proofs need to know of it."""

from typing import NamedTuple

import numpy as np


class Breakpoint(NamedTuple):
    """Weights w = clip(v) of a dual point alpha, summed up in numbers.

    The objective at w is lambda/2 |w|^2 + hinge; the dual value of alpha is
    loss - lambda (<v, w> - |w|^2 / 2), so that their gap is hinge + lambda <v, w> - loss.
    """

    lam: float  # infinite: the limit, where w = clip(0)
    gap: float
    hinge: float  # 1/n sum_i s_i max_y H_i(y; w), or an upper bound on it
    loss: float  # 1/n sum_i s_i sum_y alpha_i(y) loss_i(y)
    norm: float  # |w|^2
    product: float  # <v, w>, the same without bounds on the weights
    distance: float  # |w - w'|^2, w' those of the breakpoint before
    oracle_calls: int = 0
    seconds: float = 0.0
    score: float = np.nan  # of w on held-out data

    @property
    def u(self) -> float:
        return 1.0 / self.lam

    @property
    def dual(self) -> float:
        """A lower bound on the optimum at lambda."""
        return self.loss - self.lam * (self.product - 0.5 * self.norm)

    @property
    def average(self) -> float:
        """1/n sum_i s_i sum_y alpha_i(y) H_i(y; w): what the hinge exceeds by the gap."""
        return self.hinge - self.gap


TABLE = np.dtype(
    [(name, "i8" if kind is int else "f8") for name, kind in Breakpoint.__annotations__.items()]
)
