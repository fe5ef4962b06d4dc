"""The k best labellings of a forest, best first.

Max-sum keeps the best score of the subtree below a node, for each of the node's states; here it is
the k best, a list that falls. An edge from a child to its parent takes two merges, and each of them
finds the k largest of

    shift[row] + table[row, rank],        where every row of the table falls:

* what the child's subtree adds to a state of its parent: a row for each state of the child, its
  list, shifted by the score of the step;
* the parent's list together with that: a row for each entry of the parent's list so far, each of
  them the list just found, shifted by that entry.

The heads of all rows wait in a heap; when one is taken, the next of its row takes its place. Roots
are merged in the same way into one node above them all. An entry remembers the row and the rank
that it comes from: it stands for one labelling, and no two stand for the same.

Scores are those of :mod:`taut.inference.sum_product`; labellings of score minus infinity are left
out. Sums are taken in max-sum's order, and of equal heads the first row's is taken: so the first
labelling is max-sum's, and a larger k only adds to the end.

The cost is O(n K (K + k log(K + k))), the memory O(n K k). See Huang and Chiang, "Better k-best
parsing", 2005, whose second algorithm this is, on a forest.
"""

import math
from typing import NamedTuple

import numpy as np

from taut._compile import (
    Cube,
    Flags,
    LabelCube,
    LabelMatrix,
    Labels,
    Matrix,
    Vector,
    both_modes,
    by_reference,
    compiled,
)
from taut.inference.maxsum import forest_order


@by_reference
class Merged(NamedTuple):
    """The largest sums of a merge, and the row and rank each comes from."""

    value: Matrix  # (1, k): a table of one row, for the next merge
    row: Labels  # (k,)
    rank: Labels  # (k,)
    length: Labels  # (1,)


@by_reference
class Heads(NamedTuple):
    """Of every row the first entry not yet taken."""

    key: Vector  # (rows,) its sum
    rank: Labels  # (rows,)
    heap: Labels  # (rows,) rows, none before its parent in the heap


@by_reference
class NBestWork(NamedTuple):
    """One node more than the forest has: the one above all roots, with a single state."""

    value: Cube  # (nodes + 1, K, k) the best scores of the subtree below a node
    length: LabelMatrix  # (nodes + 1, K) how many there are
    # For a node below another, and every entry of the upper one's lists once they are merged:
    before: LabelCube  # (nodes, K, k) the entry's rank without the lower node
    state: LabelCube  # (nodes, K, k) the lower node's state
    rank: LabelCube  # (nodes, K, k) and its rank
    added: Merged
    joined: Merged
    heads: Heads
    no_score: Vector  # (K,) zeros
    chosen: Labels  # (nodes + 1,) ranks of one labelling
    is_child: Flags  # (nodes,)


def new_n_best_work(nodes: int, n_states: int, k: int) -> NBestWork:
    added, joined = (
        Merged(
            np.zeros((1, k)), np.zeros(k, np.int32), np.zeros(k, np.int32), np.zeros(1, np.int32)
        )
        for _ in range(2)
    )
    rows = max(n_states, k)
    return NBestWork(
        np.zeros((nodes + 1, n_states, k)),
        np.zeros((nodes + 1, n_states), np.int32),
        np.zeros((nodes, n_states, k), np.int32),
        np.zeros((nodes, n_states, k), np.int32),
        np.zeros((nodes, n_states, k), np.int32),
        added,
        joined,
        Heads(np.zeros(rows), np.zeros(rows, np.int32), np.zeros(rows, np.int32)),
        np.zeros(n_states),
        np.zeros(nodes + 1, np.int32),
        np.zeros(nodes, np.bool_),
    )


@both_modes
def _comes_before(key, row, other):
    return key[row] > key[other] or (key[row] == key[other] and row < other)


@both_modes
def _sink(heads, size, place):
    """Move the row at a place of the heap down to where it belongs."""
    heap, key = heads.heap, heads.key
    row = heap[place]
    below = 2 * place + 1
    while below < size:
        if below + 1 < size and _comes_before(key, heap[below + 1], heap[below]):
            below += 1
        if not _comes_before(key, heap[below], row):
            break
        heap[place] = heap[below]
        place, below = below, 2 * below + 1
    heap[place] = row


