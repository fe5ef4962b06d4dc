"""A model file that answers: labels, probabilities, n-best lists."""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from taut.chain.stored import as_fault_of, stored_chain
from taut.files.model_file import read_model
from taut.tagger.answers import Answers
from taut.tagger.asking import add_ends
from taut.tagger.best_labels import best_of_one


class Tagger:
    """Labels sequences with a model from a file, in any number of threads at once.

    It loads and answers at once: neither numba, scipy nor scikit-learn is imported, nothing is
    compiled, no folder is written to. The answers are those of ``predict``, label for label;
    ``labels`` has all labels, in the order of the columns of ``marginals``.

    Parameters
    ----------
    path : path
        A file written by ``taut train`` or by ``save`` of a :class:`taut.ChainSVM` or
        :class:`taut.ChainCRF`. Nothing in it is executed.

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
        self._stored, self._answers = stored, Answers(stored)
        self._ask = self._answers.ask
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
            numbers, is_tie = best_of_one(theta, self._answers.steps)
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
        named = self._named(self._answers.decode(asked).tolist())
        return [named[asked.place(i)] for i in range(len(sequences))]

    def marginals(self, items: Sequence[Any], forced: Sequence[Any] | None = None) -> np.ndarray:
        """(positions, labels) probability of every label at every position, of a CRF."""
        self._check_probabilities("marginals")
        if not len(items):
            return np.zeros((0, len(self.labels)))
        asked = self._ask([items], None if forced is None else [forced])
        return self._answers.sums(asked, 0)[0]

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
        labels, probabilities = self._answers.n_best(asked, 0, int(k))
        return [
            (self._named(found), p)
            for found, p in zip(labels.tolist(), probabilities.tolist(), strict=True)
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
        return float(np.exp(self._answers.log_probability(asked, 0, numbers)))

    def __repr__(self) -> str:
        kind = "CRF" if self._stored.temperature > 0.0 else "SVM"
        return (
            f"<Tagger: {kind} with {len(self.labels)} labels, {self._stored.n_features} features>"
        )

    def _named(self, numbers: list[int]) -> Any:
        if self._stored.labels.as_arrays:
            return self._stored.labels.classes[numbers]
        labels = self.labels
        return [labels[k] for k in numbers]

    def _check_probabilities(self, what: str) -> None:
        if not self._stored.temperature > 0.0:
            raise ValueError(
                f"the model is an SVM, which has scores and no {what}; train a CRF: "
                "taut train --crf, or taut.ChainCRF"
            )
