"""The command line as a whole: its commands, their help, and what does not go together."""

import argparse
from collections.abc import Sequence

from taut import __version__
from taut.cli import examples
from taut.cli.options import add_eval, add_inspect, add_tag, add_train, add_warmup

# The modules that run them, imported when they are.
COMMANDS = {
    "train": "taut.cli.train",
    "tag": "taut.cli.tag",
    "eval": "taut.cli.evaluate",
    "inspect": "taut.cli.inspect_model",
    "warmup": "taut.cli.warmup",
}


def new_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="taut",
        description="Sequence labelling: text in, tags out, with a certificate.",
        epilog=examples.OVERVIEW,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
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
            allow_abbrev=False,  # a script must not break when another option comes
        )

    add_train(command("train", "train a model on labelled text", examples.TRAIN))
    add_tag(command("tag", "label text by a model, as a stream", examples.TAG))
    add_eval(command("eval", "compare a model's labels with the true ones", examples.EVAL))
    add_inspect(command("inspect", "say what is in a model file", examples.INSPECT))
    add_warmup(command("warmup", "compile ahead", examples.WARMUP))
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
    if train.C == "best" and train.dev is None:
        return "--C best needs held-out text: --dev FILE"
    if train.C == "best" and train.slack_penalty != "linear":
        return "--C best is for --slack-penalty linear"
    if train.C == "best" and train.resume:
        return "--C best would be searched again; --resume with the --C that it found"
    if train.template is not None and train.format == "attributes":
        return "--template is for columns; attribute files hold attributes already"
    if train.quiet and train.json:
        return "--quiet prints nothing, --json prints the result; give one of them"
    if train.file == train.dev == "-":
        return "training and held-out text cannot both come from standard input"
    return ""