@both_modes
def _set_heads(shift, table, length, heads):
    """Make a heap of all rows that have an entry which is possible; returns their number."""
    one = table.shape[0] == 1
    size = 0
    for row in range(shift.size):
        source = 0 if one else row
        if length[source] > 0:
            key = shift[row] + table[source, 0]
            if key > -np.inf:
                heads.key[row], heads.rank[row], heads.heap[size] = key, 0, row
                size += 1
    for place in range(size // 2 - 1, -1, -1):
        _sink(heads, size, place)
    return size


@both_modes
def _merge(shift, table, length, k, heads, merged):
    """The k largest of shift[row] + table[row, rank]; a table of one row has it for all of them."""
    one = table.shape[0] == 1
    size = _set_heads(shift, table, length, heads)
    count = 0
    while size > 0 and count < k:
        row = heads.heap[0]
        rank = heads.rank[row]
        merged.value[0, count], merged.row[count], merged.rank[count] = heads.key[row], row, rank
        count += 1
        source, rank = 0 if one else row, rank + 1
        if rank < length[source]:
            heads.key[row], heads.rank[row] = shift[row] + table[source, rank], rank
        else:
            size -= 1
            heads.heap[0] = heads.heap[size]
        _sink(heads, size, 0)
    merged.length[0] = count


@both_modes
def _join(child, parent, state, step, k, work):
    """Merge a child's lists into the list of one state of its parent."""
    added, joined = work.added, work.joined
    upper = work.value[parent, state]
    n_upper = work.length[parent, state]
    _merge(step, work.value[child], work.length[child], k, work.heads, added)
    _merge(upper[:n_upper], added.value, added.length, k, work.heads, joined)
    for place in range(joined.length[0]):
        rank = joined.rank[place]
        upper[place] = joined.value[0, place]
        work.before[child, state, place] = joined.row[place]
        work.state[child, state, place] = added.row[rank]
        work.rank[child, state, place] = added.rank[rank]
    work.length[parent, state] = joined.length[0]


@both_modes
def _start(theta, states, n, work):
    for t in range(n):
        work.is_child[t] = False
        for state in range(states[t]):
            work.value[t, state, 0] = theta[t, state]
            work.length[t, state] = 1 if theta[t, state] > -np.inf else 0
    work.value[n, 0, 0], work.length[n, 0] = 0.0, 1


@both_modes
def _read_off(child, parent, parent_state, work, y):
    """Undo a merge, for one labelling."""
    place = work.chosen[parent]
    y[child] = work.state[child, parent_state, place]
    work.chosen[child] = work.rank[child, parent_state, place]
    work.chosen[parent] = work.before[child, parent_state, place]


@compiled
def n_best(theta, states, ends, pair, n, m, order, k, work, labels, values):
    """Write the best labellings into ``labels`` (k, n), their scores into ``values`` (k,).

    Returns how many there are: fewer than k if no more are possible.
    """
    shared = pair.shape[0] == 1
    _start(theta, states, n, work)
    for position in range(m):
        e = order[position]
        if e >= 0:
            child, parent, table = ends[e, 0], ends[e, 1], pair[0 if shared else e].T
        else:
            e = -e - 1
            child, parent, table = ends[e, 1], ends[e, 0], pair[0 if shared else e]
        for state in range(states[parent]):
            _join(child, parent, state, table[state, : states[child]], k, work)
        work.is_child[child] = True
    for t in range(n):
        if not work.is_child[t]:
            _join(t, n, 0, work.no_score[: states[t]], k, work)

    count = work.length[n, 0]
    for place in range(count):
        y = labels[place]
        values[place] = work.value[n, 0, place]
        work.chosen[n] = place
        for t in range(n - 1, -1, -1):
            if not work.is_child[t]:
                _read_off(t, n, 0, work, y)
        for position in range(m - 1, -1, -1):
            e = order[position]
            if e >= 0:
                _read_off(ends[e, 0], ends[e, 1], y[ends[e, 1]], work, y)
            else:
                e = -e - 1
                _read_off(ends[e, 1], ends[e, 0], y[ends[e, 0]], work, y)
    return count


def best_labellings(
    theta: np.ndarray, states: np.ndarray, ends: np.ndarray, pair: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """The k best labellings of a forest, best first, and their scores; fewer if there are no more.

    Scores are ``theta[t, state]`` and ``pair[e, state, other]``, one table for every edge or a
    single one for all. Two nodes that must differ:

    >>> theta, states = np.array([[0.0, 3.0], [0.0, 1.0]]), np.array([2, 2])
    >>> ends, pair = np.array([[0, 1]]), np.where(np.eye(2) == 1.0, -np.inf, 0.0)[None]
    >>> labels, values = best_labellings(theta, states, ends, pair, 3)
    >>> labels.tolist(), values.tolist()
    ([[1, 0], [0, 1]], [3.0, 1.0])
    """
    if k < 1:
        raise ValueError(f"k={k}; expected the number of labellings wanted, at least 1")
    n, m, n_states = len(theta), len(ends), theta.shape[1]
    order = forest_order(n, ends)
    if order is None:
        raise ValueError(
            f"the {m} edges between {n} nodes close a cycle, and the k best labellings are found "
            "on forests only; taut.inference.methods lists ways to find one good labelling"
        )
    k = min(k, math.prod(int(number) for number in states))
    labels, values = np.zeros((k, n), np.int32), np.zeros(k)
    count = n_best(
        np.ascontiguousarray(theta, float), np.ascontiguousarray(states, np.int32),
        np.ascontiguousarray(ends, np.int32), np.ascontiguousarray(pair, float),
        n, m, order, k, new_n_best_work(n, n_states, k), labels, values,
    )  # fmt: skip
    return labels[:count], values[:count]
