"""Everything a decomposition run moves; it goes into the solution, for warm starts."""

from dataclasses import dataclass

import numpy as np

from taut.solvers.decomposition.points import Points


@dataclass
class DecompositionState:
    w: np.ndarray
    v: np.ndarray  # C * sum_k weight_k row_k; w is v inside the bounds
    lower: np.ndarray
    upper: np.ndarray
    points: Points
    gaps: np.ndarray  # (n_blocks,) as last seen
    last_cut: np.ndarray  # (1,) what the oracle's last plane cut off
    count: np.ndarray  # steps, oracle calls
