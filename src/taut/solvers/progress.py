"""A line that says how far a run is; silent unless someone is watching a terminal."""

import functools
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np


def is_watched(wanted: bool | None) -> bool:
    return sys.stderr.isatty() if wanted is None else wanted


@functools.cache
def say_compiling() -> None:
    """Once in a process: the command line says it before it reads text, training after a second."""
    print(
        "taut: compiling, once per machine: a few seconds ('taut warmup --all' does it ahead)",
        file=sys.stderr,
    )


@contextmanager
def announced_compilation(problem: Any, wanted: bool | None) -> Iterator[None]:
    """Say what is happening if it takes longer than a second."""
    timer = threading.Timer(1.0, say_compiling)
    timer.daemon = True
    if problem.is_compiled and is_watched(wanted):
        timer.start()
    try:
        yield
    finally:
        timer.cancel()


SECONDS, LOG_SECONDS = 0.5, 10.0  # between two looks at a run


class Progress:
    """Rewrites one line at most twice a second; in a log, writes one every ten."""

    def __init__(self, wanted: bool | None):
        self.on = is_watched(wanted)
        self.rewrites = sys.stderr.isatty()
        self.last = time.perf_counter()
        self.shown = False

    def line(self, text: Callable[[], str]) -> None:
        """``text`` is asked only if it is time to show it."""
        wait = SECONDS if self.rewrites else LOG_SECONDS
        if not self.on or time.perf_counter() - self.last < wait:
            return
        self.last = time.perf_counter()
        self.shown = self.rewrites
        sys.stderr.write(f"\r\x1b[K{text()}" if self.rewrites else f"{text()}\n")
        sys.stderr.flush()

    def say(self, text: str) -> None:
        if self.on:
            sys.stderr.write(f"\r\x1b[K{text}\n" if self.rewrites else f"{text}\n")

    def close(self) -> None:
        if self.shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def time_left(seen: list[tuple[float, float]], target: float) -> str:
    """A guess from the last certificates (seconds, gap): the gap falls like a power of time.

    >>> time_left([(1.0, 0.8), (2.0, 0.4)], target=0.1)
    ', about 6 s left'
    """
    useful = [(seconds, gap) for seconds, gap in seen[-6:] if seconds > 0 and gap > 0]
    if len(useful) < 2 or target <= 0:
        return ""
    (t0, g0), (t1, g1) = useful[0], useful[-1]
    if not (g1 < g0 and t1 > t0):
        return ""
    power = np.log(g0 / g1) / np.log(t1 / t0)
    left = t1 * (g1 / target) ** (1.0 / power) - t1
    if left > 86400:
        return ", more than a day left"
    return f", about {left:.0f} s left" if left < 120 else f", about {left / 60:.0f} min left"
