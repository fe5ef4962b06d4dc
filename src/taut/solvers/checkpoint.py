"""Checkpoints: the state of a run in one file, written atomically, loaded without executing code.

The file is a NumPy archive of plain arrays and one JSON text with what the run was: format, data
fingerprint, solver, C, history. A checkpoint of other data or another solver is refused. Which
arrays there are, and what makes them sound, is the run's business (``resume``).
"""

import hashlib
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from taut._atomic import atomic_write
from taut.solvers.best import Best
from taut.solvers.one_blas_thread import one_blas_thread
from taut.solvers.solution import HISTORY

FORMAT = "taut checkpoint 3"


class Checkpoint:
    def __init__(self, path: str | Path, every_seconds: float, run: Any):
        self.path = Path(path)
        self.every_seconds = every_seconds
        self.saved_at = time.perf_counter()
        self.identity = {
            "format": FORMAT,
            "formulation": run.formulation,
            "training data or loss": run.problem.fingerprint(),
            "solver": repr(run.solver),
            "relaxation": run.certifies,
            "C": run.C,
            "l1": run.l1,
            "slack penalty": run.penalty.value,
            "bounds": bounds_print(run.state),
        }
        if run.unsavable:
            raise ValueError(run.unsavable)
        check_place(path)

    def is_due(self) -> bool:
        return time.perf_counter() - self.saved_at >= self.every_seconds

    def save(self, run: Any, best: Best) -> None:
        about = {name: value for name, value in vars(best).items() if name != "w"}
        header = json.dumps({**self.identity, **about})
        with atomic_write(self.path) as file:
            np.savez(file, header=np.array(header), best_w=best.w, **run.saved_arrays())
        self.saved_at = time.perf_counter()

    @one_blas_thread()
    def load(self, run: Any) -> Best | None:
        """Put the saved state into ``run`` and return its results; None if there is no file."""
        if not self.path.exists():
            return None
        try:
            with open(self.path, "rb") as file, np.load(file, allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
            header = json.loads(str(arrays.pop("header")))
            best = Best(
                rows=[tuple(map(float, row)) for row in header["rows"]],
                primal=float(header["primal"]),
                dual=float(header["dual"]),
                w=arrays.pop("best_w"),
                returned=str(header["returned"]),
                seconds=float(header["seconds"]),
                lowest=float(header["lowest"]),
                score=float(header["score"]),
                checks_since=int(header["checks_since"]),
            )
            if any(len(row) != len(HISTORY.names or ()) for row in best.rows):
                raise ValueError("rows of another length")
        except Exception as error:  # a damaged archive raises nearly anything
            raise self._damaged("it cannot be read") from error
        for name, expected in self.identity.items():
            if header.get(name) != expected:
                raise ValueError(
                    f"{str(self.path)!r} is a checkpoint of another run: this run has another "
                    f"{name}; give another path, or resume=False to start anew"
                )
        if best.w.shape != run.state.w.shape or best.w.dtype != np.float64:
            raise self._damaged("array best_w")
        run.resume(arrays, best, self._damaged)
        return best

    def _damaged(self, why: Any) -> ValueError:
        return ValueError(
            f"{str(self.path)!r} is not a whole taut checkpoint ({why}); "
            "delete it or give another path"
        )


def check_place(path: str | Path) -> None:
    """Before any work is done that could not be saved."""
    if Path(path).is_dir():
        raise IsADirectoryError(f"checkpoint={str(path)!r} is a folder; name a file in it")
    folder = Path(path).parent
    if not folder.is_dir():
        raise FileNotFoundError(
            f"the checkpoint's folder {str(folder)!r} does not exist; create it first"
        )


def bounds_print(state: Any) -> str:
    return hashlib.blake2b(state.lower.tobytes() + state.upper.tobytes(), digest_size=8).hexdigest()


def flattened(state: Any, left_out: frozenset[str], prefix: str = ""):
    """The arrays of a state by name, without those that are scratch or follow from the rest."""
    for name, value in zip(state._fields, state, strict=True):
        if prefix == "" and name in left_out:
            continue
        if isinstance(value, tuple):
            yield from flattened(value, left_out, f"{name}.")
        else:
            yield prefix + name, value


def checked_arrays(
    current: dict[str, np.ndarray],
    arrays: dict[str, np.ndarray],
    damaged: Any,
    *,
    growing: str | tuple[str, ...],
) -> None:
    """Saved arrays are like the current ones, but for the length of those that grow."""
    for name, array in current.items():
        saved = arrays.get(name)
        if saved is None or saved.dtype != array.dtype or saved.ndim != array.ndim:
            raise damaged(f"array {name}")
        if not (growing and name.startswith(growing)) and saved.shape != array.shape:
            raise damaged(f"array {name} has shape {saved.shape}, not {array.shape}")
        if saved.dtype.kind == "f" and not np.all(np.isfinite(saved)):
            raise damaged(f"array {name} has values that are not finite")


def check_order(arrays: dict[str, np.ndarray], damaged: Any) -> None:
    """The sampler's permutation is one, and its position lies in it."""
    permutation = arrays["sampler.permutation"]
    if not np.array_equal(np.sort(permutation), np.arange(len(permutation))):
        raise damaged("the block order is not a permutation")
    if not 0 <= arrays["sampler.position"][0] < len(permutation):
        raise damaged("the place in the block order does not exist")
