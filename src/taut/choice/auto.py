"""Which solver, when the user does not say.

Few weights and large examples: simplicial decomposition. It keeps a labelling as one row of dim
numbers and asks the oracle ten or twenty times, however large C is, while block-coordinate methods
go back to the examples in every visit. Its masters, though, cost up to n^2 and dim^3. (Measured on
horses, grids, tables and models in Python; see docs/solvers.md. With more weights, labellings of
one pass, all found at the same w, are worth less than those of a method that moves after every
example, whatever the oracle costs.)

Otherwise block-coordinate Frank-Wolfe with gap sampling, which Osokin et al. recommend always.
Accelerated corrective passes win wherever a visit to the remembered labellings is cheaper than the
oracle: that holds for every compiled problem; for a Python model the oracle is timed on a few
examples. Under counts only a general LP solver could be the oracle; training without inference is
faster by far.

CRFs are trained by SDCA, or by L-BFGS where its steps would be short. The choice is recorded in
``Solution.solver``; to make a run independent of the timing above, name the solver.
"""

import time
from typing import Any

import numpy as np

from taut.graph_training import AugmentedLagrangian
from taut.problem.capability import CRF, Capability
from taut.solvers.bcfw import BCFW
from taut.solvers.decomposition import CuttingPlane, Simplicial
from taut.solvers.decomposition.hulls import MOST_TOGETHER
from taut.solvers.directions import Direction
from taut.solvers.lbfgs import LBFGS
from taut.solvers.objective import SlackPenalty
from taut.solvers.sampling import Order
from taut.solvers.sdca import SDCA
from taut.solvers.solver import Solver
from taut.solvers.subgradient import Subgradient
from taut.spelling import OptionError
from taut.structures.smoothed import Smoothed

# A visit to a Python model's remembered labels costs about this much beyond the model itself.
CHEAP_ORACLE_SECONDS = 1e-4
# Up to so many weights simplicial decomposition wins, where visiting an example costs more than its
# share of a master problem: with so many numbers per example, for every example in it.
FEW_WEIGHTS = 256
LARGE_EXAMPLE = 0.25
# Passes of SDCA grow with the pull of an example, C |features of a labelling|^2 / temperature, and
# with that of all examples on a weight; those of L-BFGS hardly do. But its passes touch all weights
# forty times, and weights that are more than the feature values, as of words, belong to few
# examples each, which SDCA fits in no time; only an l1 norm, which keeps weights from that, makes
# it slow there. Between the two (attributes that many positions share) the pull on a weight says
# it. (Measured by benchmarks/crf_solvers.py; see docs/solvers.md.)
MANY_WEIGHTS_PER_VALUE = 1.0
FEW_WEIGHTS_PER_VALUE = 0.1
HARD_PULL_ON_SHARED_WEIGHT = 100.0
HARD_PULL = 3_000.0
HARD_PULL_L1 = 500.0  # every step of SDCA shrinks all these weights
HARD_PULL_ON_WEIGHT = 1_000.0
HARD_PULL_MANY_WEIGHTS_L1 = 100_000.0
# A hundred dense planes of more weights would fill memory.
LONG_PLANE = 300_000


def choose_solver(
    problem: Any,
    averaging: bool = False,
    rho: float | None = None,
    penalty: SlackPenalty = SlackPenalty.LINEAR,
    C: float | None = None,
    l1: float = 0.0,
) -> Solver:
    """``C`` and ``l1`` are for CRFs; None if training is to go through many values of C."""
    if problem.capabilities & CRF:
        is_whole = Capability.SMOOTHED in problem.capabilities and problem.known is None
        hard = is_whole and not averaging and C is not None and pulls_hard(problem, C, l1)
        crf: Solver = SDCA() if is_whole and not hard else LBFGS()
        return crf.with_options(averaging=averaging)
    if penalty is SlackPenalty.SQUARED:
        if averaging:
            raise OptionError(
                '‹averaging=True› with ‹slack_penalty="squared"›: use ‹solver="subgradient"›, '
                "which averages its iterates, or leave averaging out"
            )
        return choose_for_squares(problem)
    has_oracle = Capability.MAX_ORACLE in problem.capabilities
    if rho is not None and (problem.has_counts or not has_oracle):
        return AugmentedLagrangian(rho=rho)
    if problem.dim <= FEW_WEIGHTS and not averaging:
        if not problem.is_compiled and problem.n <= MOST_TOGETHER:
            return Simplicial(prune_after=None)  # what such an oracle finds is worth keeping
        numbers = problem.n_numbers / problem.n
        if numbers >= LARGE_EXAMPLE * min(problem.n, MOST_TOGETHER):
            return Simplicial()
    if problem.is_compiled or oracle_seconds(problem) > CHEAP_ORACLE_SECONDS:
        return BCFW(Order.GAP, Direction.CORRECTIVE, refresh=5, averaging=averaging)
    return BCFW(Order.GAP, Direction.PAIRWISE, averaging=averaging)


def pulls_hard(problem: Any, C: float, l1: float) -> bool:
    """Whether L-BFGS trains a CRF in less time than SDCA, as far as can be known before."""
    if not isinstance(problem, Smoothed) or problem.base.mean_norm is None:  # of one's own
        return False
    base = problem.base
    pull = C * base.mean_norm / problem.temperature
    per_value, on_weight = base.dim / max(base.n_numbers, 1), pull * base.n / base.dim
    if base.dim > FEW_WEIGHTS and per_value > MANY_WEIGHTS_PER_VALUE:
        return l1 > 0 and pull > HARD_PULL_MANY_WEIGHTS_L1
    if base.dim > FEW_WEIGHTS and per_value > FEW_WEIGHTS_PER_VALUE:
        return on_weight > HARD_PULL_ON_SHARED_WEIGHT
    return pull > (HARD_PULL_L1 if l1 else HARD_PULL) or on_weight > HARD_PULL_ON_WEIGHT


def choose_for_squares(problem: Any) -> Solver:
    """Squared slacks: cones for few weights, planes for more, steps where planes would be long."""
    if problem.dim <= FEW_WEIGHTS or not problem.is_compiled:
        return Simplicial()
    return CuttingPlane(slacks="one") if problem.dim <= LONG_PLANE else Subgradient()


def oracle_seconds(problem: Any, examples: int = 5) -> float:
    """Median time of the oracle at w = 0."""
    w, y, times = np.zeros(problem.dim), np.zeros(problem.longest, np.int32), []
    work = problem.new_work()
    for i in range(min(examples, problem.n)):
        start = time.perf_counter()
        problem.argmax(w, i, work, y)
        times.append(time.perf_counter() - start)
        problem.forget(i, y)
    return float(np.median(times))
