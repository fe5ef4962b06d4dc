"""Regularisation paths: weights for every lambda, each with a proved gap.

What is where:

    regularization      the functions to call
    task, held_out      what a path is of, and what is asked of it; held-out data
    pieces              what is known at a lambda, what is proved between two
    walk                passes and certificates along lambda
    path_kinds          kinds of paths: where to begin, where to go next
    storage             weights of many breakpoints in little memory; a path in a file
    result, display     what the user gets
"""

from taut.path.regularization import regularization_grid, regularization_path
from taut.path.result import RegularizationPath
from taut.path.walk import PathStatus

__all__ = ["PathStatus", "RegularizationPath", "regularization_grid", "regularization_path"]
