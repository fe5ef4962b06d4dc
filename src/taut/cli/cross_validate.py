"""``--cv``: how good models of this kind are on text that they were not trained on.

Sentences are shuffled and dealt to K parts; each part is labelled by a model of all the others. The
K scores have a mean and a standard deviation, sqrt(sum (score - mean)^2 / (K - 1)).
"""

from argparse import Namespace
from dataclasses import replace

import numpy as np

from taut.chain.encoding import rows_of
from taut.chain.scoring import ACCURACY, SPAN_F1, score, write_spans
from taut.chain.specification import Specification
from taut.chain.training import Training, new_training
from taut.cli import Terminated, say
from taut.cli.data import Layout
from taut.cli.labelled import Labelled, chosen
from taut.cli.learning import named, solved
from taut.cli.results import CrossValidation, Fold, note
from taut.cli.text_files import name_of_all
from taut.solvers import Status
from taut.text.columns import Column


def cross_validate(
    data: Labelled, specification: Specification, layout: Layout, options: Namespace
) -> CrossValidation:
    """Each model is told as soon as it has its score."""
    n_sequences, n_folds = len(data.text.lengths), options.cv
    if n_sequences < n_folds:
        raise ValueError(
            f"--cv {n_folds}: {name_of_all(options.files)}: there are {n_sequences} sentences; "
            f"make at most {n_sequences} parts of them"
        )
    metric = SPAN_F1 if write_spans(data.labels.values) else ACCURACY
    order = np.random.RandomState(options.seed).permutation(n_sequences)
    folds = []
    for k in range(n_folds):
        part = np.sort(order[k::n_folds])
        rest = chosen(data, np.setdiff1d(order, part))
        of_rest = named(rest, f"{name_of_all(options.files)}, part {k + 1} left out", layout)
        with rest.located():
            training = new_training(_of_part(specification, rest), of_rest)
        folds.append(_fold(training, chosen(data, part), metric, options))
        say(f"part {k + 1} of {n_folds}: {metric} {folds[-1].score:.4f}")
    return CrossValidation(metric, folds)


def _of_part(specification: Specification, part: Labelled) -> Specification:
    """A rare label may be in other parts only."""
    weight = specification.class_weight
    if not isinstance(weight, dict):
        return specification
    known = {label: weight[label] for label in part.labels.values}
    return replace(specification, class_weight=known)


def _fold(training: Training, part: Labelled, metric: str, options: Namespace) -> Fold:
    solution = solved(training, None, options)
    if solution.status is Status.INTERRUPTED:
        raise KeyboardInterrupt  # a mean of fewer parts is not what was asked for
    if solution.status is Status.TERMINATED:
        raise Terminated
    message = note(solution, options)
    if message:
        say(f"note: {message}")
    model, encoder = training.model(solution), training.encoder
    assert encoder is not None  # text always has one
    found = model.decode(rows_of(encoder, part.text), n_threads=options.threads)
    predicted = Column(found, model.labels.classes.tolist())
    return Fold(
        score(part.labels, predicted, part.text.lengths, metric),
        len(part.text.lengths),
        len(part.labels.codes),
        solution.passes,
        solution.relative_gap,
        solution.status.name,
    )
