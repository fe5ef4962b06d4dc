"""``taut train``: from labelled text to a model file with its certificate.

What can go wrong for other reasons than the data is checked before anything is read.
"""

import os
from argparse import Namespace
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from taut import defaults
from taut.chain.file import save_chain
from taut.chain.model import ChainModel, Encoder, Stacked, allowed_steps, scaled_C
from taut.cli import DONE, INTERRUPTED, TERMINATED, say
from taut.cli.choose_c import best_C
from taut.cli.compilation import announce_compilation
from taut.cli.data import (
    Labelled,
    Layout,
    check_known,
    check_width,
    guessed_format,
    looks_like_attributes,
    name_of,
    read_labelled,
)
from taut.cli.labels_fit import check_labels_fit
from taut.cli.objective import objective_of, parameters_of, probabilities_of, solver_of
from taut.cli.pictures import check_picture, save_picture
from taut.cli.results import Result, as_json, as_text, note
from taut.cli.scoring import ACCURACY, SPAN_F1, score, write_spans
from taut.files.atomic import check_writable
from taut.labels import LabelCodec
from taut.losses import checked_weights
from taut.solvers import Solution, Status, solve
from taut.structures.chain import chain_problem
from taut.structures.constraints import InvalidTruth
from taut.structures.pairwise import Pairwise
from taut.text.attributes import AttributeEncoder
from taut.text.columns import Column, Columns
from taut.text.extract import TemplateEncoder
from taut.text.schemes import Scheme
from taut.text.template import Template, read_template

EXIT_CODES = {Status.INTERRUPTED: INTERRUPTED, Status.TERMINATED: TERMINATED}


class HeldOut(NamedTuple):
    text: Stacked
    labels: Column
    metric: str


def run(options: Namespace) -> int:
    _check_files(options)
    template = None if options.template is None else read_template(options.template)
    scheme = None if options.scheme is None else Scheme.parse(options.scheme)
    layout = Layout(options.format or guessed_format(options.file)).changed(options)
    announce_compilation()
    _note_format(layout, options)

    wanted = None if template is None else True
    data, layout = read_labelled(options.file, layout, wanted)
    encoder = _new_encoder(data, template, options)
    codec = LabelCodec(data.labels)
    problem = _problem(data, encoder, codec, scheme, options)
    held_out = _held_out(encoder, codec, layout, options)
    size = len(data.text.lengths), len(data.labels.codes), encoder.n_attributes
    del data  # the problem holds all that training needs

    def model(solution: Any) -> ChainModel:
        of_crf = probabilities_of(options)
        return ChainModel(codec, problem.layout(), solution, encoder, scheme, **of_crf)

    validate = None if held_out is None else _validation(model(None), held_out, options.threads)
    objective = objective_of(problem, options)
    if options.C == "best":
        assert validate is not None
        options.C = best_C(objective, validate, options)
    solution = _solve(problem, objective, validate, options)
    save_chain(model(solution), options.output, _kept_options(options, layout, encoder))
    metric = None if held_out is None else held_out.metric
    _tell(Result(solution, *size, codec.classes.tolist(), metric), options)
    return EXIT_CODES.get(solution.status, DONE)


def _note_format(layout: Layout, options: Namespace) -> None:
    if options.quiet or options.format is not None or layout.format != "columns":
        return
    if looks_like_attributes(options.file, layout.encoding):
        say("note: this looks like CRFsuite's attribute format; use --format attributes")


def _check_files(options: Namespace) -> None:
    check_writable(options.output)
    if options.checkpoint is not None:
        check_writable(options.checkpoint)
        if os.path.realpath(options.checkpoint) == os.path.realpath(options.output):
            raise ValueError(f"{options.output!r} cannot be the model and its checkpoint; name two")
    check_picture(options.plot)
    for path in (options.file, options.dev):
        if path not in (None, "-") and os.path.isfile(path):
            _check_different(path, options)


def _check_different(path: str, options: Namespace) -> None:
    for written in (options.output, options.checkpoint, options.plot):
        if written is not None and os.path.exists(written) and os.path.samefile(path, written):
            raise ValueError(f"{written!r} would be overwritten, but text is read from it")


# --- the problem ----------------------------------------------------------------------------------


