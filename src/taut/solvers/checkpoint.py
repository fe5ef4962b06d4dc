"""Checkpoints: the state of a run in one file, written atomically, loaded without executing code.

The file is a NumPy archive of plain arrays, one JSON text with what the run was (format, data
fingerprint, solver, C, seed, history), and a digest of all that. A checkpoint of another run is
refused. A run says which arrays it has (``saved_arrays``), takes them back (``put``) and knows what
must follow from the rest (``check``); everything else about checkpoints is here.

The digest tells of damage. A file that was altered and signed anew is checked as far as compiled
code trusts it, its header (``fault_of``) as far as any run has such numbers, and no dual point is
believed that does not belong to its weights and losses; inner products of remembered labellings,
and points found earlier, are believed if they are not absurd.
"""

import hashlib
import json
import time
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from taut.files.atomic import atomic_write
from taut.solvers.best import ROUNDING, Best
from taut.solvers.certificate import Certificate
from taut.solvers.sampling import known_seed
from taut.solvers.solution import Row
from taut.spelling import OptionError

FORMAT = "taut checkpoint 9"
# Counters beyond this are not exact as floats, and no run comes near.
MOST_COUNTED = 2**53
# Columns of a history.
MAY_BE_NAN = ("soft_gap", "violation", "squared_violation")
ANY_NUMBER = ("score",)  # what people compute
NEVER_FALL = ("passes", "seconds", "oracle_calls")
RETURNED = ("last", "average", "earlier")


ARCHIVE = b"PK"  # how a NumPy archive begins


