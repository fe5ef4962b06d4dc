"""The pose oracle: positions times parts per second, at three sizes of the grid.

Random heat maps of 14 parts on the tree of the Leeds Sports Poses, springs such that parts move by
a few positions; CPU seconds of one core. "transform" is the distance transform alone, "max-sum" the
whole oracle (scores, messages by 13 distance transforms and the way back). Every call is of another
example, as in training: on repeated data the processor learns the branches of small grids by heart.
The exponent is the slope of log time on log positions; 1 is linear.
"""

import common  # first: it limits threads before numpy starts
import numpy as np
from common import cpu_seconds, table

from taut._compile import compiled
from taut.datasets.stick_figures import PARENTS
from taut.inference.distance_transform import distance_transform, new_transform_work
from taut.problem import add_loss, argmax, scores
from taut.structures.pose import Pose
from taut.structures.pose_build import pose_problem

SIZES = (64, 128, 256)


@compiled
def transforms(grids, spring, work, value, row, column):
    for i in range(len(grids)):
        distance_transform(grids[i], spring, spring, work, value, row, column)


@compiled
def oracles(problem, w, work, y):
    for i in range(problem.n):
        scores(problem, w, i, work)
        add_loss(problem, i, work)
        argmax(problem, w, i, work, y)


def random_poses(size: int, n: int, n_types: int) -> tuple[Pose, np.ndarray]:
    random = np.random.default_rng(size)
    n_parts = len(PARENTS)
    anchors = [
        random.normal(scale=size / 10, size=(n_types if parent >= 0 else 1, 2))
        for parent in PARENTS
    ]
    problem = pose_problem(
        [random.normal(size=(n_parts, size, size)).astype(np.float32) for _ in range(n)],
        random.integers(0, size, (n, n_parts, 2)),
        PARENTS,
        reach=size / 8,
        anchors=anchors,
        unit=size / 8,
    )
    w = np.abs(random.normal(size=problem.dim))
    return problem, w


def seconds_of_transform(size: int, n: int) -> float:
    grids = np.random.default_rng(0).normal(size=(n, size, size))
    value, row, column = np.zeros((size, size)), *np.zeros((2, size, size), np.int32)
    arguments = ((0.05, 0.1, 1.5), new_transform_work(size, size), value, row, column)
    transforms(grids[:1], *arguments)
    times = []
    for _ in range(5):
        with cpu_seconds() as seconds:
            transforms(grids, *arguments)
        times.append(seconds())
    return float(np.median(times)) / n


def seconds_of_oracle(size: int, n: int, n_types: int) -> float:
    problem, w = random_poses(size, n, n_types)
    work, y = problem.new_work(), np.zeros(problem.longest, np.int32)
    oracles(problem._replace(n=1), w, work, y)
    times = []
    for _ in range(5):
        with cpu_seconds() as seconds:
            oracles(problem, w, work, y)
        times.append(seconds())
    return float(np.median(times)) / n


def exponent(costs: list[float]) -> float:
    return float(np.polyfit(np.log(np.square(SIZES)), np.log(costs), 1)[0])


def main() -> None:
    options = common.arguments(__doc__)
    positions = 2**19 if options.quick else 2**21
    rows: list[list] = []
    slopes: list[list] = []
    for what, n_types, n_maps in (("transform", 1, 1), ("max-sum", 1, 14), ("max-sum", 4, 14)):
        costs = []
        for size in SIZES:
            n = max(positions // (n_maps * n_types * size**2), 2)
            if what == "transform":
                costs.append(seconds_of_transform(size, n))
            else:
                costs.append(seconds_of_oracle(size, n, n_types))
            place = costs[-1] / (n_maps * size**2)
            rows.append(
                [what, n_types, f"{size} x {size}", 1e3 * costs[-1], 1e9 * place, 1 / place]
            )
        slopes.append([what, n_types, exponent(costs)])
    table(["", "types", "grid", "ms a call", "ns a position and part", "positions parts / s"], rows)
    table(["", "types", "exponent"], slopes)


if __name__ == "__main__":
    main()
