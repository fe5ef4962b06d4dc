"""The command ``taut``: train, tag, eval, inspect, convert, warmup.

Exit codes: 0 done; 1 the input is wrong, said in one line on standard error; 2 wrong usage;
130 interrupted by Ctrl-C, 143 ended by SIGTERM (``taut train`` saves the best model so far first).
Set TAUT_TRACEBACK=1 to see where in the code an error arose.

A command's module, and with it numpy and numba, is imported when the command is run: help is
there at once.
"""

import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, suppress
from importlib import import_module
from typing import Any

from taut.cli.parser import COMMANDS, parse
from taut.spelling import OptionError, in_command

# Whoever only tags may leave these out.
NOT_FOR_TAGGING = {"numba", "llvmlite", "scipy"}
DONE, WRONG_INPUT, INTERRUPTED, TERMINATED = 0, 1, 130, 143


class Terminated(KeyboardInterrupt):
    """SIGTERM, where it leaves nothing to save."""


@contextmanager
def raising_terminated() -> Iterator[None]:
    """Meanwhile SIGTERM is an exception, as Ctrl-C is; only the main thread can have it so."""
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return

    def terminate(number: int, frame: Any) -> None:
        raise Terminated

    signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line, by default that of the process; returns the exit code.

    Wrong usage, ``--help`` and ``--version`` leave by SystemExit, as argparse does.

    >>> main(["inspect", "no-such-file.taut"])
    1
    """
    if sys.stderr is None:  # closed, by 2>&-: what goes wrong is said to nobody
        with open(os.devnull, "w") as nowhere, redirect_stderr(nowhere):
            return main(arguments)
    # A label that the terminal cannot show is no reason to fail.
    with suppress(AttributeError):
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    warnings.showwarning = noted
    try:
        options = parse(arguments)
        with raising_terminated():
            check_output(options)
            command = import_module(COMMANDS[options.command])
            code = command.run(options)
            if sys.stdout is not None:
                sys.stdout.flush()
        return int(code)
    except BrokenPipeError:
        # Whoever reads has enough (| head). Nothing may be flushed to them at exit.
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except Terminated:
        say("terminated")
        return TERMINATED
    except KeyboardInterrupt:
        say("interrupted")
        return INTERRUPTED
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in NOT_FOR_TAGGING:
            raise
        say(
            f"error: taut {options.command} needs {error.name}, which is not installed; "
            "pip install taut, without --no-deps"
        )
        return WRONG_INPUT
    except (ValueError, TypeError, OSError, MemoryError) as error:
        # TypeError: what Python's callers get for tokens of the wrong kind can be in a file, too.
        if os.environ.get("TAUT_TRACEBACK"):
            raise
        say(f"error: {explained(error)}")
        return WRONG_INPUT


def check_output(options: Any) -> None:
    """With standard output closed (``>&-``) Python prints nothing and says nothing."""
    given = vars(options)
    written = given.get("output") or given.get("weights") not in (None, "-")
    is_for_it = given.get("json") or not written
    if sys.stdout is None and is_for_it and options.command != "warmup":
        raise ValueError("standard output is closed, and the result is printed there; open it")


def noted(message: Warning | str, *where: Any, **more: Any) -> None:
    """A warning as a user of the command line can use it: without the line of code it came from."""
    say(f"note: {message}")


def say(text: str) -> None:
    """One line on standard error, whatever is in the text."""
    with suppress(OSError, ValueError):  # whoever read it is gone
        print("taut:", printable(" ".join(text.split())), file=sys.stderr)


def printable(text: str) -> str:
    """Text from a file, harmless to a terminal.

    >>> printable("B-NP\\x1b[2J")
    'B-NP\\\\x1b[2J'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def explained(error: BaseException) -> str:
    """What to tell of an error."""
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{os.fsdecode(error.filename)}: {error.strerror}"
    if isinstance(error, MemoryError):
        details = f" ({error})" if str(error) else ""
        return (
            f"not enough memory{details}; fewer labels need less, and if attributes are many, "
            "--features observed or --min-freq 2"
        )
    if isinstance(error, OptionError):
        return in_command(error.marked)
    return str(error) or type(error).__name__
