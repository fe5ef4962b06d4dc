"""Projected L-BFGS: steps of limited-memory BFGS in the weights that no bound holds.

Problem, f being smooth:

    minimise  f(w) + l1 |w|_1      such that  lower <= w <= upper

Every weight keeps its sign during a step (of zeros, the one that leads down; none if neither does),
so the l1 norm is linear and zero is one more bound: with signs x the slopes are g = f'(w) + l1 x.
Weights within epsilon of a bound that -g points to are *held*, all others are free. With H, the
inverse Hessian of the free weights by the last few steps s and changes of f', the update is

    d = -H g  for free weights,   d = -gamma g  for held ones,
    w(t) = the point of the box that is nearest to w + t d,

where t is 1, or shorter until F(w(t)) <= F(w) + 1e-4 <g, w(t) - w>. Because held weights move by
themselves, all short steps lead down, and limits are stationary; without bounds and l1 this is
L-BFGS with backtracking. A step 1 nearly always does; too short a step needs no second trial, for
its curvature makes the next one longer.

Whoever owns this evaluates f at ``point`` and calls ``tell``. Everything that decides the next
point is in ``arrays()``, so a copy of them goes on to the last bit as the original does.

References: Nocedal (1980), "Updating quasi-Newton matrices with limited storage"; Bertsekas (1982),
"Projected Newton methods for optimization problems with simple constraints"; Andrew and Gao (2007),
"Scalable training of L1-regularized log-linear models".
"""

from typing import NamedTuple

import numpy as np

from taut.solvers.objective import placed

SUFFICIENT = 1e-4  # part of the decrease that the slope promises
MOST_TRIALS = 30  # each at most half as long as the one before
NEAREST = 1e-3  # the largest epsilon
CURVED = 1e-10  # smallest cosine between s and the change of f' that tells of curvature
ROUNDING = float(np.finfo(np.float64).eps)
# Differences of objectives that are smaller, relative to them, have lost most of their digits.
FEW_DIGITS = 1e-10

VALUE, STEP, SLOPE = range(3)  # of F at the base, t, <g, d> of free weights
PHASE, PAIRS, NEWEST, TRIALS = range(4)
START, SEARCH, END = range(3)


class Face(NamedTuple):
    """Where a step may go, and the slopes there."""

    slopes: np.ndarray
    lower: np.ndarray  # empty without bounds and l1
    upper: np.ndarray

    def nearest(self, w: np.ndarray) -> np.ndarray:
        return placed(w, self.lower, self.upper)


