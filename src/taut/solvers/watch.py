"""What goes on between the slices of training: limits, Ctrl-C, callback, progress, checkpoints.

A run of :func:`taut.solve` and a walk along lambda (:mod:`taut.path.walk`) differ in what a slice
of their work is, and in nothing that is here. Ctrl-C and SIGTERM act between steps, never inside
one: the model left behind is a true iterate.
"""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Protocol

import numpy as np

from taut.solvers.progress import Progress

Callback = Callable[[np.record], bool | None]


class Stop(Enum):
    """Why work ends that could go on; a run's and a path's status have the same names."""

    CALLBACK = auto()
    INTERRUPTED = auto()
    TERMINATED = auto()
    TIME_LIMIT = auto()
    CPU_LIMIT = auto()

    @property
    def is_interruption(self) -> bool:
        return self in (Stop.INTERRUPTED, Stop.TERMINATED)


class Interrupt:
    """Whether someone wants work to end."""

    signal: int | None = None  # that came first

    @property
    def requested(self) -> bool:
        return self.signal is not None

    @property
    def is_termination(self) -> bool:
        """Whether a job scheduler, or whoever else sends SIGTERM, wants the process to end."""
        return self.signal == signal.SIGTERM


_noted_now: list[Interrupt] = []  # in the main thread


@contextmanager
def deferred_interrupt() -> Iterator[Interrupt]:
    """The first Ctrl-C or SIGTERM is only noted; a second one acts at once, as it did before.

    Within another one, it is that one. Signals belong to the main thread: elsewhere nothing is
    changed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield Interrupt()
        return
    if _noted_now:
        yield _noted_now[-1]
        return
    interrupt = Interrupt()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def put_back() -> None:
        for number, handler in before.items():
            if handler is not None:
                signal.signal(number, handler)

    def request(number: int, frame: Any) -> None:
        interrupt.signal = number
        put_back()

    try:
        _noted_now.append(interrupt)
        for number, handler in before.items():
            # A handler that was not set from Python (None) could not be put back.
            if handler is not None:
                signal.signal(number, request)
        yield interrupt
    finally:
        _noted_now.remove(interrupt)
        put_back()


class Due(Protocol):
    """A checkpoint, as far as it matters when it is written."""

    is_last: bool

    def is_due(self) -> bool:
        """Whether it is time to save again."""


class Work(Protocol):
    """What is watched."""

    def line(self) -> str:
        """How far it is, in a line."""

    def save_to(self, checkpoint: Any) -> None:
        """Save all that it takes to go on."""


@dataclass
class Watch:
    """Limits are of this call: a run that is taken up again has as long as it is given anew.

    ``interrupt`` is that of someone who watches more than this; None: Ctrl-C is noted here.
    ``cpu_clock`` is another where work shares its process with more of its kind.
    """

    progress: Progress
    time_limit: float | None = None
    cpu_limit: float | None = None
    callback: Callback | None = None
    checkpoint: Due | None = None
    interrupt: Interrupt | None = None
    cpu_clock: Callable[[], float] = time.process_time

    def begin(self, seconds_before: float) -> None:
        """Start the clocks."""
        self.called_at = time.perf_counter()
        self.began = self.called_at - seconds_before
        self.cpu_began = self.cpu_clock()

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.began

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Meanwhile, Ctrl-C is only noted."""
        if self.checkpoint is not None:
            self.checkpoint.is_last = False
        noting = deferred_interrupt() if self.interrupt is None else nullcontext(self.interrupt)
        with closing(self.progress), noting as self._noted:
            yield

    def save(self, work: Work) -> None:
        """For the last time: what follows ends it."""
        if self.checkpoint is not None:
            self.checkpoint.is_last = True
            work.save_to(self.checkpoint)

    def after_slice(self, work: Work) -> Stop | None:
        """Save if it is time, show how far it is; whether to stop, and why."""
        if self.checkpoint is not None and self.checkpoint.is_due():
            work.save_to(self.checkpoint)
        self.progress.line(work.line)
        if self._noted.requested:
            return Stop.TERMINATED if self._noted.is_termination else Stop.INTERRUPTED
        return self.limit_reached()

    def limit_reached(self) -> Stop | None:
        here = time.perf_counter() - self.called_at
        if self.time_limit is not None and here >= self.time_limit:
            return Stop.TIME_LIMIT
        if self.cpu_limit is not None and self.cpu_clock() - self.cpu_began >= self.cpu_limit:
            return Stop.CPU_LIMIT
        return None

    def tell(self, rows: list[Any], kind: np.dtype) -> Stop | None:
        """Call back with every row, as a record; whether the callback wants to stop."""
        if self.callback is None:
            return None
        records = np.array(rows, kind).view(np.recarray)
        return Stop.CALLBACK if any([self.callback(record) for record in records]) else None
