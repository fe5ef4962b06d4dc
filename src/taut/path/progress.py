"""A line that says how far along lambda a walk is; silent unless someone is watching a terminal."""

import math
import sys
import time
from typing import Any

from taut.solvers.progress import is_watched


class PathProgress:
    """Rewrites one line at most twice a second."""

    def __init__(self, wanted: bool | None):
        self.on = is_watched(wanted)
        self.last = time.perf_counter()
        self.shown = False

    def line(self, walk: Any) -> None:
        if not self.on or time.perf_counter() - self.last < 0.5:
            return
        self.last = time.perf_counter()
        self.shown = True
        done = share_done(walk)
        left = f", at least {walk.seconds / done - walk.seconds:.0f} s left" if done > 0 else ""
        sys.stderr.write(
            f"\r\x1b[Klambda {walk.lam:.3g} ({100 * done:.0f} % of the way to {walk.lam_min:.3g})  "
            f"{len(walk.points) - 1} breakpoints  {walk.oracle_calls / walk.run.n:.1f} passes  "
            f"{walk.seconds:.0f} s{left}"
        )
        sys.stderr.flush()

    def close(self) -> None:
        if self.shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


class FoldsProgress:
    """The same for several walks at a time."""

    def __init__(self, wanted: bool | None, n_folds: int):
        self.on = is_watched(wanted)
        self.shares = [0.0] * n_folds
        self.begun = self.last = time.perf_counter()
        self.shown = False

    def fold(self, number: int) -> "FoldProgress":
        return FoldProgress(self, number)

    def note(self, number: int, share: float) -> None:
        self.shares[number] = share
        now = time.perf_counter()
        if not self.on or now - self.last < 0.5:
            return
        self.last, self.shown = now, True
        done = sum(self.shares) / len(self.shares)
        spent = now - self.begun
        left = f", at least {spent / done - spent:.0f} s left" if done > 0 else ""
        finished = sum(share == 1.0 for share in self.shares)
        sys.stderr.write(
            f"\r\x1b[Kcross-validation: {100 * done:.0f} % of all folds' paths, {finished} of "
            f"{len(self.shares)} folds finished  {spent:.0f} s{left}"
        )
        sys.stderr.flush()

    def close(self) -> None:
        if self.shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


class FoldProgress:
    """What one fold's walk tells."""

    def __init__(self, folds: FoldsProgress, number: int):
        self.folds, self.number = folds, number

    def line(self, walk: Any) -> None:
        self.folds.note(self.number, share_done(walk))

    def close(self) -> None:
        pass


def share_done(walk: Any) -> float:
    """Of the way from the first lambda to the last, in log lambda."""
    if len(walk.points) < 2:
        return 0.0
    first = walk.points[1].lam
    if walk.end <= walk.lam_min or first <= walk.lam_min:
        return 1.0
    return math.log(first / walk.end) / math.log(first / walk.lam_min)
