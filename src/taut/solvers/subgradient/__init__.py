"""Subgradient methods: the classic baseline, with a certificate."""

from taut.solvers.subgradient.options import StepRule, Subgradient

__all__ = ["StepRule", "Subgradient"]
