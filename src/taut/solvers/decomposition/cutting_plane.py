"""Cutting planes: the working-set method of SVM^struct, on the same master problem.

The primal has a constraint xi_i >= H_i(y; w) for every labelling y. Each iteration adds the most
violated one of every example (*n-slack*), or one constraint for the sum of all (*one-slack*), and
solves the problem under those found so far, in the dual. That is simplicial decomposition with the
origin (the truth) always among the points and no limit on their number:

    epsilon       constraints violated by no more are left out; when there is no other the run ends,
                  and no slack is more than epsilon too small
    prune_after   constraints that were slack for so many masters are forgotten
    cache         one-slack: labellings remembered per example. A plane made of the best of them is
                  tried first; the oracle is called when it cuts off less than half of what the
                  oracle's last one did

The certificate is the same as everyone's: the oracle's values at the current weights are an upper
bound, the master problem's value a lower one.

References: Tsochantaridis, Joachims, Hofmann & Altun (2005), Large margin methods for structured
and interdependent output variables; Joachims, Finley & Yu (2009), Cutting-plane training of
structural SVMs.
"""

from dataclasses import dataclass

import numpy as np

from taut.solvers.checks import check_count, is_count, is_number
from taut.solvers.decomposition.decomposition import Decomposition
from taut.solvers.decomposition.hulls import Hulls, Planes, Product
from taut.solvers.decomposition.points import Points


@dataclass(frozen=True)
class CuttingPlane(Decomposition):
    """Options of cutting planes.

    ``slacks`` is "n", a slack for every example, or "one" for all. ``epsilon``, in the units of the
    loss (one-slack: of its mean), leaves out constraints that are violated by no more and ends the
    run when there is no other; None leaves stopping to the tolerance of ``solve``. Constraints that
    had no weight in ``prune_after`` masters are forgotten. With one slack, ``cache`` labellings are
    remembered per example, and planes made of them tried before the oracle is called. With n
    slacks, ``working_set`` is the number of examples of one iteration; None is all, or 200 where
    there are more than 500.
    """

    slacks: str = "n"
    epsilon: float | None = None
    prune_after: int | None = 50
    cache: int = 5
    working_set: int | None = None

    def __post_init__(self) -> None:
        if self.slacks not in ("n", "one"):
            raise ValueError(f'slacks={self.slacks!r}; expected "n" or "one"')
        if self.epsilon is not None and not (is_number(self.epsilon) and self.epsilon >= 0):
            raise ValueError(f"epsilon={self.epsilon!r}; a number that is not negative, or None")
        check_count(self.prune_after, "prune_after", "a number of master problems")
        check_count(self.working_set, "working_set", "a number of examples")
        if self.working_set is not None and self.slacks == "one":
            raise ValueError('working_set is for slacks="n"; one slack is of all examples')
        if not (self.cache == 0 or is_count(self.cache)):
            raise ValueError(f"cache={self.cache!r}; a number of labellings per example, or 0")

    @property
    def hulls(self) -> type[Hulls]:
        return Product if self.slacks == "n" else Planes

    def make_room(self, points: Points, blocks: np.ndarray, *, is_cone: bool) -> None:
        points.prune(self.prune_after)

    def describe(self) -> str:
        name = f"{self.slacks}-slack"
        name += "" if self.epsilon is None else f", epsilon {self.epsilon:g}"
        return f"cutting planes ({name})"
