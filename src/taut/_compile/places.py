"""Where machine code is kept, and whom that place must belong to.

A cache of machine code is as trusted as the program itself: who can write to it runs code as
whoever reads it. So folders are made for their owner alone, and a folder or file that belongs to
another user (but the administrator), or that others may write to, is not used.
"""

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
    found, wanted = [], _wanted()
    if wanted is not None:
        refusal = _made(wanted)
        if refusal:
            log.warning("taut: machine code cannot be kept in %s: %s", wanted, refusal)
        else:
            found.append(wanted)
            if os.access(wanted, os.W_OK):
                return found
    # One per user, found again by the next process.
    spare = Path(tempfile.gettempdir(), f"taut-cache-{_user()}")
    refusal = "it is a link" if spare.is_symlink() else _made(spare)
    if not refusal:
        found.append(spare)
    elif not found:
        log.warning(
            "taut: nor in %s: %s; everything is compiled anew in every process", spare, refusal
        )
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


def distrust(found: os.stat_result) -> str:
    """Why what has these properties is not to be trusted, or nothing."""
    if not hasattr(os, "getuid"):
        return ""
    if found.st_uid not in (os.getuid(), 0):
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
