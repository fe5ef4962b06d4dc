"""A model file that answers: labels, probabilities, n-best lists."""

import os
from collections.abc import Sequence
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np

from taut.chain.stored import as_fault_of, stored_chain
from taut.constraints import ImpossibleConstraint, impossible
from taut.files.model_file import read_model
from taut.tagger.asking import Asked, Asking, add_ends
from taut.tagger.best_labellings import n_best
from taut.tagger.best_labels import Steps, best_labels, best_of_one, steps_of
from taut.tagger.chain_marginals import Sums, marginals, marginals_by_step, sums_of
from taut.tagger.ties import viterbi


class Tagger:
    """Labels sequences with a model from a file, in any number of threads at once.

    It loads and answers at once: neither numba, scipy nor scikit-learn is imported, nothing is
    compiled, no folder is written to. The answers are those of ``predict``, label for label.

    Parameters
    ----------
    path : path
        A file written by ``taut train`` or by ``save`` of a :class:`taut.ChainSVM` or
        :class:`taut.ChainCRF`. Nothing in it is executed.

    Attributes
    ----------
    labels : list
        All labels; the columns of ``marginals``.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import taut
    >>> crf = taut.ChainCRF().fit([["the", "cat"], ["a", "dog"]], [["D", "N"], ["D", "N"]])
    >>> with TemporaryDirectory() as folder:
    ...     crf.save(f"{folder}/tags.taut")
    ...     tagger = taut.Tagger(f"{folder}/tags.taut")
    >>> tagger.tag(["the", "dog"])
    ['D', 'N']
    """

    def __init__(self, path: str | os.PathLike[str]):
        file = read_model(path)
        with as_fault_of(path):
            stored = stored_chain(file)
        if stored.n_step_features:
            raise NotImplementedError(
                f"{os.fspath(path)}: the model has features of steps given as matrices, which a "
                "Tagger does not take; use taut.load(path).predict"
            )
        self._stored, self._ask = stored, Asking(stored)
        self.labels = self._ask.labels
        # No constraints, no probabilities: what most models are, and what is done most often.
        is_viterbi = stored.decoding == "viterbi"
        self._items = self._ask.items if is_viterbi and not self._ask.closed.size else None

    def tag(self, items: Sequence[Any], forced: Sequence[Any] | None = None) -> list[Any]:
        """The labels of one sequence.

        ``items`` are its tokens, as the model was trained with: dicts or lists of attributes,
        words or rows of columns where it has a template, rows of numbers where it has matrices.
        ``forced`` holds labels that positions must have, None where any will do.
        """
        if self._items is not None and forced is None and len(items) and type(items) is not str:
            theta = self._ask.weights.scores(self._items.read([items]))
            add_ends(self._ask.weights, theta, 0, -1)
            numbers, is_tie = best_of_one(theta, self._steps)
            if not is_tie:
                return self._named(numbers)
        return self.tag_many([items], None if forced is None else [forced])[0]

    def tag_many(
        self, sequences: Sequence[Sequence[Any]], forced: Sequence[Any] | None = None
    ) -> list[list[Any]]:
        """The labels of many sequences, in less time than one by one."""
        if not len(sequences):
            return []
        asked = self._ask(sequences, forced)
        named = self._named(self._decoded(asked).tolist())
        return [named[asked.place(i)] for i in range(len(sequences))]

    def marginals(self, items: Sequence[Any], forced: Sequence[Any] | None = None) -> np.ndarray:
        """(positions, labels) probability of every label at every position, of a CRF."""
        self._check_probabilities("marginals")
        if not len(items):
            return np.zeros((0, len(self.labels)))
        return self._sums(self._ask([items], None if forced is None else [forced]), 0)[0]

    def nbest(
        self, items: Sequence[Any], k: int, forced: Sequence[Any] | None = None
    ) -> list[tuple[list[Any], float]]:
        """The k most probable labellings with their probabilities, of a CRF; the best first."""
        self._check_probabilities("n-best lists")
        if not (isinstance(k, int | np.integer) and k >= 1):
            raise ValueError(f"k={k!r}; expected the number of labellings wanted, at least 1")
        if not len(items):
            return [([], 1.0)]
        asked = self._ask([items], None if forced is None else [forced], exact=True)
        log_z, t = self._sums(asked, 0)[1], self._stored.temperature
        labels, values = n_best(asked.theta / t, asked.pair_of(0) / t, int(k))
        probabilities = np.exp(np.minimum(values - log_z, 0.0)).tolist()
        return [
            (self._named(found), p) for found, p in zip(labels.tolist(), probabilities, strict=True)
        ]

    def probability(self, items: Sequence[Any], labels: Sequence[Any]) -> float:
        """The probability of a labelling, of a CRF."""
        self._check_probabilities("probabilities")
        asked = self._ask([items], None)
        numbers = self._ask.numbers([labels], asked.lengths, "labels")
        if (numbers < 0).any():
            raise ValueError(f"labels[{int(numbers.argmin())}] is None; all labels are expected")
        if not len(numbers):
            return 1.0
        score = asked.score(0, numbers) / self._stored.temperature
        return float(np.exp(min(score - self._sums(asked, 0)[1], 0.0)))

    def __repr__(self) -> str:
        kind = "CRF" if self._stored.temperature > 0.0 else "SVM"
        return (
            f"<Tagger: {kind} with {len(self.labels)} labels, {self._stored.n_features} features>"
        )

    # --- answers ----------------------------------------------------------------------------------

    @cached_property
    def _steps(self) -> Steps:
        return steps_of(self._ask.pair)

    @cached_property
    def _step_sums(self) -> Sums:
        return sums_of(self._ask.pair / self._stored.temperature)

    def _named(self, numbers: list[int]) -> Any:
        if self._stored.labels.as_arrays:
            return self._stored.labels.classes[numbers]
        labels = self.labels
        return [labels[k] for k in numbers]

    def _decoded(self, asked: Asked) -> np.ndarray:
        if self._stored.decoding == "posterior":
            return self._by_marginals(asked)
        sequences = range(len(asked.lengths))
        if asked.has_own_steps:
            numbers, ties = np.zeros(len(asked.theta), np.int64), list(sequences)
        else:
            numbers, ties = best_labels(asked.theta, asked.lengths, self._steps)
        for i in ties:
            if asked.lengths[i]:
                theta = self._ask.exact_theta(asked, i)
                numbers[asked.place(i)] = viterbi(theta, asked.pair_of(i))
        if self._ask.closed.size or asked.forced is not None:
            for i in sequences:
                if asked.score(i, numbers[asked.place(i)]) == -np.inf:
                    raise self._impossible(asked, i)
        return numbers

    def _by_marginals(self, asked: Asked) -> np.ndarray:
        """Labels that are expected to be right most often, as in :mod:`taut.posterior`."""
        numbers, closed = np.zeros(len(asked.theta), np.int64), self._ask.closed
        for i in np.flatnonzero(asked.lengths).tolist():
            node = self._sums(asked, i)[0]
            if closed.size:
                node[node <= 0.0] = -np.inf
                node[0] += closed[-2]
                node[-1] += closed[-1]
                numbers[asked.place(i)] = viterbi(node, closed[None, :-2])
            else:
                numbers[asked.place(i)] = node.argmax(axis=1)
        return numbers

    def _sums(self, asked: Asked, i: int) -> tuple[np.ndarray, float]:
        """Marginals and log Z of one sequence."""
        theta = asked.theta[asked.place(i)] / self._stored.temperature
        with np.errstate(all="ignore"):
            if asked.has_own_steps:
                node, log_z = marginals_by_step(theta, asked.pair_of(i) / self._stored.temperature)
            else:
                node, log_z = marginals(theta, self._step_sums)
        if not np.isfinite(log_z):
            raise self._impossible(asked, i)
        return node, log_z

    def _impossible(self, asked: Asked, i: int) -> ImpossibleConstraint:
        """The error that names the first position at which no label is left."""
        n = int(asked.lengths[i])
        problem = SimpleNamespace(
            n_states=len(self.labels),
            pointer=np.array([0, n]),
            forced=np.full(n, -1) if asked.forced is None else asked.forced[asked.place(i)],
            closed=self._ask.closed,
        )
        error = impossible(problem, 0)
        return ImpossibleConstraint(i, error.position, error.forced, error.before, self.labels)

    def _check_probabilities(self, what: str) -> None:
        if not self._stored.temperature > 0.0:
            raise ValueError(
                f"the model is an SVM, which has scores and no {what}; train a CRF: "
                "taut train --crf, or taut.ChainCRF"
            )
