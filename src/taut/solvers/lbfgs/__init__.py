"""L-BFGS on the primal of a conditional random field, with a certificate."""

from taut.solvers.lbfgs.options import LBFGS

__all__ = ["LBFGS"]
