"""``taut tag``: labels for text, written as soon as they are known."""

import os
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import BinaryIO

import numpy as np

from taut.cli.answering import Answered, Answering
from taut.cli.data import Layout, check_width, layout_of, wants_columns
from taut.cli.probabilities import check_probabilities, decode_by
from taut.cli.stream import Found, Piece, Ranked, check_target, pieces
from taut.cli.text_files import listed, name_of
from taut.constraints import ImpossibleConstraint
from taut.files.atomic import atomic_write, check_writable
from taut.text.columns import Column
from taut.text.reading import FormatError

FREE = "_"  # in a column of forced labels: any label will do


def run(options: Namespace) -> int:
    files = listed(options.files)
    if options.output is not None and not _is_device(options.output):
        check_writable(options.output)
        _check_different(options.output, options.model)
    model = Answering(options.model)
    trained_on = layout_of(model.stored.encoder, model.file.header)
    layout = trained_on.changed(options)
    check_target(layout, trained_on.label)
    decode_by(model, options.decoding)
    if options.probabilities:
        check_probabilities(model.stored, "--probabilities", options.model)
    if options.nbest is not None:
        check_probabilities(model.stored, f"--nbest {options.nbest}", options.model)
    with _output(options.output) as write:
        for lines in _answers(files, model, layout, options):
            write("".join(f"{line}\n" for line in lines).encode(layout.encoding))
    return 0


def _answers(
    files: Sequence[str], model: Answering, layout: Layout, options: Namespace
) -> Iterator[list[str]]:
    """The lines to write, file after file, as they come."""
    is_open = False  # whether a sentence was written whose blank line is missing
    for file in files:
        tagger = Tagger(model, file, options)
        stream = pieces(
            file,
            layout,
            wants_columns(model.stored.encoder),
            labelled=not options.unlabelled,
            forced_column=options.forced_column,
        )
        for piece in stream:
            # The last sentence of one file and the first of the next are not one.
            ends = [""] if is_open and not tagger.done and layout.format != "jsonl" else []
            lines = [*ends, *piece.answer(tagger.find(piece))]
            is_open = bool(lines and lines[-1].strip())
            yield lines


class Tagger:
    """Labels a file piece by piece, and knows how many sequences there were before."""

    def __init__(self, model: Answering, file: str, options: Namespace):
        self.model, self.source, self.options = model, name_of(file), options
        self.names = model.names
        self.what = "sums" if options.probabilities else "labels"
        if options.nbest is not None:
            self.what = "n-best"
        self.done = 0

    def find(self, piece: Piece) -> Found:
        lengths = piece.text.lengths
        if not len(lengths):
            return Found([])
        check_width(piece.text, self.model.stored.encoder, self.source)
        forced = self._forced(piece)
        try:
            found = self._found(
                self.model.ask(piece.text, forced, what=self.what, n_threads=self.options.threads)
            )
        except ImpossibleConstraint as error:
            raise self._located(error, piece) from None
        self.done += len(lengths)
        return found

    def _found(self, answered: Answered) -> Found:
        count, numbers = self.options.nbest, answered.decode()
        probabilities = nbest = None
        if self.options.probabilities:
            of_labels = answered.marginals()[np.arange(len(numbers)), numbers]
            probabilities = np.minimum(of_labels, 1.0).tolist()  # 1 + 1e-16 would look odd
        if count is not None:
            nbest = [
                [Ranked(self._named(y), p) for y, p in zip(labels, ps.tolist(), strict=True)]
                for labels, ps in answered.n_best(count)
            ]
        return Found(self._named(numbers), probabilities, nbest, count or 0)

    def _named(self, numbers: np.ndarray) -> list[str]:
        return [self.names[number] for number in numbers.tolist()]

    def _forced(self, piece: Piece) -> np.ndarray | None:
        if piece.forced is None:
            return None
        column: Column = piece.forced
        number = {name: k for k, name in enumerate(self.names)} | {FREE: -1}
        for k, value in enumerate(column.values):
            if value not in number:
                first = int(np.flatnonzero(column.codes == k)[0])
                raise FormatError(
                    self.source,
                    int(piece.lines[first]),
                    f"{value!r} is to be kept, but is not one of the labels "
                    f"{', '.join(self.names)}; use {FREE!r} where any label will do",
                )
        return np.array([number[value] for value in column.values], np.int32)[column.codes]

    def _located(self, error: ImpossibleConstraint, piece: Piece) -> FormatError:
        """The error with its line, and the sequence counted from the beginning of the text."""
        token = int(piece.text.lengths[: error.example].sum()) + error.position
        in_all = ImpossibleConstraint(
            self.done + error.example, error.position, error.forced, error.before, error.names
        )
        return FormatError(self.source, int(piece.lines[token]), str(in_all))


def _check_different(output: str, model: str) -> None:
    if os.path.exists(output) and os.path.exists(model) and os.path.samefile(output, model):
        raise ValueError(f"{output!r} would be overwritten, but the model is read from it")


def _is_device(path: str) -> bool:
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)


@contextmanager
def _output(path: str | None) -> Iterator[Callable[[bytes], object]]:
    """Where to write: at once to standard output or a device, whole or not at all to a file."""
    if path is None:
        yield _flushing(sys.stdout.buffer)
    elif _is_device(path):
        with open(path, "wb") as device:
            yield _flushing(device)
    else:
        with atomic_write(path) as file:
            yield file.write


def _flushing(stream: BinaryIO) -> Callable[[bytes], object]:
    def write(data: bytes) -> None:
        stream.write(data)
        stream.flush()

    return write
