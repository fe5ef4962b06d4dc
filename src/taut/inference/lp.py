"""The LP relaxation over the local polytope, by HiGHS: exact, slow, the reference.

    max  Σ_t ⟨theta_t, node_t⟩ + Σ_e ⟨pair_e, edge_e⟩
    s.t. every node_t lies in a simplex,
         the rows of edge_e sum to node_u and its columns to node_v, for e = (u, v), edge_e ≥ 0.

On a forest the value is that of the best labelling; on other graphs it is an upper bound, and the
marginals may be fractional. This is what :mod:`taut.inference.message_passing` is tested against.
"""

import numpy as np
from scipy import sparse
from scipy.optimize import linprog


def lp_relaxation(
    theta: np.ndarray, states: np.ndarray, ends: np.ndarray, pair: np.ndarray
) -> tuple[float, np.ndarray, np.ndarray]:
    """The value of the relaxation, the node marginals (n, K) and the edge marginals (m, K, K).

    Two nodes of two states that gain 1 by being different, the first with a taste for state 1:

    >>> theta, states = np.array([[0.0, 0.5], [0.0, 0.0]]), np.array([2, 2])
    >>> ends, pair = np.array([[0, 1]]), 1.0 - np.eye(2)[None]
    >>> value, node, edge = lp_relaxation(theta, states, ends, pair)
    >>> value, node.tolist(), edge.tolist()
    (1.5, [[0.0, 1.0], [1.0, 0.0]], [[[0.0, 0.0], [1.0, 0.0]]])
    """
    n, n_states = theta.shape
    m = len(ends)
    possible = np.arange(n_states) < states[:, None]
    possible_pair = possible[ends[:, 0], :, None] & possible[ends[:, 1], None, :]
    # Columns: the possible entries of all nodes, then those of all edges.
    columns = np.concatenate(
        [np.flatnonzero(possible), n * n_states + np.flatnonzero(possible_pair)]
    )
    constraints = _constraints(n, ends, n_states)[:, columns]
    bound = np.concatenate([np.ones(n), np.zeros(2 * m * n_states)])
    # Rows of states that do not exist are empty, and HiGHS drops them.
    result = linprog(
        -np.concatenate([theta.ravel(), pair.ravel()])[columns],
        A_eq=constraints,
        b_eq=bound,
        bounds=(0.0, None),
        method="highs",
    )
    if result.status != 0:
        raise RuntimeError(
            f"HiGHS stopped with {result.message!r} on a relaxation of {n} nodes and {m} edges; "
            "check that the scores are finite and of reasonable size"
        )
    marginals = np.zeros(n * n_states + m * n_states**2)
    marginals[columns] = abs(result.x)  # HiGHS may leave -0.0 and the like
    node = marginals[: n * n_states].reshape(n, n_states)
    return -float(result.fun), node, marginals[n * n_states :].reshape(m, n_states, n_states)


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
