"""Structures: an output space and a feature map, as flat arrays a solver can walk."""

from taut.structures.chain import chain_problem
from taut.structures.multiclass import multiclass_problem
from taut.structures.pairwise import Pairwise
from taut.structures.partly_labelled import PartlyLabelled, partly_labelled
from taut.structures.slack_rescaled import SlackRescaled, slack_rescaled
from taut.structures.smoothed import Smoothed, smoothed

__all__ = [
    "Pairwise",
    "PartlyLabelled",
    "SlackRescaled",
    "Smoothed",
    "chain_problem",
    "multiclass_problem",
    "partly_labelled",
    "slack_rescaled",
    "smoothed",
]
