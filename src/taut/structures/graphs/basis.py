"""State bases: how scores depend on states, as few numbers times fixed tables.

The score of state k at a node is sum_b U[b, k] c_b, of the states (k, l) of an edge
sum_b B[b, k, l] c_b; each c_b is a dot product of weights with the node's or edge's features. All
kinds of parameters are then one code:

    full         one number for every state, or pair of states
    binary       U = [-1, +1]: one number for two states
    symmetric    B[k, l] = B[l, k], one number for every unordered pair
    potts        B = -[k != l]: what a disagreement costs
    associative  B_k = [k = l = k]: what agreeing on state k is worth
    an array     the user's own tables, (n_basis, K) or (n_basis, K, K)

Weights that make these models attractive (supermodular, solvable by minimum cut) are non-negative
ones, for ``potts`` and ``associative`` alike.

Tables are sparse: a list of (b, value) for every state or pair of states.
"""

from typing import Any, NamedTuple

import numpy as np

from taut._compile import Integers, Labels, Vector, by_reference

UNARY = ("full", "binary")
PAIRWISE = ("full", "symmetric", "potts", "associative")
# Non-negative weights times non-negative edge features keep these supermodular.
ATTRACTIVE = ("potts", "associative")


@by_reference
class Basis(NamedTuple):
    """Of all types: cell ``type * K + k``, or ``(type * K + k) * K + l``."""

    pointer: Integers  # (cells + 1,)
    number: Labels  # b
    value: Vector
    size: Labels  # (types,) number of b


def unary_table(kind: Any, n_states: int, name: str) -> np.ndarray:
    """U of one node type, (n_basis, n_states)."""
    if isinstance(kind, str):
        if kind == "full":
            return np.eye(n_states)
        if kind == "binary":
            if n_states != 2:
                raise ValueError(
                    f'unary="binary" is for two states, {name} has {n_states}; use "full"'
                )
            return np.array([[-1.0, 1.0]])
        raise ValueError(f"unary={kind!r}; expected one of {UNARY} or an array (n_basis, states)")
    return _checked(kind, (n_states,), f"unary basis of {name}")


def pairwise_table(kind: Any, n_first: int, n_second: int, name: str) -> np.ndarray:
    """B of one edge type, (n_basis, n_first, n_second)."""
    if not isinstance(kind, str):
        return _checked(kind, (n_first, n_second), f"pairwise basis of {name}")
    if kind not in PAIRWISE:
        raise ValueError(
            f"pairwise={kind!r}; expected one of {PAIRWISE} or an array (n_basis, states, states)"
        )
    if kind == "full":
        return np.eye(n_first * n_second).reshape(-1, n_first, n_second)
    if n_first != n_second:
        raise ValueError(
            f"pairwise={kind!r} compares equal states, but {name} joins nodes with {n_first} and "
            f'{n_second} states; use "full"'
        )
    if kind == "potts":
        return (np.eye(n_first) - 1.0)[None]
    if kind == "associative":
        return np.eye(n_first)[:, :, None] * np.eye(n_first)[:, None, :]
    pairs = [(k, other) for k in range(n_first) for other in range(k, n_first)]
    table = np.zeros((len(pairs), n_first, n_first))
    for b, (k, other) in enumerate(pairs):
        table[b, k, other] = table[b, other, k] = 1.0
    return table


def table_size(kind: Any, n_first: int, n_second: int) -> int:
    """How many numbers :func:`pairwise_table` makes; none for what is there already.

    >>> table_size("full", 3, 2), table_size("potts", 3, 3)
    (36, 9)
    """
    pairs = n_first * n_second
    if not isinstance(kind, str):
        return 0
    n_basis = {"full": pairs, "symmetric": n_first * (n_first + 1) // 2, "associative": n_first}
    return n_basis.get(kind, 1) * pairs


def repulsion(tables: np.ndarray) -> np.ndarray:
    """How far each table (.., K, K) is from being attractive; not positive if it is.

    Expansion moves (and for two states, minimum cut) need s(k, k) + s(l, m) >= s(k, m) + s(l, k)
    for all k, l, m.
    """
    agree = np.einsum("ekk->ek", tables)[:, :, None, None] + tables[:, None]  # [e, k, l, m]
    differ = tables[:, :, None, :] + tables.transpose(0, 2, 1)[:, :, :, None]
    return (differ - agree).max(axis=(1, 2, 3))


def _checked(values: Any, shape: tuple[int, ...], name: str) -> np.ndarray:
    table = np.asarray(values, np.float64)
    if table.ndim != len(shape) + 1 or table.shape[1:] != shape or len(table) == 0:
        expected = ", ".join(map(str, shape))
        raise ValueError(f"the {name} has shape {table.shape}; expected (n_basis, {expected})")
    if not np.all(np.isfinite(table)):
        raise ValueError(f"the {name} has values that are not finite")
    return table


def packed_basis(tables: list[np.ndarray], n_states: int) -> Basis:
    """The tables of all types, padded to ``n_states`` states per node.

    >>> packed_basis([unary_table("binary", 2, "node type 0")], 2).value
    array([-1.,  1.])
    """
    counts, numbers, values = [], [], []
    for table in tables:
        padded = np.zeros((len(table), *[n_states] * (table.ndim - 1)))
        padded[tuple(slice(size) for size in table.shape)] = table
        cells = padded.reshape(len(table), -1).T  # (cells, n_basis)
        cell, b = np.nonzero(cells)
        counts.append(np.bincount(cell, minlength=len(cells)))
        numbers.append(b)
        values.append(cells[cell, b])
    empty = np.zeros(0)
    return Basis(
        np.concatenate([[0], np.cumsum(np.concatenate([empty, *counts]))]).astype(np.int64),
        np.concatenate([empty, *numbers]).astype(np.int32),
        np.concatenate([empty, *values]),
        np.array([len(table) for table in tables], np.int32),
    )
