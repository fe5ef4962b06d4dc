"""A walk under way: time, Ctrl-C, callback, progress and checkpoints between its steps."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import numpy as np

from taut.path.breakpoint import TABLE
from taut.path.checkpoint import PathCheckpoint
from taut.path.progress import PathProgress
from taut.path.walk import PathStatus, Walk
from taut.solvers.interrupt import Interrupt, deferred_interrupt
from taut.solvers.one_blas_thread import one_blas_thread

Callback = Callable[[np.record], bool | None]


class Journey:
    def __init__(self, walk: Walk, progress: bool | None):
        self.walk, self.shown = walk, PathProgress(progress)
        self.checkpoint: PathCheckpoint | None = None

    @one_blas_thread()
    def go(
        self,
        *,
        time_limit: float | None = None,
        callback: Callback | None = None,
        interrupt: Interrupt | None = None,
    ) -> PathStatus:
        """Walk until there is a reason to stop; another call goes on from there."""
        walk, shown = self.walk, self.shown
        begun = time.perf_counter()
        walk.begun = begun - walk.seconds
        with _interruptible(interrupt) as stop, closing(shown):
            if not walk.points:
                walk.begin()
            status = None
            while status is None:
                seen = len(walk.points)
                status = walk.step()
                spent = time.perf_counter() - begun
                walk.seconds = time.perf_counter() - walk.begun
                stopped = callback is not None and self._tell(callback, seen)
                if status is None and stopped:
                    status = PathStatus.CALLBACK
                if status is None and stop.requested:
                    ended = stop.is_termination
                    status = PathStatus.TERMINATED if ended else PathStatus.INTERRUPTED
                if status is None and time_limit is not None and spent >= time_limit:
                    status = PathStatus.TIME_LIMIT
                if self.checkpoint is not None and (status is not None or self.checkpoint.is_due()):
                    self.checkpoint.save(walk)
                shown.line(walk)
        return status

    def _tell(self, callback: Callback, seen: int) -> bool:
        """Call back with the new breakpoints; whether it wants to stop."""
        new = np.array(self.walk.points[max(seen, 1) :], TABLE).view(np.recarray)
        return any([callback(row) for row in new])


@contextmanager
def _interruptible(given: Interrupt | None) -> Iterator[Interrupt]:
    """Someone else's Ctrl-C, or our own."""
    if given is not None:
        yield given
        return
    with deferred_interrupt() as interrupt:
        yield interrupt
