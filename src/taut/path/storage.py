"""The weights of all breakpoints, without a dense vector for each.

A path of a hundred breakpoints and ten million weights would take eight gigabytes. Between
breakpoints a dual point is far smaller than its weights: ``Labellings`` keeps the labellings that
have weight, each once, and their alphas at every breakpoint, from which the problem rebuilds w.
Where weights are few, or the solver does not keep alphas, ``Weights`` keeps those that changed.
"""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from taut._compile import Opaque, Problem, compiled, in_mode
from taut.arrays.accumulator import dense_accumulator
from taut.problem import add_corner, begin_change, length, project, true_label, weight


class Storage(ABC):
    """Exact weights of breakpoint 0, 1, ...; the last two asked for are remembered."""

    def __init__(self) -> None:
        self._latest: dict[int, np.ndarray] = {}

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def append(self, run: Any, w: np.ndarray) -> None:
        """Keep the weights of a run; ``w`` are those of its state."""

    @abstractmethod
    def rebuilt(self, j: int) -> np.ndarray:
        """The weights of breakpoint j, in an array of their own."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Memory in use."""

    def weights(self, j: int) -> np.ndarray:
        """Like ``rebuilt``, not to be changed."""
        if j not in self._latest:
            latest = list(self._latest.items())[-1:]
            self._latest = dict([*latest, (j, self.rebuilt(j))])
        return self._latest[j]

    def arrays(self) -> dict[str, np.ndarray]:
        """For a checkpoint; ``restore`` takes them back."""
        return {name: value for name, value in vars(self).items() if name[0] != "_"}

    def restore(self, arrays: dict[str, np.ndarray]) -> None:
        """Take arrays from a file, of the kinds of ``arrays``, if they fit together."""
        for name in self.arrays():
            setattr(self, name, arrays[name])
        self._latest = {}
        self.check()

    @abstractmethod
    def check(self) -> None:
        """Refuse arrays that do not fit together: compiled code walks along them."""


class Weights(Storage):
    """The weights that changed since the breakpoint before: few, if many attributes are rare."""

    def __init__(self, run: Any):
        super().__init__()
        self._dim = run.problem.dim
        self._last = np.zeros(self._dim)
        self.entry = np.zeros(0, np.int32 if self._dim < 2**31 else np.int64)
        self.value = np.zeros(0)
        self.end = np.zeros(0, np.int64)  # where the changes of each breakpoint end

    def __len__(self) -> int:
        return len(self.end)

    def append(self, run: Any, w: np.ndarray) -> None:
        changed = np.flatnonzero(w != self._last)
        self.entry = np.concatenate([self.entry, changed.astype(self.entry.dtype)])
        self.value = np.concatenate([self.value, w[changed]])
        self.end = np.append(self.end, len(self.entry))
        self._last = w.copy()

    def rebuilt(self, j: int) -> np.ndarray:
        w = np.zeros(self._dim)
        for first, last in zip(np.append(0, self.end[:j]), self.end[: j + 1], strict=True):
            w[self.entry[first:last]] = self.value[first:last]
        return w

    def check(self) -> None:
        check_ends(self.end, len(self.entry))
        if len(self.value) != len(self.entry) or not _are_below(self.entry, self._dim):
            raise ValueError("changed weights")
        self._last = self.rebuilt(len(self) - 1) if len(self) else np.zeros(self._dim)

    @property
    def nbytes(self) -> int:
        return self.entry.nbytes + self.value.nbytes + self._last.nbytes


class Labellings(Storage):
    """The active labellings of every breakpoint, each labelling kept once."""

    def __init__(self, run: Any):
        super().__init__()
        self._run = run
        self._kept_as = np.zeros(0, np.int64)  # slot of the solver -> number of labelling, or -1
        self.labels = np.zeros(0, np.int32)
        self.label_at = np.zeros(0, np.int64)  # where each labelling begins
        self.block = np.zeros(0, np.int64)  # whose labelling it is
        self.active = np.zeros(0, np.int64)  # numbers of labellings, breakpoint after breakpoint
        self.alpha = np.zeros(0)
        self.end = np.zeros(0, np.int64)  # where those of each breakpoint end
        self.C = np.zeros(0)

    def __len__(self) -> int:
        return len(self.end)

    def append(self, run: Any, w: np.ndarray) -> None:
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
        number[new] = len(self.label_at) + np.arange(len(size))
        self._kept_as[slot] = number
        self.label_at = np.append(self.label_at, len(self.labels) + np.cumsum(size) - size)
        self.block = np.append(self.block, block[new])
        self.labels = np.append(self.labels, corners.labels[ranges(start, size)])
        self.active = np.append(self.active, number)
        self.alpha = np.append(self.alpha, corners.alpha[slot])
        self.end = np.append(self.end, len(self.active))
        self.C = np.append(self.C, run.C)

    def _are_same(
        self, corners: Any, slot: np.ndarray, number: np.ndarray, length: np.ndarray
    ) -> np.ndarray:
        """Whether slots still hold the labellings they were kept as: some are overwritten."""
        theirs = corners.labels[ranges(corners.label_at[slot], length)]
        ours = self.labels[ranges(self.label_at[number], length)]
        differences = np.append(0, np.cumsum(theirs != ours))
        ends = np.cumsum(length)
        return differences[ends] == differences[ends - length]

    def rebuilt(self, j: int) -> np.ndarray:
        state, problem = self._run.state, self._run.problem
        v = np.zeros(problem.dim)
        here = slice(self.end[j - 1] if j else 0, self.end[j])
        number = self.active[here]
        in_mode(add_labellings, problem)(
            problem, state.mu, problem.new_work(), np.zeros((2, problem.longest), np.int32),
            np.stack([self.block[number], self.label_at[number]]), self.labels,
            self.C[j] * self.alpha[here], dense_accumulator(v),
        )  # fmt: skip
        return np.clip(v, state.lower, state.upper) if state.lower.size else v

    def check(self) -> None:
        run = self._run
        check_ends(self.end, len(self.active))
        n_states = run.problem.n_states
        sound = (
            len(self.alpha) == len(self.active)
            and len(self.C) == len(self.end)
            and len(self.block) == len(self.label_at)
            and _are_below(self.active, len(self.label_at))
            and _are_below(self.block, run.n)
            and (n_states is None or _are_below(self.labels, n_states))
        )
        if not sound:
            raise ValueError("active labellings")
        ends = self.label_at + run.lengths[self.block]
        if not (
            _are_below(self.label_at, len(self.labels)) and _are_below(ends - 1, len(self.labels))
        ):
            raise ValueError("places of labellings")
        self._kept_as = np.zeros(0, np.int64)

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.arrays().values()) + self._kept_as.nbytes


def new_storage(run: Any) -> Storage:
    """Labellings, where the solver keeps them and they are shorter than the weights."""
    has_labellings = run.solver.keeps_alpha and run.is_compiled
    return (
        Labellings(run) if has_labellings and run.lengths.sum() < run.problem.dim else Weights(run)
    )


def check_ends(end: np.ndarray, size: int) -> None:
    """Whether these are ends of consecutive parts of ``size`` things."""
    if len(end) and not (end[0] >= 0 and np.all(np.diff(end) >= 0) and end[-1] == size):
        raise ValueError("ends of breakpoints")


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
