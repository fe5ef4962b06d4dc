"""A trained chain: all that prediction needs, and nothing of the training data.

The estimator and the command line both end up here; the command line gets by without
scikit-learn, whose import would take longer than tagging a thousand sentences.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from taut import defaults
from taut.chain.packed_encoder import Encoder as Encoder
from taut.constraints import ImpossibleConstraint
from taut.decode import decode
from taut.labels import LabelCodec
from taut.posterior import posterior_labels
from taut.solvers.solution import Solution
from taut.structures.features import node_features
from taut.structures.features_build import with_weights_of
from taut.structures.pairwise import Pairwise
from taut.text.extract import TemplateEncoder
from taut.text.schemes import Allowed, Scheme, transitions


class Stacked(NamedTuple):
    """All positions of all sequences."""

    rows: Any  # (n_nodes, n_features) array or CSR matrix
    lengths: np.ndarray
    steps: np.ndarray | None = None  # (n_nodes, F): row t describes the step from t
    step_attributes: Any = None  # (n_nodes, A) CSR: row t has those of the step that leads to t


@dataclass(frozen=True)
class ChainModel:
    labels: LabelCodec
    layout: Pairwise  # without examples: where each weight is
    solution: Solution  # the weights and their certificate
    encoder: Encoder | None = None  # None: features are given as matrices
    scheme: Scheme | None = None
    temperature: float = 0.0  # of a CRF's probabilities; an SVM has none
    decoding: str = "viterbi"  # or "posterior"
    trained: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    # How far a weight may be from the trained one, which the solution tells of: files round them.
    weight_change: float = 0.0
    largest_value: float = np.inf  # of an attribute in training; not known of a model from a file

    @property
    def w(self) -> np.ndarray:
        return self.solution.w

    @property
    def n_features(self) -> int:
        return self.node_weights().shape[0] if self.encoder is None else self.encoder.n_attributes

    @property
    def has_step_features(self) -> bool:
        return self.layout.step_features.shape[1] > 0

    def decode(
        self,
        text: Stacked,
        forced: np.ndarray | None = None,
        n_threads: int = 1,
        w: np.ndarray | None = None,
    ) -> np.ndarray:
        """Label numbers of all positions; ``forced`` holds some of them, -1 elsewhere.

        ``w`` takes the place of the model's weights, while it is being trained.
        """
        problem = self.problem(text, forced)
        weights = self.w if w is None else w
        with self.named_errors():
            if self.decoding == "posterior":
                return posterior_labels(problem, weights, self.temperature, n_threads)
            return decode(problem, weights, n_threads)

    def problem(self, text: Stacked, forced: np.ndarray | None = None) -> Pairwise:
        """Sequences to be labelled, under the scheme and forced labels."""
        layout = self.layout
        features = with_weights_of(node_features(self.rows_like_fitted(text.rows)), layout.features)
        problem = layout.for_prediction(
            features, text.lengths, text.steps, step_attributes=text.step_attributes
        )
        return problem.constrained(allowed_steps(self.labels, self.scheme), forced)

    @contextmanager
    def named_errors(self) -> Iterator[None]:
        """Errors about labels in the user's terms."""
        try:
            yield
        except ImpossibleConstraint as error:
            raise error.with_names(self.labels.classes.tolist()) from None

    def rows_like_fitted(self, rows: Any) -> Any:
        """Rows as the model was fitted with, dense or sparse."""
        if self.layout.features.rows.is_dense:
            return rows.toarray() if sparse.issparse(rows) else rows
        return rows if sparse.issparse(rows) else sparse.csr_array(rows)

    # --- the weights by name --------------------------------------------------------------------

    def node_weights(self) -> Any:
        """(n_features, n_labels), an array or a sparse matrix."""
        features, n_states = self.layout.features, self.layout.n_states
        return features.weight_matrix(self.w[: features.dim(n_states)], n_states)

    def label_weights(self, at: int) -> np.ndarray:
        """The group of one weight per label that begins at ``at``; zeros if there is none."""
        size = self.layout.n_states
        return self.w[at : at + size] if at >= 0 else np.zeros(size)

    def step_weights(self) -> np.ndarray:
        """(n_step, n_labels, n_labels)."""
        layout = self.layout
        if layout.steps.is_sparse:
            pairs, dense = layout.steps.pairs, np.zeros((1, layout.n_states, layout.n_states))
            dense[0, pairs.sources, pairs.target] = self.w[layout.step_at :][: len(pairs.target)]
            return dense
        shape = (layout.n_step, layout.n_states, layout.n_states)
        return self.w[layout.step_at :].reshape(shape)

    def step_attribute_weights(self) -> Iterator[tuple[str, int, int, float]]:
        """Attribute, label before, label after and weight, of the attributes of steps."""
        steps = self.layout.steps
        if not steps.n_attributes:
            return
        assert isinstance(self.encoder, TemplateEncoder)
        assert self.encoder.steps is not None
        weights = self.w[self.layout.step_at + steps.n_pairs :]
        sources = steps.pairs.sources
        for name, first, last in zip(
            self.encoder.steps.names(), steps.weights[:-1], steps.weights[1:], strict=True
        ):
            for weight, pair in zip(weights[first:last], steps.of_pair[first:last], strict=True):
                yield name, int(sources[pair]), int(steps.pairs.target[pair]), float(weight)

    def attribute_names(self) -> Sequence[Any]:
        """What the features are called: their attributes, or their numbers."""
        if self.encoder is None:
            return range(self.node_weights().shape[0])
        return self.encoder.names()


def scaled_C(C: float | str, problem: Pairwise, *, is_crf: bool = False) -> float:
    """C itself, or for "scale" a value that fits the features.

    Features a times as large ask for weights 1/a times as large, which C/a^2 finds. So C is a
    constant divided by 1 + mean |x|^2, the 1 for the bias; with the summed Hamming loss, the same
    constant was within 0.2 points of the best on 17 test sets (``benchmarks/defaults.py``). Of
    CRFs, it is divided by the mean square of a value, and larger where attributes are rare: see
    ``defaults``.

    >>> from taut.structures import chain_problem
    >>> scaled_C("scale", chain_problem(np.ones((5, 2)), [5], np.array([0, 1, 0, 1, 1]), 2))
    2.0
    """
    if C != "scale":
        return C  # type: ignore[return-value]
    rows, n_nodes = [problem.features.rows], problem.features.rows.n_rows
    if problem.steps.n_attributes:
        rows.append(problem.steps.rows)
    # Not by BLAS, whose sum depends on the number of its threads.
    squares = sum(float(np.einsum("i,i->", each.values, each.values)) for each in rows)
    if not is_crf:
        return defaults.C_FACTOR / (1.0 + squares / n_nodes)
    share = sum(each.n_used for each in rows) / n_nodes
    mean_square = squares / max(sum(int(np.count_nonzero(each.values)) for each in rows), 1)
    return defaults.CRF_C_FACTOR * share**defaults.CRF_C_POWER / (mean_square or 1.0)


def allowed_steps(labels: LabelCodec, scheme: Scheme | None) -> Allowed | None:
    return None if scheme is None else transitions(labels.classes.tolist(), scheme)
