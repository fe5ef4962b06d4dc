"""What only models with probabilities can do, those of ``taut train --crf``."""

from typing import Any, NamedTuple

import numpy as np

from taut.chain.stored import StoredChain
from taut.cli.answering import Answered, Answering


def check_probabilities(model: StoredChain, option: str, path: str) -> None:
    if model.temperature == 0.0:
        raise ValueError(
            f"{option}: {path} is an SVM, which has no probabilities; train a model with --crf"
        )


def decode_by(answering: Answering, decoding: str | None) -> None:
    """From now on by another decoding than the model was trained for, if one was named."""
    stored = answering.stored
    if decoding is not None and decoding != stored.decoding:
        check_probabilities(stored, f"--decoding {decoding}", answering.path)
        answering.stored = stored._replace(decoding=decoding)


class Likelihood(NamedTuple):
    """Of true labels, which the model may hold impossible: those sequences are left out."""

    mean: float | None  # of log p, by token; None if no sequence is left
    left_out: int
    n_sequences: int
    why: str

    def __str__(self) -> str:
        mean = "not defined" if self.mean is None else f"{self.mean:.4g} per token"
        left_out = f"; left out: {self.left_out} of {self.n_sequences} sequences, for {self.why}"
        return f"the log-likelihood is {mean}{left_out if self.left_out else ''}"

    def as_dict(self) -> dict[str, Any]:
        return {"log_likelihood": self.mean, "n_without_likelihood": self.left_out}


def likelihood(
    model: StoredChain, answered: Answered, lengths: np.ndarray, numbers: np.ndarray
) -> Likelihood:
    """``numbers`` are those of the true labels, -1 where one was never seen in training."""
    values = answered.log_likelihoods(numbers)
    unknown = np.repeat(np.arange(len(lengths)), lengths)[numbers < 0]
    values[unknown] = -np.inf  # such a label was summed over
    possible = np.isfinite(values)
    n_tokens = lengths[possible].sum()
    mean = float(values[possible].sum() / n_tokens) if n_tokens else None
    breaks = "" if model.scheme is None else f" or break {model.scheme.value}"
    why = f"labels that were never seen in training{breaks}"
    return Likelihood(mean, int(np.sum(~possible)), len(values), why)
