"""Which code answers text: NumPy's where there is little of it, compiled code where there is much.

Loading a compiler takes longer than labelling a thousand sentences without one. What comes out is
the same.
"""

import sys
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np

from taut.chain.stored import StoredChain, as_fault_of, stored_chain
from taut.files.model_file import ModelFile, read_model
from taut.tagger.answers import Answers
from taut.tagger.asking import Asked
from taut.text.attributes import Attributes
from taut.text.columns import Columns

# Of 20 labels: so many tokens take NumPy about as long as it takes to load the compiled code.
MOST_TOKENS = {"labels": 100_000, "sums": 50_000, "n-best": 8_000}
FEW_LABELS = 20  # where there are more, NumPy takes longer in proportion
MOST_STEPS = 20_000_000  # scores of steps, where each token has its own

NBest = list[tuple[np.ndarray, np.ndarray]]


class Answered(Protocol):
    """What is to be known of some text; label numbers stand for labels."""

    def decode(self) -> np.ndarray: ...

    def marginals(self) -> np.ndarray:
        """(positions, labels)"""

    def log_likelihoods(self, numbers: np.ndarray) -> np.ndarray:
        """Of these labellings, where -1 stands for any label."""

    def n_best(self, count: int) -> NBest:
        """Of each sequence labellings and their probabilities."""


class Answering:
    """A model of a file, ready to answer text."""

    def __init__(self, path: str):
        self.path = path
        self.file: ModelFile = read_model(path)
        with as_fault_of(path):
            self.stored: StoredChain = stored_chain(self.file)
        self.names = list(map(str, self.stored.labels.classes.tolist()))
        self._answers: Answers | None = None
        self._load: Any = None
        self._n_tokens = 0

    def ask(
        self,
        text: Columns | Attributes,
        forced: np.ndarray | None = None,
        *,
        what: str = "labels",
        n_threads: int = 1,
    ) -> Answered:
        """``what`` is the most that will be asked: a key of MOST_TOKENS."""
        self._n_tokens += int(text.lengths.sum())
        if self._load is None and self._is_much(what):
            from taut.cli.compiled_answers import loaded

            self._load = loaded(self.file, self.path, self.stored.decoding)
        if self._load is not None:
            return self._load(text, forced, n_threads)
        if self._answers is None:
            self._answers = Answers(self.stored)
        return _ByNumPy(self._answers, text, forced)

    def _is_much(self, what: str) -> bool:
        if sys.modules.get("numba") is not None:  # then nothing has to be loaded
            return True
        if find_spec("numba") is None:  # NumPy is all there is
            return False
        if what == "labels" and self.stored.decoding == "posterior":
            what = "sums"
        n_labels = len(self.names)
        has_own_steps = self.stored.pairs is not None and len(self.stored.pairs.counts)
        if has_own_steps and self._n_tokens * n_labels**2 > MOST_STEPS:
            return True
        return self._n_tokens * max(n_labels / FEW_LABELS, 1.0) > MOST_TOKENS[what]


class _ByNumPy:
    def __init__(self, answers: Answers, text: Any, forced: np.ndarray | None):
        self.answers, self.text, self.forced = answers, text, forced
        self.asked: Asked = answers.ask.of_text(text, forced)

    def decode(self) -> np.ndarray:
        return self.answers.decode(self.asked)

    def marginals(self) -> np.ndarray:
        found = [self.answers.sums(self.asked, i)[0] for i in self._filled(self.asked)]
        return np.concatenate([np.zeros((0, self.asked.theta.shape[1])), *found])

    def log_likelihoods(self, numbers: np.ndarray) -> np.ndarray:
        answers, under = self.answers, self.answers.ask.of_text(self.text, numbers)
        found = np.zeros(len(under.lengths))
        for i in self._filled(under):
            all_of_them = answers.sums(self.asked, i)[1]
            found[i] = answers.log_sum(under, i) - all_of_them
        return found

    def n_best(self, count: int) -> NBest:
        exact = self.answers.ask.of_text(self.text, self.forced, exact=True)
        return [self.answers.n_best(exact, i, count) for i in self._filled(exact)]

    @staticmethod
    def _filled(asked: Asked) -> list[int]:
        """Sequences that are not empty, which files do not have."""
        return np.flatnonzero(asked.lengths).tolist()
