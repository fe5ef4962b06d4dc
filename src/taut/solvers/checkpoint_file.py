"""What checkpoints of runs and of paths share: one archive, written atomically, read with care.

The file is a NumPy archive of plain arrays and one JSON text, the header.
"""

import json
import time
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from taut.files.atomic import atomic_write


class CheckpointFile:
    kind = "checkpoint"

    def __init__(self, path: str | Path, every_seconds: float):
        check_place(path)
        self.path = Path(path)
        self.every_seconds = every_seconds
        self.saved_at = time.perf_counter()

    def is_due(self) -> bool:
        return time.perf_counter() - self.saved_at >= self.every_seconds

    def try_to_write(self, header: dict[str, Any], arrays: dict[str, Any]) -> None:
        """Hours of training are worth more than a checkpoint: if it cannot be written, warn."""
        try:
            with atomic_write(self.path) as file:
                np.savez(file, header=np.array(json.dumps(header)), **arrays)
        except OSError as error:
            warnings.warn(
                f"the checkpoint {str(self.path)!r} could not be written ({error}); training goes "
                f"on and, unless it ends before, tries again after {self.every_seconds:g} seconds",
                RuntimeWarning,
                stacklevel=2,
            )
        self.saved_at = time.perf_counter()

    def read(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        try:
            arrays = read_archive(self.path)
            header = json.loads(str(arrays.pop("header")))
            if not isinstance(header, dict):
                raise ValueError("its header is no JSON object")
        except Exception as error:  # a damaged archive raises nearly anything
            raise self.damaged("it cannot be read") from error
        return header, arrays

    def damaged(self, why: Any) -> ValueError:
        return ValueError(
            f"{str(self.path)!r} is not a whole {self.kind} ({why}); delete it or give another path"
        )


def read_archive(path: Path) -> dict[str, np.ndarray]:
    """The arrays of an archive as ``np.savez`` writes it: not compressed, so never a zip bomb."""
    with open(path, "rb") as file:
        size = file.seek(0, 2)
        with zipfile.ZipFile(file) as archive:
            members = archive.infolist()
        if any(member.compress_type != zipfile.ZIP_STORED for member in members):
            raise ValueError("its arrays are compressed, which taut does not do")
        if sum(member.file_size for member in members) > size:
            raise ValueError("its arrays claim to be larger than the file")
        file.seek(0)
        with np.load(file, allow_pickle=False) as loaded:
            return {name: loaded[name] for name in loaded.files}


def check_place(path: str | Path) -> None:
    """Before any work is done that could not be saved."""
    place = Path(path)
    if place.is_dir():
        raise IsADirectoryError(f"checkpoint={str(path)!r} is a folder; name a file in it")
    if place.exists() and not place.is_file():
        # Reading a pipe would wait for ever.
        raise OSError(
            f"checkpoint={str(path)!r} is a device, pipe or socket; name an ordinary file"
        )
    if not place.parent.is_dir():
        raise FileNotFoundError(
            f"the checkpoint's folder {str(place.parent)!r} does not exist; create it first"
        )
