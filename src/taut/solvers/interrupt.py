"""Ctrl-C between steps, never inside one, so that the model it leaves behind is a true iterate."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Interrupt:
    requested = False


@contextmanager
def deferred_interrupt() -> Iterator[Interrupt]:
    """The first Ctrl-C only sets ``requested``; a second one interrupts at once.

    Signals belong to the main thread: elsewhere nothing is changed.
    """
    interrupt = Interrupt()
    before = signal.getsignal(signal.SIGINT)
    # A handler that was not set from Python (None) could not be put back.
    if threading.current_thread() is not threading.main_thread() or before is None:
        yield interrupt
        return

    def request(number: int, frame: Any) -> None:
        interrupt.requested = True
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, request)
    try:
        yield interrupt
    finally:
        signal.signal(signal.SIGINT, before)
