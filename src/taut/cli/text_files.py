"""The files of text that a command line names, one by one or by patterns."""

import glob
import os
from collections.abc import Sequence

STDIN = "-"


def listed(given: Sequence[str]) -> list[str]:
    """Every file, in the order given; those that a pattern matches are sorted.

    >>> listed(["b.txt", "a.txt"])
    ['b.txt', 'a.txt']
    """
    files = []
    for name in given:
        files += [name] if name == STDIN or os.path.lexists(name) else _matching(name)
    _check_distinct(files)
    return files


def _matching(name: str) -> list[str]:
    """The files that a pattern matches; any other name is that of a file."""
    if not glob.has_magic(name):
        return [name]
    files = [path for path in glob.glob(name, recursive=True) if not os.path.isdir(path)]
    if not files:
        raise ValueError(f"{name!r} matches no file; correct the pattern")
    return sorted(files)


def _check_distinct(files: Sequence[str]) -> None:
    first: dict[object, str] = {}
    for path in files:
        identity = _identity(path)
        if identity in first:
            before = first[identity]
            same = "is named twice" if before == path else f"is the same file as {before!r}"
            raise ValueError(f"{name_of(path)!r} {same}; name each file once")
        first[identity] = path


def _identity(path: str) -> object:
    """What two names of one file have in common."""
    if path == STDIN or not os.path.exists(path):
        return path
    status = os.stat(path)
    return status.st_dev, status.st_ino


def name_of(source: str) -> str:
    """What errors call it: the name that readers give it."""
    return "standard input" if source == STDIN else source


def name_of_all(files: Sequence[str]) -> str:
    """
    >>> name_of_all(["a.txt"]), name_of_all(["a.txt", "b.txt", "c.txt"])
    ('a.txt', 'a.txt and 2 more files')
    """
    more = len(files) - 1
    return name_of(files[0]) + f" and {more} more file{'s' * (more > 1)}" * bool(more)
