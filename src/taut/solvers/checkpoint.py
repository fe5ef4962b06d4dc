"""Checkpoints: the state of a run in one file, written atomically, loaded without executing code.

The file is a NumPy archive of plain arrays and one JSON text with what the run was: format, data
fingerprint, solver, C, history. A checkpoint of other data or another solver is refused.
"""

import json
import os
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

FORMAT = "taut checkpoint 1"
# Scratch memory, and arrays that follow from the rest.
NOT_SAVED = {"w", "delta", "direct", "work", "y", "y_away", "mu", "scratch"}


class Checkpoint:
    def __init__(self, path: str | Path, every_seconds: float, run: Any):
        self.path = Path(path)
        self.every_seconds = every_seconds
        self.saved_at = time.perf_counter()
        self.identity = {
            "format": FORMAT,
            "data": run.problem.fingerprint(),
            "solver": repr(run.solver),
            "C": run.C,
        }
        if run.solver.keeps_corners and not run.problem.is_compiled:
            raise ValueError(
                "a checkpoint cannot hold the labels of a Python model (they may be any object); "
                "use direction toward without a cache, or no checkpoint"
            )
        if not self.path.parent.is_dir():
            raise FileNotFoundError(
                f"the checkpoint's folder {str(self.path.parent)!r} does not exist; create it first"
            )

    def maybe_save(self, run: Any, rows: list[tuple], seconds: float) -> None:
        if time.perf_counter() - self.saved_at >= self.every_seconds:
            self.save(run, rows, seconds)
            self.saved_at = time.perf_counter()

    def save(self, run: Any, rows: list[tuple], seconds: float) -> None:
        header = {**self.identity, "rows": rows, "seconds": seconds}
        arrays = dict(_flatten(run.state))
        arrays["mu"] = run.problem.dual_array(run.state.mu)
        temporary = self.path.with_name(f"{self.path.name}.{os.getpid()}.part")
        try:
            with open(temporary, "wb") as file:
                np.savez(file, header=np.array(json.dumps(header)), **arrays)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, self.path)
        finally:
            temporary.unlink(missing_ok=True)

    def load(self, run: Any) -> tuple[list[tuple], float] | None:
        """Put the saved state into ``run``; returns history and seconds, None without a file."""
        if not self.path.exists():
            return None
        try:
            with np.load(self.path, allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
            header = json.loads(str(arrays.pop("header")))
            rows = [tuple(row) for row in header["rows"]]
            seconds = float(header["seconds"])
        except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
            raise ValueError(
                f"{str(self.path)!r} is not a whole taut checkpoint ({error}); "
                "delete it or give another path"
            ) from error
        for name, expected in self.identity.items():
            if header.get(name) != expected:
                raise ValueError(
                    f"{str(self.path)!r} is a checkpoint of another run: its {name} is "
                    f"{header.get(name)!r}, this run's is {expected!r}"
                )
        self._restore(run, arrays)
        return rows, seconds

    def _restore(self, run: Any, arrays: dict[str, np.ndarray]) -> None:
        state = run.state
        current = dict(_flatten(state))
        for name, array in current.items():
            saved = arrays.get(name)
            pooled = name.startswith("corners.")
            if (
                saved is None
                or saved.dtype != array.dtype
                or not (pooled or saved.shape == array.shape)
            ):
                raise ValueError(f"{str(self.path)!r} is not a whole checkpoint: bad array {name}")
        run.problem.copy_dual(arrays["mu"], state.mu)
        corners = state.corners._replace(
            **{name: arrays[f"corners.{name}"] for name in state.corners._fields}
        )
        for name, array in current.items():
            if not name.startswith("corners."):
                array[...] = arrays[name]
        run.state = state._replace(corners=corners)
        if state.lower.size:
            state.w[:] = np.clip(state.v, state.lower, state.upper)


def _flatten(state: Any, prefix: str = ""):
    for name, value in zip(state._fields, state, strict=True):
        if prefix == "" and name in NOT_SAVED:
            continue
        if isinstance(value, tuple):
            yield from _flatten(value, f"{name}.")
        else:
            yield prefix + name, value
