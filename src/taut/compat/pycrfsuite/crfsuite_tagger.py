"""CRFsuite's tagger: a model file is opened, a sequence set, and asked about."""

import os
import sys
import tempfile
import warnings
from collections.abc import Iterable, Sequence
from contextlib import closing
from typing import Any, Self, TextIO

import numpy as np

from taut import __version__
from taut.chain.stored import as_fault_of, stored_chain
from taut.compat.crfsuite_file import is_crfsuite, read_crfsuite
from taut.compat.crfsuite_stored import stored_crfsuite
from taut.compat.pycrfsuite.item_sequence import ItemSequence
from taut.files.model_file import read_model
from taut.tagger.answers import Answers
from taut.tagger.asking import Asked, add_ends
from taut.tagger.best_labels import best_of_one
from taut.text.attributes import AttributeEncoder


class ParsedDump:
    """What is in a model: ``transitions`` {(label, next): weight}, ``state_features`` {(attribute,
    label): weight}, ``labels`` and ``attributes`` {name: number}, and the file's ``header``."""

    def __init__(self) -> None:
        self.header: dict[str, str] = {}
        self.labels: dict[str, str] = {}
        self.attributes: dict[str, str] = {}
        self.transitions: dict[tuple[str, str], float] = {}
        self.state_features: dict[tuple[str, str], float] = {}


