"""``taut train``: from labelled text to a model file with its certificate.

What can go wrong for other reasons than the data is checked before anything is read.
"""

import os
from argparse import Namespace
from dataclasses import asdict
from typing import Any

from taut.chain.file import save_chain
from taut.chain.kept_options import options_to_save
from taut.chain.model import ChainModel
from taut.chain.specification import Specification
from taut.chain.training import HeldOut, Training, new_training
from taut.cli import DONE, INTERRUPTED, TERMINATED, say
from taut.cli.choose_c import Found, best_on_path, better_of_path_and_default
from taut.cli.compilation import announce_compilation
from taut.cli.cross_validate import cross_validate
from taut.cli.data import Layout, guessed_format, read_labelled
from taut.cli.learning import (
    held_out_of,
    named,
    note_format,
    note_oddities,
    solved,
    specification_of,
)
from taut.cli.pictures import check_picture, save_picture
from taut.cli.results import CrossValidation, Result, Size, as_json, as_text, cv_as_json, note
from taut.cli.text_files import STDIN, listed, name_of_all
from taut.files.atomic import check_writable
from taut.solvers.watch import deferred_interrupt
from taut.text.template import read_template

LIMITS = ("tol", "max_passes", "time_limit", "cpu_limit")


def run(options: Namespace) -> int:
    options.files = listed(options.files)
    options.dev = None if options.dev is None else listed(options.dev)
    _check_files(options)
    template = None if options.template is None else read_template(options.template)
    layout = Layout(options.format or guessed_format(options.files)).changed(options)
    announce_compilation()
    if not options.quiet:
        note_format(layout, options)
    if options.resume and not os.path.exists(options.checkpoint):
        say(f"note: {options.checkpoint} does not exist; training begins anew")

    data, layout = read_labelled(options.files, layout, None if template is None else True)
    if not options.quiet:
        note_oddities(data, layout)
    specification = specification_of(data, template, options)
    size = Size(len(data.text.lengths), len(data.labels.codes))
    cv = None
    if options.cv is not None:
        cv = cross_validate(data, specification, layout, options)
        if options.output is None:
            print(cv_as_json(cv, size, options) if options.json else cv)
            return DONE
    with data.located():
        training = new_training(specification, named(data, name_of_all(options.files), layout))
    del data  # the problem holds all that training needs
    held_out = None
    if options.dev is not None:
        held_out = held_out_of(training, options.dev, layout, options.threads)
    return _train(training, held_out, (size, cv), layout, options)


def _train(
    training: Training,
    held_out: HeldOut | None,
    before: tuple[Size, CrossValidation | None],
    layout: Layout,
    options: Namespace,
) -> int:
    """Train, save and tell; ``before`` is what else there is to tell."""
    on_path = None
    if options.C == "best":
        assert held_out is not None
        on_path = best_on_path(training.problem, held_out.score, options)
    # A signal that comes when training has ended must not cost its model.
    with deferred_interrupt() as noted:
        if on_path is None or held_out is None:
            solution = solved(training, held_out, options, options.checkpoint)
            found = Found(training, solution, solution.score, solution)
        else:
            found = better_of_path_and_default(training, held_out, on_path, options, noted)
        model = found.training.model(found.solution)
        kept = _kept_options(found.training.specification, model, layout, options)
        save_chain(model, options.output, kept)
    metric = None if held_out is None else held_out.metric
    labels = model.labels.classes.tolist()
    size, cv = before
    told = found.solution, size, training.n_features, labels, metric, found.score, found.trained, cv
    _tell(Result(*told), options)
    if noted.requested:
        return TERMINATED if noted.is_termination else INTERRUPTED
    return DONE


def _check_files(options: Namespace) -> None:
    if options.output is not None:
        check_writable(options.output)
    if options.checkpoint is not None:
        check_writable(options.checkpoint)
        if os.path.realpath(options.checkpoint) == os.path.realpath(options.output):
            raise ValueError(f"{options.output!r} cannot be the model and its checkpoint; name two")
    check_picture(options.plot)
    for path in [*options.files, *(options.dev or [])]:
        if path != STDIN and os.path.isfile(path):
            _check_different(path, options)


def _check_different(path: str, options: Namespace) -> None:
    for written in (options.output, options.checkpoint, options.plot):
        if written is not None and os.path.exists(written) and os.path.samefile(path, written):
            raise ValueError(f"{written!r} would be overwritten, but text is read from it")


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
