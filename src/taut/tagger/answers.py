"""What a model answers: the best labels, probabilities, n-best lists, by NumPy alone."""

from functools import cached_property
from types import SimpleNamespace

import numpy as np

from taut.chain.stored import StoredChain
from taut.constraints import ImpossibleConstraint, impossible
from taut.tagger.asking import Asked, Asking
from taut.tagger.best_labellings import n_best
from taut.tagger.best_labels import Steps, best_labels, steps_of
from taut.tagger.chain_marginals import Sums, marginals, marginals_by_step, sums_of
from taut.tagger.ties import viterbi


class Answers:
    """Of sequences as :class:`taut.tagger.asking.Asking` reads them; labels are numbers."""

    def __init__(self, stored: StoredChain):
        self.stored, self.ask = stored, Asking(stored)

    @cached_property
    def steps(self) -> Steps:
        return steps_of(self.ask.pair)

    @cached_property
    def _step_sums(self) -> Sums:
        return sums_of(self.ask.pair / self.stored.temperature)

    def decode(self, asked: Asked) -> np.ndarray:
        """Label numbers of all positions."""
        if self.stored.decoding == "posterior":
            return self._by_marginals(asked)
        sequences = range(len(asked.lengths))
        if asked.has_own_steps:
            numbers, ties = np.zeros(len(asked.theta), np.int64), list(sequences)
        else:
            numbers, ties = best_labels(asked.theta, asked.lengths, self.steps)
        for i in ties:
            if asked.lengths[i]:
                theta = self.ask.exact_theta(asked, i)
                numbers[asked.place(i)] = viterbi(theta, asked.pair_of(i))
        if self.ask.closed.size or asked.forced is not None:
            for i in sequences:
                if asked.score(i, numbers[asked.place(i)]) == -np.inf:
                    raise self._impossible(asked, i)
        return numbers

    def _by_marginals(self, asked: Asked) -> np.ndarray:
        """Labels that are expected to be right most often, as in :mod:`taut.posterior`."""
        numbers, closed = np.zeros(len(asked.theta), np.int64), self.ask.closed
        for i in np.flatnonzero(asked.lengths).tolist():
            node = self.sums(asked, i)[0]
            if closed.size:
                node[node <= 0.0] = -np.inf
                node[0] += closed[-2]
                node[-1] += closed[-1]
                numbers[asked.place(i)] = viterbi(node, closed[None, :-2])
            else:
                numbers[asked.place(i)] = node.argmax(axis=1)
        return numbers

    def sums(self, asked: Asked, i: int) -> tuple[np.ndarray, float]:
        """Marginals and log Z of one sequence."""
        node, log_z = self._sums(asked, i)
        if not np.isfinite(log_z):
            raise self._impossible(asked, i)
        return node, log_z

    def log_sum(self, asked: Asked, i: int) -> float:
        """log Z of one sequence, minus infinity where no labelling is left."""
        log_z = self._sums(asked, i)[1]
        return log_z if np.isfinite(log_z) else -np.inf

    def _sums(self, asked: Asked, i: int) -> tuple[np.ndarray, float]:
        theta = asked.theta[asked.place(i)] / self.stored.temperature
        with np.errstate(all="ignore"):
            if asked.has_own_steps:
                return marginals_by_step(theta, asked.pair_of(i) / self.stored.temperature)
            return marginals(theta, self._step_sums)

    def n_best(self, asked: Asked, i: int, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Up to k labellings of a sequence that was asked about exactly, and probabilities."""
        log_z, t = self.sums(asked, i)[1], self.stored.temperature
        theta = asked.theta[asked.place(i)]
        labels, values = n_best(theta / t, asked.pair_of(i) / t, k)
        return labels, np.exp(np.minimum(values - log_z, 0.0))

    def log_probability(self, asked: Asked, i: int, numbers: np.ndarray) -> float:
        score = asked.score(i, numbers) / self.stored.temperature
        return min(score - self.sums(asked, i)[1], 0.0)

    def _impossible(self, asked: Asked, i: int) -> ImpossibleConstraint:
        """The error that names the first position at which no label is left."""
        n = int(asked.lengths[i])
        problem = SimpleNamespace(
            n_states=len(self.ask.labels),
            pointer=np.array([0, n]),
            forced=np.full(n, -1) if asked.forced is None else asked.forced[asked.place(i)],
            closed=self.ask.closed,
        )
        error = impossible(problem, 0)
        return ImpossibleConstraint(i, error.position, error.forced, error.before, self.ask.labels)
