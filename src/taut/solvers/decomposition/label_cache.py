"""The labellings of a few earlier oracle passes, kept for every example.

A plane made of the best of them may do as well as one of the oracle's, and costs no call of it.
"""

from typing import Any

import numpy as np

from taut._compile import Opaque, Problem, compiled, in_mode
from taut.problem import begin_margins, label_loss, length, margin
from taut.solvers.corners import Corners, grown, has_room, insert, new_corners


@compiled
def remember(problem: Problem, corners, labels, label_at, first, limit, now):
    """Keep the labellings of all examples; returns where it ended (earlier: no room)."""
    for i in range(first, label_at.size):
        longest = length(problem, i)
        if not has_room(corners, longest, corners.alpha.size):
            return i
        y = labels[label_at[i] :]
        insert(problem, corners, i, y, label_loss(problem, i, y), limit, now)
    return label_at.size


@compiled
def recall_best(problem: Problem, w, corners, work: Opaque, labels, label_at, best, now):
    """The best remembered labelling of every example, and its value."""
    for i in range(label_at.size):
        begin_margins(problem, i, work)
        found = -1
        slot = corners.head[i]
        while slot >= 0:
            y = corners.labels[corners.label_at[slot] :]
            value = corners.loss[slot] - margin(problem, w, i, y, work)
            if found < 0 or value > best[i]:
                found, best[i] = slot, value
            slot = corners.following[slot]
        corners.used_at[found] = now
        y = corners.labels[corners.label_at[found] :]
        for t in range(length(problem, i)):
            labels[label_at[i] + t] = y[t]


class LabelCache:
    """Up to ``size`` labellings per example besides the truth; the least recently used go."""

    def __init__(self, problem: Any, lengths: np.ndarray, size: int):
        self.problem, self.size, self.time = problem, size + 1, 0
        self.corners: Corners = new_corners(problem, lengths, keeps_gram=False)

    def compile(self, work: Any, labels: np.ndarray) -> None:
        nothing = np.zeros(0, np.int64)
        self.remember(labels, nothing)
        self.recall_best(np.zeros(self.problem.dim), work, labels, nothing, np.zeros(0))

    def remember(self, labels: np.ndarray, label_at: np.ndarray) -> None:
        keep = in_mode(remember, self.problem)
        self.time += 1
        done = 0
        while True:
            done = keep(self.problem, self.corners, labels, label_at, done, self.size, self.time)
            if done == len(label_at):
                return
            self.corners = grown(self.corners)

    def recall_best(
        self, w: np.ndarray, work: Any, labels: np.ndarray, label_at: np.ndarray, best: np.ndarray
    ) -> None:
        self.time += 1
        recall = in_mode(recall_best, self.problem)
        recall(self.problem, w, self.corners, work, labels, label_at, best, self.time)
