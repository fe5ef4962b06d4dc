"""The options of all commands, and their help. Imports nothing that takes time."""

import argparse
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from taut import __version__
from taut.cli import defaults

COMMANDS = {
    "train": "taut.cli.train",
    "tag": "taut.cli.tag",
    "eval": "taut.cli.evaluate",
    "inspect": "taut.cli.inspect_model",
    "warmup": "taut.cli.warmup",
}
FORMATS = ("columns", "attributes", "jsonl")
ENCODINGS = ("utf-8", "latin-1")
SOLVERS = ("auto", "fw", "bcfw", "bcpfw", "bcafw", "corrective")
SCHEMES = ("IOB1", "IOB2", "IOE1", "IOE2", "IOBES", "BILOU", "BIO", "BIOES")
PICTURES = (".png", ".pdf", ".svg")

OVERVIEW = """\
examples:
  taut train train.txt -o chunker.taut --template chunking    columns: word POS tag
  taut tag -m chunker.taut test.txt > tagged.txt              appends the predicted column
  taut eval -m chunker.taut test.txt                          accuracy, precision, recall, F1
  taut inspect chunker.taut                                   certificate, strongest features
  cat file | taut tag -m chunker.taut -

exit codes: 0 done; 1 the input is wrong; 2 wrong usage; 130 interrupted (train saves the best
model so far first). TAUT_TRACEBACK=1 shows where in the code an error arose.
"""
TRAIN = """\
examples:
  taut train train.txt -o chunker.taut                        words, POS and tags in columns
  taut train train.txt -o m.taut --template "w[-1..1]; suffix(w[0], 1..3)"
  taut train train.txt -o m.taut --dev dev.txt --scheme IOB2  stop when dev gets no better
  taut train train.crfsuite -o m.taut --format attributes     CRFsuite's files
  taut train big.txt.gz -o m.taut --checkpoint run.npz        and later the same with --resume

Ctrl-C ends training and saves the best model so far (exit code 130).
"""
TAG = """\
examples:
  taut tag -m chunker.taut test.txt > tagged.txt
  cat test.txt | taut tag -m chunker.taut                     each sentence as soon as it has come
  taut tag -m m.taut test.txt --forced-column 2               keep labels that are known ("_": none)

Columns are echoed with the predicted label at the end; of attribute files only labels are written;
JSON lines are written with their "labels" replaced. Labels in the input are not looked at.
"""
EVAL = """\
examples:
  taut eval -m chunker.taut test.txt
  taut eval -m chunker.taut test.txt --strict IOB2 --json
  taut eval -m chunker.taut test.txt --plot confusion.png

Spans are read as the CoNLL evaluation script does, or strictly by a scheme. Labels that are not of
a tagging scheme are counted by token and sequence only.
"""
INSPECT = """\
examples:
  taut inspect chunker.taut
  taut inspect chunker.taut --label B-NP --top 30
  taut inspect chunker.taut --json | jq .certificate.relative_gap
"""
WARMUP = """\
Compiles ahead what the other commands need, which they otherwise do when first run. To be run once
after installing, for instance when a container is built; TAUT_CACHE_DIR says where it is kept.
"""


