"""The options of each command. Imports what takes time, the solvers, when their names are shown."""

from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any

from taut import defaults
from taut.cli.values import above, at_least, class_weight, picture, separator, target

# Named here too, so that help need not import what they are names of; a test compares.
FORMATS = ("columns", "conllu", "attributes", "jsonl")
ENCODINGS = ("utf-8", "latin-1")
DECODINGS = ("viterbi", "posterior")
SCHEMES = ("IOB1", "IOB2", "IOE1", "IOE2", "IOBES", "BILOU", "BIO", "BIOES")


class SolverNames:
    """The names that ``--solver`` takes, listed when someone reads them."""

    def __init__(self, crf: bool):
        self.crf = crf

    def __str__(self) -> str:
        from taut.choice.registry import AUTO, solver_names, trains_crfs, trains_svms

        return ", ".join([AUTO, *solver_names(trains_crfs if self.crf else trains_svms)])


def add_train(train: ArgumentParser) -> None:
    _add_files(train, "labelled text, gzip or not")
    train.add_argument(
        "-o", "--output", metavar="MODEL", help="the model file; not needed with --cv"
    )
    train.add_argument(
        "--template",
        metavar="T",
        help="features of columns: chunking, ner, pos, a file, or the text of a template; default "
        f"{defaults.TEMPLATE_OF_WORDS} for words alone, else {defaults.TEMPLATE_OF_COLUMNS}",
    )
    _add_reading(train, in_training=True)
    add = train.add_argument_group("model").add_argument
    add(
        "--crf",
        action="store_true",
        help="a conditional random field, which has probabilities, instead of an SVM",
    )
    add(
        "--C",
        type=lambda text: text if text in ("scale", "best") else above(0.0)(text),
        metavar="X",
        help='weight of the loss against the regulariser, or "scale": 6 / (1 + mean attributes per '
        'token), of CRFs 10 (attributes / tokens)^0.75; or "best": whichever scores best on --dev '
        f"(default {defaults.C})",
    )
    add(
        "--l1",
        type=at_least(0.0),
        metavar="X",
        help="of CRFs: also a cost of |w|, which makes weights zero; CRFsuite's c1 is l1 / C, and "
        "its c2 1 / (2 C) (default 0)",
    )
    add(
        "--loss",
        choices=("hamming", "hamming-sum"),
        help=f"of SVMs: fraction or number of wrong labels (default {defaults.LOSS})",
    )
    add(
        "--class-weight",
        type=class_weight,
        metavar="W",
        help="of SVMs: what mistakes on each true label cost, such as 'O=1,*=2' (* is every other "
        'label, 1 unless said otherwise), or "balanced"; names are found more often where they '
        "cost more than O",
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
    _add_decoding(add, "viterbi", "of CRFs: ")
    training = train.add_argument_group("training")
    add = training.add_argument
    add(
        "--tol",
        type=at_least(0.0),
        metavar="X",
        help=f"stop at this relative gap (default {defaults.TOL['default']:g}; of CRFs "
        f"{defaults.CRF_TOL['default']:g})",
    )
    effort = training.add_mutually_exclusive_group()
    effort.add_argument(
        "--fast",
        dest="effort",
        action="store_const",
        const="fast",
        default="default",
        help=f"--tol {defaults.TOL['fast']:g}, of CRFs {defaults.CRF_TOL['fast']:g}: in half the "
        "time, labels a little worse",
    )
    effort.add_argument(
        "--exact",
        dest="effort",
        action="store_const",
        const="exact",
        help=f"--tol {defaults.TOL['exact']:g}, of CRFs {defaults.CRF_TOL['exact']:g}: for the "
        "certificate; labels hardly change",
    )
    add(
        "--max-passes",
        type=at_least(0.0),
        metavar="N",
        help=f"or after so many passes over the data (default {defaults.MAX_PASSES:g})",
    )
    add(
        "--time-limit",
        type=at_least(0.0),
        metavar="SECONDS",
        help="or after so many seconds; with --cv or --C best it is that of each run",
    )
    add(
        "--cpu-limit",
        type=at_least(0.0),
        metavar="SECONDS",
        help="or after so many of all cores together, which a busy machine does not shorten",
    )
    add(
        "--dev",
        metavar="FILE",
        action="append",
        help="held-out text: keep the weights with the best score on it; may be a pattern, and may "
        "be given several times",
    )
    add(
        "--cv",
        type=at_least(2),
        metavar="K",
        help="label each of K parts, sentences shuffled by --seed, by a model of the others, and "
        "print mean and standard deviation of the scores; with -o a model of all text is trained "
        "and saved, too",
    )
    add(
        "--patience",
        type=at_least(1),
        metavar="N",
        help="with --dev: stop when so many checks brought no better score (default "
        f"{defaults.PATIENCE}; of lbfgs {defaults.LBFGS_PATIENCE})",
    )
    add(
        "--formulation",
        choices=("margin", "slack"),
        help="of SVMs: other labellings must score less by their loss, or by 1 with slack that "
        f"counts times the loss (default {defaults.FORMULATION})",
    )
    add(
        "--slack-penalty",
        choices=("linear", "squared"),
        help="of SVMs: what a slack costs; squared: --tol should then be smaller "
        f" (default {defaults.SLACK_PENALTY})",
    )
    solver: Any = add(
        "--solver",
        metavar="NAME",
        help=f"one of %(of_svms)s; of CRFs one of %(of_crfs)s (default {defaults.SOLVER})",
    )
    solver.of_svms, solver.of_crfs = SolverNames(crf=False), SolverNames(crf=True)
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
    add = tag.add_argument_group("models trained with --crf").add_argument
    _add_decoding(add, "as in training")
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
    _add_threads(tag)


def add_eval(evaluate: ArgumentParser) -> None:
    _add_model(evaluate)
    _add_files(evaluate, "labelled text")
    _add_reading(evaluate)
    _add_decoding(evaluate.add_argument, "as in training", "of CRFs: ")
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


def _add_files(parser: ArgumentParser, what: str) -> None:
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="+",
        help=f"{what}, one or several, or patterns such as 'corpus/*.txt'; \"-\": stdin",
    )


def _add_model(parser: ArgumentParser) -> None:
    parser.add_argument("-m", "--model", required=True, metavar="MODEL", help="the model file")


def _add_decoding(add: Callable[..., Any], default: str, of: str = "") -> None:
    add(
        "--decoding",
        choices=DECODINGS,
        help=f"{of}the most probable labelling, or the labels that are most probable one by one "
        f"(default {default})",
    )


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
