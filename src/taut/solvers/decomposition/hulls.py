"""What the points of a master problem are made of: how examples share simplexes or cones.

    Product  every example has a simplex of its own, or a cone where slacks are squared
    Planes   the examples of a group have one simplex, of sums over them. With squared slacks these
             are tangent planes of sum_i s_i h(xi_i)
    OneCone  they have one cone, of sums that keep the mass of every example

All examples are one group, unless there is a working set: then they are dealt out into groups, and
an iteration is about one of these.
"""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from taut.solvers.decomposition.points import Rows

# Gains below this part of an example's worst loss are rounding of the master problem.
ROUNDING = 1e-12
TINY = np.finfo(np.float64).tiny
# Up to so many examples there is one master problem for all of them.
MOST_TOGETHER = 500
AT_A_TIME = 200


class Hulls(ABC):
    """Of one run: what its *blocks* are, and which points they get."""

    n_blocks: int
    at_a_time: int  # blocks that an iteration is about
    extra = 0  # entries of a point's row behind those of the features

    def __init__(self, run: Any):
        self.run = run

    @property
    def is_together(self) -> bool:
        """Whether an iteration is about all examples."""
        return self.at_a_time == self.n_blocks

    @abstractmethod
    def examples(self, blocks: np.ndarray) -> np.ndarray: ...

    @abstractmethod
    def weighted(self, values: np.ndarray) -> np.ndarray:
        """The sums over the examples of every block of s_i times a value."""

    @abstractmethod
    def summed(self, rows: Rows, loss: np.ndarray) -> tuple[Rows, np.ndarray]:
        """From one row and loss per example to those of blocks."""

    @abstractmethod
    def improvable(self) -> np.ndarray:
        """Blocks that the oracle's last labellings can improve, sorted."""

    @abstractmethod
    def add(self, blocks: np.ndarray) -> None:
        """The oracle's last labellings become points of these blocks."""

    def masses(self) -> np.ndarray:
        """A_i of every example, of cones."""
        raise NotImplementedError

    def most_loss(self, worst: np.ndarray) -> np.ndarray:
        """The largest loss that a point of each block can have."""
        return self.weighted(worst)

    def check(self) -> None:
        """ValueError if points are none of these hulls, though rows and weights agree."""
        return


class Product(Hulls):
    def __init__(self, run: Any):
        super().__init__(run)
        self.n_blocks = self.at_a_time = run.n
        if run.solver.working_set is not None:
            self.at_a_time = min(run.solver.working_set, run.n)
        elif run.n > MOST_TOGETHER:
            self.at_a_time = AT_A_TIME

    def examples(self, blocks: np.ndarray) -> np.ndarray:
        return blocks

    def weighted(self, values: np.ndarray) -> np.ndarray:
        return self.run.importance * values

    def summed(self, rows: Rows, loss: np.ndarray) -> tuple[Rows, np.ndarray]:
        return rows, loss

    def masses(self) -> np.ndarray:
        points = self.run.state.points
        return points.sums(points.weight)

    def improvable(self) -> np.ndarray:
        """Those whose labelling beats all of their points."""
        run, points = self.run, self.run.state.points
        slack = self.masses() if run.is_cone else np.full(run.n, -np.inf)
        values = run.point_values() / run.importance[points.block].clip(TINY)
        np.maximum.at(slack, points.block, values)
        violation = np.where(run.importance > 0, run.oracle.reached - slack, 0.0)
        return np.flatnonzero(violation > max(run.smallest, ROUNDING * run.worst.max()))

    def add(self, blocks: np.ndarray) -> None:
        rows, loss = self.run.maker.rows(blocks)
        self.run.add_points(rows, loss, blocks)