class Tagger:
    """Labels sequences by a model of taut's, or of CRFsuite's.

    Of a model trained by "ap", "pa" or "arow" ``marginal`` and ``probability`` are what CRFsuite
    gives, the exponentials of scores made to sum to one; a warning says so.
    """

    def __init__(self) -> None:
        self._answers: Answers | None = None
        self._size, self._is_crfsuite, self._is_plain = 0, False, False
        self._items: Sequence[Any] | None = None
        self._asked: Asked | None = None  # about them, when it is needed
        self._marginals: np.ndarray | None = None

    # --- a model ----------------------------------------------------------------------------------

    def open(self, name: str | os.PathLike[str]) -> "closing[Self]":
        """Open a model file; to be used in a ``with`` statement, or with ``close``."""
        with open(name, "rb") as file:
            beginning = file.read(4)
        if is_crfsuite(beginning):
            stored = stored_crfsuite(read_crfsuite(name), os.fspath(name))
        else:
            found = read_model(name)
            with as_fault_of(name):
                stored = stored_chain(found)
        fits = all(isinstance(label, str) for label in stored.labels.classes.tolist())
        if not isinstance(stored.encoder, AttributeEncoder) or not fits:
            raise ValueError(
                f"{os.fspath(name)}: it is no model of named attributes and text labels; use "
                "taut.load"
            )
        self.close()
        self._answers, self._size = Answers(stored), os.path.getsize(name)
        self._is_plain = stored.decoding == "viterbi" and not self._answers.ask.closed.size
        self._is_crfsuite = is_crfsuite(beginning)
        return closing(self)

    def open_inmemory(self, value: bytes) -> "closing[Self]":
        """The same for the bytes of a model file."""
        with tempfile.TemporaryDirectory(prefix="taut-") as folder:
            path = os.path.join(folder, "model in memory")
            with open(path, "wb") as file:
                file.write(value)
            return self.open(path)

    def close(self) -> None:
        self._answers = self._items = self._asked = self._marginals = None

    def _opened(self, error: type[Exception] = ValueError) -> Answers:
        if self._answers is None:
            raise error("The tagger is not opened; call open() first")
        return self._answers

    def labels(self) -> list[str]:
        return list(self._opened().ask.labels)

    # --- a sequence -------------------------------------------------------------------------------

    def set(self, xseq: Iterable[Any]) -> None:
        """The sequence that ``tag``, ``probability`` and ``marginal`` are about."""
        self._keep(xseq)
        self._current()

    def _keep(self, xseq: Iterable[Any]) -> Sequence[Any]:
        self._opened()
        if isinstance(xseq, ItemSequence):
            xseq = xseq.summed()
        elif isinstance(xseq, str | bytes):
            raise ValueError(f"{xseq!r} is no sequence of items; give a list of dicts or lists")
        self._items = items = xseq if type(xseq) is list else list(xseq)
        self._asked = self._marginals = None
        return items

    def tag(self, xseq: Iterable[Any] | None = None) -> list[str]:
        """The best labelling of this sequence, or of the one that was set."""
        if xseq is not None:
            items = self._keep(xseq)
            answers = self._opened()
            ask = answers.ask
            if items and ask.items and self._is_plain:  # what is done most often
                theta = ask.weights.scores(ask.items.read([items]))
                add_ends(ask.weights, theta, 0, -1)
                numbers, is_tie = best_of_one(theta, answers.steps)
                if not is_tie:
                    names = ask.labels
                    return [names[k] for k in numbers]
        answers, asked = self._opened(), self._current()
        if not len(asked.theta):
            return []
        return [answers.ask.labels[k] for k in answers.decode(asked).tolist()]

    def probability(self, yseq: Sequence[str]) -> float:
        """How probable this labelling of the sequence is."""
        answers, asked = self._with_probabilities(), self._current()
        if len(yseq) != len(asked.theta):
            raise ValueError(
                f"The numbers of items and labels differ: |x| = {len(asked.theta)}, "
                f"|y| = {len(yseq)}"
            )
        numbers = np.array([self._number(label) for label in yseq], np.int64)
        return float(np.exp(answers.log_probability(asked, 0, numbers))) if len(numbers) else 1.0

    def marginal(self, y: str, pos: int) -> float:
        """How probable the label ``y`` is at this position of the sequence."""
        number, asked = self._number(y), self._current()
        if not 0 <= pos < len(asked.theta):
            raise ValueError(f"pos={pos}; the sequence has {len(asked.theta)} items, from 0 on")
        if self._marginals is None:
            self._marginals = self._with_probabilities().sums(asked, 0)[0]
        return float(self._marginals[pos, number])

    def _current(self) -> Asked:
        if self._asked is None:
            answers = self._opened()
            if self._items is None:
                raise ValueError("there is no sequence yet; call set() or tag() with one")
            self._asked = answers.ask([self._items], None)
        return self._asked

    def _number(self, label: str) -> int:
        number = self._opened().stored.labels.number
        if label not in number:
            raise RuntimeError(
                f"Failed to convert into label identifier: {label}; there are {', '.join(number)}"
            )
        return number[label]

    def _with_probabilities(self) -> Answers:
        answers = self._opened()
        if answers.stored.temperature > 0.0:
            return answers
        warnings.warn(
            "the model was trained for margins (ap, pa or arow), and these numbers are no "
            'probabilities; train with "lbfgs" for such',
            UserWarning,
            stacklevel=3,
        )
        return Answers(answers.stored._replace(temperature=1.0))

    # --- what is in the model ---------------------------------------------------------------------

    def info(self) -> ParsedDump:
        """Labels, attributes and weights that are not zero."""
        answers, found = self._opened(RuntimeError), ParsedDump()
        labels, weights = answers.ask.labels, answers.ask.weights
        assert answers.stored.encoder is not None
        names = list(answers.stored.encoder.names())
        found.labels = {label: str(k) for k, label in enumerate(labels)}
        found.attributes = {name: str(k) for k, name in enumerate(names)}
        attribute = np.repeat(np.arange(len(names)), np.diff(weights.begin))
        for f, k, value in zip(
            attribute.tolist(), weights.label.tolist(), weights.value.tolist(), strict=True
        ):
            if value != 0.0:
                found.state_features[names[f], labels[k]] = value
        steps = answers.ask.tables.shared
        for before, after in np.argwhere(steps).tolist():
            found.transitions[labels[before], labels[after]] = float(steps[before, after])
        found.header = {
            "magic": "lCRF" if self._is_crfsuite else "taut",
            "size": str(self._size),
            "type": "FOMC" if self._is_crfsuite else "chain",
            "version": "100" if self._is_crfsuite else __version__,
            "num_features": str(len(found.state_features) + len(found.transitions)),
            "num_labels": str(len(labels)),
            "num_attrs": str(len(names)),
        }
        return found

    def dump(self, filename: str | os.PathLike[str] | None = None) -> None:
        """Write what ``info`` has as text, by default to standard output."""
        found = self.info()
        if filename is None:
            _write(found, sys.stdout)
            return
        with open(filename, "w", encoding="utf-8") as file:
            _write(found, file)


def _write(found: ParsedDump, file: TextIO) -> None:
    for title, lines in (
        ("FILEHEADER", [f"  {name}: {value}" for name, value in found.header.items()]),
        ("LABELS", [f"  {number:>5}: {name}" for name, number in found.labels.items()]),
        ("ATTRIBUTES", [f"  {number:>5}: {name}" for name, number in found.attributes.items()]),
        ("TRANSITIONS", _weights(1, found.transitions)),
        ("STATE_FEATURES", _weights(0, found.state_features)),
    ):
        file.write("\n".join([f"{title} = {{", *lines, "}", "", ""]))


def _weights(kind: int, weights: dict[tuple[str, str], float]) -> list[str]:
    return [f"  ({kind}) {a} --> {b}: {weight:f}" for (a, b), weight in weights.items()]
