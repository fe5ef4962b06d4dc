"""Block-coordinate Frank-Wolfe with soft constraints: SoftBCFW.

The constraint that an edge's table agrees with its nodes becomes a penalty; what is left is a
product of simplices, one per node and edge, and a step on one of them costs no more than its
scores. With d a Frank-Wolfe or pairwise direction of a block (see ``steps``), mu += step * d,

    node    step = <theta_hat, d> / (C s |Phi d|^2 + N |d|^2 / rho),            N edges at the node
    edge    step = <theta_hat, d> / (C s |Phi d|^2 + (|d_u|^2 + |d_v|^2) / rho),   d_u, d_v its
                                                                                  marginals

and w, delta follow. The limit is the penalised problem's optimum, near the hard one's for small
rho. A small rho holds a block where its neighbours are, so that all move slowly at first; the
paper's section 7 suggests to start loose and tighten, which is what ``anneal`` does.

Reference: Meshi, Srebro, Hazan (2015), Efficient training of structured SVMs via soft constraints.
As printed, the steps of algorithm 1 diverge (sign of the penalty, its scale, 1/M in the gradient).
"""

from dataclasses import dataclass
from typing import ClassVar

from taut.graph_training.factor_solver import FactorSolver
from taut.graph_training.steps import Step
from taut.solvers.bcfw import parsed


@dataclass(frozen=True)
class SoftBCFW(FactorSolver):
    """Frank-Wolfe on one node or edge at a time, with soft consistency.

    ``direction`` is "pairwise" (linear convergence) or "toward" (the paper's). Other options are
    those of :class:`taut.graph_training.factor_solver.FactorSolver`.

    >>> SoftBCFW(rho=0)
    Traceback (most recent call last):
    ValueError: rho=0; the penalty parameter must be a positive number: small values enforce \
consistency, 1 is a good start
    """

    direction: Step | str = Step.PAIRWISE

    name: ClassVar[str] = "soft-constraint block-coordinate Frank-Wolfe"

    def __post_init__(self) -> None:
        super().__post_init__()
        direction = parsed(Step, self.direction, "direction")
        if direction == Step.PROJECTED:
            raise ValueError(
                'direction="projected" is SoftSDCA\'s; SoftBCFW has "toward" and "pairwise"'
            )
        object.__setattr__(self, "direction", direction)

    @property
    def step(self) -> Step:
        assert isinstance(self.direction, Step)
        return self.direction
