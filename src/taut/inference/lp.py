"""The LP relaxation over the local polytope, by HiGHS: exact, slow, the reference.

    max  Σ_t ⟨theta_t, node_t⟩ + Σ_e ⟨pair_e, edge_e⟩
    s.t. every node_t lies in a simplex,
         the rows of edge_e sum to node_u and its columns to node_v, for e = (u, v), edge_e ≥ 0,
         low ≤ Σ_{t in nodes} node_t[1] ≤ high  for every count (nodes, low, high), if any,
         and likewise ⟨scores_f, table_f⟩ for every table (nodes, scores) over three or more nodes,
         table_f ≥ 0, whose sums for each state of each of its nodes t are node_t.

On a forest without counts the value is that of the best labelling; otherwise it is an upper bound,
and the marginals may be fractional. This is what :mod:`taut.inference.message_passing` is tested
against; :mod:`taut.inference.integer_program` adds that nodes are integral.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse

from taut.inference.counts import check_counts

Table = tuple[np.ndarray, np.ndarray]  # nodes, and a score for each of their joint states


class LinearProgram(NamedTuple):
    """max ⟨score, x⟩ s.t. equations @ x = right, low ≤ sums @ x ≤ high, x ≥ 0.

    The variables x are those entries of all (n, K) nodes, then all (m, K, K) edges, that exist, and
    then the entries of all tables.
    """

    score: np.ndarray
    equations: sparse.csc_array
    right: np.ndarray
    sums: sparse.csc_array  # a row per count
    low: np.ndarray
    high: np.ndarray
    entries: np.ndarray  # where x, but for tables, belongs among nodes and edges


def lp_relaxation(
    theta: np.ndarray,
    states: np.ndarray,
    ends: np.ndarray,
    pair: np.ndarray,
    counts: Sequence = (),
    tables: Sequence[Table] = (),
) -> tuple[float, np.ndarray, np.ndarray]:
    """The value of the relaxation, the node marginals (n, K) and the edge marginals (m, K, K).

    Two nodes of two states that gain 1 by being different, the first with a taste for state 1:

    >>> theta, states = np.array([[0.0, 0.5], [0.0, 0.0]]), np.array([2, 2])
    >>> ends, pair = np.array([[0, 1]]), 1.0 - np.eye(2)[None]
    >>> value, node, edge = lp_relaxation(theta, states, ends, pair)
    >>> value, node.tolist(), edge.tolist()
    (1.5, [[0.0, 1.0], [1.0, 0.0]], [[[0.0, 0.0], [1.0, 0.0]]])
    """
    (n, n_states), m = theta.shape, len(ends)
    program = linear_program(theta, states, ends, pair, counts, tables)
    limits = {}
    if len(counts):
        limits["A_ub"] = sparse.vstack([program.sums, -program.sums])
        limits["b_ub"] = np.concatenate([program.high, -program.low])
    from scipy.optimize import linprog  # 20 MB and 0.1 s, which few need

    result = linprog(
        -program.score,
        A_eq=program.equations,
        b_eq=program.right,
        bounds=(0.0, None),
        method="highs",
        **limits,
    )
    if result.status != 0:
        raise RuntimeError(
            f"HiGHS stopped with {result.message!r} on a relaxation of {n} nodes and {m} edges "
            f"with {len(counts)} counts; check that the scores are finite and of reasonable size, "
            "and that the counts do not contradict each other"
        )
    marginals = np.zeros(n * n_states + m * n_states**2)
    found = result.x[: len(program.entries)]
    marginals[program.entries] = abs(found)  # HiGHS may leave -0.0 and the like
    node = marginals[: n * n_states].reshape(n, n_states)
    return -float(result.fun), node, marginals[n * n_states :].reshape(m, n_states, n_states)


def linear_program(
    theta: np.ndarray,
    states: np.ndarray,
    ends: np.ndarray,
    pair: np.ndarray,
    counts: Sequence = (),
    tables: Sequence[Table] = (),
) -> LinearProgram:
    """The relaxation's scores and constraints.

    >>> theta, none = np.array([[0.0, 1.0], [0.0, 3.0]]), np.zeros((0, 2), int)
    >>> both = ([0, 1], 1, 2)
    >>> program = linear_program(theta, np.array([2, 2]), none, np.zeros((0, 2, 2)), [both])
    >>> program.score, program.equations.toarray(), program.sums.toarray()
    (array([0., 1., 0., 3.]),
     array([[1., 1., 0., 0.], [0., 0., 1., 1.]]),
     array([[0., 1., 0., 1.]]))
    """
    (n, n_states), m = theta.shape, len(ends)
    check_counts(counts, states)
    possible = np.arange(n_states) < states[:, None]
    possible_pair = possible[ends[:, 0], :, None] & possible[ends[:, 1], None, :]
    entries = np.concatenate(
        [np.flatnonzero(possible), n * n_states + np.flatnonzero(possible_pair)]
    )
    sums = sparse.lil_array((len(counts), n * n_states + m * n_states**2))
    for i, (nodes, _, _) in enumerate(counts):
        sums[i, np.asarray(nodes, int) * n_states + 1] = 1.0
    program = LinearProgram(
        np.concatenate([theta.ravel(), pair.ravel()])[entries],
        # Rows of states that do not exist are empty, and HiGHS drops them.
        _constraints(n, ends, n_states)[:, entries],
        np.concatenate([np.ones(n), np.zeros(2 * m * n_states)]),
        sparse.csc_array(sums)[:, entries],
        np.array([low for _, low, _ in counts], float),
        np.array([high for _, _, high in counts], float),
        entries,
    )
    return _with_tables(program, states, tables) if len(tables) else program


def _with_tables(
    program: LinearProgram, states: np.ndarray, tables: Sequence[Table]
) -> LinearProgram:
    """New variables, the entries of tables, and equations that say what their sums are."""
    column, node_at = len(program.score), np.cumsum(states) - states
    row, places = 0, []  # (row, column, value)
    for nodes, scores in tables:
        cells = np.indices(scores.shape).reshape(len(nodes), -1)
        for node, state in zip(nodes, cells, strict=True):
            k = np.arange(states[node])
            places.append((row + k, node_at[node] + k, np.ones(len(k))))
            places.append((row + state, column + np.arange(scores.size), -np.ones(scores.size)))
            row += len(k)
        column += scores.size
    rows, columns, values = (np.concatenate(part) for part in zip(*places, strict=True))
    sums = sparse.csc_array((values, (rows, columns)), shape=(row, column))
    more = column - len(program.score)

    def wider(matrix: sparse.csc_array) -> sparse.csc_array:
        none = sparse.csc_array((matrix.shape[0], more))
        return sparse.csc_array(sparse.hstack([matrix, none]))

    return program._replace(
        score=np.concatenate([program.score, *(scores.ravel() for _, scores in tables)]),
        equations=sparse.csc_array(sparse.vstack([wider(program.equations), sums])),
        right=np.concatenate([program.right, np.zeros(row)]),
        sums=wider(program.sums),
    )


def _constraints(n: int, ends: np.ndarray, n_states: int) -> sparse.csc_array:
    """Node simplices, then rows of edges against their first node, columns against their second."""
    m = len(ends)
    one, identity = np.ones((1, n_states)), sparse.eye_array(n_states)
    every_edge, row_of_edge = np.ones(m), np.arange(m)
    blocks = [[sparse.kron(sparse.eye_array(n), one), None]]
    sums = sparse.kron(identity, one), sparse.kron(one, identity)
    for side in range(2) if m else ():
        choose = sparse.csr_array((every_edge, (row_of_edge, ends[:, side])), shape=(m, n))
        blocks.append(
            [sparse.kron(choose, identity), -sparse.kron(sparse.eye_array(m), sums[side])]
        )
    return sparse.csc_array(sparse.block_array(blocks) if m else blocks[0][0])
