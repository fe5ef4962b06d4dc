"""Files that are written whole or not at all.

The bytes go to a temporary file in the same folder, are forced to disk, and take the target's name
in one step. Whoever reads the target sees the old file or the new one, never half of it, even if
the process is killed or the power fails.
"""

import errno
import hashlib
import os
import re
import secrets
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import BinaryIO


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A binary file that becomes ``path`` when the block ends, or vanishes if an error ends it.

    A new file has the mode that ``open`` would give it, a replaced one keeps its own. A link stays
    a link: what it points to is replaced. What a killed process left half written is removed.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with atomic_write(f"{folder}/greeting") as file:
    ...         _ = file.write(b"hello")
    ...     print(Path(folder, "greeting").read_bytes(), os.listdir(folder))
    b'hello' ['greeting']
    """
    target = Path(os.path.realpath(path))
    _check_target(target, path)
    _remove_stale(target)
    own = f"{_host()}.{os.getpid()}.{secrets.token_hex(4)}"
    temporary = target.with_name(f"{_stem(target)}.{own}.part")
    try:
        replaces = target.exists()
        with _create(temporary, path, private=replaces) as file:
            if replaces:
                shutil.copymode(target, temporary)
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise OSError(
                f"cannot write {os.fspath(path)!r}: no space is left; make room, or name a file on "
                "another disk"
            ) from error
        raise
    finally:
        temporary.unlink(missing_ok=True)
    _sync_folder(target.parent)


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise now what :func:`atomic_write` would raise later, after hours of training."""
    target = Path(os.path.realpath(path))
    _check_target(target, path)
    if not os.access(target.parent, os.W_OK):
        raise _no_permission(target.parent, path)


def _check_target(target: Path, path: str | os.PathLike[str]) -> None:
    if target.is_dir():
        raise IsADirectoryError(f"cannot write {os.fspath(path)!r}: it is a folder; name a file")
    if target.exists() and not target.is_file():
        # Putting a file in the place of a device such as /dev/null would remove the device.
        raise OSError(
            f"cannot write {os.fspath(path)!r}: it is a device or pipe; name an ordinary file"
        )
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"cannot write {os.fspath(path)!r}: the folder {str(target.parent)!r} does not exist; "
            "create it first"
        )
    if target.exists() and not os.access(target, os.W_OK):
        raise PermissionError(
            f"cannot write {os.fspath(path)!r}: the file is write-protected; "
            "allow writing to it or name another"
        )


def _stem(target: Path) -> str:
    """How temporary files of a target begin.

    Not with the whole name: with the rest it might be longer than a file system allows.
    """
    return f".{target.name[:40]}"


def _host() -> str:
    """Where process ids are those of this process: the machine and, in a container, its inside."""
    namespace = ""
    with suppress(OSError):
        namespace = os.readlink("/proc/self/ns/pid")
    return hashlib.blake2b(
        f"{socket.gethostname()} {namespace}".encode(), digest_size=4
    ).hexdigest()


def _remove_stale(target: Path) -> None:
    """Remove temporary files of this target whose writers were killed on this host."""
    pattern = re.compile(
        re.escape(f"{_stem(target)}.{_host()}.") + r"([1-9]\d{0,8})\.[0-9a-f]{8}\.part"
    )
    with suppress(OSError):  # a nuisance at most, never a reason not to write
        for name in os.listdir(target.parent):
            found = pattern.fullmatch(name)
            if found and not _is_alive(int(found[1])):
                target.with_name(name).unlink(missing_ok=True)


def _is_alive(process: int) -> bool:
    """Whether there may be such a process; only POSIX lets one ask without harm."""
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass  # somebody else's
    return True


def _create(temporary: Path, path: str | os.PathLike[str], private: bool) -> BinaryIO:
    # What replaces a private file must not be open to others even while it is empty.
    opener = partial(os.open, mode=0o600) if private else None
    try:
        return open(temporary, "xb", opener=opener)
    except PermissionError as error:
        raise _no_permission(temporary.parent, path) from error


def _no_permission(folder: Path, path: str | os.PathLike[str]) -> PermissionError:
    return PermissionError(
        f"cannot write {os.fspath(path)!r}: no permission to create files in {str(folder)!r}; "
        "allow it or name a file elsewhere"
    )


def _sync_folder(folder: Path) -> None:
    """Force the new name to disk too, where the system lets folders be opened and synced."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
