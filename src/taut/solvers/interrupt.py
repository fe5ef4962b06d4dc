"""Ctrl-C and SIGTERM between steps, never inside one: the model left behind is a true iterate."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Interrupt:
    signal: int | None = None  # that came first

    @property
    def requested(self) -> bool:
        return self.signal is not None

    @property
    def is_termination(self) -> bool:
        """Whether a job scheduler, or whoever else sends SIGTERM, wants the process to end."""
        return self.signal == signal.SIGTERM


@contextmanager
def deferred_interrupt() -> Iterator[Interrupt]:
    """The first Ctrl-C or SIGTERM is only noted; a second one acts at once, as it did before.

    Signals belong to the main thread: elsewhere nothing is changed.
    """
    interrupt = Interrupt()
    if threading.current_thread() is not threading.main_thread():
        yield interrupt
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def put_back() -> None:
        for number, handler in before.items():
            if handler is not None:
                signal.signal(number, handler)

    def request(number: int, frame: Any) -> None:
        interrupt.signal = number
        put_back()

    try:
        for number, handler in before.items():
            # A handler that was not set from Python (None) could not be put back.
            if handler is not None:
                signal.signal(number, request)
        yield interrupt
    finally:
        put_back()
