"""Linear pieces, as long as their closed-form bound allows.

Solve at a smaller lambda, with a gap of kappa eps, and look at the piece that would lead there. If
its largest gap is within eps it is accepted, and says how long the next one may be; if not,
the point is put aside until the walk has solved between.

Reference: the bound is ours (see ``pieces``); to warm-start and to solve to a part of eps at each
breakpoint is from Osokin et al. (2016).
"""

import math

import numpy as np

from taut.path.breakpoint import Breakpoint
from taut.path.multiple import best_multiple
from taut.path.pieces import bulge, constant_gap, largest_linear_gap
from taut.path.start import between
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
    @property
    def certifies_first(self) -> bool:
        """The gaps at another lambda are worth a pass: steps are drawn, and sweeps end, by them."""
        return True

    def allowed(self, point: Breakpoint) -> float:
        """The gap that is allowed there; and before, since the optimum falls with lambda."""
        if self.floor is None:
            return self.promised
        return max(self.part * point.dual, self.floor * self.scale)

    def reach(self) -> float:
        last = self.points[-1]
        least = self.promised if self.floor is None else self.floor * self.scale
        return 0.0 if constant_gap(last, 0.0) <= least else last.lam

    def arrive(self, solved: Solved) -> None:
        self.ahead.append(solved)
        while self.ahead and self._is_within(self.ahead[-1]):
            self.accept(self.ahead.pop())

    def _is_within(self, solved: Solved) -> bool:
        bound = largest_linear_gap(self.points[-1], self.after(solved))
        return bound <= self.allowed(solved.point)

    def set_out(self) -> None:
        here = self.points[-1].lam
        if self.ahead:
            lam = between(here, self.ahead[-1].point.lam)
        else:
            lam = max(here / self._ratio(), self.lam_min)
        self.go_to(lam, best_multiple(self.run, lam))

    def _ratio(self) -> float:
        """How far the next piece may go, from the bulge of the last."""
        a, b = self.points[-2:]
        if a.u == 0.0:
            return LONGEST
        length = math.log(a.lam / b.lam)
        height = 0.5 * bulge(a, b) / (a.u + b.u)  # in the middle, t = 1/2
        room = self.promised - (1.0 - SPARE) * self.target
        change = CAUTION * math.sqrt(room / height) if height > 0 else FASTEST
        return min(math.exp(length * float(np.clip(change, SLOWEST, FASTEST))), LONGEST)
