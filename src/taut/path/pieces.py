"""Breakpoints, and what is proved between two of them: closed forms, without asking the oracle.

A breakpoint is a value of lambda at which the path was solved, with all that proofs need to know.

**Constant** pieces (Osokin et al. 2016, proposition 1). Keep w and move the dual point toward the
truth, alpha <- rho alpha with rho = lambda / lambda_a: then v, w and the hinge stay, and

    gap(lambda) = hinge_a - rho average_a = gap_a + (1 - rho) average_a.

**Linear** pieces. Interpolate between two breakpoints, linearly in u = 1/lambda:

    t = (u - u_a) / (u_b - u_a),   w = (1 - t) w_a + t w_b,
    s = t u_b / u,                 alpha = (1 - s) alpha_a + s alpha_b,

which makes v = (1 - t) v_a + t v_b. The hinge is convex in w. The dual value is loss - lambda h(v)
with h(v) = <v, clip(v)> - |clip(v)|^2 / 2, convex, its gradient clip(v) 1-Lipschitz, so that
h(v) <= (1 - t) h(v_a) + t h(v_b) - t (1 - t) / 2 |w_a - w_b|^2. Adding up,

    gap(lambda) <= (1 - s) gap_a + s gap_b + t (1 - t) / u bulge,
    bulge = (u_b - u_a) (hinge_a - hinge_b) - |w_a - w_b|^2.

The bulge is 0 where the exact path is straight. Constant pieces err in the first order of their
length, linear ones in the second: an eps-path needs O(1/sqrt(eps)) of them instead of O(1/eps). At
the limit of infinite lambda u_a = 0, w_a = clip(0), s = 1, and the bound is
gap_b + (1 - t) bulge / u_b.
"""

import math
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


def checked_breakpoints(table: np.ndarray) -> list[Breakpoint]:
    """From a file: the limit of infinite lambda and what follows, with numbers that can be."""
    lam, solved = table["lam"], table[1:]
    if not (np.isinf(lam[0]) and np.all(np.isfinite(lam[1:])) and np.all(np.diff(lam) < 0)):
        raise ValueError("the lambdas of its breakpoints")
    finite = [name for name in TABLE.names or () if name not in ("lam", "score", "distance")]
    sound = all(np.all(np.isfinite(table[name])) for name in finite) and np.all(lam > 0)
    gap = solved["hinge"] + solved["lam"] * solved["product"] - solved["loss"]
    scale = 1e-6 * (1.0 + np.abs(solved["hinge"]) + np.abs(solved["loss"]))
    if not (sound and np.all(np.abs(gap - solved["gap"]) <= scale)):
        raise ValueError("the numbers of its breakpoints do not belong together")
    return [Breakpoint(*row.tolist()) for row in table]


def constant_gap(a: Breakpoint, lam: float) -> float:
    """A bound for the weights of ``a`` at a smaller lambda, down to 0."""
    return a.hinge - lam / a.lam * a.average


def reach_of_constant(a: Breakpoint, eps: float) -> float:
    """The smallest lambda at which the weights of ``a`` are proved within ``eps``; 0 if all are.

    Osokin's stopping test, whose printed form is the wrong way round: average <= eps - gap.
    """
    spare = eps - a.gap
    return 0.0 if a.average <= spare else a.lam * (1.0 - spare / a.average)


def place(a: Breakpoint, b: Breakpoint, lam: float) -> float:
    """The share t of b's weights at lambda."""
    return (1.0 / lam - a.u) / (b.u - a.u)


def bulge(a: Breakpoint, b: Breakpoint) -> float:
    """By how much the gap exceeds the mixture of its ends, but for the factor t (1 - t) / u."""
    return (b.u - a.u) * (a.hinge - b.hinge) - b.distance


def linear_gap(a: Breakpoint, b: Breakpoint, lam: float) -> float:
    """A bound for the interpolated weights at a lambda between those of neighbours a and b."""
    return _gap_at(a, b, place(a, b, lam))


def _gap_at(a: Breakpoint, b: Breakpoint, t: float) -> float:
    if a.u == 0.0:
        return b.gap + (1.0 - t) * bulge(a, b) / b.u
    u = (1.0 - t) * a.u + t * b.u
    ends = (1.0 - t) * a.u * a.gap + t * b.u * b.gap
    return (ends + t * (1.0 - t) * bulge(a, b)) / u


def largest_linear_gap(a: Breakpoint, b: Breakpoint) -> float:
    """The maximum of ``linear_gap`` over the piece.

    It is a quadratic in t over a positive linear function, (n0 + n1 t - B t^2) / (u_a + h t). With
    B <= 0 that is quasi-convex: the ends are largest. With B > 0 it has one stationary point,
    where B h t^2 + 2 B u_a t = n1 u_a - n0 h.
    """
    ends = max(_gap_at(a, b, 0.0), b.gap)
    B, h = bulge(a, b), b.u - a.u
    if a.u == 0.0 or B <= 0.0:
        return ends
    n0 = a.u * a.gap
    n1 = b.u * b.gap - n0 + B
    under_root = a.u * a.u + h / B * (n1 * a.u - n0 * h)
    if under_root <= a.u * a.u:  # the stationary point is before the piece
        return ends
    t = (math.sqrt(under_root) - a.u) / h
    return max(ends, _gap_at(a, b, min(t, 1.0)))
