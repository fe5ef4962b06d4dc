"""The best labelling of any graph, also with counts and tables, by HiGHS: exact, for small graphs
(and by trying all labellings for tiny ones).

It is the relaxation of :mod:`taut.inference.lp` with integral nodes; edges need no such demand,
since the rows and columns of a table whose nodes have one state each leave it a single entry.
Branch and bound takes exponential time in the worst case.
"""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from taut.inference.lp import LinearProgram, Table, linear_program

# HiGHS stops at a gap of 1e-6, whatever the relative one: this is what the largest score becomes.
LARGEST_SCORE = 1000.0
INFEASIBLE = 2
# Trying 2^12 labellings takes about a millisecond, an integer program fifty.
FEW_BITS = 12


def best_allowed_labelling(
    theta: np.ndarray,
    states: np.ndarray,
    ends: np.ndarray,
    pair: np.ndarray,
    counts: Sequence,
    tables: Sequence[Table] = (),
) -> tuple[float, np.ndarray]:
    """The score of the best labelling that satisfies the counts, and the labelling.

    All are tried where they are few, else it is :func:`best_labelling_by_integers`.
    """
    if np.log2(states).sum() <= FEW_BITS:
        return best_labelling_of_all(theta, states, ends, pair, counts, tables)
    return best_labelling_by_integers(theta, states, ends, pair, counts, tables=tables)


def best_labelling_by_integers(
    theta: np.ndarray,
    states: np.ndarray,
    ends: np.ndarray,
    pair: np.ndarray,
    counts: Sequence = (),
    seconds: float = np.inf,
    tables: Sequence[Table] = (),
) -> tuple[float, np.ndarray]:
    """The score of the best labelling that satisfies the counts, and the labelling.

    A count (nodes, low, high) allows low to high of these two-state nodes in state 1; a table
    (nodes, scores) has scores[y_1, ..., y_m] for the labels of its m nodes. The score is
    optimal up to 1e-9 of the largest score of a state or a pair of states.

    Three nodes that all gain by state 1, two of which may have it:

    >>> theta, states = np.array([[0.0, 3.0], [0.0, 1.0], [0.0, 2.0]]), np.array([2, 2, 2])
    >>> ends, pair = np.array([[0, 1]]), np.zeros((1, 2, 2))
    >>> best_labelling_by_integers(theta, states, ends, pair, [([0, 1, 2], 0, 2)])
    (5.0, array([1, 0, 1], dtype=int32))
    """
    n, m = len(theta), len(ends)
    program = linear_program(theta, states, ends, pair, counts, tables)
    if not np.isfinite(program.score).all():
        raise ValueError("some scores are infinite or not numbers; an integer program needs finite")
    n_node_entries = int(np.sum(states))
    from scipy.optimize import Bounds, milp  # 20 MB and 0.1 s, which few need

    result = milp(
        -program.score * (LARGEST_SCORE / (abs(program.score).max(initial=0.0) or 1.0)),
        integrality=np.arange(len(program.score)) < n_node_entries,
        bounds=Bounds(0.0, 1.0),
        constraints=_constraints(program),
        options={"mip_rel_gap": 0.0} | ({"time_limit": seconds} if seconds < np.inf else {}),
    )
    if result.status == INFEASIBLE:
        raise ValueError(
            f"no labelling of the {n} nodes satisfies all {len(counts)} counts; "
            "check that they do not contradict each other"
        )
    if result.status != 0:
        raise RuntimeError(
            f"HiGHS stopped with {result.message!r} on a graph of {n} nodes, {m} edges and "
            f"{len(counts)} counts; allow more seconds, or use an approximate method"
        )
    node = np.zeros(theta.shape)
    node.flat[program.entries[:n_node_entries]] = result.x[:n_node_entries]
    y = node.argmax(axis=1).astype(np.int32)
    u, v = ends.T
    value = theta[np.arange(n), y].sum() + pair[np.arange(m), y[u], y[v]].sum()
    value += sum(scores[tuple(y[nodes])] for nodes, scores in tables)
    return float(value), y


def best_labelling_of_all(
    theta: np.ndarray,
    states: np.ndarray,
    ends: np.ndarray,
    pair: np.ndarray,
    counts: Sequence = (),
    tables: Sequence[Table] = (),
) -> tuple[float, np.ndarray]:
    """The same by trying all labellings; the first of the best."""
    labellings = _labellings(tuple(int(k) for k in states))
    allowed = np.ones(len(labellings), bool)
    for nodes, low, high in counts:
        total = labellings[:, np.asarray(nodes, int)].sum(axis=1)
        allowed &= (low <= total) & (total <= high)
    if not allowed.any():
        raise ValueError(
            f"no labelling of the {len(theta)} nodes satisfies all {len(counts)} counts; "
            "check that they do not contradict each other"
        )
    y = labellings[allowed]
    u, v = ends[:, 0], ends[:, 1]
    value = theta[np.arange(len(theta)), y].sum(axis=1)
    value += pair[np.arange(len(ends)), y[:, u], y[:, v]].sum(axis=1)
    for nodes, scores in tables:
        value += scores[tuple(y[:, node] for node in nodes)]
    best = int(value.argmax())
    return float(value[best]), y[best]


@functools.lru_cache(8)
def _labellings(states: tuple[int, ...]) -> np.ndarray:
    """(number, n) all labellings of nodes with so many states."""
    return np.indices(states, np.int32).reshape(len(states), -1).T.copy()


def _constraints(program: LinearProgram) -> list[Any]:
    from scipy.optimize import LinearConstraint

    constraints = [LinearConstraint(program.equations, program.right, program.right)]
    if len(program.low):
        constraints.append(LinearConstraint(program.sums, program.low, program.high))
    return constraints
