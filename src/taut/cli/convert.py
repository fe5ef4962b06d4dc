"""``taut convert``: another program's model, as one of taut's."""

import os
from argparse import Namespace

import numpy as np

from taut.chain.file import save_chain
from taut.chain.kept_options import options_to_save
from taut.cli import DONE, printable
from taut.cli.results import file_size
from taut.compat.foreign_model import read_foreign
from taut.files.atomic import check_writable


def run(options: Namespace) -> int:
    check_writable(options.output)
    if os.path.exists(options.output) and os.path.samefile(options.model, options.output):
        raise ValueError(f"{options.output!r} would be overwritten, but the model is read from it")
    model, program, layout = read_foreign(options.model)
    save_chain(model, options.output, options_to_save(layout, model))
    if not options.quiet:
        print(
            printable(
                f"{options.output}: a model of {program}, {model.n_features} attributes, "
                f"{len(model.labels.classes)} labels, {np.count_nonzero(model.w)} weights; "
                f"{file_size(options.output)} instead of "
                f"{file_size(options.model)}"
            )
        )
    return DONE
