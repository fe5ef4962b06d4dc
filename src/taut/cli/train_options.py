"""The options of ``taut train``; solvers, which take time to import, are when names are shown."""

from argparse import ArgumentParser
from typing import Any

from taut import defaults
from taut.cli.options import SCHEMES, add_decoding, add_files, add_reading, add_threads
from taut.cli.values import above, at_least, class_weight, picture


class SolverNames:
    """The names that ``--solver`` takes, listed when someone reads them."""

    def __init__(self, crf: bool):
        self.crf = crf

    def __str__(self) -> str:
        from taut.choice.registry import AUTO, solver_names, trains_crfs, trains_svms

        return ", ".join([AUTO, *solver_names(trains_crfs if self.crf else trains_svms)])


def add_train(train: ArgumentParser) -> None:
    add_files(train, "labelled text, gzip or not")
    train.add_argument(
        "-o", "--output", metavar="MODEL", help="the model file; not needed with --cv"
    )
    train.add_argument(
        "--template",
        metavar="T",
        help="features of columns: chunking, ner, pos, a file, or the text of a template; default "
        f"{defaults.TEMPLATE_OF_WORDS} for words alone, else {defaults.TEMPLATE_OF_COLUMNS}",
    )
    add_reading(train, in_training=True)
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
        "--transitions",
        choices=("auto", "all", "observed"),
        default=defaults.TRANSITIONS,
        help="weights for all steps from label to label, or only those seen in training; auto: all "
        f"up to {defaults.MANY_LABELS} labels",
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
    add_decoding(add, "viterbi", "of CRFs: ")
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
    add_threads(training)
    add("--checkpoint", metavar="FILE", help="save the state of the run here every minute")
    add("--resume", action="store_true", help="go on from the checkpoint")
    add = train.add_argument_group("output").add_argument
    add("--quiet", action="store_true", help="print nothing but errors")
    add(
        "--verbose",
        action="store_true",
        help="say how far training is, every ten seconds, though nobody watches a terminal",
    )
    add("--json", action="store_true", help="print the result as one JSON object")
    add("--plot", type=picture, metavar="FILE", help="draw the convergence (.png, .pdf, .svg)")
