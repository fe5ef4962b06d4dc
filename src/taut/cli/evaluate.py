"""``taut eval``: predicted labels against true ones."""

import json
from argparse import Namespace
from typing import Any

import numpy as np

from taut.chain.scoring import write_spans
from taut.cli.answering import Answering
from taut.cli.data import (
    check_known,
    check_width,
    layout_of,
    numbers_of,
    read_labelled,
    wants_columns,
)
from taut.cli.labelled import Labelled
from taut.cli.pictures import check_picture, save_picture
from taut.cli.probabilities import decode_by, likelihood
from taut.cli.text_files import listed, name_of_all
from taut.metrics import SpanReport, span_report_from_codes
from taut.metrics._inputs import join_columns
from taut.metrics.tokens import share_of_sequences, share_of_tokens
from taut.text.columns import Column


def run(options: Namespace) -> int:
    files = listed(options.files)
    check_picture(options.plot)
    model = Answering(options.model)
    decode_by(model, options.decoding)
    stored, names = model.stored, model.names
    layout = layout_of(stored.encoder, model.file.header).changed(options)
    data, _ = read_labelled(files, layout, wants_columns(stored.encoder))
    check_known(data.labels, names, files, layout)
    check_width(data.text, stored.encoder, name_of_all(files))
    is_crf = stored.temperature > 0.0
    what = "sums" if is_crf else "labels"
    answered = model.ask(data.text, what=what, n_threads=options.threads)
    predicted = Column(answered.decode().astype(np.int32), names)
    with data.located():
        report = _report(data, predicted, options.strict)
    likely = None
    if is_crf:
        numbers = numbers_of(data.labels, names)
        likely = likelihood(stored, answered, data.text.lengths, numbers)
    if options.plot is not None:
        _plot(data.labels, predicted, options.plot)
    if options.json:
        about = {"model": options.model, "files": files}
        more = {} if likely is None else likely.as_dict()
        print(json.dumps({**about, **_as_dict(report), **more}))
        return 0
    print(report if isinstance(report, SpanReport) else _shares(report))
    if likely is not None:
        print(likely)
    return 0


def _shares(report: dict[str, Any]) -> str:
    return (
        f"{100 * report['token_accuracy']:.2f}% of {report['n_tokens']} tokens and "
        f"{100 * report['sequence_accuracy']:.2f}% of {report['n_sequences']} sequences are right"
    )


def _report(data: Labelled, predicted: Column, strict: str | None) -> SpanReport | dict[str, Any]:
    """Spans where there are any, or where a scheme was named: then other labels are an error."""
    lengths = data.text.lengths
    if strict is not None:
        return span_report_from_codes(data.labels, predicted, lengths, mode="strict", scheme=strict)
    if write_spans([*data.labels.values, *predicted.values]):
        return span_report_from_codes(data.labels, predicted, lengths)
    pair = join_columns(data.labels, predicted, lengths)
    return {
        "token_accuracy": share_of_tokens(pair),
        "sequence_accuracy": share_of_sequences(pair),
        "n_tokens": len(pair.true),
        "n_sequences": len(lengths),
    }


def _as_dict(report: SpanReport | dict[str, Any]) -> dict[str, Any]:
    return report.as_dict() if isinstance(report, SpanReport) else report


def _plot(true: Column, predicted: Column, path: str) -> None:
    from taut.plotting import plot_confusion

    def labels(column: Column) -> list[str]:
        return [column.values[code] for code in column.codes.tolist()]

    save_picture(plot_confusion([labels(true)], [labels(predicted)]), path)
