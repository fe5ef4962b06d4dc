"""A path under way in one file, written atomically, loaded without executing code.

The file is a NumPy archive of plain arrays and one JSON text. A checkpoint of other data, another
solver or another kind of path is refused; what compiled code will trust is checked as in a run's
own (:mod:`taut.solvers.checkpoint`). That the breakpoints in it are as good as it says is believed;
``true_gaps()`` asks the oracle again.
"""

from pathlib import Path
from typing import Any

import numpy as np

from taut.path.pieces import TABLE, Breakpoint
from taut.path.walk import Solved, Walk
from taut.solvers.checkpoint import CheckpointFile, check_arrays

FORMAT = "taut path 3"
# What a walk is about to do, as plain numbers.
COUNTS = ("arrived_at", "certified_at", "calls_then", "calls_before", "has_looked", "has_arrived")
NUMBERS = ("lam", "lam_min", "promised", "seconds")


class PathCheckpoint(CheckpointFile):
    kind = "checkpoint of a path"
    of = "path"

    def __init__(
        self, path: str | Path, every_seconds: float, walk: Walk, method: str, about: dict[str, Any]
    ):
        super().__init__(path, every_seconds)
        self.identify(
            walk.run,
            format=FORMAT,
            storage=type(walk.storage).__name__,
            method=method,
            eps=walk.part,
            kappa=walk.kappa,
            floor=walk.floor,
            validation=_validated_at(walk),
            **walk.about(),
        )
        self.identity = about | self.identity  # the wider view first: it is what the user knows

    def save(self, walk: Walk) -> None:
        header = {
            "C": walk.run.C,
            "numbers": walk.numbers,
            "ahead": [solved.number for solved in walk.ahead],
            **{name: getattr(walk, name) for name in (*COUNTS, *NUMBERS)},
        }
        scores = {} if walk.validation is None else {"scores": walk.validation.scores}
        of_run = {f"run.{name}": value for name, value in walk.run.saved_arrays().items()}
        self.try_to_write(header, _arrays(walk) | scores | of_run)

    def load(self, walk: Walk) -> None:
        """Put the saved state into ``walk``, if there is a file."""
        if not self.path.exists():
            return
        header, arrays = self.read()
        try:
            check_arrays(_arrays(walk), arrays, ("points", "ahead_", "storage."))
            _put(walk, header, arrays)
        except (KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
            raise self.damaged(error) from error
        self.restore(walk.run, _below(arrays, "run."))


def _arrays(walk: Walk) -> dict[str, np.ndarray]:
    """Those of the walk itself, but for its scores, of which some may be no numbers."""
    of_storage = {} if walk.storage is None else walk.storage.arrays()
    return {
        "points": np.array(walk.points, TABLE),
        "ahead_points": np.array([solved.point for solved in walk.ahead], TABLE),
        "ahead_weights": np.array([s.w for s in walk.ahead]).reshape(-1, len(walk.w)),
        "last_weights": walk.w,
        **{f"storage.{name}": value for name, value in of_storage.items()},
    }


def _put(walk: Walk, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    own_lam_min = walk.lam_min
    for name in COUNTS:
        setattr(walk, name, int(header[name]))
    for name in NUMBERS:
        setattr(walk, name, float(header[name]))
    walk.lam_min = walk.lam_min if own_lam_min is None else own_lam_min
    walk.run.C = float(header["C"])
    if not (walk.lam > 0 and walk.run.C > 0 and np.isclose(walk.lam * walk.run.C * walk.run.n, 1)):
        raise ValueError("lambda and C do not belong together")
    if not 0 < walk.promised < np.inf:
        raise ValueError("the gap it promises")
    walk.points, walk.w = _points(arrays["points"]), arrays["last_weights"]
    lam = arrays["points"]["lam"]
    if not (np.isinf(lam[0]) and np.all(np.isfinite(lam[1:])) and np.all(np.diff(lam) < 0)):
        raise ValueError("the lambdas of its breakpoints")
    if not np.all(np.isfinite(arrays["points"]["distance"])):
        raise ValueError("how far its breakpoints are from each other")
    walk.numbers = [int(number) for number in header["numbers"]]
    ahead = [int(number) for number in header["ahead"]]
    points, weights = _points(arrays["ahead_points"]), arrays["ahead_weights"]
    if len(walk.numbers) != len(walk.points) - 1 or weights.shape[1] != len(walk.w):
        raise ValueError("there are not as many weights as breakpoints")
    walk.ahead = [Solved(*solved) for solved in zip(points, weights, ahead, strict=True)]
    if walk.storage is not None:
        walk.storage.restore(_below(arrays, "storage."))
        if any(not 0 <= number < len(walk.storage) for number in walk.numbers + ahead):
            raise ValueError("breakpoints without weights")
    if walk.validation is not None:
        own, scores = walk.validation.scores, arrays["scores"]
        if scores.shape != own.shape or scores.dtype != own.dtype:
            raise ValueError("array scores")
        walk.validation.scores = scores


def _points(table: np.ndarray) -> list[Breakpoint]:
    """Breakpoints whose numbers belong together; of the limit, some are not finite."""
    finite = [name for name in TABLE.names or () if name not in ("lam", "score", "distance")]
    sound = all(np.all(np.isfinite(table[name])) for name in finite) and np.all(table["lam"] > 0)
    solved = table[np.isfinite(table["lam"])]
    gap = solved["hinge"] + solved["lam"] * solved["product"] - solved["loss"]
    scale = 1e-6 * (1.0 + np.abs(solved["hinge"]) + np.abs(solved["loss"]))
    if not (sound and np.all(np.abs(gap - solved["gap"]) <= scale)):
        raise ValueError("the numbers of its breakpoints do not belong together")
    return [Breakpoint(*row.tolist()) for row in table]


def _validated_at(walk: Walk) -> bool | list[float]:
    """Whether there are held-out data, and the lambdas, if they were given."""
    if walk.validation is None or walk.validation.lambdas is None:
        return walk.validation is not None
    return walk.validation.lambdas.tolist()


def _below(arrays: dict[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    return {name[len(prefix) :]: a for name, a in arrays.items() if name.startswith(prefix)}
