"""Text answered by compiled code: see :mod:`taut.cli.answering`."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from taut.chain.chain_posterior import log_likelihoods, n_best_labellings, node_marginals
from taut.chain.encoding import rows_of
from taut.chain.file import unpack_chain
from taut.chain.model import ChainModel
from taut.cli.compilation import announce_compilation
from taut.files.model_file import ModelFile


def loaded(file: ModelFile, path: str, decoding: str) -> Callable[..., "CompiledAnswers"]:
    """Asks the model in this file."""
    model = replace(unpack_chain(file, path), decoding=decoding)
    announce_compilation()
    return partial(CompiledAnswers, model)


class CompiledAnswers:
    def __init__(self, model: ChainModel, text: Any, forced: np.ndarray | None, n_threads: int):
        assert model.encoder is not None  # layout_of refused models of matrices
        self.model, self.forced, self.n_threads = model, forced, n_threads
        self.rows = rows_of(model.encoder, text)

    def decode(self) -> np.ndarray:
        return self.model.decode(self.rows, self.forced, self.n_threads)

    def marginals(self) -> np.ndarray:
        return node_marginals(self.model, self.rows, self.forced, self.n_threads)

    def log_likelihoods(self, numbers: np.ndarray) -> np.ndarray:
        return log_likelihoods(self.model, self.rows, numbers, self.n_threads)

    def n_best(self, count: int) -> list[tuple[np.ndarray, np.ndarray]]:
        return n_best_labellings(self.model, self.rows, count, self.forced)
