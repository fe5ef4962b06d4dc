"""From sequences and labels to a problem, a solver and, when it is solved, a model.

This is the one program that trains chains: the estimators and ``taut train`` are its faces.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from taut import defaults
from taut.chain.encoding import fitted_rows, read_like, text_and_encoder, without_empty
from taut.chain.model import ChainModel, Encoder, Stacked, allowed_steps, scaled_C
from taut.chain.scoring import ACCURACY, SPAN_F1, all_text, as_column, score, write_spans
from taut.chain.specification import Specification
from taut.choice.named import is_auto, named_solver
from taut.constraints import ImpossibleConstraint, InvalidTruth
from taut.decode import decode
from taut.labels import (
    LabelCodec,
    as_labels,
    check_labels,
    chosen_parts,
    few,
    is_labelled,
    numbers_of_known,
)
from taut.losses import checked_weights, cost_matrix
from taut.memory import check_memory, pairs_and_labels
from taut.solvers import BCFW, LBFGS, SDCA, Solution
from taut.solvers.checks import is_number
from taut.solvers.objective import SlackPenalty, named_penalty
from taut.solvers.sampling import Order
from taut.spelling import OptionError
from taut.structures.chain import chain_problem
from taut.structures.pairwise import Pairwise
from taut.structures.partly_labelled import partly_labelled
from taut.structures.slack_rescaled import slack_rescaled
from taut.structures.smoothed import smoothed
from taut.text.columns import Column
from taut.text.schemes import MisfitLabel, Scheme, parse_labels

# With observed transitions a run keeps so many numbers for each pair of labels: costs, and tables
# of scores for two threads.
TABLES = 8

Score = Callable[[np.ndarray], float]  # of weights, on held-out data


class Data(NamedTuple):
    """Sequences with their labels, and what errors call them: variables, or a file."""

    X: Any
    y: Any
    sample_weight: ArrayLike | None = None
    X_name: str = "X"
    y_name: str = "y"
    if_too_many: str = "are these the labels? Merge rare ones, or train on fewer examples"


class HeldOut(NamedTuple):
    score: Score
    metric: str


@dataclass(frozen=True)
class Training:
    """Examples, and all that becomes of them; made by :func:`new_training`."""

    specification: Specification
    labels: LabelCodec
    encoder: Encoder | None  # None: features are given as matrices
    n_features: int
    examples: Pairwise
    known: np.ndarray | None = None  # which labels are known; None if all are

    @property
    def scheme(self) -> Scheme | None:
        return self.specification.parsed_scheme()

    @cached_property
    def problem(self) -> Any:
        """The examples as solvers are to see them."""
        spec, examples = self.specification, self.examples
        if not spec.is_crf:
            return slack_rescaled(examples) if spec.formulation == "slack" else examples
        temperature = float(spec.temperature)
        if self.known is None:
            return smoothed(examples, temperature, loss_augmented=spec.loss_augmented)
        if spec.loss_augmented:
            raise ValueError("loss_augmented=True needs all labels, and some are missing")
        if spec.scheme_in_training:
            examples = examples.constrained(allowed_steps(self.labels, self.scheme))
            self._check_possible(examples, self.known)
        return partly_labelled(examples, self.known, temperature)

    def _check_possible(self, examples: Pairwise, known: np.ndarray) -> None:
        """Some labelling must agree with the known labels and the scheme."""
        try:
            decode(examples.clamped(known), np.zeros(examples.dim))
        except ImpossibleConstraint as error:
            raise error.with_names(self.labels.classes.tolist()) from None

    @property
    def C(self) -> Any:
        spec = self.specification
        return scaled_C(spec.C, self.examples, is_crf=spec.is_crf)

    def at(self, C: float | str) -> Self:
        """The same with another C."""
        return replace(self, specification=replace(self.specification, C=C))

    def model(self, solution: Any) -> ChainModel:
        """What a solution makes of the examples; it keeps nothing of them."""
        more = self.specification.of_prediction() | {"largest_value": self._largest_value}
        layout = self.examples.layout()
        return ChainModel(self.labels, layout, solution, self.encoder, self.scheme, **more)

    @cached_property
    def _largest_value(self) -> float:
        values = self.examples.features.rows.values
        return float(max(values.max(initial=0.0), -values.min(initial=0.0)))

    # --- how it is solved ---------------------------------------------------------------------

    def solver(self, earlier: Solution | None = None, *, is_scored: bool = False) -> Any:
        """The solver that was asked for; a run goes on from ``earlier`` with the one it began with.

        With held-out data (``is_scored``) training ends early: SDCA has a good model early, and
        block-coordinate Frank-Wolfe is certified often, so as not to miss the best score.
        """
        spec = self.specification
        if earlier is not None and is_auto(spec.solver) and self.known is None:
            chosen = self._going_on(earlier)
        else:
            chosen = self._chosen(None if is_scored or not spec.is_crf else self.C)
        often = chosen.check_every <= defaults.CHECK_EVERY
        if is_scored and isinstance(spec.solver, str) and isinstance(chosen, BCFW) and not often:
            return replace(chosen, refresh=defaults.CHECK_EVERY)
        return chosen

    def _chosen(self, C: Any) -> Any:
        spec = self.specification
        chosen = named_solver(
            spec.solver,
            self.problem,
            spec.averaging,
            slack_penalty=spec.slack_penalty,
            C=C if is_number(C) else None,  # training will say what is wrong with it
            l1=spec.l1,
        )
        return _for_a_loose_tol(spec.tol) if is_auto(spec.solver) and _is_loose(spec) else chosen

    def _going_on(self, earlier: Solution) -> Any:
        spec, before = self.specification, earlier.solver
        if not spec.is_crf:
            chosen = self._chosen(None)
            same_slacks = earlier.slack_penalty == spec.slack_penalty
            if not same_slacks or chosen.needs != before.needs:
                return chosen
            if chosen.averaging == before.averaging:
                return before
            # Another tol, or averaging, asks for other steps: those that need no active sets.
            lacks_sets = chosen.keeps_alpha and not before.keeps_alpha
            return BCFW(averaging=spec.averaging) if lacks_sets else chosen
        if isinstance(before, SDCA):
            return replace(before, averaging=spec.averaging)
        # Only SDCA can average, and it starts from its own dual points.
        if spec.averaging:
            raise ValueError(
                "averaging=True: the earlier fit was by L-BFGS, which has none and leaves no dual "
                'point for SDCA; start cold (warm_start=False) with solver="sdca"'
            )
        return named_solver(before, self.problem)

    def patience(self, solver: Any) -> int:
        """How many certificates without a better score end the training.

        L-BFGS certifies every pass, and its scores go up and down.
        """
        if self.specification.patience is not None:
            return self.specification.patience
        return defaults.LBFGS_PATIENCE if isinstance(solver, LBFGS) else defaults.PATIENCE

    def held_out(self, data: Data, n_threads: int) -> HeldOut:
        """How weights are scored on other sequences than those of training.

        By the F1 of spans, if labels write spans and none is missing, else by the fraction of
        labels that are right.
        """
        text = self.read(data)
        check_labels(data.y, text.lengths, data.X_name, data.y_name)
        text, y, _ = without_empty(text, data.y)
        data = data._replace(y=y)
        model, names = self.model(None), self.labels.classes.tolist()
        known = known_labels(self.specification, data.y)

        def numbers(w: np.ndarray) -> np.ndarray:
            return model.decode(text, n_threads=n_threads, w=w)

        if known is None and write_spans(names) and all_text(data.y):
            truth = as_column(data.y)
            try:
                parse_labels(truth.values, None)
            except MisfitLabel as error:
                raise error.within(data.y_name) from None

            def f1(w: np.ndarray) -> float:
                return score(truth, Column(numbers(w), names), text.lengths, SPAN_F1)

            return HeldOut(f1, SPAN_F1)
        right, counted = self.labels.encode(data.y), slice(None) if known is None else known
        return HeldOut(lambda w: float(np.mean((numbers(w) == right)[counted])), ACCURACY)

    def read(self, data: Data) -> Stacked:
        """Other sequences, read as those of training were; some may be empty."""
        return read_like(data.X, self.encoder, self.n_features, data.X_name, may_be_empty=True)

    # --- more examples ------------------------------------------------------------------------

    def extended(self, data: Data, specification: Specification) -> Self:
        """With more sequences, of the same labels and features."""
        specification.check()
        stacked = self.read(data)
        check_labels(data.y, stacked.lengths, data.X_name, data.y_name)
        weights = checked_weights(data.sample_weight, len(stacked.lengths))
        stacked, y, weights = without_empty(stacked, data.y, weights)
        rows = self.model(None).rows_like_fitted(stacked.rows)
        numbers = self.labels.encode_known(y)
        stacked = stacked._replace(rows=rows)
        more = _examples(specification, self.labels, stacked, numbers, weights, None)
        examples = self.examples.extended(more)
        return replace(self, specification=specification, examples=examples)


def new_training(specification: Specification, data: Data, classes: Any = None) -> Training:
    """The training of these sequences; ``classes`` may exceed those of y."""
    specification.check()
    text, encoder = text_and_encoder(
        data.X, specification.template, specification.min_freq, data.X_name
    )
    check_labels(data.y, text.lengths, data.X_name, data.y_name)
    weights = checked_weights(data.sample_weight, len(text.lengths))
    text, y, weights = without_empty(text, data.y, weights)
    data = data._replace(y=y)
    known = known_labels(specification, data.y)
    if known is None:
        labels = LabelCodec(data.y if classes is None else as_labels(classes, data.y))
        numbers = labels.encode_known(data.y)
    else:
        parts = chosen_parts(data.y, known) if classes is None else as_labels(classes, data.y)
        labels = LabelCodec(parts)
        numbers = numbers_of_known(labels, data.y, specification.missing_label)
    _check_number_of_labels(specification, labels, text.lengths, data)
    allowed_steps(labels, specification.parsed_scheme())  # refuses labels not of the scheme
    stacked = fitted_rows(encoder, text, data.X_name)
    examples = _examples(specification, labels, stacked, numbers, weights, known)
    n_features = stacked.rows.shape[1]
    return Training(specification, labels, encoder, n_features, examples, known)


def _examples(
    specification: Specification,
    labels: LabelCodec,
    stacked: Stacked,
    numbers: np.ndarray,
    weights: np.ndarray | None,
    known: np.ndarray | None,
) -> Pairwise:
    """Sequences as a problem."""
    spec, classes = specification, labels.classes.tolist()
    if spec.features == "observed" and not sparse.issparse(stacked.rows):
        raise ValueError('features="observed" needs sparse (CSR) input; use "all" or "auto"')
    if spec.formulation == "slack" and stacked.step_attributes is not None:
        raise OptionError(
            "the template has features of steps, for which slack rescaling has no oracle; use "
            '‹formulation="margin"›, or a template without them'
        )
    cost = None if isinstance(spec.loss, str) else spec.loss
    scheme = spec.parsed_scheme() if spec.scheme_in_training and known is None else None
    try:
        return chain_problem(
            stacked.rows,
            stacked.lengths,
            numbers,
            len(classes),
            cost=cost_matrix(numbers, classes, spec.class_weight, cost),
            normalize=isinstance(spec.loss, str) and spec.loss == "hamming",
            bias=spec.bias,
            boundary=spec.boundary,
            observed=is_observed(spec.features, stacked.rows, len(classes)),
            step_features=stacked.steps,
            importance=weights,
            allowed=allowed_steps(labels, scheme),
            known=known,
            only_seen_steps=has_observed_transitions(spec, len(classes), stacked.steps),
            step_attributes=stacked.step_attributes,
        )
    except InvalidTruth as error:
        raise error.with_names(classes) from None


def _is_loose(spec: Specification) -> bool:
    """Whether an SVM is to be trained for its labels rather than for its certificate."""
    if spec.is_crf or named_penalty(spec.slack_penalty) is not SlackPenalty.LINEAR:
        return False
    return is_number(spec.tol) and spec.tol >= defaults.LOOSE_TOL


def _for_a_loose_tol(tol: float) -> BCFW:
    """Many small steps, averaged, are the quicker way to labels that are as good as they get."""
    effort = "fast" if tol >= defaults.TOL["fast"] else "default"
    passes = defaults.LOOSE_PASSES[effort]
    return BCFW(order=Order.PERMUTED, averaging=True, refresh=passes)


def _check_number_of_labels(
    specification: Specification, labels: LabelCodec, lengths: np.ndarray, data: Data
) -> None:
    classes = labels.classes.tolist()
    if len(classes) < 2:
        raise ValueError(
            f"{data.y_name}: there is one label only, {classes[0]!r}; there is nothing to learn"
        )
    n, n_nodes, n_labels = len(lengths), int(lengths.sum()), len(classes)
    if has_observed_transitions(specification, n_labels, None):
        needed, mostly = TABLES * n_labels**2 + n_nodes, "tables of all pairs of labels"
    else:
        needed, mostly = pairs_and_labels(n, n_nodes, n_labels), "pairs of labels in each sequence"
    check_memory(
        needed,
        f"{data.y_name}: there are {n_labels} labels ({few(classes)}); training",
        mostly,
        data.if_too_many,
    )


def known_labels(specification: Specification, y: Any) -> np.ndarray | None:
    """Which labels are known, of a CRF, which can do without some; None if all are."""
    if not specification.is_crf or isinstance(y, Column):
        return None
    known = is_labelled(y, specification.missing_label)
    if not known.any():
        raise ValueError(
            f"no position has a label: None and missing_label={specification.missing_label!r} "
            "mean that there is none"
        )
    return None if known.all() else known


def has_observed_transitions(
    spec: Specification, n_labels: int, step_features: np.ndarray | None
) -> bool:
    """Whether only pairs of labels that follow each other in training have weights."""
    if spec.transitions == "auto":
        is_margin = spec.is_crf or spec.formulation == "margin"
        return n_labels > defaults.MANY_LABELS and step_features is None and is_margin
    return spec.transitions == "observed"


def is_observed(features: str, rows: Any, n_labels: int) -> bool:
    """Whether only pairs of attribute and label that were seen together have weights."""
    if features == "auto":
        return sparse.issparse(rows) and rows.shape[1] * n_labels > defaults.MOST_WEIGHTS
    return features == "observed"
