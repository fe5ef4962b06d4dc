"""The options of each command. Imports nothing that takes time."""

from argparse import ArgumentParser
from typing import Any

from taut import defaults
from taut.cli.values import above, at_least, picture, separator

# Named here too, so that help need not import what they are names of; a test compares.
FORMATS = ("columns", "attributes", "jsonl")
ENCODINGS = ("utf-8", "latin-1")
SOLVERS = (
    "auto", "averaged", "fw", "bcfw", "bcpfw", "bcafw", "corrective",
    "simplicial", "cutting-plane", "cutting-plane-one", "subgradient",
)  # fmt: skip
SCHEMES = ("IOB1", "IOB2", "IOE1", "IOE2", "IOBES", "BILOU", "BIO", "BIOES")


def add_train(train: ArgumentParser) -> None:
    train.add_argument("file", metavar="FILE", help='labelled text, gzip or not; "-": stdin')
    train.add_argument("-o", "--output", metavar="MODEL", required=True, help="the model file")
    train.add_argument(
        "--template",
        metavar="T",
        help="features of columns: chunking, ner, pos, a file, or the text of a template; default "
        f"{defaults.TEMPLATE_OF_WORDS} for words alone, else {defaults.TEMPLATE_OF_COLUMNS}",
    )
    _add_reading(train, in_training=True)
    add = train.add_argument_group("model").add_argument
    add(
        "--C",
        type=lambda text: text if text in ("scale", "best") else above(0.0)(text),
        default=defaults.C,
        metavar="X",
        help='weight of the loss against the regulariser, or "scale" (default): '
        '6 / (1 + mean attributes per token), or "best": whichever scores best on --dev',
    )
    add(
        "--loss",
        choices=("hamming", "hamming-sum"),
        default=defaults.LOSS,
        help="fraction or number of wrong labels (default %(default)s)",
    )
    add(
        "--features",
        choices=("auto", "all", "observed"),
        default=defaults.FEATURES,
        help="weights for all pairs of attribute and label, or only those seen together; auto: "
        f"all up to {defaults.MOST_WEIGHTS:,} weights",
    )
    add(
        "--min-freq",
        type=at_least(1),
        default=defaults.MIN_FREQ,
        metavar="N",
        help="leave out attributes of fewer tokens (default %(default)s)",
    )
    add(
        "--scheme",
        type=str.upper,
        choices=SCHEMES,
        metavar="S",
        help=f"predict only what is valid in this scheme: {', '.join(SCHEMES)}",
    )
    add("--scheme-in-training", action="store_true", help="train under the same constraint")
    training = train.add_argument_group("training")
    add = training.add_argument
    add(
        "--tol",
        type=at_least(0.0),
        default=defaults.TOL,
        metavar="X",
        help="stop at this relative gap (default %(default)s)",
    )
    add(
        "--max-passes",
        type=at_least(0.0),
        default=defaults.MAX_PASSES,
        metavar="N",
        help="or after so many passes over the data (default %(default)g)",
    )
    add("--time-limit", type=at_least(0.0), metavar="S", help="or after so many seconds")
    add("--dev", metavar="FILE", help="held-out text: keep the weights with the best score on it")
    add(
        "--patience",
        type=at_least(1),
        metavar="N",
        help="with --dev: stop when so many checks brought no better score (default "
        f"{defaults.PATIENCE})",
    )
    add(
        "--formulation",
        choices=("margin", "slack"),
        default="margin",
        help="other labellings must score less by their loss, or by 1 with slack that counts times "
        "the loss (default %(default)s)",
    )
    add(
        "--slack-penalty",
        choices=("linear", "squared"),
        default="linear",
        help="what a slack costs; squared: the default solver is then auto, and --tol should be "
        "smaller (default %(default)s)",
    )
    add(
        "--solver",
        choices=SOLVERS,
        default=defaults.SOLVER,
        metavar="NAME",
        help=f"one of {', '.join(SOLVERS)} (default %(default)s)",
    )
    add(
        "--averaging",
        action="store_true",
        help='return the average of the iterates; the solver "averaged" always does',
    )
    add("--seed", type=at_least(0), default=defaults.SEED, metavar="N", help="default %(default)s")
    _add_threads(training)
    add("--checkpoint", metavar="FILE", help="save the state of the run here every minute")
    add("--resume", action="store_true", help="go on from the checkpoint")
    add = train.add_argument_group("output").add_argument
    add("--quiet", action="store_true", help="print nothing but errors")
    add("--json", action="store_true", help="print the result as one JSON object")
    add("--plot", type=picture, metavar="FILE", help="draw the convergence (.png, .pdf, .svg)")


def add_tag(tag: ArgumentParser) -> None:
    _add_model(tag)
    tag.add_argument("file", metavar="FILE", nargs="?", default="-", help="default: stdin")
    tag.add_argument("-o", "--output", metavar="FILE", help="default: stdout")
    _add_reading(tag)
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
    _add_threads(tag)


def add_eval(evaluate: ArgumentParser) -> None:
    _add_model(evaluate)
    evaluate.add_argument("file", metavar="FILE", help='labelled text; "-": stdin')
    _add_reading(evaluate)
    evaluate.add_argument(
        "--strict",
        type=str.upper,
        choices=SCHEMES,
        metavar="SCHEME",
        help=f"read spans strictly: {', '.join(SCHEMES)}",
    )
    _add_threads(evaluate)
    evaluate.add_argument("--json", action="store_true", help="print one JSON object")
    evaluate.add_argument(
        "--plot", type=picture, metavar="FILE", help="draw the confusion matrix (.png, .pdf, .svg)"
    )


def add_inspect(inspect: ArgumentParser) -> None:
    inspect.add_argument("model", metavar="MODEL")
    inspect.add_argument(
        "--top",
        type=at_least(0),
        default=10,
        metavar="N",
        help="features and transitions to show (default %(default)s)",
    )
    inspect.add_argument("--label", metavar="L", help="show the features of this label only")
    inspect.add_argument("--json", action="store_true", help="print one JSON object")


def add_warmup(warmup: ArgumentParser) -> None:
    warmup.add_argument(
        "--all", action="store_true", help="also the other solvers, and dense features as of Python"
    )
    warmup.add_argument("--quiet", action="store_true", help="print nothing")


def _add_model(parser: ArgumentParser) -> None:
    parser.add_argument("-m", "--model", required=True, metavar="MODEL", help="the model file")


def _add_threads(group: Any) -> None:
    group.add_argument(
        "--threads",
        type=at_least(1),
        default=defaults.THREADS,
        metavar="N",
        help="never changes the result (default %(default)s)",
    )


def _add_reading(parser: ArgumentParser, *, in_training: bool = False) -> None:
    """How to read a file; the model file keeps what was said in training."""

    def default(value: str) -> str:
        return f"default: {value if in_training else 'as in training'}"

    add = parser.add_argument_group("reading").add_argument
    add(
        "--format",
        choices=FORMATS,
        help="columns; attributes, as CRFsuite's files hold them; JSON lines; "
        + default("by the name (*.crfsuite, *.jsonl), else columns"),
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
