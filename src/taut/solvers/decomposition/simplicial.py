"""Restricted simplicial decomposition of the dual, in the smallest space the objective can see.

The dual of a structured SVM depends on alpha_i only through (beta_i, gamma_i), the average feature
difference and loss of its labellings. Each iteration asks the oracle for the labelling of every
example that is best under the current weights, adds its (beta, gamma) to those found before, and
solves the *master problem* over their convex hull exactly:

    product   one simplex for every example: the hull is large, iterations are few
    one       one simplex for sums over all examples, z = (sum beta_i, sum gamma_i): tiny masters

With squared slacks every example has a cone instead of a simplex. In common they may have

    one       a simplex of tangent planes of sum_i h(xi_i): a point is d + 1 numbers, and there is
              no end, as there are infinitely many
    one cone  the paper's cone: a point is d + n + 1 numbers, as it has a mass zeta_i of every
              example, and the method ends with the optimum, as rays are finitely many

*Restricted*: at most ``limit`` (the paper's r) extreme points are kept per simplex, and a retained
iterate X. At the limit the point with the smallest weight makes room, and X becomes where the
simplex stands, so nothing is lost. limit = 1 is Frank-Wolfe with exact line search, no limit the
plain simplicial decomposition. It ends after finitely many iterations if limit >= dim(F) + 1, F the
smallest face that holds the optimum (the paper's dim(F) is not enough); dim + 1 always suffices.

With a *working set* an iteration is about the examples with the largest gaps only (the paper's
"key" examples), and the others stay where they are: coordinate ascent in blocks of examples. Where
examples share a simplex or cone, they are dealt out into groups of this size, each with a simplex
or cone of its own, and an iteration is about the group with the largest gap.

Reference: Yu & Rousu (2007), A method for large margin parameter optimization in structured
prediction problems; Hearn, Lawphongpanich & Ventura (1987) for the restricted method.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from taut.solvers.checks import check_count, is_count, is_number
from taut.solvers.decomposition.decomposition import Decomposition
from taut.solvers.decomposition.hulls import Hulls, OneCone, Planes, Product
from taut.solvers.decomposition.points import Points
from taut.solvers.objective import Objective, SlackPenalty

HULLS: dict[str, type[Hulls]] = {"product": Product, "one": Planes, "one cone": OneCone}


@dataclass(frozen=True)
class Simplicial(Decomposition):
    """Options of restricted simplicial decomposition.

    ``simplexes`` is "product", "one" or, for squared slacks, "one cone". ``limit`` is the largest
    number of extreme points per simplex; None is dim + 1 (one cone: dim + n + 1), or what fits into
    ``memory`` (GiB) if that is less. ``working_set`` is the number of examples of one iteration;
    None is all, or 200 of a product where there are more than 500. Points that had no weight in
    ``prune_after`` masters in a row are forgotten: smaller masters, at the price of finding a few
    again. None saves them all, which is right where the oracle is expensive; 1 keeps those with
    weight only.
    """

    simplexes: str = "product"
    limit: float | None = None
    working_set: int | None = None
    prune_after: int | None = 10
    memory: float = 1.0

    def __post_init__(self) -> None:
        if self.simplexes not in HULLS:
            raise ValueError(
                f'simplexes={self.simplexes!r}; expected "product", "one" or "one cone"'
            )
        if self.limit is not None and not (is_count(self.limit) or self.limit == np.inf):
            raise ValueError(
                f"limit={self.limit!r}; a whole number of extreme points per simplex, at least 1, "
                "infinity, or None"
            )
        check_count(self.prune_after, "prune_after", "a number of master problems")
        check_count(self.working_set, "working_set", "a number of examples")
        if not (is_number(self.memory) and self.memory > 0):
            raise ValueError(f"memory={self.memory!r}; a positive number of GiB")

    @property
    def hulls(self) -> type[Hulls]:
        return HULLS[self.simplexes]

    def check_fits(self, problem: Any, objective: Objective) -> None:
        super().check_fits(problem, objective)
        if self.simplexes == "one cone" and objective.penalty is SlackPenalty.LINEAR:
            raise ValueError(
                'simplexes="one cone" is for slack_penalty="squared": with linear slacks weights '
                'of labellings sum to one; use simplexes="one"'
            )

    def most_points(self, points: Points) -> float:
        """The limit on extreme points per simplex."""
        if self.limit is not None:
            return self.limit
        return max(min(points.dim + 1, points.fitting(self.memory * 2**30) // points.n_blocks), 1)

    def make_room(self, points: Points, blocks: np.ndarray, *, is_cone: bool) -> None:
        points.prune(self.prune_after)
        full = blocks[points.sizes()[blocks] >= self.most_points(points)]
        if not full.size:
            return
        dropped = least_weighty(points, full)
        # A point without weight can go; otherwise it is needed to say where its simplex stands.
        moving = np.unique(points.block[dropped[points.weight[dropped] > 0]])
        keep = np.ones(len(points), bool)
        keep[dropped] = False
        if not moving.size:
            points.keep(keep)
            return
        before = len(points)
        replaced = points.retained & np.isin(points.block, moving)
        points.retain(moving, is_cone=is_cone)
        added = len(points) - (before - int(replaced.sum()))
        points.keep(np.concatenate([keep[~replaced], np.ones(added, bool)]))

    def describe(self) -> str:
        what = f"simplexes {self.simplexes}"
        what += "" if self.limit is None else f", limit {self.limit:g}"
        what += "" if self.working_set is None else f", working set {self.working_set}"
        return f"restricted simplicial decomposition ({what})"


def least_weighty(points: Points, blocks: np.ndarray) -> np.ndarray:
    """The extreme point with the smallest weight, the oldest of these, of each block."""
    candidates = np.flatnonzero(~points.retained & np.isin(points.block, blocks))
    order = candidates[
        np.lexsort([candidates, points.weight[candidates], points.block[candidates]])
    ]
    _, first = np.unique(points.block[order], return_index=True)
    return order[first]
