"""Where data files are, and how damaged ones are reported."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator
from pathlib import Path


def data_home(data_home: str | os.PathLike[str] | None = None) -> Path:
    """The folder that holds the data sets.

    Parameters
    ----------
    data_home : path, optional
        The folder; by default the value of the environment variable ``TAUT_DATA``.

    Returns
    -------
    Path

    Raises
    ------
    FileNotFoundError
        If neither is given, or the folder does not exist.

    Examples
    --------
    >>> from taut.datasets import data_home
    >>> data_home(".").is_dir()
    True
    """
    if data_home is not None:
        home, origin = Path(data_home), "data_home"
    elif os.environ.get("TAUT_DATA"):
        home, origin = Path(os.environ["TAUT_DATA"]), "the environment variable TAUT_DATA"
    else:
        raise FileNotFoundError(
            "no data folder is known: set the environment variable TAUT_DATA to the folder that "
            "holds the data sets, or pass data_home=..."
        )
    if not home.is_dir():
        raise FileNotFoundError(
            f"{origin} names {str(home)!r}, which is not a folder: correct it to the folder that "
            "holds the data sets"
        )
    return home


def find_file(home: str | os.PathLike[str] | None, relative: str) -> Path:
    """The path of one data file, or an error that says where it was looked for."""
    path = data_home(home) / relative
    if not path.is_file():
        raise FileNotFoundError(
            f"{str(path)!r} does not exist: put the file there, or point TAUT_DATA or data_home "
            f"at the folder that contains {relative!r}"
        )
    return path


def numbered_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Lines of a gzipped text file, numbered from 1, each with its line end."""
    number = 0
    try:
        with gzip.open(path) as file:
            for number, line in enumerate(file, start=1):
                yield number, line
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise malformed(path, number + 1, f"damaged gzip data ({error})") from error
    if number == 0:
        raise malformed(path, 1, "the file is empty")


def malformed(path: Path, line: int, problem: str) -> ValueError:
    """The error for a file that does not follow its format."""
    return ValueError(f"{path}, line {line}: {problem}")
