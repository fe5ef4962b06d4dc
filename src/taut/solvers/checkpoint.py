"""Checkpoints: the state of a run in one file, written atomically, loaded without executing code.

The file is a NumPy archive of plain arrays and one JSON text with what the run was: format, data
fingerprint, solver, C, seed, history. A checkpoint of another run is refused. Which
arrays there are, and what makes them sound, is the run's business (``resume``).
"""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from taut.solvers.best import Best
from taut.solvers.checkpoint_file import CheckpointFile
from taut.solvers.seeds import known_seed
from taut.solvers.solution import HISTORY

FORMAT = "taut checkpoint 4"
# Counters beyond this are not exact as floats, and no run comes near.
MOST_COUNTED = 2**53


class Checkpoint(CheckpointFile):
    kind = "taut checkpoint"

    def __init__(self, path: str | Path, every_seconds: float, run: Any):
        super().__init__(path, every_seconds)
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
            "seed": known_seed(run.seed),
        }
        if run.unsavable:
            raise ValueError(run.unsavable)

    def save(self, run: Any, best: Best) -> None:
        about = {name: value for name, value in vars(best).items() if name != "w"}
        arrays = {"best_w": best.w, **run.saved_arrays()}
        self.try_to_write({**self.identity, **about}, arrays)

    def load(self, run: Any) -> Best | None:
        """Put the saved state into ``run`` and return its results; None if there is no file."""
        if not self.path.exists():
            return None
        header, arrays = self.read()
        best = self._best(header, arrays)
        for name, expected in self.identity.items():
            if name not in header or header[name] != expected:
                raise ValueError(
                    f"{str(self.path)!r} is a checkpoint of another run: this run has another "
                    f"{name}; give another path, or resume=False to start anew"
                )
        if best.w.shape != run.state.w.shape or best.w.dtype != np.float64:
            raise self.damaged("array best_w")
        run.resume(arrays, best, self.damaged)
        return best

    def _best(self, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Best:
        try:
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
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise self.damaged("its header") from error
        if any(len(row) != len(HISTORY.names or ()) for row in best.rows):
            raise self.damaged("rows of another length")
        return best


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
        counts = name in ("count", "visits")
        if counts and np.any((saved < 0) | (saved > MOST_COUNTED)):
            raise damaged(f"array {name} has a number that no run counts to")


def check_order(arrays: dict[str, np.ndarray], damaged: Any) -> None:
    """The sampler's permutation is one, and its position lies in it."""
    permutation = arrays["sampler.permutation"]
    if not np.array_equal(np.sort(permutation), np.arange(len(permutation))):
        raise damaged("the block order is not a permutation")
    if not 0 <= arrays["sampler.position"][0] < len(permutation):
        raise damaged("the place in the block order does not exist")
