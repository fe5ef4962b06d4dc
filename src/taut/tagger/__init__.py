"""Trained chains at work: quick to load, quick to answer, and nothing needed but NumPy."""

from taut.tagger.tagger import Tagger as Tagger
