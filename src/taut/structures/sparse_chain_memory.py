"""What a run on a chain with sparse steps allocates: scratch memory, and the dual at the truth."""

from typing import Any, NamedTuple

import numpy as np

from taut._compile import (
    Cube,
    IntegerMatrix,
    Integers,
    Labels,
    Matrix,
    Vector,
    by_reference,
)
from taut.inference.sparse_viterbi import SparseSearch, new_sparse_search
from taut.memory import check_memory
from taut.structures.sparse_dual import Blocks


@by_reference
class SparseWork(NamedTuple):
    """Scratch memory of one thread."""

    theta: Matrix  # (longest, K) node scores
    step: Matrix  # (steps or 1, pairs) scores of pairs
    best: Matrix  # (longest, K) Viterbi's values
    reach: Matrix
    search: SparseSearch
    pair: Cube  # (steps or 1, K, K) the scores of all steps, where constraints need them
    closed_theta: Matrix
    closed_pair: Cube
    change: Vector  # the change d of a dual block, as an image; zero but for what is touched
    place: Labels  # 1 + where a key stands in ``touched``, 0 if it is not
    touched: Labels
    count: Integers  # type: ignore[assignment]  # (1,) keys touched
    known: IntegerMatrix  # (longest, K) visit in which theta[t, k] was computed by ``margin``
    visit: Integers  # (1,)


def new_sparse_work(problem: Any) -> SparseWork:
    longest, n_states, steps = problem.longest, problem.n_states, problem.steps
    n_tables = max(longest - 1, 1) if steps.n_attributes else 1
    has_closed = problem.closed.size > 0
    is_constrained = has_closed or problem.forced.size > 0
    n_dense = n_tables * has_closed
    size = problem.largest_image
    check_memory(
        2 * size + (1 + 2 * n_dense) * n_states**2,
        f"there are {n_states} labels; inference",
        f"labels at each of {longest} positions",
        "are these the labels? Merge rare ones, or cut long sequences",
    )
    return SparseWork(
        theta=np.zeros((longest, n_states)),
        step=np.zeros((n_tables, steps.n_pairs)),
        best=np.zeros((longest, n_states)),
        reach=np.zeros((longest, n_states)),
        search=new_sparse_search(n_tables, n_states),
        pair=np.zeros((n_dense, n_states, n_states)),
        closed_theta=np.zeros((longest * is_constrained, n_states)),
        closed_pair=np.zeros((n_dense, n_states, n_states)),
        change=np.zeros(size),
        place=np.zeros(size, np.int32),
        touched=np.zeros(size, np.int32),
        count=np.zeros(1, np.int64),
        known=np.zeros((longest, n_states), np.int64),
        visit=np.zeros(1, np.int64),
    )


def truths_of(problem: Any) -> Blocks:
    """A dual at the truth."""
    truth, n_states = problem.truth.astype(np.int64), problem.n_states
    lengths = np.diff(problem.pointer)
    first = problem.pointer[:-1]
    block = np.repeat(np.arange(problem.n), lengths)
    t = np.arange(len(truth)) - first[block]
    keys = t * n_states + truth
    later = np.flatnonzero(t > 0)
    number = problem.steps.pairs.numbers(truth[later - 1], truth[later])
    later, number = later[number >= 0], number[number >= 0]
    if problem.steps.n_attributes:
        number = (t[later] - 1) * problem.steps.n_pairs + number
    number += lengths[block[later]] * n_states
    both = np.concatenate([block, block[later]]), np.concatenate([keys, number])
    # Pairs that a labelling uses twice are one number.
    which, count = np.unique(np.stack(both), axis=1, return_counts=True)
    sizes = np.bincount(which[0], minlength=problem.n)
    return Blocks(sizes, sizes, which[1].astype(np.int32), count.astype(float))
