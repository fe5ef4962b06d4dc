"""The problems of the figures by name, and what stands in for them with ``--quick``."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from papers.shared.paper import Settings
from papers.yu.alignment import Matching, Sentence, hansards, made_up_sentences
from papers.yu.segmentation import cut_problem, grids, horses, rescaled_forests
from taut import PythonProblem
from taut.datasets import make_digit_words
from taut.structures import chain_problem, slack_rescaled

SEGMENTATION, ALIGNMENT = "horses", "word alignment"
TRAINING = 200  # sentence pairs
SOME = 60  # images, and words, under slack rescaling


def problem_of(data: str, settings: Settings) -> Any:
    if data == ALIGNMENT:
        return alignment_problem(split(settings, 0)[0])
    if data == SEGMENTATION and not settings.quick:
        return cut_problem(*horses(settings.data_home))
    return cut_problem(*(grids(12, 5) if settings.quick else grids(60, 8)))


def rescaled_problem(data: str, settings: Settings) -> Any:
    if data == "digit words":
        X, y = make_digit_words(10 if settings.quick else SOME)
        lengths = np.array([len(word) for word in y])
        return slack_rescaled(chain_problem(np.concatenate(X), lengths, np.concatenate(y), 10))
    graphs, labels = grids(10, 4) if settings.quick else horses(settings.data_home)
    return rescaled_forests(graphs[:SOME], labels[:SOME])


def alignment_problem(sentences: Sequence[Sentence]) -> PythonProblem:
    return PythonProblem(Matching(), [s.features for s in sentences], [s.truth for s in sentences])


def split(settings: Settings, seed: int) -> tuple[list[Sentence], list[Sentence], list[Sentence]]:
    """(training, held out, trial): the customary first 200 pairs at seed 0, else any 200."""
    if settings.quick:
        training, held_out, trial = (made_up_sentences(12, 10 * seed + k) for k in range(3))
        return training, held_out, trial
    test, trial = hansards(settings.data_home)
    order = np.random.default_rng(seed).permutation(len(test)) if seed else np.arange(len(test))
    training, held_out = ([test[i] for i in part] for part in np.split(order, [TRAINING]))
    return training, held_out, trial
