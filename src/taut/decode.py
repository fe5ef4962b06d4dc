"""Prediction: the best labelling of every example, on all cores."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from taut._compile import Opaque, Problem, compiled, in_mode
from taut.problem import argmax, length, scores
from taut.problem.capability import Capability
from taut.problem.problem_type import require, weights_of


@compiled
def decode_range(problem: Problem, w, work: Opaque, y, first, last, label_at, labels):
    """Label some examples; returns the first of which no labelling is possible, -1 if none."""
    for i in range(first, last):
        scores(problem, w, i, work)
        if argmax(problem, w, i, work, y) == -np.inf:
            return i
        for t in range(length(problem, i)):
            labels[label_at[i] + t] = y[t]
    return -1


def decode(problem: Any, w: np.ndarray, n_threads: int = 1) -> np.ndarray:
    """Labels of all nodes, example after example.

    Raises :class:`taut.constraints.ImpossibleConstraint` for the first example whose
    constraints contradict each other.
    """
    require(problem, Capability.DECODING, "decode")
    w = weights_of(problem, w)
    pointer = problem.pointer
    labels = np.zeros(int(pointer[-1]), np.int32)
    edges = np.linspace(0, problem.n, max(min(n_threads, problem.n), 1) + 1).astype(int)

    def part(k: int) -> int:
        y = np.zeros(problem.longest, np.int32)
        work = problem.new_work()
        return in_mode(decode_range, problem)(
            problem, w, work, y, edges[k], edges[k + 1], pointer, labels
        )

    if len(edges) == 2:
        stopped_at = [part(0)]
    else:
        with ThreadPoolExecutor(len(edges) - 1) as pool:
            stopped_at = list(pool.map(part, range(len(edges) - 1)))
    for i in stopped_at:
        if i >= 0:
            raise problem.impossible(i, w)
    return labels
