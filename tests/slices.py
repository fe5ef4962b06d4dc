"""What happens between the slices of a run: signals, or an end as by kill -9."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count, cycle

import pytest


@contextmanager
def before_slices(kind: type, happens: Callable[[int], None]) -> Iterator[None]:
    """Within, ``happens(k)`` is called before the k-th slice of steps, k = 1, 2, ..., of every run
    of this kind of solver."""
    start = kind.start

    def watched(solver, problem, objective):
        run = start(solver, problem, objective)
        advance, slices = run.advance, count(1)

        def advance_after(n_steps):
            if n_steps:  # no steps only compile
                happens(next(slices))
            advance(n_steps)

        run.advance = advance_after
        return run

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kind, "start", watched)
        yield


@contextmanager
def uneven_slices(kind: type) -> Iterator[None]:
    """Within, runs of this kind of solver take 1, 2, 3, 5, 7, 1, ... steps at a time at most."""
    start = kind.start

    def sliced(solver, problem, objective):
        run = start(solver, problem, objective)
        advance, lengths = run.advance, cycle((1, 2, 3, 5, 7))
        run.advance = lambda n_steps: advance(min(n_steps, next(lengths)))
        return run

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kind, "start", sliced)
        yield


class Killed(Exception):
    pass


@contextmanager
def killed_at(kind: type, slice_: int) -> Iterator[None]:
    """Within, the run dies before this slice; nothing is left of it but its checkpoint."""

    def die(k):
        if k == slice_:
            raise Killed

    with before_slices(kind, die), pytest.raises(Killed):
        yield
