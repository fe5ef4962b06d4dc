"""SciPy's L-BFGS-B, one evaluation at a time.

SciPy calls the objective; the loop that all of taut's solvers share calls the solver. So SciPy runs
in a thread of its own, which waits wherever it wants a value, and only one of the two ever runs.
"""

import queue
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import optimize

STOP = object()


class _Stopped(Exception):
    pass


class Minimiser:
    """``point`` is where the objective is wanted; None once SciPy sees no way down."""

    def __init__(self, start: np.ndarray, bounds: Any, memory: int):
        self.wanted: queue.Queue = queue.Queue(1)
        self.given: queue.Queue = queue.Queue(1)
        arguments = (start, bounds, memory, self.wanted, self.given)
        threading.Thread(target=_minimise, args=arguments, daemon=True).start()
        # However the run ends, its thread does too.
        self.stop: Callable[[], Any] = weakref.finalize(self, self.given.put, STOP)
        self.point: np.ndarray | None = self._next()

    def tell(self, value: float, gradient: np.ndarray) -> None:
        """Objective and gradient at ``point``, which then is the next one."""
        self.given.put((value, gradient))
        self.point = self._next()

    def _next(self) -> np.ndarray | None:
        found = self.wanted.get()
        if isinstance(found, Exception):
            raise found
        return found


def _minimise(start: np.ndarray, bounds: Any, memory: int, wanted: Any, given: Any) -> None:
    def ask(w: np.ndarray) -> tuple[float, np.ndarray]:
        wanted.put(w.copy())
        answer = given.get()
        if answer is STOP:
            raise _Stopped
        return answer

    # Certificates decide when to stop, not SciPy.
    options = {"maxcor": memory, "maxiter": 2**31 - 1, "maxfun": 2**31 - 1, "ftol": 0, "gtol": 0}
    try:
        optimize.minimize(ask, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
        wanted.put(None)
    except _Stopped:
        pass
    except Exception as error:  # it belongs to the thread that waits
        wanted.put(error)
