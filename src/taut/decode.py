"""Prediction: the best labelling of every example, on all cores."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from taut._compile import compiled, in_mode
from taut.problem import argmax, length, scores


@compiled
def decode_range(problem, w, work, y, first, last, label_at, labels):
    for i in range(first, last):
        scores(problem, w, i, work)
        argmax(problem, w, i, work, y)
        for t in range(length(problem, i)):
            labels[label_at[i] + t] = y[t]


def decode(problem: Any, w: np.ndarray, n_threads: int = 1) -> np.ndarray:
    """Labels of all nodes, example after example."""
    labels = np.zeros(int(problem.pointer[-1]), np.int32)
    edges = np.linspace(0, problem.n, min(n_threads, problem.n) + 1).astype(int)

    def part(k: int) -> None:
        y = np.zeros(problem.longest, np.int32)
        work = problem.new_work()
        in_mode(decode_range, problem)(
            problem, w, work, y, edges[k], edges[k + 1], problem.pointer, labels
        )

    if len(edges) == 2:
        part(0)
    else:
        with ThreadPoolExecutor(len(edges) - 1) as pool:
            list(pool.map(part, range(len(edges) - 1)))
    return labels
