"""Where machine code is kept, and whom that place must belong to.

A cache of machine code is as trusted as the program itself: who can write to it runs code as
whoever reads it. So folders are made for their owner alone, and a folder or file that belongs to
another user, or that others may write to, is not used. The administrator may own it, and whoever
owns the files of taut, which run here in any case: a container is built by one user and run by
another.

The folder within the system's temporary folder, where anybody can put something of that name
first, must be a real folder of this user's, closed to all others.
"""

import contextlib
import functools
import logging
import os
import stat
import sys
import tempfile
from pathlib import Path

log = logging.getLogger("taut")


@functools.cache
def folders() -> list[Path]:
    """Where machine code is looked for; it is written to the last. Empty if there is no place."""
    found, wanted, refusal = [], _wanted(), ""
    if wanted is not None:
        refusal = _made(wanted)
        if not refusal:
            found.append(wanted)
            if os.access(wanted, os.W_OK):
                return found
        elif os.environ.get("TAUT_CACHE_DIR") or wanted.is_dir():
            log.warning("taut: machine code cannot be kept in %s: %s", wanted, refusal)
        # Nobody asked for a folder within a home that cannot be written to: no word about it.
    # One per user, found again by the next process.
    spare = Path(tempfile.gettempdir(), f"taut-cache-{_user()}")
    refused = _private(spare)
    if not refused:
        found.append(spare)
    elif not found:
        log.warning(
            "taut: machine code can be kept neither in %s (%s) nor in %s (%s); everything is "
            "compiled anew in every process",
            wanted, refusal or "there is no home", spare, refused,
        )  # fmt: skip
    return found


def _wanted() -> Path | None:
    """What the user says, or the customary place; an empty variable counts as none."""
    if os.environ.get("TAUT_CACHE_DIR"):
        return Path(os.path.expanduser(os.environ["TAUT_CACHE_DIR"])).absolute()
    name = "LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME"
    if os.path.isabs(os.environ.get(name, "")):
        return Path(os.environ[name], "taut")
    try:
        home = Path.home()
    except RuntimeError:  # neither HOME nor an entry in the list of users
        return None
    if not home.is_absolute() or str(home) == home.anchor:
        return None
    if sys.platform == "win32":
        return home / "AppData" / "Local" / "taut"
    return home / ("Library/Caches" if sys.platform == "darwin" else ".cache") / "taut"


def _user() -> str:
    return str(os.getuid()) if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")


def _made(place: Path) -> str:
    """Make the folder if need be, for its owner alone; why it cannot be used, or nothing."""
    try:
        for folder in (*reversed(place.parents), place):
            if not folder.exists():
                folder.mkdir(mode=0o700, exist_ok=True)
        if not place.is_dir():
            return "it is not a folder"
        return distrust(place.stat())
    except OSError as error:
        return error.strerror or str(error)


def _private(place: Path) -> str:
    """Make a folder where anybody may make one; why it cannot be used, or nothing."""
    try:
        around = place.parent.stat()
        if hasattr(os, "getuid"):
            # Whoever may rename the folder can put another one in its place.
            if around.st_uid not in (os.getuid(), 0):
                return f"{place.parent} belongs to another user (number {around.st_uid})"
            others_write = around.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
            if others_write and not around.st_mode & stat.S_ISVTX:
                return f"in {place.parent} others may rename what is not theirs (chmod +t)"
        with contextlib.suppress(FileExistsError):
            place.mkdir(mode=0o700)
        found = place.lstat()
    except OSError as error:
        return error.strerror or str(error)
    if stat.S_ISLNK(found.st_mode):
        return "it is a link"
    if not stat.S_ISDIR(found.st_mode):
        return "it is not a folder"
    if hasattr(os, "getuid"):
        if found.st_uid != os.getuid():
            return f"it belongs to another user (number {found.st_uid})"
        if found.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            return "it is open to others (chmod go=)"
    return ""


@functools.cache
def _trusted() -> frozenset[int]:
    """Users whose code runs here in any case."""
    return frozenset({os.getuid(), 0, Path(__file__).stat().st_uid})


def distrust(found: os.stat_result) -> str:
    """Why what has these properties is not to be trusted, or nothing."""
    if not hasattr(os, "getuid"):
        return ""
    if found.st_uid not in _trusted():
        return (
            f"it belongs to another user (number {found.st_uid}), and machine code is as trusted "
            "as the program itself; set TAUT_CACHE_DIR to a folder of your own"
        )
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return (
            "others may write to it, and machine code is as trusted as the program itself; take "
            "that right away (chmod go-w), or set TAUT_CACHE_DIR to another folder"
        )
    return ""
