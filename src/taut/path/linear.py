"""Linear pieces, as long as their closed-form bound allows.

Solve at a smaller lambda, with a gap of kappa eps, and look at the piece that would lead there. If
its largest gap is within eps it is accepted, and says how long the next one may be; if not,
the point is put aside until the walk has solved between.

Reference: the bound is ours (see ``pieces``); to warm-start and to solve to a part of eps at each
breakpoint is from Osokin et al. (2016).
"""

import math

import numpy as np

from taut.path.multiple import best_multiple
from taut.path.pieces import bulge, constant_gap, largest_linear_gap
from taut.path.start import begin
from taut.path.walk import Solved, Walk

# The gap to solve to, as a part of eps.
KAPPA = 0.8
# Pieces are at most so long, as a ratio of lambdas, and change their length at most so quickly.
# (Longer ones save no oracle calls: what they save in breakpoints, warm starts from afar cost.)
LONGEST = 4.0
SLOWEST, FASTEST = 0.4, 3.0
# The bulge grows with the square of the length of a piece in log lambda; this much caution.
CAUTION = 0.8
# Of the gap solved to, the part that is typically not there.
SPARE = 0.3


class LinearWalk(Walk):
    def begin(self) -> None:
        start = begin(self.run)
        self.points.append(start.limit)
        if self.lam_min is None:
            self.lam_min = start.lam_min
        self._solve_at(max(start.slope / self.target, self.lam_min), 1.0)

    def _solve_at(self, lam: float, shrink: float | None = None) -> None:
        self.go_to(lam, best_multiple(self.run, lam) if shrink is None else shrink)

    def aim_at(self, lam_min: float) -> None:
        super().aim_at(lam_min)
        untouched = not (self.ahead or self.has_looked)
        if untouched and self.lam < lam_min < self.end:  # the next lambda had been chosen already
            self._solve_at(lam_min)

    @property
    def certifies_first(self) -> bool:
        """The gaps at another lambda are worth a pass: steps are drawn, and sweeps end, by them."""
        return True

    def reach(self) -> float:
        last = self.points[-1]
        return 0.0 if constant_gap(last, 0.0) <= self.eps else last.lam

    def arrive(self, solved: Solved) -> None:
        self.ahead.append(solved)
        while self.ahead:
            piece = self.points[-1], self.after(self.ahead[-1])
            if largest_linear_gap(*piece) > self.eps:
                self._solve_at(between(piece[0].lam, piece[1].lam))
                return
            self.accept(self.ahead.pop())
        if self.end > 0.0:  # at lam_min already, too: the user may want to go on later
            lam = self.points[-1].lam / self._ratio()
            self._solve_at(max(lam, self.lam_min) if self.end > self.lam_min else lam)

    def _ratio(self) -> float:
        """How far the next piece may go, from the bulge of the last."""
        a, b = self.points[-2:]
        if a.u == 0.0:
            return LONGEST
        length = math.log(a.lam / b.lam)
        height = 0.5 * bulge(a, b) / (a.u + b.u)  # in the middle, t = 1/2
        room = self.eps - (1.0 - SPARE) * self.target
        change = CAUTION * math.sqrt(room / height) if height > 0 else FASTEST
        return min(math.exp(length * float(np.clip(change, SLOWEST, FASTEST))), LONGEST)


def between(lam_a: float, lam_b: float) -> float:
    """Halfway in log lambda; on the way from infinity, a good deal larger."""
    return math.sqrt(lam_a * lam_b) if math.isfinite(lam_a) else 8.0 * lam_b
