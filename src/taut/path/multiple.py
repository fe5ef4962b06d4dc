"""Which multiple of a dual point to start from at another lambda.

To keep the dual point scales the weights up, which is right where the loss decides (large lambda);
to keep the weights shrinks the dual point toward the truth, which is right where margins hold. The
best multiple c in [0, 1] maximises the dual value c loss - lambda h(c psi / lambda), where psi is
the dual point's v without the factor 1/lambda: a line search that asks no oracle.
"""

from typing import Any

import numpy as np
from scipy.optimize import brentq


def best_multiple(run: Any, lam: float) -> float:
    state = run.state
    loss = float(run.importance @ state.ell) / run.n
    psi = state.v / (run.C * run.n)
    if not state.lower.size:
        norm = float(psi @ psi)
        return min(1.0, lam * loss / norm) if norm > 0 else 1.0

    def slope(c: float) -> float:
        return loss - float(psi @ np.clip(c / lam * psi, state.lower, state.upper))

    if slope(1.0) >= 0.0:
        return 1.0
    return float(brentq(slope, 0.0, 1.0)) if slope(0.0) > 0.0 else 0.0
