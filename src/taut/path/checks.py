"""What the arguments of paths may be; each answer is a plain number or array."""

from typing import Any

import numpy as np

from taut.solvers.checks import is_number


def checked_eps(eps: Any) -> float:
    if not (is_number(eps) and 0 < eps < 1):
        raise ValueError(
            f"eps={eps!r}; a number between 0 and 1 is expected, the part of the objective at "
            "w = 0 by which weights may miss the optimum"
        )
    return float(eps)


def checked_kappa(kappa: Any) -> float:
    if not (is_number(kappa) and 0 < kappa < 1):
        raise ValueError(f"kappa={kappa!r}; a number between 0 and 1 is expected")
    return float(kappa)


def checked_floor(floor: Any, is_linear: bool) -> float:
    if not (is_number(floor) and 0 < floor < 1):
        raise ValueError(
            f"floor={floor!r}; a number between 0 and 1 is expected, a part of the objective at "
            "w = 0, or None"
        )
    if not is_linear:
        raise ValueError(
            'floor= is for method="linear"; other methods have the same eps everywhere'
        )
    return float(floor)


def checked_lam_min(lam_min: Any) -> float:
    if not (is_number(lam_min) and 0 < lam_min < np.inf):
        raise ValueError(f"lam_min={lam_min!r}; a positive number is expected (C = 1/(lambda n))")
    return float(lam_min)


def checked_lambdas(lambdas: Any, name: str) -> np.ndarray:
    """An array of lambdas, in the order they were given."""
    try:
        values = np.asarray(lambdas, np.float64)
    except (TypeError, ValueError):
        values = np.zeros(0)
    if values.ndim != 1 or not values.size or not np.all((values > 0) & np.isfinite(values)):
        raise ValueError(f"{name}={lambdas!r}; a list of positive numbers is expected")
    return values


def check_limits(max_passes: Any, time_limit: Any, callback: Any = None) -> None:
    if max_passes is not None and not (is_number(max_passes) and max_passes > 0):
        raise ValueError(f"max_passes={max_passes!r}; a positive number is expected")
    if time_limit is not None and not (is_number(time_limit) and time_limit >= 0):
        raise ValueError(f"time_limit={time_limit!r}; a number of seconds, or None for no limit")
    if callback is not None and not callable(callback):
        raise TypeError(f"callback={callback!r}; a function of a breakpoint is expected")


def check_accuracy(problem: Any, target: float, eps: float) -> None:
    """An approximate oracle adds to every gap: with too much of it none comes to the target."""
    slack = getattr(problem, "slack", lambda: 0.0)()
    if slack > 0.5 * target:
        raise ValueError(
            f"eps={eps:g}: approximate inference alone may add {slack:.3g} to the gap, and "
            f"{target:.3g} is to be reached; lower the estimator's tol, which sets its accuracy, "
            "or raise eps"
        )
