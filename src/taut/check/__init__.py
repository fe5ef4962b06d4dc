"""What is wrong with a problem, in words."""

from taut.check.problem import check_problem

__all__ = ["check_problem"]
