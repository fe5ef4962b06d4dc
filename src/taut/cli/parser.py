"""The command line as a whole: its commands, their help, and what does not go together."""

import argparse
import difflib
from collections.abc import Sequence
from typing import NoReturn

from taut import __version__, defaults
from taut.cli import examples
from taut.cli.options import add_convert, add_eval, add_inspect, add_tag, add_warmup
from taut.cli.train_options import SolverNames, add_train

# The modules that run them, imported when they are.
COMMANDS = {
    "train": "taut.cli.train",
    "tag": "taut.cli.tag",
    "eval": "taut.cli.evaluate",
    "inspect": "taut.cli.inspect_model",
    "convert": "taut.cli.convert",
    "warmup": "taut.cli.warmup",
}


class Parser(argparse.ArgumentParser):
    """Says where help is."""

    def error(self, message: str) -> NoReturn:
        super().error(f"{message}; see {self.prog} --help")

    def refuse(self, unknown: Sequence[str]) -> NoReturn:
        """Words that are neither options nor belong to one."""
        options = [name for name in self._option_string_actions if name.startswith("--")]
        given = unknown[0].partition("=")[0]
        longer = [name for name in options if given.startswith("--") and name.startswith(given)]
        meant = longer[:1] or difflib.get_close_matches(given, options, 1, 0.75)
        hint = f" (is {meant[0]} meant?)" if meant else ""
        self.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")


def new_parser() -> tuple[Parser, dict[str, Parser]]:
    """That of the command line, and that of each command."""
    parser = Parser(
        prog="taut",
        description="Sequence labelling: text in, tags out, with a certificate.",
        epilog=examples.OVERVIEW,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"taut {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    parsers: dict[str, Parser] = {}

    def command(name: str, what: str, more: str) -> Parser:
        parsers[name] = commands.add_parser(
            name,
            help=what,
            description=f"{what[0].upper()}{what[1:]}.",
            epilog=more,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,  # a script must not break when another option comes
        )
        return parsers[name]

    add_train(command("train", "train a model on labelled text", examples.TRAIN))
    add_tag(command("tag", "label text by a model, as a stream", examples.TAG))
    add_eval(command("eval", "compare a model's labels with the true ones", examples.EVAL))
    add_inspect(command("inspect", "say what is in a model file", examples.INSPECT))
    add_convert(command("convert", "read another program's model", examples.CONVERT))
    add_warmup(command("warmup", "compile ahead", examples.WARMUP))
    return parser, parsers


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options; wrong usage is said on standard error and leaves by SystemExit."""
    parser, commands = new_parser()
    options, others = parser.parse_known_args(arguments)
    command = commands[options.command]
    unknown = [word for word in others if word.startswith("-") and word != "-"]
    if others and (unknown or "files" not in options):
        command.refuse(others)
    if others:  # files may come before options and after them
        options.files = [*options.files, *others]
    contradiction = ""
    if options.command == "train":
        contradiction = (
            _wrong_for_the_model(options) or _wrong_with_cv(options) or _contradiction(options)
        )
    elif options.command == "inspect" and options.json and options.weights == "-":
        contradiction = "--weights - and --json both print; name a file for the weights"
    if contradiction:
        command.error(contradiction)
    if options.command == "train":
        _set_defaults(options)
    return options


def _set_defaults(train: argparse.Namespace) -> None:
    """What was not said, where that depends on what was."""
    tolerances = defaults.CRF_TOL if train.crf else defaults.TOL
    chosen = {
        "C": defaults.C,
        "solver": defaults.SOLVER,
        "tol": tolerances[train.effort],
        "max_passes": defaults.MAX_PASSES,
        "loss": defaults.LOSS,
        "formulation": defaults.FORMULATION,
        "slack_penalty": defaults.SLACK_PENALTY,
        "l1": 0.0,
        "decoding": defaults.DECODING,
    }
    for name, value in chosen.items():
        if getattr(train, name) is None:
            setattr(train, name, value)


def _wrong_for_the_model(train: argparse.Namespace) -> str:
    """Options of SVMs given for a CRF, or the other way round."""
    if train.crf:
        for name in ("loss", "class_weight", "formulation", "slack_penalty"):
            if getattr(train, name) is not None:
                return f"--{name.replace('_', '-')} is for SVMs; a CRF (--crf) maximises likelihood"
    elif train.l1:
        return "--l1 is for CRFs; train one with --crf"
    elif train.decoding == "posterior":
        return "--decoding posterior needs probabilities, which SVMs do not give; train with --crf"
    return "" if train.solver in (None, "auto") else _wrong_solver(train)


def _wrong_solver(train: argparse.Namespace) -> str:
    """What is wrong with a solver that was named; it is imported here, a little before its use."""
    from taut.choice.registry import registered_solver, trains_crfs, trains_svms, what_it_trains

    try:
        solver = registered_solver(train.solver)
    except ValueError as error:
        return f"--solver: {error}"
    if solver is None or not (trains_crfs if train.crf else trains_svms)(solver):
        what = "is not known" if solver is None else f"trains {what_it_trains(solver)}"
        more = " (--crf)" * (solver is not None and trains_crfs(solver))
        return f"--solver {train.solver} {what}{more}; here use one of {SolverNames(train.crf)}"
    if train.averaging and not solver.can_average:
        return f"--averaging: --solver {train.solver} returns {solver.returns}; leave it out"
    return ""


def _wrong_with_cv(train: argparse.Namespace) -> str:
    """Options that are for one run, given for many; or no place for the one run's model."""
    if train.cv is None:
        return "" if train.output else "the following arguments are required: -o/--output"
    if train.C == "best":
        return "--cv scores one C; find it by --C best --dev FILE first"
    for name, why in (
        ("dev", "holds out parts of the text itself"),
        ("checkpoint", "is many runs, and a checkpoint the state of one"),
        ("resume", "is many runs, and a checkpoint the state of one"),
        ("plot", "is many runs, and the picture is of one"),
        ("quiet", "has a result to print"),
    ):
        if getattr(train, name):
            return f"--cv {why}; leave out --{name}"
    return ""


def _contradiction(train: argparse.Namespace) -> str:
    """What is wrong with options that do not go together, if they do not."""
    if train.effort != "default":
        if train.tol is not None:
            return f"--{train.effort} stands for a --tol; give one of them"
        if train.dev is not None:
            return (
                f"--{train.effort} says at which gap training ends, but with --dev the score on "
                "held-out text does; give one of them"
            )
    if train.resume and train.checkpoint is None:
        return "--resume needs the --checkpoint to go on from"
    if train.scheme_in_training and train.scheme is None:
        return "--scheme-in-training needs a --scheme"
    if train.patience is not None and train.dev is None:
        return "--patience needs held-out text: --dev FILE"
    if train.C == "best" and train.dev is None:
        return "--C best needs held-out text: --dev FILE"
    if train.C == "best" and train.slack_penalty == "squared":
        return "--C best is for --slack-penalty linear"
    if train.C == "best" and train.l1:
        return "--C best follows a path that is without --l1; give one of them"
    if train.C == "best" and train.resume:
        return "--C best would be searched again; --resume with the --C that it found"
    if train.template is not None and train.format == "attributes":
        return "--template is for columns; attribute files hold attributes already"
    if train.quiet and train.verbose:
        return "--quiet prints nothing, --verbose says how far training is; give one of them"
    if train.quiet and train.json:
        return "--quiet prints nothing, --json prints the result; give one of them"
    if "-" in train.files and "-" in (train.dev or []):
        return "training and held-out text cannot both come from standard input"
    return ""