class QuasiNewton:
    """Asks for F and f' at ``point``; None once there is no way down that rounding lets one see.

    >>> minimiser = QuasiNewton(np.zeros(1), np.zeros(0), np.zeros(0), l1=0.0, memory=3)
    >>> while (w := minimiser.point) is not None:
    ...     minimiser.tell(1.0 + (w[0] - 2.0) ** 2, 2.0 * (w - 2.0))
    >>> minimiser.base.tolist()
    [2.0]
    """

    def __init__(
        self, start: np.ndarray, lower: np.ndarray, upper: np.ndarray, *, l1: float, memory: int
    ):
        self.lower, self.upper, self.l1 = lower, upper, l1
        self.base = np.array(start, np.float64)
        self.gradient = np.zeros_like(self.base)  # f' at the base
        self.direction = np.zeros_like(self.base)
        # Rings of the last steps, and of how f' changed along them.
        self.moves = np.zeros((memory, len(self.base)))
        self.changes = np.zeros_like(self.moves)
        self.numbers, self.counts = np.zeros(3), np.zeros(4, np.int64)

    def arrays(self) -> dict[str, np.ndarray]:
        names = ("base", "gradient", "direction", "moves", "changes", "numbers", "counts")
        return {name: getattr(self, name) for name in names}

    def take_up(self, arrays: dict[str, np.ndarray]) -> None:
        """Go on from saved arrays of the right shapes; ValueError if they cannot be."""
        counts, numbers = arrays["counts"], arrays["numbers"]
        most = (END, len(self.moves), len(self.moves) - 1, MOST_TRIALS)
        if np.any(counts < 0) or np.any(counts > most):
            raise ValueError("counts of the line search that cannot be")
        if counts[PHASE] == SEARCH and not 0.0 < numbers[STEP] <= 1.0:
            raise ValueError("a step that is none")
        for row in self._rows(counts):
            s, y = arrays["moves"][row], arrays["changes"][row]
            if not is_curved(s, y, float(s @ y)):
                raise ValueError("a step without curvature")
        if np.any(placed(arrays["base"], self.lower, self.upper) != arrays["base"]):
            raise ValueError("weights outside their bounds")
        for name, array in self.arrays().items():
            array[...] = arrays[name]

    def _rows(self, counts: np.ndarray) -> list[int]:
        """Where the pairs are, newest first."""
        return [int(counts[NEWEST] - k) % len(self.moves) for k in range(counts[PAIRS])]

    @property
    def is_finished(self) -> bool:
        return bool(self.counts[PHASE] == END)

    @property
    def point(self) -> np.ndarray | None:
        """Where F is wanted next."""
        if self.is_finished:
            return None
        return self.base.copy() if self.counts[PHASE] == START else self._trial(self._face())

    def tell(self, value: float, gradient: np.ndarray) -> None:
        """F (with the l1 norm) and f' (without) at ``point``, which then is the next one."""
        if self.counts[PHASE] == START:
            self.counts[PHASE] = SEARCH if np.isfinite(value) else END
            self._move(self.base, value, gradient)
            return
        face = self._face()
        trial = self._trial(face)
        move = trial - self.base
        promised = float(face.slopes @ move)
        change = value - self.numbers[VALUE]
        if abs(change) <= FEW_DIGITS * abs(value):
            # Slopes still have theirs, and f is nearly quadratic on so short a way.
            change = promised + 0.5 * float((gradient - self.gradient) @ move)
        if change <= SUFFICIENT * promised:
            self._remember(move, gradient - self.gradient)
            self._move(trial, value, gradient)
        else:
            # The lowest point of the parabola through what is known, if it is not too near.
            shorter = 0.5 * promised / (promised - change) if np.isfinite(change) else 0.0
            self.numbers[STEP] *= min(max(shorter, 0.1), 0.5)
            self._aim(face)

    # --- directions -----------------------------------------------------------------------------

    def _face(self) -> Face:
        """Signs that the weights keep during this step, and the slopes that belong to them."""
        w, gradient, lower, upper = self.base, self.gradient, self.lower, self.upper
        if not self.l1:
            return Face(gradient, lower, upper)
        of_zeros = np.where(gradient < -self.l1, 1.0, np.where(gradient > self.l1, -1.0, 0.0))
        signs = np.where(w == 0.0, of_zeros, np.sign(w))
        lower = np.where(signs >= 0.0, np.maximum(lower, 0.0), lower)
        upper = np.where(signs <= 0.0, np.minimum(upper, 0.0), upper)
        return Face(gradient + self.l1 * signs, lower, upper)

    def _move(self, w: np.ndarray, value: float, gradient: np.ndarray) -> None:
        self.base[:], self.gradient[:], self.numbers[VALUE] = w, gradient, value
        if not self.is_finished:
            self._choose_direction()

    def _choose_direction(self) -> None:
        face = self._face()
        free, gamma = self._free(face)
        direction, slopes = self.direction, face.slopes
        if gamma == 0.0:
            self.counts[PHASE] = END
            return
        if free.all():
            direction[:] = self._newton(slopes, self.moves, self.changes, gamma)
            self.numbers[SLOPE] = slopes @ direction
        else:
            direction[:] = -gamma * slopes
            direction[free] = self._newton(
                slopes[free], self.moves[:, free], self.changes[:, free], gamma
            )
            self.numbers[SLOPE] = slopes[free] @ direction[free]
        self.numbers[STEP], self.counts[TRIALS] = 1.0, 0
        self._aim(face)

    def _free(self, face: Face) -> tuple[np.ndarray, float]:
        """Which weights no bound holds; and gamma, the scale of H, which is 0 at the optimum."""
        w, slopes = self.base, face.slopes
        newest = self.counts[NEWEST]
        if self.counts[PAIRS]:
            change = self.changes[newest]
            gamma = float(self.moves[newest] @ change) / float(change @ change)
        else:  # a first step of length 1
            away = w - face.nearest(w - slopes)
            length = float(np.sqrt(away @ away))
            gamma = 1.0 / length if length > 0.0 else 0.0
        if not face.lower.size:
            return np.ones(len(w), bool), gamma
        away = w - face.nearest(w - gamma * slopes)
        epsilon = min(NEAREST, float(np.sqrt(away @ away)))
        held = (w - face.lower <= epsilon) & (slopes > 0.0)
        held |= (face.upper - w <= epsilon) & (slopes < 0.0)
        return ~held, gamma

    def _newton(
        self, slopes: np.ndarray, moves: np.ndarray, changes: np.ndarray, gamma: float
    ) -> np.ndarray:
        """-H g by the two loops of Nocedal, over the pairs that are curved in these weights."""
        direction, found = -slopes, []
        for row in self._rows(self.counts):
            s, y = moves[row], changes[row]
            curvature = float(s @ y)
            # What is left of a step whose other weights are held may be mere rounding.
            is_left = float(s @ s) > CURVED * float(self.moves[row] @ self.moves[row])
            if not (is_left and is_curved(s, y, curvature)):
                continue
            part = float(s @ direction) / curvature
            direction -= part * y
            found.append((s, y, curvature, part))
        if found:
            s, y, curvature, _ = found[0]
            gamma = curvature / float(y @ y)
        direction *= gamma
        for s, y, curvature, part in reversed(found):
            direction += (part - float(y @ direction) / curvature) * s
        return direction

    def _remember(self, move: np.ndarray, change: np.ndarray) -> None:
        if not is_curved(move, change, float(move @ change)):
            return  # f is not convex there
        row = (self.counts[NEWEST] + 1) % len(self.moves)
        self.moves[row], self.changes[row] = move, change
        self.counts[NEWEST] = row
        self.counts[PAIRS] = min(self.counts[PAIRS] + 1, len(self.moves))

    # --- the line search ------------------------------------------------------------------------

    def _trial(self, face: Face) -> np.ndarray:
        return face.nearest(self.base + self.numbers[STEP] * self.direction)

    def _aim(self, face: Face) -> None:
        """The next trial; a step that the box turns upward is shortened without evaluation."""
        while self.counts[TRIALS] < MOST_TRIALS:
            self.counts[TRIALS] += 1
            promised = float(face.slopes @ (self._trial(face) - self.base))
            straight = float(self.numbers[STEP] * self.numbers[SLOPE])
            if min(promised, straight) >= -ROUNDING * abs(self.numbers[VALUE]):
                break  # nothing to gain that could be seen
            if promised <= SUFFICIENT * straight:
                return
            self.numbers[STEP] *= 0.5
        if self.counts[PAIRS]:
            self.counts[PAIRS] = 0  # the curvature may be the reason
            self._choose_direction()
        else:
            self.counts[PHASE] = END


def is_curved(s: np.ndarray, y: np.ndarray, curvature: float) -> bool:
    return curvature > CURVED * float(np.sqrt((s @ s) * (y @ y)))
