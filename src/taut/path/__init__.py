"""Regularisation paths: weights for every lambda, each with a proved gap.

What is where:

    regularization              the functions to call
    task, validation, scoring   estimators and held-out data
    breakpoint, pieces          what is known at a lambda, what is proved between two
    start                       where a path begins
    walk, journey               the loop along lambda, and what goes on around it
    linear, constant, grid      kinds of paths: where to go next
    multiple                    which multiple of a dual point suits another lambda
    storage, checkpoint         weights of many breakpoints in little memory; a path in a file
    result, report, plots       what the user gets
"""

from taut.path.regularization import regularization_grid, regularization_path
from taut.path.result import RegularizationPath
from taut.path.walk import PathStatus

__all__ = ["PathStatus", "RegularizationPath", "regularization_grid", "regularization_path"]
