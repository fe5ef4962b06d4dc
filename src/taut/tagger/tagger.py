"""A model file that answers: labels, probabilities, n-best lists."""

import os
from collections.abc import Sequence
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np

from taut.chain.stored import as_fault_of, stored_chain
from taut.constraints import closed_table, impossible
from taut.files.model_file import read_model
from taut.tagger.items import ItemReader, Numbered
from taut.tagger.nbest import n_best
from taut.tagger.search import best_labels, best_of_one, steps_of
from taut.tagger.sums import marginals, marginals_by_step, sums_of
from taut.tagger.ties import exact_scores, viterbi
from taut.tagger.weights import step_tables_of, weights_of
from taut.text.attribute_matrix import AttributeRows
from taut.text.columns import Columns
from taut.text.extract import TemplateEncoder
from taut.text.schemes import transitions


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
            self._weights, self._tables = weights_of(stored), step_tables_of(stored)
        self._stored = stored
        self.labels: list[Any] = stored.labels.classes.tolist()
        encoder = stored.encoder
        self._template = encoder if isinstance(encoder, TemplateEncoder) else None
        self._items = None
        if encoder is not None and self._template is None:
            self._items = ItemReader(encoder.names())
        self._closed = np.zeros((0, len(self.labels)))
        if stored.scheme is not None:
            self._closed = closed_table(transitions(self.labels, stored.scheme), len(self.labels))
        # No constraints, no probabilities: what most models are, and what is done most often.
        self._is_plain = (
            self._items is not None and not self._closed.size and stored.decoding == "viterbi"
        )
        if stored.n_step_features:
            raise NotImplementedError(
                f"{os.fspath(path)}: the model has features of steps given as matrices, which a "
                "Tagger does not take; use taut.load(path).predict"
            )

    def tag(self, items: Sequence[Any], forced: Sequence[Any] | None = None) -> list[Any]:
        """The labels of one sequence.

        ``items`` are its tokens, as the model was trained with: dicts or lists of attributes,
        words or rows of columns where it has a template, rows of numbers where it has matrices.
        ``forced`` holds labels that positions must have, None where any will do.
        """
        if self._is_plain and forced is None and len(items):
            theta = self._weights.scores(self._items.read(items))
            theta += self._weights.at_all
            theta[0] += self._weights.at_first
            theta[-1] += self._weights.at_last
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
        asked = self._asked(sequences, forced)
        numbers = self._decoded(asked)
        named = self._named(numbers.tolist())
        if len(sequences) == 1:
            return [named]
        ends = np.cumsum(asked.lengths).tolist()
        return [named[a:b] for a, b in zip([0, *ends], ends, strict=False)]

    def marginals(self, items: Sequence[Any], forced: Sequence[Any] | None = None) -> np.ndarray:
        """(positions, labels) probability of every label at every position, of a CRF."""
        self._check_probabilities("marginals")
        asked = self._asked([items], None if forced is None else [forced])
        if not asked.lengths[0]:
            return np.zeros((0, len(self.labels)))
        return self._sums(asked.theta, asked.pair, 0)[0]

    def nbest(
        self, items: Sequence[Any], k: int, forced: Sequence[Any] | None = None
    ) -> list[tuple[list[Any], float]]:
        """The k most probable labellings with their probabilities, of a CRF; the best first."""
        self._check_probabilities("n-best lists")
        if not (isinstance(k, int | np.integer) and k >= 1):
            raise ValueError(f"k={k!r}; expected the number of labellings wanted, at least 1")
        asked = self._asked([items], None if forced is None else [forced], exact=True)
        if not asked.lengths[0]:
            return [([], 1.0)]
        log_z = self._sums(asked.theta, asked.pair, 0)[1]
        t = self._stored.temperature
        labels, values = n_best(asked.theta / t, asked.pair / t, int(k))
        probabilities = np.exp(np.minimum(values - log_z, 0.0)).tolist()
        return [
            ([self.labels[k] for k in found], p)
            for found, p in zip(labels.tolist(), probabilities, strict=True)
        ]

    def probability(self, items: Sequence[Any], labels: Sequence[Any]) -> float:
        """The probability of a labelling, of a CRF."""
        self._check_probabilities("probabilities")
        if len(labels) != len(items):
            raise ValueError(f"there are {len(labels)} labels for {len(items)} positions")
        asked = self._asked([items], None)
        if not len(labels):
            return 1.0
        y = self._numbers([labels], asked.lengths, "labels")
        positions = np.arange(len(y))
        score = asked.theta[positions, y].sum()
        score += asked.pair[positions[:-1] if len(asked.pair) > 1 else 0, y[:-1], y[1:]].sum()
        log_z = self._sums(asked.theta, asked.pair, 0)[1]
        return float(np.exp(min(score / self._stored.temperature - log_z, 0.0)))

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

    # --- scores -----------------------------------------------------------------------------------

    def _asked(
        self, sequences: Sequence[Any], forced: Sequence[Any] | None, exact: bool = False
    ) -> SimpleNamespace:
        """Scores of the labels of all positions and of their steps, constraints included."""
        read, lengths, steps = self._read(sequences)
        if isinstance(read, np.ndarray):
            theta = read @ self._stored.node_weights
        elif exact:
            theta = exact_scores(self._weights, self._rows_of(read))
        else:
            theta = self._weights.scores(read)
        ends = lengths.cumsum()
        some = lengths > 0
        last, first = ends[some] - 1, (ends - lengths)[some]
        theta += self._weights.at_all
        theta[first] += self._weights.at_first
        theta[last] += self._weights.at_last
        numbers = None if forced is None else self._numbers(forced, lengths, "forced")
        pair = self._pair(steps)
        if self._closed.size:
            K = len(self.labels)
            theta[first] += self._closed[K]
            theta[last] += self._closed[K + 1]
            pair = pair + self._closed[:K]
        if numbers is not None:
            held = np.flatnonzero(numbers >= 0)
            kept = theta[held, numbers[held]]
            theta[held] = -np.inf
            theta[held, numbers[held]] = kept
        return SimpleNamespace(
            theta=theta, pair=pair, lengths=lengths, forced=numbers, read=read, ends=ends
        )

    def _read(self, sequences: Sequence[Any]) -> tuple[Any, np.ndarray, Numbered | None]:
        """Attributes of all positions (or rows of numbers), lengths, attributes of steps."""
        lengths = np.fromiter(map(len, sequences), np.int64, len(sequences))
        if self._items is not None:
            if len(sequences) == 1:
                return self._items.read(sequences[0]), lengths, None
            return _joined([self._items.read(x) for x in sequences]), lengths, None
        if self._template is None:
            return self._rows(sequences), lengths, None
        text = Columns.from_sentences(sequences, "items")
        steps = self._template.steps
        of_steps = None if steps is None else _numbered(steps.rows(text))
        return _numbered(self._template.rows(text)), lengths, of_steps

    def _rows(self, sequences: Sequence[Any]) -> Any:
        parts = [x.toarray() if hasattr(x, "toarray") else np.asarray(x) for x in sequences]
        n_features = self._stored.n_features
        for part in parts:
            if part.ndim != 2 or part.shape[1] != n_features or part.dtype.kind not in "fiub":
                raise ValueError(
                    f"items have shape {part.shape} and type {part.dtype}; the model was fitted "
                    f"with rows of {n_features} numbers"
                )
        rows = np.concatenate(parts).astype(np.float64)
        if not np.isfinite(rows).all():
            raise ValueError("items hold a number that is not finite; replace or leave it out")
        if self._stored.is_dense:
            return rows
        token, attribute = rows.nonzero()
        counts = np.bincount(token, minlength=len(rows))
        return Numbered(counts, attribute.astype(np.int32), rows[token, attribute])

    def _pair(self, steps: Numbered | None) -> np.ndarray:
        """(1, K, K), or a table for each step, where they have attributes of their own."""
        tables = self._tables
        if steps is None:
            return tables.shared[None]
        K = len(self.labels)
        pair = np.repeat(tables.shared[None], len(steps.counts), axis=0)
        flat = pair.reshape(len(pair), K * K)
        attribute = 0
        for t, count in enumerate(steps.counts.tolist()):
            for a in steps.ids[attribute : attribute + count].tolist():
                own = slice(tables.attribute_begin[a], tables.attribute_begin[a + 1])
                flat[t, tables.attribute_pair[own]] += tables.attribute_value[own]
            attribute += count
        return pair  # row t is of the step that leads to t

    def _rows_of(self, read: Numbered) -> AttributeRows:
        data = np.ones(len(read.ids)) if read.data is None else read.data
        indptr = np.concatenate([[0], read.counts.cumsum()])
        return AttributeRows(indptr, read.ids, data, self._stored.n_features, False)

    def _numbers(self, labels: Sequence[Any], lengths: np.ndarray, name: str) -> np.ndarray:
        """Label numbers of all positions, -1 where a label is None."""
        if len(labels) != len(lengths):
            raise ValueError(f"{name} has {len(labels)} sequences; expected {len(lengths)}")
        found = np.full(int(lengths.sum()), -1)
        at = 0
        for part, length in zip(labels, lengths.tolist(), strict=True):
            if part is not None and len(part) != length:
                raise ValueError(f"{name} has {len(part)} labels for {length} positions")
            for t, label in enumerate(part if part is not None else ()):
                if label is not None:
                    number = self._stored.labels.number.get(label)
                    if number is None:
                        raise ValueError(
                            f"{name}[{t}] is {label!r}, which is not one of the labels "
                            f"{self.labels}"
                        )
                    found[at + t] = number
            at += length
        return found

    # --- answers ----------------------------------------------------------------------------------

    @cached_property
    def _steps(self) -> Any:
        pair = self._tables.shared
        return steps_of(pair + self._closed[: len(pair)] if self._closed.size else pair)

    @cached_property
    def _step_sums(self) -> Any:
        return sums_of(self._steps.onward / self._stored.temperature)

    def _decoded(self, asked: SimpleNamespace) -> np.ndarray:
        theta = asked.theta
        if not len(theta):
            return np.zeros(0, np.int64)
        if self._stored.decoding == "posterior":
            return self._by_marginals(asked)
        if len(asked.pair) > 1 or (self._template is not None and self._template.steps is not None):
            numbers, ties = np.zeros(len(theta), np.int64), list(range(len(asked.lengths)))
        else:
            numbers, ties = best_labels(theta, asked.lengths, self._steps)
        for i in ties:
            if asked.lengths[i]:
                part = slice(asked.ends[i] - asked.lengths[i], asked.ends[i])
                numbers[part] = self._settled(asked, part)
        if self._closed.size or asked.forced is not None:
            self._check_possible(asked, numbers)
        return numbers

    def _settled(self, asked: SimpleNamespace, part: slice) -> np.ndarray:
        """The labels of one sequence, ties decided as compiled code decides them."""
        theta = asked.theta[part]
        if isinstance(asked.read, Numbered):
            rows = self._rows_of(asked.read)
            entries = slice(rows.indptr[part.start], rows.indptr[part.stop])
            of_part = AttributeRows(
                rows.indptr[part.start : part.stop + 1] - rows.indptr[part.start],
                rows.indices[entries],
                rows.data[entries],
                rows.n_attributes,
                False,
            )
            exact = exact_scores(self._weights, of_part)
            exact += self._weights.at_all
            exact[0] += self._weights.at_first
            exact[-1] += self._weights.at_last
            theta = np.where(np.isneginf(theta), theta, exact)
        pair = asked.pair if len(asked.pair) == 1 else asked.pair[part.start + 1 : part.stop]
        return viterbi(theta, pair)

    def _by_marginals(self, asked: SimpleNamespace) -> np.ndarray:
        """Labels that are expected to be right most often, as in :mod:`taut.posterior`."""
        node = np.concatenate(
            [self._sums(asked.theta[a:b], asked.pair, a, i)[0]
             for i, (a, b) in enumerate(zip(asked.ends - asked.lengths, asked.ends, strict=True))
             if b > a]
        )  # fmt: skip
        if not self._closed.size:
            return node.argmax(axis=1)
        K, found = len(self.labels), []
        for a, b in zip(asked.ends - asked.lengths, asked.ends, strict=True):
            if b > a:
                theta = np.where(node[a:b] > 0.0, node[a:b], -np.inf)
                theta[0] += self._closed[K]
                theta[-1] += self._closed[K + 1]
                found.append(viterbi(theta, self._closed[None, :K]))
        return np.concatenate(found)

    def _sums(
        self, theta: np.ndarray, pair: np.ndarray, first: int, i: int = 0
    ) -> tuple[np.ndarray, float]:
        """Marginals and log Z of one sequence, which begins at ``first``."""
        scaled = theta / self._stored.temperature
        with np.errstate(all="ignore"):
            if len(pair) == 1 and (self._template is None or self._template.steps is None):
                node, log_z = marginals(scaled, self._step_sums)
            else:
                own = pair[first + 1 : first + len(theta)]
                node, log_z = marginals_by_step(scaled, own / self._stored.temperature)
        if not np.isfinite(log_z):
            raise self._impossible(theta, None, i)
        return node, log_z

    def _check_possible(self, asked: SimpleNamespace, numbers: np.ndarray) -> None:
        positions = np.arange(len(numbers))
        scores = asked.theta[positions, numbers].copy()
        steps = asked.pair[positions[1:] if len(asked.pair) > 1 else 0, numbers[:-1], numbers[1:]]
        starts = asked.ends[:-1][asked.ends[:-1] < len(numbers)]
        steps = steps.copy()
        steps[starts[starts > 0] - 1] = 0.0
        scores[1:] += steps
        wrong = np.flatnonzero(np.isneginf(scores))
        if wrong.size:
            i = int(asked.ends.searchsorted(wrong[0], "right"))
            part = slice(asked.ends[i] - asked.lengths[i], asked.ends[i])
            raise self._impossible(
                asked.theta[part], None if asked.forced is None else asked.forced[part], i
            )

    def _impossible(self, theta: np.ndarray, forced: np.ndarray | None, i: int) -> Exception:
        """The error that names the first position at which no label is left."""
        if forced is None:
            allowed = np.isfinite(theta)
            forced = np.where(allowed.sum(axis=1) == 1, allowed.argmax(axis=1), -1)
        problem = SimpleNamespace(
            n_states=len(self.labels),
            pointer=np.array([0, len(theta)]),
            forced=forced,
            closed=self._closed,
        )
        error = impossible(problem, 0)
        error.example = i
        return error.with_names(self.labels)

    def _check_probabilities(self, what: str) -> None:
        if not self._stored.temperature > 0.0:
            raise ValueError(
                f"the model is an SVM, which has scores and no {what}; train a CRF: "
                "taut train --crf, or taut.ChainCRF"
            )


def _joined(parts: list[Numbered]) -> Numbered:
    data = None
    if any(part.data is not None for part in parts):
        data = np.concatenate(
            [np.ones(len(part.ids)) if part.data is None else part.data for part in parts]
        )
    return Numbered(
        np.concatenate([part.counts for part in parts]),
        np.concatenate([part.ids for part in parts]),
        data,
    )


def _numbered(rows: AttributeRows) -> Numbered:
    data = None if (rows.data == 1.0).all() else rows.data
    return Numbered(np.diff(rows.indptr), rows.indices, data)
