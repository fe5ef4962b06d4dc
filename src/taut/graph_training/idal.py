"""SoftSDCA and IDAL: proximal block steps for CRFs with a quadratic entropy.

The Gini entropy H(mu) = sum over nodes and edges of 1 - |mu_c|^2 is defined for inconsistent
marginals too, and makes the dual strongly concave. A block's step is a projection,

    mu_c <- Proj((L_c mu_c + theta_hat_c) / (L_c + 2 gamma)),

with L_c = C s |x|^2 lambda_max(U'U) + N / rho for a node with N edges, and likewise with the larger
number of its ends' states in place of N for an edge: on directions that sum to zero, which are all
that matter, these are the eigenvalues of the penalty.

IDAL updates the multipliers after every T = 2 |blocks| steps: nu <- nu + B mu / L_d, a gradient
step on the smooth max_mu D_rho(mu, nu) with 1 / L_d = 1 / rho + 2 gamma / s, s >= |B|^2. Without
multipliers it is SoftSDCA. At temperature 0 the problem is the structured SVM's.

Reference: Hu, Obozinski (2018), SDCA-powered inexact dual augmented Lagrangian method for fast CRF
learning. L_d and the constants on zero-sum directions are not in the paper.
"""

from dataclasses import dataclass
from typing import ClassVar

from taut.graph_training.factor_solver import FactorSolver


@dataclass(frozen=True)
class SoftSDCA(FactorSolver):
    """Proximal steps on one node or edge at a time, with soft consistency."""

    name: ClassVar[str] = "soft-constraint dual coordinate ascent"


@dataclass(frozen=True)
class IDAL(SoftSDCA):
    """SoftSDCA with multipliers: the inexact dual augmented Lagrangian.

    ``passes`` of the inner solver lie between two updates. Nesterov's momentum on them, the paper's
    future work, was tried and left out: up to a quarter fewer passes on some problems, and no
    convergence on others, since updates are those of inner problems half solved.
    """

    passes: int = 2

    closes_bracket: ClassVar[bool] = True
    name: ClassVar[str] = "inexact dual augmented Lagrangian"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_passes("passes")

    @property
    def inner_passes(self) -> int:
        return self.passes