class CheckpointFile:
    """What checkpoints of runs and of paths share."""

    is_last = False  # whether what is saved has ended
    kind = "checkpoint"
    of = "run"
    identity: dict[str, Any]  # a checkpoint to go on from has the same

    def __init__(self, path: str | Path, every_seconds: float):
        check_place(path)
        self.path = Path(path)
        self.every_seconds = every_seconds
        self.saved_at = time.perf_counter()

    def identify(self, run: Any, **more: Any) -> None:
        if run.unsavable:
            raise ValueError(run.unsavable)
        bounds = run.state.lower.tobytes() + run.state.upper.tobytes()
        self.identity = {
            **more,
            "formulation": run.formulation,
            "set of examples, or loss": run.problem.fingerprint(),
            "solver": repr(run.solver),  # after C, which decides what "auto" is
            "relaxation": run.certifies,
            "bounds": hashlib.blake2b(bounds, digest_size=8).hexdigest(),
            "seed": known_seed(run.seed),
        }

    def may_replace(self) -> None:
        """A run that begins anew replaces a checkpoint, and no other file."""
        if not self.path.is_file() or not self.path.stat().st_size:
            return
        with open(self.path, "rb") as file:
            if file.read(len(ARCHIVE)) != ARCHIVE:
                raise ValueError(
                    f"{str(self.path)!r} exists and is not a checkpoint; it would be overwritten: "
                    "name another file, or delete it"
                )

    def is_due(self) -> bool:
        return time.perf_counter() - self.saved_at >= self.every_seconds

    def try_to_write(self, header: dict[str, Any], arrays: dict[str, Any]) -> None:
        """Hours of training are worth more than a checkpoint: if it cannot be written, warn."""
        try:
            write_archive(self.path, {**self.identity, **header}, arrays)
        except OSError as error:
            then = (
                "training has ended, and who resumes it goes on from the last that was written, if "
                "there is one"
                if self.is_last
                else "training goes on and, unless it ends before, tries again after "
                f"{self.every_seconds:g} seconds"
            )
            warnings.warn(
                f"the checkpoint {str(self.path)!r} could not be written ({error}); {then}",
                RuntimeWarning,
                stacklevel=2,
            )
        self.saved_at = time.perf_counter()

    def read(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Header and arrays of a checkpoint of this very run."""
        try:
            header, arrays = read_archive(self.path)
        except Exception as error:  # a damaged archive raises nearly anything
            raise self.damaged(f"it cannot be read: {error}") from error
        for name, expected in self.identity.items():
            if name not in header or header[name] != expected:
                how = ' ("auto" takes it by C, tol and held-out data)' * (name == "solver")
                raise OptionError(
                    f"{str(self.path)!r} is a checkpoint of another {self.of}: this {self.of} has "
                    f"another {name}{how}; give another path, or ‹resume=False› to start anew"
                )
        return header, arrays

    def damaged(self, why: Any) -> ValueError:
        return ValueError(
            f"{str(self.path)!r} is not a whole {self.kind} ({why}); delete it or give another path"
        )

    def restore(self, run: Any, arrays: dict[str, np.ndarray]) -> Certificate:
        """Put saved arrays into a run, and prove what they prove.

        Compiled code trusts them, so each is checked first. Certifying moves the run (gaps,
        counters, what an oracle remembers); so all is put in its place again afterwards.
        """
        try:
            check_arrays(run.saved_arrays(), arrays, run.growing)
            run.put(arrays)
            certificate = run.certify()
            run.check(arrays, certificate)
            run.put(arrays)
        except (KeyError, ValueError, IndexError) as error:
            raise self.damaged(error) from error
        return certificate


class Checkpoint(CheckpointFile):
    kind = "taut checkpoint"

    def __init__(self, path: str | Path, every_seconds: float, run: Any):
        super().__init__(path, every_seconds)
        about = {"format": FORMAT, "C": run.C, "l1": run.l1, "slack penalty": run.penalty.value}
        self.identify(run, **about)

    def save(self, run: Any, best: Best) -> None:
        about = {name: value for name, value in vars(best).items() if name != "w"}
        self.try_to_write(about, {"best_w": best.w, **run.saved_arrays()})

    def load(self, run: Any) -> Best | None:
        """Put the saved state into ``run`` and return its results; None if there is no file."""
        if not self.path.exists():
            return None
        header, arrays = self.read()
        best = self._best(header, arrays)
        if best.w.shape != run.state.w.shape or best.w.dtype != np.float64:
            raise self.damaged("array best_w")
        if not np.all(np.isfinite(best.w)):
            raise self.damaged("array best_w has values that are not finite")
        if wrong := fault_of(best):
            raise self.damaged(wrong)
        now = self.restore(run, arrays)
        primal = run.primal_of(best.w)
        run.put(arrays)
        if wrong := self._contradiction(run, best, now, primal):
            raise self.damaged(wrong)
        return best

    def _contradiction(self, run: Any, best: Best, now: Certificate, primal: float) -> str:
        """What of its claims cannot be, given what was proved just now; "" if all can."""
        last, sooner = best.rows[-1], run.solver.check_every + 1  # what is begun is completed
        if not last.passes <= run.passes <= last.passes + sooner:
            return f"it is at pass {run.passes:g}, and its last certificate is of {last.passes:g}"
        if last.oracle_calls > run.oracle_calls:
            return f"it counts {run.oracle_calls} oracle calls, but {last.oracle_calls:g} before"
        # An approximate oracle proves another bound each time, within its accuracy.
        slack = 2.0 * run.problem.slack()
        if run.recomputes_objectives and not np.isclose(
            primal, best.primal, rtol=ROUNDING, atol=slack
        ):
            return "its best weights do not have the objective it says"
        if not run.bounds_last:
            return ""
        if not now.dual <= best.primal + ROUNDING * (1.0 + abs(best.primal)) + slack:
            return f"it claims an objective, {best.primal}, below a lower bound, {now.dual}"
        # A lower bound stays one though the dual point that proved it has moved on.
        most = min(now.primal, primal, best.lowest, best.primal)
        if not best.dual <= most + ROUNDING * (1.0 + abs(most)) + slack:
            return f"it claims a lower bound, {best.dual}, above an objective, {most}"
        return ""

    def _best(self, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Best:
        try:
            best = Best(
                rows=[Row._make(map(float, row)) for row in header["rows"]],
                primal=float(header["primal"]),
                dual=float(header["dual"]),
                w=arrays.pop("best_w"),
                returned=str(header["returned"]),
                found_at=float(header["found_at"]),
                seconds=float(header["seconds"]),
                seconds_in={what: float(spent) for what, spent in header["seconds_in"].items()},
                lowest=float(header["lowest"]),
                score=float(header["score"]),
                checks_since=int(header["checks_since"]),
            )
        except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
            raise self.damaged("its header") from error
        return best


def fault_of(best: Best) -> str:
    """What of a checkpoint's header no run writes; "" if nothing."""
    if not best.rows:
        return "it has no history"
    rows = dict(zip(Row._fields, np.array(best.rows, np.float64).T, strict=True))
    for name, column in rows.items():
        allowed = np.isfinite(column) | (np.isnan(column) & (name in MAY_BE_NAN))
        if name not in ANY_NUMBER and not allowed.all():
            return f"its history has a value of {name} that is not finite"
        if name in NEVER_FALL and np.any(np.diff(column, prepend=0.0) < 0):
            return f"in its history {name} falls"
    if rows["oracle_calls"][-1] > MOST_COUNTED:
        return "its history counts more oracle calls than any run"
    times = {"seconds": best.seconds, "found_at": best.found_at, **best.seconds_in}
    for name, number in times.items():
        if not 0 <= number < np.inf:
            return f"{name} is {number}"
    if not -np.inf < best.lowest <= best.primal or best.found_at > best.rows[-1].passes:
        return "its best weights were found nowhere"
    if (best.primal, best.dual) != (best.rows[-1].primal, best.rows[-1].dual) or best.dual < 0:
        return "its bounds are not those of its history"
    if best.returned not in RETURNED or not 0 <= best.checks_since <= len(best.rows):
        return f"its best weights are the {best.returned!r}, of {best.checks_since} checks before"
    return ""


def check_arrays(
    current: dict[str, np.ndarray], arrays: dict[str, np.ndarray], growing: tuple[str, ...]
) -> None:
    """Saved arrays are like the current ones, but for the length of those that grow."""
    for name, array in current.items():
        saved = arrays.get(name)
        if saved is None or saved.dtype != array.dtype or saved.ndim != array.ndim:
            raise ValueError(f"array {name}")
        if not name.startswith(growing) and saved.shape != array.shape:
            raise ValueError(f"array {name} has shape {saved.shape}, not {array.shape}")
        if saved.dtype.kind == "f" and not np.all(np.isfinite(saved)):
            raise ValueError(f"array {name} has values that are not finite")
        counts = name in ("count", "visits")
        if counts and np.any((saved < 0) | (saved > MOST_COUNTED)):
            raise ValueError(f"array {name} has a number that no run counts to")


# --- the file -------------------------------------------------------------------------------------


def write_archive(path: Path, header: dict[str, Any], arrays: dict[str, Any]) -> None:
    text = json.dumps(header)
    with atomic_write(path) as file:
        np.savez(file, header=np.array(text), digest=np.array(digest(text, arrays)), **arrays)


def read_archive(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Header and arrays as ``write_archive`` left them: not compressed, so never a zip bomb."""
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
            arrays = {name: loaded[name] for name in loaded.files}
    text, written = str(arrays.pop("header")), str(arrays.pop("digest"))
    if digest(text, arrays) != written:
        raise ValueError("its contents are not those that were written")
    header = json.loads(text)
    if not isinstance(header, dict):
        raise ValueError("its header is no JSON object")
    return header, arrays


def digest(text: str, arrays: dict[str, Any]) -> str:
    """Of everything in the file: what was put together from two checkpoints is neither."""
    found = hashlib.blake2b(text.encode(), digest_size=16)
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        found.update(f"{name} {array.dtype.descr} {array.shape} ".encode())
        found.update(array.reshape(-1).view(np.uint8).data)
    return found.hexdigest()


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
