"""CRFsuite's tagger: a model file is opened, a sequence set, and asked about."""

import os
import sys
import tempfile
import warnings
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any, Self, TextIO

import numpy as np
from scipy import sparse

from taut import __version__
from taut.chain.chain_posterior import log_likelihoods, node_marginals
from taut.chain.encoding import rows_of
from taut.chain.file import load_chain
from taut.chain.model import ChainModel
from taut.compat.crfsuite_file import is_crfsuite
from taut.compat.foreign_model import read_foreign
from taut.compat.pycrfsuite.item_sequence import ItemSequence, numbered
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
        self._model: ChainModel | None = None
        self._size, self._is_crfsuite = 0, False
        self._items: ItemSequence | None = None
        self._marginals: np.ndarray | None = None

    # --- a model ----------------------------------------------------------------------------------

    def open(self, name: str | os.PathLike[str]) -> "closing[Self]":
        """Open a model file; to be used in a ``with`` statement, or with ``close``."""
        with open(name, "rb") as file:
            beginning = file.read(4)
        if is_crfsuite(beginning):
            model = read_foreign(name).model
        else:
            model, _ = load_chain(name)
        labels = model.labels.classes.tolist()
        fits = all(isinstance(label, str) for label in labels)
        if not isinstance(model.encoder, AttributeEncoder) or not fits:
            raise ValueError(
                f"{os.fspath(name)}: it is no model of named attributes and text labels; use "
                "taut.load"
            )
        self.close()
        self._model, self._size = model, os.path.getsize(name)
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
        self._model = self._items = self._marginals = None

    def _opened(self, error: type[Exception] = ValueError) -> ChainModel:
        if self._model is None:
            raise error("The tagger is not opened; call open() first")
        return self._model

    def labels(self) -> list[str]:
        return self._opened().labels.classes.tolist()

    # --- a sequence -------------------------------------------------------------------------------

    def set(self, xseq: Iterable[Any]) -> None:
        """The sequence that ``tag``, ``probability`` and ``marginal`` are about."""
        self._opened()
        self._items = xseq if isinstance(xseq, ItemSequence) else ItemSequence(xseq)
        self._marginals = None

    def tag(self, xseq: Iterable[Any] | None = None) -> list[str]:
        """The best labelling of this sequence, or of the one that was set."""
        if xseq is not None:
            self.set(xseq)
        model, items = self._opened(), self._current()
        if not len(items):
            return []
        text = self._text(model, items)
        return model.labels.decode(model.decode(text), text.lengths)[0]

    def probability(self, yseq: Sequence[str]) -> float:
        """How probable this labelling of the sequence is."""
        model, items = self._with_probabilities(), self._current()
        if len(yseq) != len(items):
            raise ValueError(
                f"The numbers of items and labels differ: |x| = {len(items)}, |y| = {len(yseq)}"
            )
        numbers = np.array([self._number(label) for label in yseq], np.int32)
        if not len(items):
            return 1.0
        return float(np.exp(log_likelihoods(model, self._text(model, items), numbers)[0]))

    def marginal(self, y: str, pos: int) -> float:
        """How probable the label ``y`` is at this position of the sequence."""
        number, items = self._number(y), self._current()
        if not 0 <= pos < len(items):
            raise ValueError(f"pos={pos}; the sequence has {len(items)} items, from 0 on")
        if self._marginals is None:
            model = self._with_probabilities()
            self._marginals = node_marginals(model, self._text(model, items))
        return float(self._marginals[pos, number])

    def _current(self) -> ItemSequence:
        if self._items is None:
            raise ValueError("there is no sequence yet; call set() or tag() with one")
        return self._items

    def _number(self, label: str) -> int:
        number = self._opened().labels.number
        if label not in number:
            raise RuntimeError(
                f"Failed to convert into label identifier: {label}; there are {', '.join(number)}"
            )
        return number[label]

    def _with_probabilities(self) -> ChainModel:
        model = self._opened()
        if model.temperature > 0.0:
            return model
        warnings.warn(
            "the model was trained for margins (ap, pa or arow), and these numbers are no "
            'probabilities; train with "lbfgs" for such',
            UserWarning,
            stacklevel=3,
        )
        return replace(model, temperature=1.0)

    @staticmethod
    def _text(model: ChainModel, items: ItemSequence) -> Any:
        assert model.encoder is not None
        return rows_of(model.encoder, numbered([items]))

    # --- what is in the model ---------------------------------------------------------------------

    def info(self) -> ParsedDump:
        """Labels, attributes and weights that are not zero."""
        model, found = self._opened(RuntimeError), ParsedDump()
        labels, names = model.labels.classes.tolist(), list(model.attribute_names())
        found.labels = {label: str(k) for k, label in enumerate(labels)}
        found.attributes = {name: str(k) for k, name in enumerate(names)}
        matrix = sparse.coo_array(model.node_weights())
        for f, k, value in zip(*matrix.coords, matrix.data, strict=True):
            if value != 0.0:
                found.state_features[names[f], labels[k]] = float(value)
        steps = model.step_weights()[0]
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