class Planes(Hulls):
    def __init__(self, run: Any):
        super().__init__(run)
        self.at_a_time = 1
        self.n_blocks = -(-run.n // (run.solver.working_set or run.n))
        self.group = np.arange(run.n) % self.n_blocks
        self.groups = [slice(b, None, self.n_blocks) for b in range(self.n_blocks)]

    def examples(self, blocks: np.ndarray) -> np.ndarray:
        return np.flatnonzero(np.isin(self.group, blocks))

    def weighted(self, values: np.ndarray) -> np.ndarray:
        importance = self.run.importance
        return np.array([importance[of] @ values[of] for of in self.groups])

    def summed(self, rows: Rows, loss: np.ndarray) -> tuple[Rows, np.ndarray]:
        sums = [rows[of].sum(axis=0) for of in self.groups]
        return np.array(sums), np.array([loss[of].sum() for of in self.groups])

    def most_loss(self, worst: np.ndarray) -> np.ndarray:
        """slope * loss - h*(slope) is at most h(loss)."""
        return self.weighted(self.run.penalty.cost(worst))

    def cut(self, slack: np.ndarray) -> np.ndarray:
        """How far each block's plane of these slacks lies above where the block is, at w."""
        return self.weighted(self.run.penalty.cost(slack)) - self.run.block_values()

    def improvable(self) -> np.ndarray:
        run = self.run
        least = np.maximum(
            np.bincount(self.group) * run.smallest, ROUNDING * self.weighted(run.worst)
        )
        return np.flatnonzero(self.cut(np.maximum(run.oracle.reached, 0.0)) > least)

    def add(self, blocks: np.ndarray) -> None:
        if blocks.size:
            self.add_planes(blocks, np.maximum(self.run.oracle.best, 0.0))

    def add_planes(self, blocks: np.ndarray, slack: np.ndarray) -> None:
        """The tangent planes of sum_i s_i h(xi_i) at these slacks:

        sum_i s_i (a_i H_i(y_i; w) - h*(a_i)) with a_i = h'(xi_i), below the sum for every w.
        """
        run, slope = self.run, self.run.penalty.slope(slack)
        rows, loss = self.planes(blocks, slope)
        run.add_points(rows, loss - self.weighted(run.penalty.conjugate(slope))[blocks], blocks)

    def planes(self, blocks: np.ndarray, share: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows and losses of the oracle's labellings, each times its share, summed by block."""
        found = [self.run.maker.plane(np.where(self.group == b, share, 0.0)) for b in blocks]
        return np.array([row for row, _ in found]), np.array([loss for _, loss in found])


class OneCone(Planes):
    """Points are rays sum_i s_i zeta_i (psi_i(y_i), L_i(y_i)), of any length: sum_i s_i zeta_i = S,

    S = sum_i s_i. Then the mass M of a block says how long its rays are together, its cost is
    S/2 M^2 + 1/2 sum_i s_i (A_i - M)^2, and the second term is one of squares like |w|^2: rows have
    sqrt(s_i / C) (zeta_i - 1) of every example behind the features.
    """

    def __init__(self, run: Any):
        super().__init__(run)
        self.extra = run.n
        self.scale = np.sqrt(run.importance / run.C)

    def masses(self) -> np.ndarray:
        """A_i, or M where s_i is zero and it does not matter."""
        run, points = self.run, self.run.state.points
        off = np.zeros(run.n)
        scale = run.C * self.scale
        np.divide(run.state.v[run.problem.dim :], scale, out=off, where=scale > 0)
        return points.sums(points.weight)[self.group] + off

    def most_loss(self, worst: np.ndarray) -> np.ndarray:
        return self.weighted(np.full(self.run.n, worst.max()))

    def gains(self) -> np.ndarray:
        """What a unit of mass would gain at each example: the derivative, over s_i."""
        run = self.run
        gain = np.where(run.importance > 0, run.oracle.reached - self.masses(), 0.0)
        return np.where(gain > ROUNDING * run.worst.max(), gain, 0.0)

    def rays(self, gains: np.ndarray) -> np.ndarray:
        """zeta: the same for all examples that gain, zero for the others."""
        zeta = (gains > 0).astype(float)
        size = self.weighted(zeta)
        length = np.divide(self.run.share, size, out=np.zeros(self.n_blocks), where=size > 0)
        return zeta * length[self.group]

    def improvable(self) -> np.ndarray:
        """Those whose ray gains more than all that they have."""
        run, points = self.run, self.run.state.points
        gains = self.gains()
        least = np.zeros(self.n_blocks)
        np.maximum.at(least, points.block, run.gradient())
        least += ROUNDING * run.worst.max() * run.share
        return np.flatnonzero(self.weighted(gains * self.rays(gains)) > least)

    def add(self, blocks: np.ndarray) -> None:
        if not blocks.size:
            return
        zeta = self.rays(self.gains())
        rows, loss = self.planes(blocks, zeta)
        behind = np.where(self.group == blocks[:, None], self.scale * (zeta - 1.0), 0.0)
        self.run.add_points(np.hstack([rows, behind]), loss, blocks)

    def check(self) -> None:
        """Masses are not negative, and of mean one."""
        run, points = self.run, self.run.state.points
        behind = points.rows[:, run.problem.dim :]
        mine = self.group == points.block[:, None]
        least = np.where(mine, -(1.0 + 1e-9) * self.scale, 0.0)
        sums = (behind * np.sqrt(run.importance * run.C)).sum(axis=1)
        if (
            np.any(behind < least)
            or np.any(behind[~mine] != 0)
            or np.any(np.abs(sums) > 1e-9 * run.share[points.block])
        ):
            raise ValueError("the points' masses are not those of rays")
