"""What files tell of words: phrases, clusters, vectors. Templates name them, models hold them.

Whatever they hold, a mistake is a ValueError that says where; nothing is believed, whether it comes
from a file or from a model.
"""

import os
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from taut.text.phrases import Phrases

MOST_BYTES = 1 << 28  # of what a model holds of one file
LONGEST_PATH = 1000


class Clusters:
    """
    >>> Clusters.from_lines(["0010\\tcat\\t5", "0011\\tdog\\t7"]).paths["dog"]
    '0011'
    """

    def __init__(self, words: list[str], paths: list[str]):
        if len(set(words)) != len(paths) or len(words) != len(paths):
            raise ValueError(f"{len(paths)} clusters for {len(set(words))} words")
        for number, path in enumerate(paths, start=1):
            _check_path(path, number)
        self.words, self.paths = words, dict(zip(words, paths, strict=True))

    @classmethod
    def from_lines(cls, lines: Iterable[str]) -> "Clusters":
        """The path of a cluster in bits, a tab, a word, then perhaps a tab and how often it was."""
        paths: dict[str, str] = {}
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            path, *words = line.split("\t")
            if not words or not words[0]:
                raise ValueError(
                    f"line {number}: {line[:40]!r} should be bits, a tab and a word, as in "
                    "'0010<tab>cat<tab>5'"
                )
            _check_path(path, number)
            paths.setdefault(words[0], path)
        return cls([*paths], [*paths.values()])


def _check_path(path: str, number: int) -> None:
    if not 1 <= len(path) <= LONGEST_PATH or path.strip("01"):
        raise ValueError(
            f"line {number}: {path[:40]!r} should be the path of a cluster, 1 to {LONGEST_PATH} "
            "signs 0 and 1"
        )


class Vectors:
    """Vectors of words, scaled so that the mean of their squared lengths is 1.

    An embedding then weighs about as much as any other attribute, whose value is 1.

    >>> Vectors.from_lines(["2 2", "cat 3 0", "dog 0 4"]).values
    array([[0.84852815, 0.        ],
           [0.        , 1.1313709 ]], dtype=float32)
    """

    def __init__(self, words: list[str], values: np.ndarray):
        if values.ndim != 2 or values.dtype != np.float32 or len(values) != len(words):
            raise ValueError(f"vectors of shape {values.shape} for {len(words)} words")
        if not values.size or not np.isfinite(values).all():
            raise ValueError("a vector is empty or not finite")
        if len(set(words)) < len(words):
            raise ValueError("a word has two vectors")
        self.words, self.values = words, values
        self._rows = {word: row for row, word in enumerate(words)}

    @property
    def size(self) -> int:
        return self.values.shape[1]

    def find(self, words: list[str]) -> np.ndarray:
        """The row of each word, -1 for words without a vector."""
        return np.array([self._rows.get(word, -1) for word in words], np.int32)

    @classmethod
    def from_lines(cls, lines: Iterable[str]) -> "Vectors":
        """A word and its numbers, with blanks between; the first line may say how many of both."""
        rows: dict[str, np.ndarray] = {}
        size = 0
        for number, line in enumerate(lines, start=1):
            word, *fields = line.rstrip(" ").split(" ")
            is_header = number == 1 and len(fields) == 1 and word.isdigit()
            if is_header or not line.strip():
                continue
            size = size or len(fields)
            row = _numbers(fields)
            if len(fields) != size or not size or row is None:
                raise ValueError(
                    f"line {number}: {line[:40]!r} should be a word and {size or 'its'} finite "
                    "numbers, with one blank before each"
                )
            rows.setdefault(word, row)
            if len(rows) * size * 4 > MOST_BYTES:
                raise ValueError(_too_large(f"{len(rows)} vectors of {size} numbers"))
        if not rows:
            raise ValueError("it holds no vectors; lines like 'cat 0.1 -0.2' are expected")
        values = np.array(list(rows.values()), np.float64)
        norm = np.sqrt(np.mean(np.sum(values**2, axis=1)))
        return cls(list(rows), (values / (norm or 1.0)).astype(np.float32))


def _numbers(fields: list[str]) -> np.ndarray | None:
    """Finite numbers; None if they are none."""
    try:
        row = np.array([float(field) for field in fields], np.float64)
    except ValueError:
        return None
    return row.astype(np.float32) if np.all(np.abs(row) < 1e30) else None


WordFile = Phrases | Clusters | Vectors
KINDS: dict[str, type[Phrases] | type[Clusters] | type[Vectors]] = {
    "gazetteer": Phrases,
    "cluster": Clusters,
    "vector": Vectors,
}
WordFiles = dict[tuple[str, str], WordFile]  # by what it is used for and its name
OpenFile = Callable[[str, str], WordFile]


def file_opener(folder: str | os.PathLike[str]) -> OpenFile:
    """Opens files that are named relative to a folder."""

    def open_file(kind: str, name: str) -> WordFile:
        return read_word_file(kind, os.path.join(folder, name))

    return open_file


def read_word_file(kind: str, path: str) -> WordFile:
    if "\0" in path or not os.path.isfile(path):
        raise ValueError(
            f"there is no file {path!r}; the name in the template counts from the template's own "
            "folder, or from the current one if the template is no file"
        )
    if kind != "vector" and os.path.getsize(path) > MOST_BYTES:
        raise ValueError(f"{path}: {_too_large(f'{os.path.getsize(path)} bytes')}")
    try:
        return KINDS[kind].from_lines(_lines(path))
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: it is not UTF-8 text ({error}); save it as that") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _lines(path: str) -> Iterator[str]:
    with open(path, encoding="utf-8-sig") as file:
        for line in file:
            yield line.rstrip("\n")


def _too_large(what: str) -> str:
    return (
        f"{what} are more than the {MOST_BYTES >> 20} MiB of one file that a model holds; keep the "
        "words that matter most"
    )
