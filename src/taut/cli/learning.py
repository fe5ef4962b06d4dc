"""What a command line says is to be learned, of which text and how: for one run as for many."""

from argparse import Namespace
from collections.abc import Sequence

import numpy as np

from taut import defaults
from taut.chain.specification import Specification
from taut.chain.training import Data, HeldOut, Training
from taut.cli import say
from taut.cli.data import (
    LABEL_OPTIONS,
    Layout,
    check_known,
    check_width,
    looks_like_attributes,
    read_labelled,
)
from taut.cli.labelled import Labelled
from taut.cli.text_files import name_of, name_of_all
from taut.labels import few
from taut.solvers import Solution, solve
from taut.solvers.sampling import drawn_seed
from taut.text.columns import Columns
from taut.text.extract import TemplateEncoder
from taut.text.reading.conllu import UNSPECIFIED
from taut.text.template import Template, read_template


def specification_of(
    data: Labelled, template: Template | None, options: Namespace
) -> Specification:
    if template is None and isinstance(data.text, Columns):
        several = len(data.text.columns) > 1
        name = defaults.TEMPLATE_OF_COLUMNS if several else defaults.TEMPLATE_OF_WORDS
        template = read_template(name)
        if not options.quiet:
            say(f"note: no --template was given; {name!r} is used")
    chosen = {"template": template, "class_weight": _class_weight(data, options)}
    return Specification.of(options.crf, {**vars(options), **chosen})


def _class_weight(data: Labelled, options: Namespace) -> str | dict[str, float] | None:
    """Of each label of the text; ``*`` stands for those that are not named."""
    if not isinstance(options.class_weight, dict):
        return options.class_weight
    given: dict[str, float] = dict(options.class_weight)
    others, labels = given.pop("*", 1.0), data.labels.values
    unknown = [label for label in given if label not in labels]
    if unknown:
        raise ValueError(
            f"--class-weight names {unknown[0]!r}, which is no label of "
            f"{name_of_all(options.files)} ({few(labels)})"
        )
    return {label: given.get(label, others) for label in labels}


def named(data: Labelled, name: str, layout: Layout) -> Data:
    """What was read, for errors that name it."""
    doubt = f"are these the labels? see {LABEL_OPTIONS.get(layout.format, '--format')}"
    return Data(data.text, data.labels, data.weights, name, name, doubt)


def held_out_of(
    training: Training, files: Sequence[str], layout: Layout, n_threads: int
) -> HeldOut:
    """The score of these files."""
    encoder, name = training.encoder, name_of_all(files)
    data, _ = read_labelled(files, layout, isinstance(encoder, TemplateEncoder))
    check_known(data.labels, training.labels.classes.tolist(), files, layout)
    check_width(data.text, encoder, name)
    with data.located():
        return training.held_out(named(data, name, layout), n_threads)


def solved(
    training: Training,
    held_out: HeldOut | None,
    options: Namespace,
    checkpoint: str | None = None,
) -> Solution:
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
        checkpoint=checkpoint,
        resume=options.resume and checkpoint is not None,
        progress=wanted_progress(options),
        validate=None if held_out is None else held_out.score,
        patience=training.patience(solver),
    )


def wanted_progress(options: Namespace) -> bool | None:
    """Whether to say how far a run is; None if somebody watches."""
    return False if options.quiet else (options.verbose or None)


# --- what looks odd -------------------------------------------------------------------------------


def note_format(layout: Layout, options: Namespace) -> None:
    """Before reading, which may fail for this very reason."""
    if options.format is not None or layout.format != "columns":
        return
    for path in options.files:
        if looks_like_attributes(path, layout.encoding):
            say(
                f"note: {name_of(path)} looks like CRFsuite's attribute format; use --format "
                "attributes"
            )
            return


def note_oddities(data: Labelled, layout: Layout) -> None:
    """What CoNLL-U leaves unspecified is a value like any other; numbers are no words, and words
    no labels."""
    n_labels, counts = len(data.labels.values), np.bincount(data.labels.codes)
    n_rare = int(np.sum(counts[counts > 0] == 1))
    if n_labels > defaults.MANY_LABELS and 2 * n_rare > n_labels:
        say(
            f"note: {n_rare} of {n_labels} labels occur once; are these the labels? see "
            f"{LABEL_OPTIONS.get(layout.format, '--format')}"
        )
    if isinstance(data.text, Columns) and _holds_numbers(data.text):
        say(
            "note: the first column, which templates call w, holds numbers; if this is CoNLL-U, "
            "say --format conllu"
        )
    if layout.format != "conllu" or UNSPECIFIED not in data.labels.values:
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
