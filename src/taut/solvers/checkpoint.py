"""Checkpoints: the state of a run in one file, written atomically, loaded without executing code.

The file is a NumPy archive of plain arrays and one JSON text with what the run was: format, data
fingerprint, solver, C, history. A checkpoint of other data or another solver is refused.
"""

import hashlib
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from taut._atomic import atomic_write
from taut.solvers.best import Best
from taut.solvers.certificate import Point, certify
from taut.solvers.corners import are_sound, are_weights
from taut.solvers.corrective import new_scratch
from taut.solvers.sampling import set_all_gaps

FORMAT = "taut checkpoint 1"
# Scratch memory, and arrays that follow from the rest.
NOT_SAVED = {
    "w",
    "lower",
    "upper",
    "delta",
    "direct",
    "plane",
    "work",
    "y",
    "y_away",
    "mu",
    "scratch",
}


class Checkpoint:
    def __init__(self, path: str | Path, every_seconds: float, run: Any):
        self.path = Path(path)
        self.every_seconds = every_seconds
        self.saved_at = time.perf_counter()
        self.identity = {
            "format": FORMAT,
            "training data or loss": run.problem.fingerprint(),
            "solver": repr(run.solver),
            "C": run.C,
            "bounds": _bounds_print(run.state),
        }
        if run.solver.keeps_corners and not run.problem.is_compiled:
            raise ValueError(
                "a checkpoint cannot hold the labels of a Python model (they may be any object); "
                'use solver="bcfw", which remembers none, or no checkpoint'
            )
        if self.path.is_dir():
            raise IsADirectoryError(f"checkpoint={str(path)!r} is a folder; name a file in it")
        if not self.path.parent.is_dir():
            raise FileNotFoundError(
                f"the checkpoint's folder {str(self.path.parent)!r} does not exist; create it first"
            )

    def is_due(self) -> bool:
        return time.perf_counter() - self.saved_at >= self.every_seconds

    def save(self, run: Any, best: Best) -> None:
        about = {name: value for name, value in vars(best).items() if name != "w"}
        header = json.dumps({**self.identity, **about})
        arrays = {**dict(_flatten(run.state)), "best_w": best.w}
        arrays["mu"] = run.problem.dual_array(run.state.mu)
        arrays["memory"] = oracle_memory(run.problem)
        with atomic_write(self.path) as file:
            np.savez(file, header=np.array(header), **arrays)
        self.saved_at = time.perf_counter()

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
        except Exception as error:  # a damaged archive raises nearly anything
            raise self._damaged("it cannot be read") from error
        for name, expected in self.identity.items():
            if header.get(name) != expected:
                raise ValueError(
                    f"{str(self.path)!r} is a checkpoint of another run: this run has another "
                    f"{name}; give another path, or resume=False to start anew"
                )
        memory = arrays.get("memory")
        expected = oracle_memory(run.problem)
        if memory is None or memory.shape != expected.shape or memory.dtype != expected.dtype:
            raise self._damaged("array memory")
        if not np.all(np.isfinite(memory)):
            raise self._damaged("array memory has values that are not finite")
        self._restore(run, arrays)
        self._recertify(run, best)
        expected[...] = memory  # last, because certifying moves it
        return best

    def _recertify(self, run: Any, best: Best) -> None:
        """What the file says was proved is proved again, from what it holds."""
        state = run.state
        stored = state.v.copy()
        run.rebuild()
        if not np.allclose(stored, state.v, rtol=1e-6, atol=1e-9 * (1.0 + np.abs(stored).max())):
            raise self._damaged("weights and dual point do not belong together")
        state.v[:] = stored  # its rounding is part of the run
        if state.lower.size:
            state.w[:] = np.clip(state.v, state.lower, state.upper)
        if best.w.shape != state.w.shape or best.w.dtype != np.float64:
            raise self._damaged("array best_w")
        loss = float(run.importance @ state.ell)
        now = certify(run.oracle, run.importance, Point(state.w, state.v, loss, state.mu), run.C)
        then = certify(run.oracle, run.importance, Point(best.w, best.w, 0.0, state.mu), run.C)
        run.oracle_is_fresh = False
        # An approximate oracle proves another bound each time, within its accuracy.
        slack = getattr(run.problem, "slack", lambda: 0.0)()
        if not np.isclose(then.primal, best.primal, rtol=1e-9, atol=2.0 * slack):
            raise self._damaged("its best weights do not have the objective it says")
        if slack:
            best.primal = max(best.primal, then.primal)
        # The gap follows from the dual point alone, the dual value from its stored losses.
        if not np.isclose(now.block_gaps.sum(), now.gap, rtol=1e-6, atol=1e-9):
            raise self._damaged("losses and dual point do not belong together")
        best.dual = now.dual
        best.lowest = min(now.primal, then.primal)

    def _damaged(self, why: Any) -> ValueError:
        return ValueError(
            f"{str(self.path)!r} is not a whole taut checkpoint ({why}); "
            "delete it or give another path"
        )

    def _restore(self, run: Any, arrays: dict[str, np.ndarray]) -> None:
        """Compiled code trusts these arrays, so each is checked before it gets there."""
        state, problem = run.state, run.problem
        current = dict(_flatten(state))
        for name, array in current.items():
            saved = arrays.get(name)
            if saved is None or saved.dtype != array.dtype or saved.ndim != array.ndim:
                raise self._damaged(f"array {name}")
            if not name.startswith("corners.") and saved.shape != array.shape:
                raise self._damaged(f"array {name} has shape {saved.shape}, not {array.shape}")
            if saved.dtype.kind == "f" and not np.all(np.isfinite(saved)):
                raise self._damaged(f"array {name} has values that are not finite")
        corners = state.corners._replace(
            **{name: arrays[f"corners.{name}"] for name in state.corners._fields}
        )
        keeps = run.solver
        if keeps.keeps_corners and not (
            are_sound(corners, run.lengths, problem.n_states)
            and (corners.gram.size > 0) == keeps.keeps_gram
            and (not keeps.keeps_alpha or are_weights(corners, run.n))
        ):
            raise self._damaged("the active sets are inconsistent")
        if not np.array_equal(np.sort(arrays["sampler.permutation"]), np.arange(run.n)):
            raise self._damaged("the block order is not a permutation")
        if not 0 <= arrays["sampler.position"][0] < run.n:
            raise self._damaged("the place in the block order does not exist")
        try:
            problem.copy_dual(arrays["mu"], state.mu)
        except (KeyError, ValueError, IndexError) as error:
            raise self._damaged(f"array mu: {error}") from error
        for name, array in current.items():
            if not name.startswith(("corners.", "sampler.kind", "sampler.tree")):
                array[...] = arrays[name]
        leaves = state.sampler.tree.size // 2
        set_all_gaps(state.sampler.tree, arrays["sampler.tree"][leaves : leaves + run.n])
        run.state = state._replace(
            corners=corners, scratch=new_scratch(2 * int(corners.used[3]) + 32)
        )
        if state.lower.size:
            state.w[:] = np.clip(state.v, state.lower, state.upper)


def oracle_memory(problem: Any) -> np.ndarray:
    """What the oracle carries from call to call, where it does."""
    return getattr(problem, "memory", np.zeros(0))


def _bounds_print(state: Any) -> str:
    return hashlib.blake2b(state.lower.tobytes() + state.upper.tobytes(), digest_size=8).hexdigest()


def _flatten(state: Any, prefix: str = ""):
    for name, value in zip(state._fields, state, strict=True):
        if prefix == "" and name in NOT_SAVED:
            continue
        if isinstance(value, tuple):
            yield from _flatten(value, f"{name}.")
        else:
            yield prefix + name, value
