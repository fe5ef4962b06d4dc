"""The options of each command but train, and those that several have."""

from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any

from taut import defaults
from taut.cli.values import at_least, picture, separator, target

# Named here too, so that help need not import what they are names of; a test compares.
FORMATS = ("columns", "conllu", "attributes", "jsonl")
ENCODINGS = ("utf-8", "latin-1")
SCHEMES = ("IOB1", "IOB2", "IOE1", "IOE2", "IOBES", "BILOU", "BIO", "BIOES")


def add_tag(tag: ArgumentParser) -> None:
    _add_model(tag)
    tag.add_argument(
        "files",
        metavar="FILE",
        nargs="*",
        default=["-"],
        help="one or several, or patterns such as 'corpus/*.txt'; default: stdin",
    )
    tag.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="all that is written, file after file; default: stdout",
    )
    add_reading(tag)
    tag.add_argument(
        "--unlabelled",
        action="store_true",
        help="lines of the attribute file do not begin with a label",
    )
    tag.add_argument(
        "--forced-column",
        type=int,
        metavar="N",
        help='labels to keep are in this column, from 0; "_" is no label',
    )
    add = tag.add_argument_group("models trained with --crf").add_argument
    add_decoding(add, "as in training")
    add(
        "--probabilities",
        action="store_true",
        help="after each label how probable it is; in CoNLL-U as P=, in JSON lines as "
        '"probabilities"',
    )
    add(
        "--nbest",
        type=at_least(1),
        metavar="N",
        help="the most probable labellings of each sequence, with their probabilities: two columns "
        'each; in CoNLL-U as comments, in JSON lines as "nbest"',
    )
    add_threads(tag)


def add_eval(evaluate: ArgumentParser) -> None:
    _add_model(evaluate)
    add_files(evaluate, "labelled text")
    add_reading(evaluate)
    add_decoding(evaluate.add_argument, "as in training", "of CRFs: ")
    evaluate.add_argument(
        "--strict",
        type=str.upper,
        choices=SCHEMES,
        metavar="SCHEME",
        help=f"read spans strictly: {', '.join(SCHEMES)}",
    )
    add_threads(evaluate)
    evaluate.add_argument("--json", action="store_true", help="print one JSON object")
    evaluate.add_argument(
        "--plot", type=picture, metavar="FILE", help="draw the confusion matrix (.png, .pdf, .svg)"
    )


def add_inspect(inspect: ArgumentParser) -> None:
    inspect.add_argument("model", metavar="MODEL")
    inspect.add_argument(
        "--top",
        type=lambda text: None if text == "all" else at_least(0)(text),
        default=10,
        metavar="N",
        help='features and transitions to show, or "all" (default %(default)s)',
    )
    inspect.add_argument("--label", metavar="L", help="show the features of this label only")
    inspect.add_argument(
        "--weights",
        metavar="FILE",
        help='write every weight that is not zero, columns apart by tabs; "-": to stdout, and '
        "nothing else; a name that ends in .gz: packed",
    )
    inspect.add_argument("--json", action="store_true", help="print one JSON object")


def add_convert(convert: ArgumentParser) -> None:
    convert.add_argument(
        "model", metavar="MODEL", help="of CRFsuite, CRF++ (as text: crf_learn -t) or Wapiti"
    )
    convert.add_argument(
        "-o", "--output", required=True, metavar="FILE", help="the model file to write"
    )
    convert.add_argument("--quiet", action="store_true", help="print nothing")


def add_warmup(warmup: ArgumentParser) -> None:
    warmup.add_argument(
        "--crf", action="store_true", help="also what models of train --crf need, as much again"
    )
    warmup.add_argument(
        "--all",
        action="store_true",
        help="that, the other solvers, and dense features as of Python",
    )
    warmup.add_argument("--quiet", action="store_true", help="print nothing")
    warmup.add_argument(
        "--list",
        action="store_true",
        help="compile nothing; show what there is, and where",
    )


def add_files(parser: ArgumentParser, what: str) -> None:
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="+",
        help=f"{what}, one or several, or patterns such as 'corpus/*.txt'; \"-\": stdin",
    )


def _add_model(parser: ArgumentParser) -> None:
    parser.add_argument("-m", "--model", required=True, metavar="MODEL", help="the model file")


def add_decoding(add: Callable[..., Any], default: str, of: str = "") -> None:
    add(
        "--decoding",
        choices=defaults.DECODINGS,
        help=f"{of}the most probable labelling, or the labels that are most probable one by one "
        f"(default {default})",
    )


def add_threads(group: Any) -> None:
    group.add_argument(
        "--threads",
        type=at_least(1),
        default=defaults.THREADS,
        metavar="N",
        help="never changes the result (default %(default)s)",
    )


def add_reading(parser: ArgumentParser, *, in_training: bool = False) -> None:
    """How to read a file; the model file keeps what was said in training."""

    def default(value: str) -> str:
        return f"default: {value if in_training else 'as in training'}"

    add = parser.add_argument_group("reading").add_argument
    add(
        "--format",
        choices=FORMATS,
        help="columns; conllu, as of Universal Dependencies; attributes, as CRFsuite's files hold "
        "them; JSON lines; " + default("by the name (*.conllu, *.crfsuite, *.jsonl), else columns"),
    )
    add(
        "--label",
        type=target,
        metavar="WHAT",
        help="of CoNLL-U: upos, xpos, feats, upos+feats, deprel, or misc:KEY; "
        + default("none, it must be said"),
    )
    add(
        "--label-column",
        type=int,
        metavar="N",
        help="where labels are: columns count from 0, or from -1 at the end; " + default("-1"),
    )
    add(
        "--separator",
        type=separator,
        metavar="S",
        help=r"the character between columns, such as '\t'; " + default("blanks and tabs"),
    )
    add(
        "--comment",
        metavar="C",
        help="skip lines that begin with this, such as '#'; " + default("none"),
    )
    add("--encoding", choices=ENCODINGS, help=default("utf-8"))
