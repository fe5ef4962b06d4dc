"""A word to who waits for machine code."""

import sys

from taut._compile import cache
from taut.solvers.progress import say_compiling


def announce_compilation() -> None:
    """Nothing has been compiled on this machine yet: say so, if someone is watching."""
    if sys.stderr.isatty() and cache.is_empty():
        say_compiling()
