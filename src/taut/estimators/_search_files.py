"""The checkpoints of a search for C: a folder, with a file for each path and one for the training.

All files are of one search: whatever decides about its result is part of their identity, also
where it is not the file's own. Only limits, and what never changes a result, may be others.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from taut.path.result import RegularizationPath
from taut.solvers.checks import is_number

# Parameters that decide how far a search comes, where it is, or what is made of its scores, and
# not what it finds. Of the seed every file knows by itself; of cv, the folds are compared.
FREE = (
    "cv", "one_standard_error", "max_passes", "time_limit", "cpu_limit", "n_jobs", "verbose",
    "random_state", "checkpoint", "checkpoint_seconds", "resume",
)  # fmt: skip

Folds = Sequence[tuple[np.ndarray, np.ndarray]]


class SearchFiles:
    """``search`` is an estimator with the options of a search, and fingerprint that of its data."""

    def __init__(self, search: Any, folds: Folds, fingerprint: str):
        self.every_seconds, self.resume = search.checkpoint_seconds, search.resume
        self.folder = None if search.checkpoint is None else Path(search.checkpoint)
        self.about = {
            **{
                f"value of {name}": _in_words(value)
                for name, value in search.get_params(deep=False).items()
                if name not in FREE
            },
            "set of folds": _digest(folds),
            "set of all examples": fingerprint,
        }
        if self.folder is not None:
            _open(self.folder, self.resume)
        elif self.resume:
            raise ValueError(
                "resume=True needs a checkpoint to resume from: give checkpoint=folder"
            )

    def _file(self, name: str) -> Path | None:
        return None if self.folder is None else self.folder / f"{name}.npz"

    def keep(self, path: RegularizationPath, name: str) -> None:
        """Save a path there from now on; if that is wanted, and there is one, resume it."""
        path.keep_in(self._file(name), self.every_seconds, self.resume, **self.about)

    def of_training(self) -> dict[str, Any]:
        """Options of the last training, which has a checkpoint of its own."""
        return {"checkpoint": self._file("training"), "resume": self.resume}


def _open(folder: Path, resume: bool) -> None:
    """Nothing of another search is left in the folder, unless it is to be resumed."""
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(
            f"checkpoint={str(folder)!r} is a file; a search has several checkpoints, in a folder "
            "of their own: name one that exists, or is to be made"
        )
    if not folder.parent.is_dir():
        raise FileNotFoundError(
            f"checkpoint={str(folder)!r}: the folder {str(folder.parent)!r} does not exist; create "
            "it first"
        )
    folder.mkdir(exist_ok=True)
    if not resume:
        for name in ("path", "training", of_fold("*")):
            for file in folder.glob(f"{name}.npz"):
                file.unlink(missing_ok=True)


def of_fold(k: int | str) -> str:
    return f"fold {k}"


def _digest(folds: Folds) -> str:
    found = hashlib.blake2b(digest_size=8)
    for part in (part for fold in folds for part in fold):
        found.update(f"{len(part)} ".encode() + np.asarray(part, np.int64).tobytes())
    return found.hexdigest()


def _in_words(value: Any) -> str:
    """A parameter as another process would call it too; an object by the name of its kind."""
    if value is None or isinstance(value, str | bool) or is_number(value):
        return str(value)
    return getattr(value, "__qualname__", type(value).__name__)
