"""A path under way in one file, written atomically, loaded without executing code.

The file is a NumPy archive of plain arrays and one JSON text. A checkpoint of other data, another
solver or another kind of path is refused; what compiled code will trust is checked as in a run's
own (:mod:`taut.solvers.checkpoint`). That the breakpoints in it are as good as it says is believed;
``true_gaps()`` asks the oracle again.
"""

from pathlib import Path
from typing import Any

import numpy as np

from taut.path.breakpoint import TABLE, Breakpoint
from taut.path.storage import Storage
from taut.path.walk import Solved, Walk
from taut.solvers.checkpoint import CheckpointFile

FORMAT = "taut path 3"
# What a walk is about to do, as plain numbers.
COUNTS = ("arrived_at", "certified_at", "calls_then", "calls_before", "has_looked", "has_arrived")
NUMBERS = ("lam", "lam_min", "promised", "seconds")


class PathCheckpoint(CheckpointFile):
    kind = "checkpoint of a path"
    of = "path"

    def __init__(self, path: str | Path, every_seconds: float, walk: Walk, about: dict[str, Any]):
        super().__init__(path, every_seconds)
        storage = type(walk.storage).__name__
        self.identify(walk.run, format=FORMAT, storage=storage, **about)

    def save(self, walk: Walk) -> None:
        header = {
            "C": walk.run.C,
            "numbers": walk.numbers,
            "ahead": [solved.number for solved in walk.ahead],
            **{name: getattr(walk, name) for name in (*COUNTS, *NUMBERS)},
        }
        arrays = {
            "points": np.array(walk.points, TABLE),
            "ahead_points": np.array([solved.point for solved in walk.ahead], TABLE),
            "ahead_weights": np.array([s.w for s in walk.ahead]).reshape(-1, len(walk.w)),
            "last_weights": walk.w,
            **{f"run.{name}": value for name, value in walk.run.saved_arrays().items()},
        }
        if walk.storage is not None:
            arrays |= {f"storage.{name}": value for name, value in walk.storage.arrays().items()}
        if walk.validation is not None:
            arrays["scores"] = walk.validation.scores
        self.try_to_write(header, arrays)

    def load(self, walk: Walk) -> bool:
        """Put the saved state into ``walk``; False if there is no file."""
        if not self.path.exists():
            return False
        header, arrays = self.read()
        self._restore(walk, header, arrays)
        return True

    def _restore(self, walk: Walk, header: dict, arrays: dict[str, np.ndarray]) -> None:
        dim = walk.run.problem.dim
        points = self._points(arrays, "points")
        ahead = self._points(arrays, "ahead_points")
        last = self._weights(arrays, "last_weights", (dim,))
        far = self._weights(arrays, "ahead_weights", (len(ahead), dim))
        try:
            numbers = [int(number) for number in header["numbers"]]
            numbers_ahead = [int(number) for number in header["ahead"]]
            given: dict[str, Any] = {name: int(header[name]) for name in COUNTS}
            given |= {name: float(header[name]) for name in NUMBERS}
            walk.run.C = float(header["C"])
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise self.damaged("its header") from error
        lam, C = given["lam"], walk.run.C
        if not (lam > 0 and C > 0 and np.isclose(lam * C * walk.run.n, 1.0)):
            raise self.damaged("lambda and C do not belong together")
        if not 0 < given["promised"] < np.inf:
            raise self.damaged("the gap it promises")
        if len(numbers) != len(points) - 1 or len(numbers_ahead) != len(ahead):
            raise self.damaged("there are not as many weights as breakpoints")
        own_lam_min = walk.lam_min
        for name, value in given.items():
            setattr(walk, name, value)
        walk.lam_min = given["lam_min"] if own_lam_min is None else own_lam_min
        walk.points, walk.numbers, walk.w = points, numbers, last
        walk.ahead = [
            Solved(point, w, number)
            for point, w, number in zip(ahead, far, numbers_ahead, strict=True)
        ]
        self.restore(walk.run, _below(arrays, "run."))
        if walk.storage is not None:
            self._restore_storage(walk.storage, _below(arrays, "storage."), numbers + numbers_ahead)
        if walk.validation is not None:
            scores = arrays.get("scores")
            if scores is None or scores.shape != walk.validation.scores.shape:
                raise self.damaged("array scores")
            walk.validation.scores = scores

    def _weights(self, arrays: dict[str, np.ndarray], name: str, shape: tuple) -> np.ndarray:
        array = arrays.get(name)
        if array is None or array.dtype != np.float64 or array.shape != shape:
            raise self.damaged(f"array {name}")
        if not np.all(np.isfinite(array)):
            raise self.damaged(f"array {name} has values that are not finite")
        return array

    def _points(self, arrays: dict[str, np.ndarray], name: str) -> list[Breakpoint]:
        table = arrays.get(name)
        if table is None or table.dtype != TABLE or table.ndim != 1:
            raise self.damaged(f"array {name}")
        lam = table["lam"]
        finite = [field for field in TABLE.names or () if field not in ("lam", "score", "distance")]
        sound = all(np.all(np.isfinite(table[field])) for field in finite) and np.all(lam > 0)
        if name == "points":
            sound = sound and len(lam) > 0 and np.isinf(lam[0]) and np.all(np.isfinite(lam[1:]))
            sound = sound and np.all(np.diff(lam) < 0) and np.all(np.isfinite(table["distance"]))
        solved = table[np.isfinite(lam)]
        gap = solved["hinge"] + solved["lam"] * solved["product"] - solved["loss"]
        scale = 1e-6 * (1.0 + np.abs(solved["hinge"]) + np.abs(solved["loss"]))
        if not (sound and np.all(np.abs(gap - solved["gap"]) <= scale)):
            raise self.damaged(f"the numbers of array {name} do not belong together")
        return [Breakpoint(*row.tolist()) for row in table]

    def _restore_storage(
        self, storage: Storage, arrays: dict[str, np.ndarray], numbers: list[int]
    ) -> None:
        try:
            storage.restore(arrays)
        except (KeyError, ValueError, IndexError) as error:
            raise self.damaged(f"the weights of its breakpoints: {error}") from error
        if any(not 0 <= number < len(storage) for number in numbers):
            raise self.damaged("breakpoints without weights")


def _below(arrays: dict[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    return {name[len(prefix) :]: a for name, a in arrays.items() if name.startswith(prefix)}
