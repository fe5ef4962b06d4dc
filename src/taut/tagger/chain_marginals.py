"""Marginals of one chain by NumPy: forward-backward, as in :mod:`taut.inference.forward_backward`.

With exponentials as long as no number can underflow, else with logarithms.
"""

from typing import NamedTuple

import numpy as np

WIDEST = 300.0  # between logarithms of numbers that meet in a sum


class Sums(NamedTuple):
    """Of steps shared by all positions."""

    pair: np.ndarray  # (K, K) scores / temperature
    table: np.ndarray  # their exponentials, the largest being 1
    top: float  # the largest of the scores
    width: float  # between the largest and the smallest; infinite where a step is forbidden


def sums_of(pair: np.ndarray) -> Sums:
    top = float(pair.max())
    with np.errstate(under="ignore"):
        return Sums(pair, np.exp(pair - top), top, top - float(pair.min()))


def marginals(theta: np.ndarray, sums: Sums) -> tuple[np.ndarray, float]:
    """(positions, K) and log Z; ``theta`` are scores / temperature. Minus infinity forbids."""
    top = theta.max(axis=1)
    if sums.width + float((top - theta.min(axis=1)).max()) > WIDEST:
        return _logarithmic(theta, [sums.pair] * (len(theta) - 1))
    arrive = np.exp(theta - top[:, None])
    n, table = len(theta), sums.table
    forward, scales = np.empty_like(theta), np.empty(n)
    reach = arrive[0]
    for t in range(n):
        if t:
            reach = forward[t - 1].dot(table) * arrive[t]
        scales[t] = scale = reach.sum()
        np.divide(reach, scale, out=forward[t])
    node = forward
    after = np.ones(theta.shape[1])
    for t in range(n - 1, 0, -1):
        after = table.dot(arrive[t] * after) / scales[t]
        node[t - 1] *= after
    log_z = float(np.log(scales).sum() + top.sum()) + (n - 1) * sums.top
    node /= node.sum(axis=1, keepdims=True)
    return node, log_z


def marginals_by_step(theta: np.ndarray, pair: np.ndarray) -> tuple[np.ndarray, float]:
    """The same where each step has scores of its own."""
    return _logarithmic(theta, list(pair))


def _logarithmic(theta: np.ndarray, pair: list[np.ndarray]) -> tuple[np.ndarray, float]:
    n = len(theta)
    forward, backward = theta.copy(), np.zeros_like(theta)
    for t in range(1, n):
        forward[t] += _log_sum(forward[t - 1][:, None] + pair[t - 1], 0)
    for t in range(n - 1, 0, -1):
        backward[t - 1] = _log_sum(pair[t - 1] + theta[t] + backward[t], 1)
    log_z = float(_log_sum(forward[-1], 0))
    with np.errstate(invalid="ignore"):
        node = np.exp(forward + backward - log_z)
    return node / node.sum(axis=1, keepdims=True), log_z


def _log_sum(values: np.ndarray, axis: int) -> np.ndarray:
    top = values.max(axis=axis, keepdims=True)
    shift = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        found = np.log(np.exp(values - shift).sum(axis=axis, keepdims=True)) + shift
    return found.squeeze(axis)
