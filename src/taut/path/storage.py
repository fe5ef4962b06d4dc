"""What is kept of a path: weights of all breakpoints in little memory, and all of it in a file.

A path of a hundred breakpoints and ten million weights would take eight gigabytes. Between
breakpoints a dual point is far smaller than its weights: ``Labellings`` keeps the labellings that
have weight, each once, and their alphas at every breakpoint, from which the problem rebuilds w.
Where weights are few, or the solver does not keep alphas, ``Weights`` keeps those that changed.

The file is a NumPy archive of plain arrays and one JSON text, written atomically and loaded without
executing code. A checkpoint of other data, another solver or another kind of path is refused; what
compiled code will trust is checked as in a run's own (:mod:`taut.solvers.checkpoint`). That the
breakpoints in it are as good as it says is believed; ``true_gaps()`` asks the oracle again.
"""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import numpy as np

from taut._compile import Opaque, Problem, compiled, in_mode
from taut.arrays.accumulator import dense_accumulator
from taut.problem import add_corner, begin_change, length, project, true_label, weight
from taut.solvers.checkpoint import CheckpointFile, check_arrays
from taut.solvers.objective import placed

FORMAT = "taut path 4"


class Storage(ABC):
    """Exact weights at every lambda that was solved; the last two asked for are remembered.

    Kept at each lambda are numbers, of whatever it is, and an amount for every number.
    """

    def __init__(self, run: Any, number_type: Any = np.int64):
        self._run = run
        self._latest: dict[float, np.ndarray] = {}
        self.lam = np.zeros(0)
        self.number: np.ndarray = np.zeros(0, number_type)
        self.amount = np.zeros(0)
        self.end = np.zeros(0, np.int64)  # where those of each lambda end

    def __len__(self) -> int:
        return len(self.lam)

    @abstractmethod
    def append(self, run: Any, lam: float) -> None:
        """Keep the weights of a run, which is at this lambda."""

    @abstractmethod
    def rebuilt(self, j: int) -> np.ndarray:
        """The weights that were appended as number j, in an array of their own."""

    def weights(self, lam: float) -> np.ndarray:
        """Those of a lambda that was solved, not to be changed."""
        if lam not in self._latest:
            latest = list(self._latest.items())[-1:]
            j = int(np.flatnonzero(self.lam == lam)[-1])
            self._latest = dict([*latest, (lam, self.rebuilt(j))])
        return self._latest[lam]

    def _add(self, lam: float, number: np.ndarray, amount: np.ndarray) -> None:
        self.lam = np.append(self.lam, lam)
        self.number = np.append(self.number, number.astype(self.number.dtype))
        self.amount = np.append(self.amount, amount)
        self.end = np.append(self.end, len(self.number))

    def _at(self, j: int) -> slice:
        """Where the numbers and amounts are."""
        return slice(self.end[j - 1] if j else 0, self.end[j])

    @property
    def nbytes(self) -> int:
        """Memory in use."""
        return sum(value.nbytes for value in vars(self).values() if isinstance(value, np.ndarray))

    def arrays(self) -> dict[str, np.ndarray]:
        """For a checkpoint; ``restore`` takes them back."""
        return {name: value for name, value in vars(self).items() if name[0] != "_"}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Take arrays from a file, of the kinds of ``arrays``, if they fit together."""
        for name in self.arrays():
            setattr(self, name, arrays[name])
        self._latest = {}
        starts = np.append(0, self.end)
        if len(self.end) != len(self.lam) or np.any(starts[1:] < starts[:-1]):
            raise ValueError("ends of breakpoints")
        if not len(self.number) == len(self.amount) == starts[-1]:
            raise ValueError("numbers of breakpoints")
        self.check()

    @abstractmethod
    def check(self) -> None:
        """Refuse numbers that lead nowhere: compiled code goes there. What follows is made anew."""


class Weights(Storage):
    """The weights that changed since the breakpoint before: few, if many attributes are rare.

    The numbers are those of the weights, the amounts their values.
    """

    def __init__(self, run: Any):
        super().__init__(run, np.int32 if run.problem.dim < 2**31 else np.int64)
        self._last = np.zeros(run.problem.dim)

    def append(self, run: Any, lam: float) -> None:
        w = run.state.w
        changed = np.flatnonzero(w != self._last)
        self._add(lam, changed, w[changed])
        self._last = w.copy()

    def rebuilt(self, j: int) -> np.ndarray:
        w = np.zeros(len(self._last))
        for k in range(j + 1):
            w[self.number[self._at(k)]] = self.amount[self._at(k)]
        return w

    @property
    def nbytes(self) -> int:
        return self.number.nbytes + self.amount.nbytes + self._last.nbytes

    def check(self) -> None:
        if not _are_below(self.number, len(self._last)):
            raise ValueError("changed weights")
        self._last = self.rebuilt(len(self) - 1)


class Labellings(Storage):
    """The active labellings of every breakpoint, each labelling kept once.

    The numbers are those of labellings, the amounts their alphas.
    """

    def __init__(self, run: Any):
        super().__init__(run)
        self._kept_as = np.zeros(0, np.int64)  # slot of the solver -> number of labelling, or -1
        self.labels = np.zeros(0, np.int32)
        self._label_at = np.zeros(0, np.int64)  # where each labelling begins
        self.block = np.zeros(0, np.int64)  # whose labelling it is

    def append(self, run: Any, lam: float) -> None:
        corners = run.state.corners
        slot, block = active_slots(corners)
        if run is not self._run:
            self._run, self._kept_as = run, np.zeros(0, np.int64)
        more = len(corners.alpha) - len(self._kept_as)
        self._kept_as = np.append(self._kept_as, np.full(more, -1))
        length = run.lengths[block]
        number = self._kept_as[slot]
        known = number >= 0
        known[known] = self._are_same(corners, slot[known], number[known], length[known])
        new = ~known
        start, size = corners.label_at[slot[new]], length[new]
        number[new] = len(self._label_at) + np.arange(len(size))
        self._kept_as[slot] = number
        self._label_at = np.append(self._label_at, len(self.labels) + np.cumsum(size) - size)
        self.block = np.append(self.block, block[new])
        self.labels = np.append(self.labels, corners.labels[ranges(start, size)])
        self._add(lam, number, corners.alpha[slot])

    def _are_same(
        self, corners: Any, slot: np.ndarray, number: np.ndarray, length: np.ndarray
    ) -> np.ndarray:
        """Whether slots still hold the labellings they were kept as: some are overwritten."""
        theirs = corners.labels[ranges(corners.label_at[slot], length)]
        ours = self.labels[ranges(self._label_at[number], length)]
        differences = np.append(0, np.cumsum(theirs != ours))
        ends = np.cumsum(length)
        return differences[ends] == differences[ends - length]

    def rebuilt(self, j: int) -> np.ndarray:
        run, state, problem = self._run, self._run.state, self._run.problem
        v = np.zeros(problem.dim)
        number, C = self.number[self._at(j)], 1.0 / (self.lam[j] * run.n)
        in_mode(add_labellings, problem)(
            problem, state.mu, problem.new_work(), np.zeros((2, problem.longest), np.int32),
            np.stack([self.block[number], self._label_at[number]]), self.labels,
            C * self.amount[self._at(j)], dense_accumulator(v),
        )  # fmt: skip
        return placed(v, state.lower, state.upper)

    def check(self) -> None:
        run, n_states = self._run, self._run.problem.n_states
        if not (
            _are_below(self.number, len(self.block))
            and _are_below(self.block, run.n)
            and (n_states is None or _are_below(self.labels, n_states))
        ):
            raise ValueError("active labellings")
        sizes = run.lengths[self.block]
        if sizes.sum() != len(self.labels):
            raise ValueError("labels of labellings")
        self._label_at = np.cumsum(sizes) - sizes
        self._kept_as = np.zeros(0, np.int64)


def new_storage(run: Any) -> Storage:
    """Labellings, where the solver keeps them and they are shorter than the weights."""
    has_labellings = run.solver.keeps_alpha and run.is_compiled
    return (
        Labellings(run) if has_labellings and run.lengths.sum() < run.problem.dim else Weights(run)
    )


def _are_below(numbers: np.ndarray, limit: int) -> bool:
    return bool(np.all((numbers >= 0) & (numbers < limit)))


def active_slots(corners: Any) -> tuple[np.ndarray, np.ndarray]:
    """Slots of labellings with weight, other than the truth, and their blocks."""
    slot, block = corners.head, np.arange(len(corners.head))
    slots, blocks = [], []
    while slot.size:  # one step along all lists at once
        counts = (corners.alpha[slot] > 0.0) & (corners.rank[slot] > 0)
        slots.append(slot[counts])
        blocks.append(block[counts])
        slot = corners.following[slot]
        block, slot = block[slot >= 0], slot[slot >= 0]
    return np.concatenate(slots), np.concatenate(blocks)


def ranges(start: np.ndarray, size: np.ndarray) -> np.ndarray:
    """start[0], start[0] + 1, ..., size[0] of them, then those of start[1], and so on.

    >>> ranges(np.array([5, 0]), np.array([2, 3]))
    array([5, 6, 0, 1, 2])
    """
    before = np.cumsum(size) - size
    return np.repeat(start - before, size) + np.arange(size.sum())


@compiled
def add_labellings(problem: Problem, mu, work: Opaque, y, places, labels, amount, total):
    """total += sum over labellings of amount s_i psi_i(y).

    ``places`` are their blocks and where they begin in ``labels``.
    """
    for position in range(amount.size):
        i = places[0, position]
        start = places[1, position]
        for t in range(length(problem, i)):
            y[0, t] = labels[start + t]
        true_label(problem, i, y[1])
        begin_change(problem, i, mu, 0.0, work)
        add_corner(problem, i, y[1], amount[position], work)
        add_corner(problem, i, y[0], -amount[position], work)
        project(problem, i, work, weight(problem, i), total)


class PathCheckpoint(CheckpointFile):
    """``about`` is what a file to resume from must have been told, beside what the walk says."""

    kind = "checkpoint of a path"
    of = "path"

    def __init__(self, path: str | Path, every_seconds: float, walk: Any, about: dict[str, Any]):
        super().__init__(path, every_seconds)
        self.identify(walk.run, format=FORMAT, **walk.about())
        self.identity = about | self.identity  # the wider view first: it is what the user knows

    def save(self, walk: Any) -> None:
        of_run = {f"run.{name}": value for name, value in walk.run.saved_arrays().items()}
        self.try_to_write({}, walk.saved_arrays() | of_run)

    def load(self, walk: Any) -> None:
        """Put the saved state into ``walk``, if there is a file."""
        if not self.path.exists():
            return
        _, arrays = self.read()
        try:
            check_arrays(walk.saved_arrays(), arrays, walk.growing)
            walk.put(arrays)
        except (KeyError, ValueError, IndexError) as error:
            raise self.damaged(error) from error
        self.restore(walk.run, below(arrays, "run."))


def below(arrays: dict[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    return {name[len(prefix) :]: a for name, a in arrays.items() if name.startswith(prefix)}
