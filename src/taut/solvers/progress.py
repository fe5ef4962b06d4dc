"""A line that says how far a run is; silent unless someone is watching a terminal."""

import functools
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from taut.solvers.solution import HISTORY

assert HISTORY.names is not None
GAP, SCORE, SOFT_GAP, VIOLATION = (
    HISTORY.names.index(name) for name in ("gap", "score", "soft_gap", "violation")
)


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


class Progress:
    """Rewrites one line at most twice a second."""

    def __init__(self, wanted: bool | None):
        self.on = is_watched(wanted)
        self.last = time.perf_counter()
        self.shown = False

    def line(
        self, run: Any, rows: list[tuple], distance: int, target: float, seconds: float
    ) -> None:
        """``distance`` is the column of ``rows`` that is to fall to ``target``."""
        if not self.on or time.perf_counter() - self.last < 0.5:
            return
        self.last = time.perf_counter()
        self.shown = True
        gap, score = rows[-1][distance], rows[-1][SCORE]
        calls = f"  {run.oracle_calls} oracle calls" if run.oracle_calls else ""
        held_out = "" if np.isnan(score) else f"  held-out score {score:.4f}"
        sys.stderr.write(
            f"\r\x1b[Kpass {run.passes:.1f}  {'soft gap' if distance == SOFT_GAP else 'gap'} "
            f"{gap:.3g} (target {target:.3g}){held_out}{calls}  {seconds:.0f} s"
            f"{time_left([(row[1], row[distance]) for row in rows], target)}"
        )
        sys.stderr.flush()

    def say(self, text: str) -> None:
        if self.on:
            sys.stderr.write(f"\r\x1b[K{text}\n")

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
