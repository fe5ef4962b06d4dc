"""One iteration: ask the oracle, make points of what it finds, solve the master problem.

A run's certificate asks the oracle about all examples anyway; where an iteration follows one, it
takes the labellings found there.
"""

from typing import Any

import numpy as np

from taut.solvers.block_state import ORACLE_CALLS, STEPS

# What becomes of an example's gap when its block was solved is not known; this part of it, say.
AFTER_A_VISIT = 0.1


def product_iteration(run: Any) -> None:
    """A corner for every example that has a better one, then a master problem of all."""
    begin(run)
    add_corners(run, run.wanted)
    run.maker.forget(np.arange(run.n))
    run.solve_master()


def begin(run: Any) -> None:
    """A whole pass, whose oracle calls were those of the certificate."""
    if not run.oracle_is_fresh:
        run.certify()
    run.oracle_is_fresh = False
    run.state.count[STEPS] += run.n


def add_corners(run: Any, which: np.ndarray) -> None:
    """The oracle's labellings of these examples become points."""
    rows, loss = run.maker.rows(which)
    run.add_points(rows, loss, which)


def working_set_iteration(run: Any) -> None:
    """The same for the examples with the largest gaps, while the others stay: coordinate ascent."""
    state = run.state
    if run.oracle_is_fresh:
        add_corners(run, run.wanted)
        run.maker.forget(np.arange(run.n))
        which = key_examples(run)
    else:
        which = key_examples(run)
        run.oracle.ask(state.w, run.truth, which)
        state.count[ORACLE_CALLS] += which.size
        state.gaps[which] = run.block_gaps()[which]
        add_corners(run, which[np.isin(which, run.improvable())])
        run.maker.forget(which)
    run.oracle_is_fresh = False
    run.solve_master(which)
    state.gaps[which] *= AFTER_A_VISIT
    state.count[STEPS] += which.size


def key_examples(run: Any) -> np.ndarray:
    largest = np.argsort(-run.state.gaps, kind="stable")[: run.at_a_time]
    return np.sort(largest)
