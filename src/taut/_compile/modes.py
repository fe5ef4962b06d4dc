"""How kernels run in this process: what two environment variables say."""

import os

import numba

# NUMBA_DISABLE_JIT=1: everything is interpreted, with Python's errors and index checks.
INTERPRETED = bool(numba.config.DISABLE_JIT)
# TAUT_PLAIN_NUMBA=1: everything is numba.njit, and named tuples go by value.
PLAIN = os.environ.get("TAUT_PLAIN_NUMBA", "") == "1"
