"""The compiled problem type of poses: parts on a grid of positions, joined by springs to a tree.

Example i has heat maps of P parts (F channels each) on a grid of H x W positions. A part p has a
type t and a position (column x, row y), as a label the number ``(t H + y) W + x``; every part but
the root hangs on its parent. With m_p the channels of part p and (dx, dy) its displacement from
where it would rest,

    (dx, dy) = (position of p - position of its parent - anchor[p, type of p]) / unit
    score(y) = sum_p <W_p[type of p], m_p at its position>
             + sum_p bias_p[type of p, type of its parent]
                     - s_1 dx - s_2 dx^2 - s_3 dy - s_4 dy^2,     s = spring_p[type of p]
    loss(y)  = mean_p min(1, dist(position of p, its true position)^2 / reach[i]^2)

Weights are laid out as ``[W | springs | biases]``. s_2 and s_4 must not be negative, which the
problem says in ``required_bounds``; then the max oracle is max-sum over the tree with messages by
the distance transform, linear in the number of positions. (The loss of the paper has max for min, a
misprint.)

What the objective can see of a point of the marginal polytope are its features and its loss: the
dual block of an example is these dim + 1 numbers, however large the grid.

The methods that a solver calls are compiled where it is (see :mod:`taut._compile`); the helpers
they share are in ``pose_kernels``, the arrays themselves in ``pose_arrays``, and ``pose_build``
makes them.

Reference: Osokin et al. (2016), appendix I.4; types as in Yang, Ramanan (2011).
"""

from typing import NamedTuple

import numpy as np

from taut._compile import Labels, Vector, by_reference
from taut.arrays.accumulator import Accumulator, add_scaled, dense_accumulator, dot
from taut.inference.distance_transform import TransformWork, new_transform_work
from taut.problem.problem_type import problem_type
from taut.structures.pose_arrays import PoseArrays
from taut.structures.pose_kernels import (
    add_difference,
    add_features,
    channel_scores,
    fill_truth,
    hung_score,
    loss_of,
    max_sum,
    part_score,
    subtract_bump,
    total_score,
)


@by_reference
class Work(NamedTuple):
    """Scratch memory of one thread; maps are (all types of all parts, H, W) of one example."""

    theta: Vector  # scores of parts
    has_loss: Vector  # (1,) 1 if theta holds the loss, up to the constant 1; else 0
    total: Vector  # theta plus messages
    row: Labels  # int32, rows and columns that messages came from
    column: Labels
    message: Vector  # (H, W)
    best: Vector  # (types of one part, H, W)
    transform: TransformWork
    change: Vector  # (dim + 1,) the change d of a dual block


@problem_type
class Pose(PoseArrays):
    __slots__ = ()

    # --- what a solver calls; see taut.problem.any_problem for them -------------------------------

    def scores(problem, w, i, work):
        size = problem.height[i] * problem.width[i]
        n_channels = problem.n_channels
        for part in range(problem.n_parts):
            at = problem.map_at[i] + part * n_channels * size
            for number in range(problem.type_at[part], problem.type_at[part + 1]):
                channel_scores(
                    problem.maps[at : at + n_channels * size],
                    w[number * n_channels : (number + 1) * n_channels],
                    work.theta[number * size : (number + 1) * size],
                )
        work.has_loss[0] = 0.0

    def add_loss(problem, i, work):
        # loss = 1 - mean_p max(0, 1 - dist^2 / s^2): a constant, and a bump around each joint.
        for part in range(problem.n_parts):
            subtract_bump(problem, i, part, 1.0 / problem.n_parts, work.theta)
        work.has_loss[0] = 1.0

    def argmax(problem, w, i, work, y):
        value = max_sum(problem, w, i, work, y)
        return value - total_score(problem, w, i, work, problem.truth[problem.pointer[i] :])

    def label_value(problem, w, i, work, y):
        truth = problem.truth[problem.pointer[i] :]
        return total_score(problem, w, i, work, y) - total_score(problem, w, i, work, truth)

    def block_value(problem, w, i, work, mu):
        at = i * (problem.dim + 1)
        total = dot(mu[at : at + problem.dim], w)
        # Relative to the constant that theta leaves out.
        total += work.has_loss[0] * (mu[at + problem.dim] - 1.0)
        return total - total_score(problem, w, i, work, problem.truth[problem.pointer[i] :])

    def label_loss(problem, i, y):
        return loss_of(problem, i, y)

    def begin_change(problem, i, mu, keep, work):
        at = i * (problem.dim + 1)
        for j in range(problem.dim + 1):
            work.change[j] = keep * mu[at + j]

    def add_corner(problem, i, y, amount, work):
        add_features(problem, i, y, amount, work.change)
        work.change[problem.dim] += amount * loss_of(problem, i, y)

    def project(problem, i, work, amount, delta):
        add_scaled(work.change[: problem.dim], amount, delta.value)

    def advance(problem, i, mu, step, work):
        at = i * (problem.dim + 1)
        add_scaled(work.change, step, mu[at : at + problem.dim + 1])

    def margin(problem, w, i, y, work):
        truth = problem.truth[problem.pointer[i] :]
        total = 0.0
        for part in range(problem.n_parts):
            true, other = truth[part], y[part]
            if true != other:
                total += part_score(problem, w, i, part, true)
                total -= part_score(problem, w, i, part, other)
            parent = problem.parent[part]
            if parent >= 0 and (true != other or truth[parent] != y[parent]):
                total += hung_score(problem, w, i, part, true, truth[parent])
                total -= hung_score(problem, w, i, part, other, y[parent])
        return total

    def shift(problem, i, y, amount, scale, mu, delta, work):
        truth = problem.truth[problem.pointer[i] :]
        block = mu[i * (problem.dim + 1) : (i + 1) * (problem.dim + 1)]
        add_difference(problem, i, y, truth, amount, block)
        block[problem.dim] += amount * loss_of(problem, i, y)
        add_difference(problem, i, y, truth, -scale * amount, delta.value)

    def length(problem, i):
        return problem.n_parts

    def true_label(problem, i, y):
        first = problem.pointer[i]
        for part in range(problem.n_parts):
            y[part] = problem.truth[first + part]

    def weight(problem, i):
        return problem.importance[i]

    # --- what a run allocates ------------------------------------------------------------------

    def new_dual(problem) -> np.ndarray:
        """Features and loss of all examples, at the truth."""
        mu = np.zeros(problem.n * (problem.dim + 1))
        fill_truth(problem, mu)
        return mu

    def new_work(problem) -> Work:
        height, width = (int(side.max(initial=1)) for side in (problem.height, problem.width))
        size = int((problem.height * problem.width).max(initial=1))
        everything = int(problem.type_at[-1]) * size
        return Work(
            theta=np.zeros(everything),
            has_loss=np.zeros(1),
            total=np.zeros(everything),
            row=np.zeros(everything, np.int32),
            column=np.zeros(everything, np.int32),
            message=np.zeros(size),
            best=np.zeros(int(problem.types.max()) * size),
            transform=new_transform_work(height, width),
            change=np.zeros(problem.dim + 1),
        )

    def new_delta(problem) -> Accumulator:
        """A dense one, as are all others of this problem: ``project`` relies on it."""
        return dense_accumulator(np.zeros(problem.dim))