def new_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="taut",
        description="Sequence labelling: text in, tags out, with a certificate.",
        epilog=OVERVIEW,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"taut {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def command(name: str, what: str, more: str) -> argparse.ArgumentParser:
        return commands.add_parser(
            name,
            help=what,
            description=f"{what[0].upper()}{what[1:]}.",
            epilog=more,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )

    _add_train(command("train", "train a model on labelled text", TRAIN))
    _add_tag(command("tag", "label text by a model, as a stream", TAG))
    _add_eval(command("eval", "compare a model's labels with the true ones", EVAL))
    _add_inspect(command("inspect", "say what is in a model file", INSPECT))
    _add_warmup(command("warmup", "compile ahead", WARMUP))
    return parser


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options; wrong usage is said on standard error and leaves by SystemExit."""
    parser = new_parser()
    options = parser.parse_args(arguments)
    contradiction = _contradiction(options) if options.command == "train" else ""
    if contradiction:
        parser.error(contradiction)
    return options


def _contradiction(train: argparse.Namespace) -> str:
    """What is wrong with options that do not go together, if they do not."""
    if train.resume and train.checkpoint is None:
        return "--resume needs the --checkpoint to go on from"
    if train.scheme_in_training and train.scheme is None:
        return "--scheme-in-training needs a --scheme"
    if train.patience is not None and train.dev is None:
        return "--patience needs held-out text: --dev FILE"
    if train.template is not None and train.format == "attributes":
        return "--template is for columns; attribute files hold attributes already"
    if train.quiet and train.json:
        return "--quiet prints nothing, --json prints the result; give one of them"
    if train.file == train.dev == "-":
        return "training and held-out text cannot both come from standard input"
    return ""


def _add_train(train: argparse.ArgumentParser) -> None:
    train.add_argument("file", metavar="FILE", help='labelled text, gzip or not; "-": stdin')
    train.add_argument("-o", "--output", metavar="MODEL", required=True, help="the model file")
    train.add_argument(
        "--template",
        metavar="T",
        help="features of columns: chunking, ner, pos, a file, or the text of a template; default "
        f"{defaults.TEMPLATE_OF_WORDS} for words alone, else {defaults.TEMPLATE_OF_COLUMNS}",
    )
    _add_reading(train, labelled=True)
    add = train.add_argument_group("model").add_argument
    add("--C", type=_above(0.0), default=defaults.C, metavar="X",
        help="weight of the loss against the regulariser (default %(default)s)")  # fmt: skip
    add("--loss", choices=("hamming", "hamming-sum"), default=defaults.LOSS,
        help="fraction or number of wrong labels (default %(default)s)")  # fmt: skip
    add("--features", choices=("auto", "all", "observed"), default=defaults.FEATURES,
        help="weights for all pairs of attribute and label, or only those seen together; auto: "
        f"all up to {defaults.MOST_WEIGHTS:,} weights")  # fmt: skip
    add("--min-freq", type=_from(1), default=defaults.MIN_FREQ, metavar="N",
        help="leave out attributes of fewer tokens (default %(default)s)")  # fmt: skip
    add("--scheme", type=str.upper, choices=SCHEMES, metavar="S",
        help=f"predict only what is valid in this scheme: {', '.join(SCHEMES)}")  # fmt: skip
    add("--scheme-in-training", action="store_true", help="train under the same constraint")
    add = train.add_argument_group("training").add_argument
    add("--tol", type=_from(0.0), default=defaults.TOL, metavar="X",
        help="stop at this relative gap (default %(default)s)")  # fmt: skip
    add("--max-passes", type=_from(0.0), default=defaults.MAX_PASSES, metavar="N",
        help="or after so many passes over the data (default %(default)g)")  # fmt: skip
    add("--time-limit", type=_from(0.0), metavar="S", help="or after so many seconds")
    add("--dev", metavar="FILE", help="held-out text: keep the weights with the best score on it")
    add("--patience", type=_from(1), metavar="N",
        help="with --dev: stop when so many checks brought no better score (default "
        f"{defaults.PATIENCE})")  # fmt: skip
    add("--solver", choices=SOLVERS, default="auto", help="default %(default)s")
    add("--averaging", action=argparse.BooleanOptionalAction, default=defaults.AVERAGING,
        help="consider the average of the iterates, too (default: yes)")  # fmt: skip
    add("--seed", type=_from(0), default=defaults.SEED, metavar="N", help="default %(default)s")
    _add_threads(train)
    add("--checkpoint", metavar="FILE", help="save the state of the run here every minute")
    add("--resume", action="store_true", help="go on from the checkpoint")
    add = train.add_argument_group("output").add_argument
    add("--quiet", action="store_true", help="print nothing but errors")
    add("--json", action="store_true", help="print the result as one JSON object")
    add("--plot", type=_picture, metavar="FILE", help="draw the convergence (.png, .pdf, .svg)")


def _add_tag(tag: argparse.ArgumentParser) -> None:
    _add_model(tag)
    tag.add_argument("file", metavar="FILE", nargs="?", default="-", help="default: stdin")
    tag.add_argument("-o", "--output", metavar="FILE", help="default: stdout")
    _add_reading(tag, labelled=False)
    tag.add_argument("--unlabelled", action="store_true",
                     help="lines of the attribute file do not begin with a label")  # fmt: skip
    tag.add_argument("--forced-column", type=int, metavar="N",
                     help='labels to keep are in this column, from 0; "_" is no label')  # fmt: skip
    _add_threads(tag)


def _add_eval(evaluate: argparse.ArgumentParser) -> None:
    _add_model(evaluate)
    evaluate.add_argument("file", metavar="FILE", help='labelled text; "-": stdin')
    _add_reading(evaluate, labelled=True)
    evaluate.add_argument("--strict", type=str.upper, choices=SCHEMES, metavar="SCHEME",
                          help=f"read spans strictly: {', '.join(SCHEMES)}")  # fmt: skip
    _add_threads(evaluate)
    evaluate.add_argument("--json", action="store_true", help="print one JSON object")
    evaluate.add_argument("--plot", type=_picture, metavar="FILE",
                          help="draw the confusion matrix (.png, .pdf, .svg)")  # fmt: skip


def _add_inspect(inspect: argparse.ArgumentParser) -> None:
    inspect.add_argument("model", metavar="MODEL")
    inspect.add_argument("--top", type=_from(0), default=10, metavar="N",
                         help="how many features and steps to show (default %(default)s)")  # fmt: skip
    inspect.add_argument("--label", metavar="L", help="show the features of this label only")
    inspect.add_argument("--json", action="store_true", help="print one JSON object")


def _add_warmup(warmup: argparse.ArgumentParser) -> None:
    warmup.add_argument("--all", action="store_true",
                        help="also the other solvers, and dense features as of Python")  # fmt: skip
    warmup.add_argument("--quiet", action="store_true", help="print nothing")


def _add_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-m", "--model", required=True, metavar="MODEL", help="the model file")


def _add_threads(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--threads", type=_from(1), default=defaults.THREADS, metavar="N",
                        help="never changes the result (default %(default)s)")  # fmt: skip


def _add_reading(parser: argparse.ArgumentParser, *, labelled: bool) -> None:
    """Not given means: as in training; in training, columns of UTF-8."""
    add = parser.add_argument_group("reading").add_argument
    add("--format", choices=FORMATS,
        help="columns; CRFsuite's attributes; JSON lines (known by the name *.jsonl)")  # fmt: skip
    last = "; default: the last" if labelled else ", left out of the features"
    add("--label-column", type=int, metavar="N",
        help=f"where labels are, from 0, or from the end: -1{last}")  # fmt: skip
    add("--separator", type=_separator, metavar="S",
        help=r"the character between columns, such as '\t'; default: blanks and tabs")  # fmt: skip
    add("--comment", metavar="C", help="skip lines that begin with this, such as '#'")
    add("--encoding", choices=ENCODINGS, help="default utf-8")


# --- what values may be ---------------------------------------------------------------------------


def _from(least: float) -> Callable[[str], Any]:
    """A number that is not less; whole if the bound is."""
    return _number(type(least), lambda value: value >= least, f"from {least} on")


def _above(least: float) -> Callable[[str], float]:
    return _number(float, lambda value: value > least, f"above {least:g}")


def _number(kind: type, fits: Callable[[Any], bool], which: str) -> Callable[[str], Any]:
    what = "a whole number" if kind is int else "a number"

    def parse(text: str) -> Any:
        try:
            value = kind(text)
        except ValueError:
            value = math.nan
        if not (fits(value) and math.isfinite(value) and value < 2**31):
            raise argparse.ArgumentTypeError(f"{text!r} is not {what} {which}")
        return value

    return parse


def _separator(text: str) -> str:
    character = "\t" if text == r"\t" else text
    if len(character) != 1 or character in "\r\n":
        raise argparse.ArgumentTypeError(f"{text!r} is not one character; '\\t' is a tab")
    return character


def _picture(text: str) -> str:
    if Path(text).suffix.lower() not in PICTURES:
        raise argparse.ArgumentTypeError(f"{text!r} does not end in {', '.join(PICTURES)}")
    return text
