"""Machine code on disk, found by its content.

A *unit* (see :mod:`taut._compile.linking`) is one file, named after a hash of all it is made from:
the sources, the types, the versions of Python, numba and LLVM, and the processor. It holds a line
that says what it is, a checksum, what the unit needs of problems, and an object file; no pickles.
A file that is damaged is compiled anew. Processes that want the same unit at the same time wait for
the first, by a lock that the system releases when a process ends, however it ends.
"""

import contextlib
import errno
import hashlib
import json
import os
import re
import secrets
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from taut._compile import loading, places, sources
from taut._compile.places import log

MAGIC = b"taut machine code 1\n"
SUFFIX = ".unit"
NAME = re.compile(r"[0-9a-f]{40}\.unit")
# What was not used for so long is deleted, and the oldest of what is left beyond so many bytes.
MOST_DAYS, MOST_BYTES = 60, 256 * 2**20
# After so long a process says that it waits for another one, and then goes on without it.
TELLS_AFTER, MOST_SECONDS = 5.0, 60.0
used: dict[str, bool] = {}  # units of this process, and whether they had to be compiled


class Unit:
    """Machine code in memory, and the functions of problems that it calls."""

    def __init__(self, code: bytes, uses: dict[str, int]):
        loaded = loading.Loaded(code)
        self.function, self.variable = loaded.function, loaded.variable
        self.uses = frozenset(uses)


Made = tuple[bytes, dict[str, int]]  # an object file; functions it calls, and their places


def unit(
    what: str, modules: Iterable[str], make: Callable[[], Made], fits: Callable[[Any], bool]
) -> Unit:
    """The unit of this description, made of these modules: from disk, or made and kept there.

    ``fits`` says whether the tables of this process are laid out as a unit expects.
    """
    source, folders = sources.digest(modules), places.folders()
    if source is None or not folders:
        used[what] = True
        return Unit(*make())
    # Python's and NumPy's objects are part of the code's knowledge.
    text = f"{MAGIC!r} {what} {source} {sources.target()} {sys.implementation.cache_tag}"
    name = hashlib.sha256(text.encode()).hexdigest()[:40] + SUFFIX

    def found(says: bool) -> Made | None:
        for folder in folders:
            made = read(folder / name, says)
            if made is not None and fits(made[1]):
                return made
        return None

    made = found(says=True)
    used[what] = made is None
    if made is None:
        with locked(folders[-1], name):
            made = found(says=False)  # another process may have been quicker
            used[what] = made is None
            if made is None:
                made = make()
                write(folders[-1] / name, what, *made)
    return Unit(*made)


def read(path: Path, says: bool = True) -> Made | None:
    """Code and needs; None if there is no such file, or none to be trusted."""
    try:
        with open(path, "rb") as file:
            refusal = places.distrust(os.fstat(file.fileno()))
            content = b"" if refusal else file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        refusal = str(error)
    if not refusal:
        opened = _opened(content)
        if opened is not None and opened[0]["name"] == path.name:
            _mark_used(path)
            return opened[1], opened[0]["uses"]
        refusal = "it is damaged"
    if says:
        log.warning("taut: compiling anew what is in %s: %s", path, refusal)
    return None


def _opened(content: bytes) -> tuple[dict[str, Any], bytes] | None:
    """Header and object file, if all of it is as it was written."""
    checksum, _, rest = content.removeprefix(MAGIC).partition(b"\n")
    if not content.startswith(MAGIC) or hashlib.sha256(rest).hexdigest().encode() != checksum:
        return None
    header, _, code = rest.partition(b"\n")
    return json.loads(header), code


def write(path: Path, what: str, code: bytes, uses: dict[str, int]) -> None:
    """Whole or not at all; where it cannot be written, the next process compiles again."""
    header = json.dumps({"name": path.name, "what": what, "uses": uses}).encode()
    rest = header + b"\n" + code
    temporary = path.with_name(f".{path.stem}.{secrets.token_hex(4)}.part")
    try:
        with open(temporary, "xb", opener=lambda name, flags: os.open(name, flags, 0o644)) as file:
            file.write(MAGIC + hashlib.sha256(rest).hexdigest().encode() + b"\n" + rest)
        os.replace(temporary, path)
        prune(path.parent)
    except OSError:  # a full disk, or a folder that others made for us to read
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def locked(folder: Path, name: str) -> Iterator[None]:
    """One process at a time for each name; without a lock where there is none to be had.

    A process that was stopped keeps its lock: nobody waits for ever. Closing the file drops all
    locks of the process, so one must not be taken within another; numba's own lock sees to that.
    """
    try:
        file = os.fdopen(os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600), "r+b")
    except OSError:
        yield
        return
    with file:
        start, told = time.monotonic(), False
        while not _lock(file, int(name[:8], 16)):
            waited = time.monotonic() - start
            if waited > MOST_SECONDS:
                log.warning("taut: not waiting for the other process any longer")
                break
            if waited > TELLS_AFTER and not told:
                log.warning(
                    "taut: waiting for another process that compiles the same code, for at most "
                    "%d seconds",
                    MOST_SECONDS,
                )
                told = True
            time.sleep(0.02)
        yield


def _lock(file: BinaryIO, place: int) -> bool:
    """Lock one byte of the file, if nobody else has; closing the file unlocks it."""
    try:
        if sys.platform == "win32":
            import msvcrt

            file.seek(place)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
    except OSError as error:
        return error.errno not in (errno.EACCES, errno.EAGAIN)  # else there are no locks here
    return True


def is_empty() -> bool:
    """Whether nothing has been compiled on this machine yet."""
    return not any(unit_files())


# --- what is there --------------------------------------------------------------------------------


def unit_files() -> Iterator[Path]:
    for folder in places.folders():
        yield from (path for path in folder.glob(f"*{SUFFIX}") if NAME.fullmatch(path.name))


def entries() -> list[tuple[str, int, float]]:
    """Of everything on disk: what it is, its bytes, and when it was last used (seconds)."""
    found = []
    for path in unit_files():
        with contextlib.suppress(OSError):
            opened = _opened(path.read_bytes())
            about = path.stat()
            what = opened[0]["what"] if opened else f"damaged: {path.name}"
            found.append((what, about.st_size, about.st_mtime))
    return sorted(found)


def _mark_used(path: Path) -> None:
    """Once a day; a file's time is when it was last used."""
    with contextlib.suppress(OSError):
        if time.time() - path.stat().st_mtime > 86400:
            os.utime(path)


def prune(folder: Path) -> None:
    """Delete what has long not been used, and what crashes left behind."""
    now, files = time.time(), []
    for path in folder.glob("*"):
        with contextlib.suppress(OSError):
            about = path.stat()
            days = (now - about.st_mtime) / 86400
            if path.name.endswith(".part") and path.name.startswith("."):
                if days > 1:
                    path.unlink()
            elif NAME.fullmatch(path.name):
                files.append((about.st_mtime, about.st_size, path))
    total = 0
    for changed, size, path in sorted(files, reverse=True):
        total += size
        if now - changed > MOST_DAYS * 86400 or total > MOST_BYTES:
            with contextlib.suppress(OSError):
                path.unlink()
