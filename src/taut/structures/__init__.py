"""Structures: an output space and a feature map, as flat arrays a solver can walk."""

from taut.structures.chain import chain_problem
from taut.structures.multiclass import multiclass_problem
from taut.structures.pairwise import Pairwise
from taut.structures.slack_rescaled import SlackRescaled, slack_rescaled

__all__ = ["Pairwise", "SlackRescaled", "chain_problem", "multiclass_problem", "slack_rescaled"]