def _new_encoder(data: Labelled, template: Template | None, options: Namespace) -> Encoder:
    if not isinstance(data.text, Columns):
        return AttributeEncoder(options.min_freq)
    if template is None:
        several = len(data.text.columns) > 1
        name = defaults.TEMPLATE_OF_COLUMNS if several else defaults.TEMPLATE_OF_WORDS
        template = read_template(name)
        if not options.quiet:
            say(f"note: no --template was given; {name!r} is used")
    return TemplateEncoder(template, options.min_freq)


def _problem(
    data: Labelled,
    encoder: Encoder,
    codec: LabelCodec,
    scheme: Scheme | None,
    options: Namespace,
) -> Pairwise:
    classes = codec.classes.tolist()
    if len(classes) < 2:
        raise ValueError(
            f"{name_of(options.file)}: there is one label only, {classes[0]!r}; "
            "there is nothing to learn"
        )
    check_labels_fit(len(data.text.lengths), len(data.labels.codes), classes, options.file)
    allowed = allowed_steps(codec, scheme)  # also refuses labels that are not of the scheme
    rows = encoder.fit_transform(data.text)  # type: ignore[arg-type]
    if rows.shape[1] == 0:
        often = f"occurs {options.min_freq} times; lower --min-freq"
        raise ValueError(
            f"{name_of(options.file)}: no attribute "
            f"{often if options.min_freq > 1 else 'in the whole file'}"
        )
    try:
        return chain_problem(
            rows,
            data.text.lengths,
            codec.encode(data.labels),
            len(classes),
            normalize=options.loss == "hamming",
            observed=_only_observed(rows, len(classes), options.features),
            importance=checked_weights(data.weights, len(data.text.lengths)),
            allowed=allowed if options.scheme_in_training else None,
        )
    except InvalidTruth as error:
        raise error.with_names(classes) from None


def _only_observed(rows: sparse.csr_array, n_labels: int, features: str) -> bool:
    if features == "auto":
        return bool(rows.shape[1] * n_labels > defaults.MOST_WEIGHTS)
    return features == "observed"


def _held_out(
    encoder: Encoder, codec: LabelCodec, layout: Layout, options: Namespace
) -> HeldOut | None:
    if options.dev is None:
        return None
    data, _ = read_labelled(options.dev, layout, isinstance(encoder, TemplateEncoder))
    check_known(data.labels, codec.classes.tolist(), options.dev, layout)
    check_width(data.text, encoder, options.dev)
    rows = encoder.transform(data.text)  # type: ignore[arg-type]
    metric = SPAN_F1 if write_spans(codec.classes.tolist()) else ACCURACY
    return HeldOut(Stacked(rows, data.text.lengths), data.labels, metric)


def _validation(
    model: ChainModel, held_out: HeldOut, n_threads: int
) -> Callable[[np.ndarray], float]:
    """The score of weights on held-out text."""
    text, labels, metric = held_out

    def validate(w: np.ndarray) -> float:
        numbers = model.decode(text, n_threads=n_threads, w=w)
        return score(labels, Column(numbers, model.labels.classes.tolist()), text.lengths, metric)

    return validate


# --- training -------------------------------------------------------------------------------------


def _solve(
    problem: Pairwise, objective: Any, validate: Callable | None, options: Namespace
) -> Solution:
    return solve(
        objective,
        solver_of(problem, objective, options),
        C=scaled_C(options.C, problem),
        slack_penalty=options.slack_penalty,
        l1=options.l1,
        tol=options.tol,
        max_passes=options.max_passes,
        time_limit=options.time_limit,
        cpu_limit=options.cpu_limit,
        # What scikit-learn makes of an estimator's random_state: both find the same weights.
        seed=int(np.random.RandomState(options.seed).randint(2**31 - 1)),
        n_threads=options.threads,
        checkpoint=options.checkpoint,
        resume=options.resume,
        progress=False if options.quiet else None,
        validate=validate,
        patience=options.patience,
    )


def _kept_options(options: Namespace, layout: Layout, encoder: Encoder) -> dict[str, Any]:
    """What the model file says about the run: the estimator's parameters, how text was read."""
    template = encoder.template.text if isinstance(encoder, TemplateEncoder) else None
    return {
        **parameters_of(options),
        "template": template,
        "random_state": options.seed,
        **asdict(layout),
    }


def _tell(result: Result, options: Namespace) -> None:
    if options.plot is not None:
        from taut.plotting import plot_convergence

        save_picture(plot_convergence(result.solution), options.plot)
    if options.quiet:
        return
    print(as_json(result, options) if options.json else as_text(result, options))
    message = note(result.solution, options)
    if message:
        say(f"note: {message}")
