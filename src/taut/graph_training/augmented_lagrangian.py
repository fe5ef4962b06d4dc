"""The augmented Lagrangian: multipliers on top of SoftBCFW lead to the hard constraints.

After every few passes of the inner solver the multipliers move by what the constraints miss,

    nu <- nu + B mu / rho = delta,   delta <- nu + B mu / rho,

a proximal-point step in delta; with a temperature the step is that of IDAL, a little longer.
Marginals and weights are kept. max_mu f_{rho, nu}(mu) falls to the hard optimum for every rho:
small ones take few updates of hard inner problems, large ones many of easy ones.

Reference: Meshi, Srebro, Hazan (2015), section 7; Bertsekas (1982), The method of multipliers.
"""

from dataclasses import dataclass
from typing import ClassVar

from taut.graph_training.factor_state import View
from taut.graph_training.multipliers import rho_over_L_d, update_multipliers
from taut.graph_training.soft_bcfw import SoftBCFW


@dataclass(frozen=True)
class AugmentedLagrangian(SoftBCFW):
    """SoftBCFW with multipliers, updated after every ``passes`` passes; converges to the hard LP
    relaxation, and the tolerance is about its bracket."""

    passes: int = 2

    closes_bracket: ClassVar[bool] = True
    has_multipliers: ClassVar[bool] = True
    name: ClassVar[str] = "augmented Lagrangian over block-coordinate Frank-Wolfe"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_passes("passes")

    def after_pass(self, view: View, passes: int) -> None:
        if not self.tightens(view) and passes % self.passes == 0:
            update_multipliers(view, rho_over_L_d(view))
