"""``taut train``: from labelled text to a model file with its certificate.

What can go wrong for other reasons than the data is checked before anything is read.
"""

import os
from argparse import Namespace
from dataclasses import asdict
from typing import Any

import numpy as np

from taut import defaults
from taut.chain.file import save_chain
from taut.chain.kept_options import options_to_save
from taut.chain.model import ChainModel
from taut.chain.specification import Specification
from taut.chain.training import Data, HeldOut, Training, new_training
from taut.cli import DONE, INTERRUPTED, TERMINATED, say
from taut.cli.choose_c import best_on_path
from taut.cli.compilation import announce_compilation
from taut.cli.data import (
    LABEL_OPTIONS,
    Labelled,
    Layout,
    check_known,
    check_width,
    guessed_format,
    looks_like_attributes,
    name_of,
    read_labelled,
)
from taut.cli.pictures import check_picture, save_picture
from taut.cli.results import Result, as_json, as_text, note
from taut.files.atomic import check_writable
from taut.labels import few
from taut.solvers import Solution, solve
from taut.solvers.sampling import drawn_seed
from taut.solvers.watch import deferred_interrupt
from taut.text.columns import Columns
from taut.text.extract import TemplateEncoder
from taut.text.reading.conllu import UNSPECIFIED
from taut.text.template import Template, read_template

LIMITS = ("tol", "max_passes", "time_limit", "cpu_limit")


def run(options: Namespace) -> int:
    _check_files(options)
    template = None if options.template is None else read_template(options.template)
    layout = Layout(options.format or guessed_format(options.file)).changed(options)
    announce_compilation()
    _note_format(layout, options)
    if options.resume and not os.path.exists(options.checkpoint):
        say(f"note: {options.checkpoint} does not exist; training begins anew")

    data, layout = read_labelled(options.file, layout, None if template is None else True)
    _note_unlabelled(data, layout, options)
    training = new_training(
        _specification(data, template, options), _named(data, options.file, layout)
    )
    held_out = None if options.dev is None else _held_out(training, layout, options)
    size = len(data.text.lengths), len(data.labels.codes), training.n_features
    del data  # the problem holds all that training needs

    on_path = None
    if options.C == "best":
        assert held_out is not None
        on_path = best_on_path(training.problem, held_out.score, options)
        training = training.at(on_path.solution.C)
    # A signal that comes when training has ended must not cost its model.
    with deferred_interrupt() as noted:
        solution = trained = _solve(training, held_out, options)
        score = solution.score
        if on_path is not None and on_path.score > score:
            solution, score = on_path
        model = training.model(solution)
        kept = _kept_options(training.specification, model, layout, options)
        save_chain(model, options.output, kept)
    metric = None if held_out is None else held_out.metric
    labels = model.labels.classes.tolist()
    _tell(Result(solution, *size, labels, metric, score, trained), options)
    if noted.requested:
        return TERMINATED if noted.is_termination else INTERRUPTED
    return DONE


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


# --- what is trained ------------------------------------------------------------------------------


def _specification(data: Labelled, template: Template | None, options: Namespace) -> Specification:
    if template is None and isinstance(data.text, Columns):
        several = len(data.text.columns) > 1
        name = defaults.TEMPLATE_OF_COLUMNS if several else defaults.TEMPLATE_OF_WORDS
        template = read_template(name)
        if not options.quiet:
            say(f"note: no --template was given; {name!r} is used")
    if isinstance(data.text, Columns) and not options.quiet and _holds_numbers(data.text):
        say(
            "note: the first column, which templates call w, holds numbers; if this is CoNLL-U, "
            "say --format conllu"
        )
    chosen = {"template": template, "class_weight": _class_weight(data, options)}
    return Specification.of(options.crf, {**vars(options), **chosen})


def _class_weight(data: Labelled, options: Namespace) -> str | dict[str, float] | None:
    """Of each label of the file; ``*`` stands for those that are not named."""
    if not isinstance(options.class_weight, dict):
        return options.class_weight
    given: dict[str, float] = dict(options.class_weight)
    others, labels = given.pop("*", 1.0), data.labels.values
    unknown = [label for label in given if label not in labels]
    if unknown:
        raise ValueError(
            f"--class-weight names {unknown[0]!r}, which is no label of {name_of(options.file)} "
            f"({few(labels)})"
        )
    return {label: given.get(label, others) for label in labels}


def _note_unlabelled(data: Labelled, layout: Layout, options: Namespace) -> None:
    """What CoNLL-U leaves unspecified is a value like any other."""
    if layout.format != "conllu" or options.quiet or UNSPECIFIED not in data.labels.values:
        return
    if layout.label not in ("upos", "xpos", "deprel"):
        return  # that a word has no features says something
    number = int(np.sum(data.labels.codes == data.labels.values.index(UNSPECIFIED)))
    say(f"note: {number} words have no {layout.label} ({UNSPECIFIED}), which is learned as a label")


def _holds_numbers(text: Columns) -> bool:
    """Whether most tokens of the first column are numbers, as in files that count them there."""
    first = text.columns[0]
    is_number = np.array([value.isdecimal() for value in first.values], bool)
    return bool(is_number[first.codes].mean() > 0.5)


def _named(data: Labelled, path: str, layout: Layout) -> Data:
    """What was read from a file, for errors that name it."""
    name = name_of(path)
    doubt = f"are these the labels? see {LABEL_OPTIONS.get(layout.format, '--format')}"
    return Data(data.text, data.labels, data.weights, name, name, doubt)


def _held_out(training: Training, layout: Layout, options: Namespace) -> HeldOut:
    encoder = training.encoder
    data, _ = read_labelled(options.dev, layout, isinstance(encoder, TemplateEncoder))
    check_known(data.labels, training.labels.classes.tolist(), options.dev, layout)
    check_width(data.text, encoder, options.dev)
    return training.held_out(_named(data, options.dev, layout), options.threads)


def _solve(training: Training, held_out: HeldOut | None, options: Namespace) -> Solution:
    solver = training.solver(is_scored=held_out is not None)
    return solve(
        training.problem,
        solver,
        C=training.C,
        slack_penalty=options.slack_penalty,
        l1=options.l1,
        tol=options.tol,
        max_passes=options.max_passes,
        time_limit=options.time_limit,
        cpu_limit=options.cpu_limit,
        seed=drawn_seed(np.random.RandomState(options.seed)),
        n_threads=options.threads,
        checkpoint=options.checkpoint,
        resume=options.resume,
        progress=False if options.quiet else None,
        validate=None if held_out is None else held_out.score,
        patience=training.patience(solver),
    )


def _kept_options(
    specification: Specification, model: ChainModel, layout: Layout, options: Namespace
) -> dict[str, Any]:
    """What the model file says: the parameters of an estimator that would train the same model, and
    how text was read."""
    limits = {name: getattr(options, name) for name in LIMITS}
    given = {**specification.parameters(), **limits, "random_state": options.seed}
    return options_to_save(given, model) | asdict(layout)


def _tell(result: Result, options: Namespace) -> None:
    if options.plot is not None:
        from taut.plotting import plot_convergence

        save_picture(plot_convergence(result.trained), options.plot)
    if options.quiet:
        return
    print(as_json(result, options) if options.json else as_text(result, options))
    message = note(result.solution, options)
    if message:
        say(f"note: {message}")
