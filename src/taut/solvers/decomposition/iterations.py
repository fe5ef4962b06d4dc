"""One iteration: ask the oracle, make points of what it finds, solve the master problem.

A run's certificate asks the oracle about all examples anyway; where an iteration follows one, it
takes the labellings found there.
"""

from typing import Any

import numpy as np

from taut.solvers.block_state import ORACLE_CALLS, STEPS

# What becomes of a block's gap when it was solved is not known; this part of it, say.
AFTER_A_VISIT = 0.1
# A plane of remembered labellings must cut off this part of what the oracle's last one did.
WORTH_CUTTING = 0.5
MOST_CACHED_PLANES = 20


def iteration_of_all(run: Any) -> None:
    """A point for every block that has a better one, then a master problem of all."""
    if not run.oracle_is_fresh:
        run.certify()  # its oracle calls were those of this pass
    run.oracle_is_fresh = False
    run.state.count[STEPS] += run.n
    run.hulls.add(run.wanted)
    run.solve_master()
    if run.cache is None:
        run.maker.forget(np.arange(run.n))
    else:
        add_cached_planes(run)


def add_cached_planes(run: Any) -> None:
    """More planes, of remembered labellings, as long as they cut off much."""
    state, oracle, cache = run.state, run.oracle, run.cache
    state.last_cut[0] = state.gaps[0]
    cache.remember(oracle.labels, oracle.label_at)
    best = np.zeros(run.n)
    for _ in range(MOST_CACHED_PLANES):
        cache.recall_best(state.w, run.maker.source.work, oracle.labels, oracle.label_at, best)
        slack = np.maximum(best, 0.0)
        if run.hulls.cut(slack)[0] < WORTH_CUTTING * state.last_cut[0]:
            break
        run.hulls.add_planes(np.zeros(1, np.int64), slack)
        run.solve_master()


def working_set_iteration(run: Any) -> None:
    """The same for the blocks with the largest gaps, while the others stay: coordinate ascent.

    These are the "key" examples of Yu and Rousu.
    """
    state, hulls = run.state, run.hulls
    if run.oracle_is_fresh:
        hulls.add(run.wanted)
        run.maker.forget(np.arange(run.n))
        key = key_blocks(run)
        examples = hulls.examples(key)
    else:
        key = key_blocks(run)
        examples = hulls.examples(key)
        run.oracle.ask(state.w, run.truth, examples)
        state.count[ORACLE_CALLS] += examples.size
        state.gaps[key] = run.block_gaps()[key]
        hulls.add(key[np.isin(key, hulls.improvable())])
        run.maker.forget(examples)
    run.oracle_is_fresh = False
    run.solve_master(key)
    state.gaps[key] *= AFTER_A_VISIT
    state.count[STEPS] += examples.size


def key_blocks(run: Any) -> np.ndarray:
    largest = np.argsort(-run.state.gaps, kind="stable")[: run.hulls.at_a_time]
    return np.sort(largest)
