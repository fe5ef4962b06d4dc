"""One simplex for the sum over all examples: an iteration adds one point, a plane.

Labellings found earlier are worth trying again: a plane made of the best of them may do as well as
one of the oracle's, and costs no call of it.
"""

from typing import Any

import numpy as np

from taut._compile import Opaque, Problem, compiled, in_mode
from taut.problem import begin_margins, label_loss, length, margin
from taut.solvers.corners import Corners, grown, has_room, insert, new_corners
from taut.solvers.decomposition.iterations import begin

# A plane of remembered labellings must cut off this part of what the oracle's last one did.
WORTH_CUTTING = 0.5
MOST_CACHED_PLANES = 20


def one_simplex_iteration(run: Any) -> None:
    """One point for the sum over all examples; then more such points of remembered labellings."""
    state, oracle, cache = run.state, run.oracle, run.cache
    begin(run)
    if run.wanted.size:
        add_plane(run, np.maximum(oracle.best, 0.0))
    run.solve_master()
    if cache is None:
        run.maker.forget(np.arange(run.n))
        return
    state.last_cut[0] = state.gaps[0]
    cache.remember(oracle.labels, oracle.label_at)
    best = np.zeros(run.n)
    for _ in range(MOST_CACHED_PLANES):
        cache.recall_best(state.w, run.maker.source.work, oracle.labels, oracle.label_at, best)
        slack = np.maximum(best, 0.0)
        if run.cut(slack) < WORTH_CUTTING * state.last_cut[0]:
            break
        add_plane(run, slack)
        run.solve_master()


def add_plane(run: Any, slack: np.ndarray) -> None:
    """The tangent plane of sum_i s_i h(xi_i) at these slacks:

    sum_i s_i (a_i H_i(y_i; w) - h*(a_i)) with a_i = h'(xi_i), below the sum for every w.
    """
    slope = run.penalty.slope(slack)
    row, loss = run.maker.plane(slope)
    loss -= float(run.importance @ run.penalty.conjugate(slope))
    run.add_points(row[None], np.array([loss]), np.zeros(1, np.int64))


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
