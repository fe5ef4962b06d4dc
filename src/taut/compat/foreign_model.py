"""Models of other programs as models of taut's."""

import os

import numpy as np

from taut.chain.given_weights import NodeWeights, OfLabels, StepWeights, model_of_numbers
from taut.chain.model import ChainModel
from taut.chain.specification import Specification
from taut.compat.crfsuite_file import CRFsuiteModel, is_crfsuite, parse_crfsuite
from taut.files.model_file import ModelFileError

MOST_LABELS = 10_000  # that a model file of taut's holds


def chain_of_crfsuite(model: CRFsuiteModel, name: str) -> ChainModel:
    """A CRF with the same weights, whose labels are in alphabetical order."""
    if not 1 <= len(model.labels) <= MOST_LABELS:
        raise ModelFileError(
            f"{name}: it is a model of {len(model.labels)} labels; from 1 to {MOST_LABELS} are "
            "expected: train it on labelled sequences"
        )
    labels = sorted(model.labels)
    number = {label: k for k, label in enumerate(labels)}
    new = np.array([number[label] for label in model.labels], np.int64)
    state, steps = model.state, model.steps
    return model_of_numbers(
        model.attributes,
        labels,
        NodeWeights(
            state["source"].astype(np.int64),
            new[state["target"]],
            state["weight"].astype(np.float64),
        ),
        StepWeights(
            new[steps["source"]], new[steps["target"]], steps["weight"].astype(np.float64)
        ),
        OfLabels(),
        Specification(is_crf=True, C=1.0, solver="auto", tol=0.0, bias=False, boundary=False),
    )


def read_foreign(path: str | os.PathLike[str]) -> tuple[ChainModel, str]:
    """The model in a file of another program, and which program that is."""
    with open(path, "rb") as file:
        data = file.read()
    name = os.fspath(path)
    if is_crfsuite(data):
        return chain_of_crfsuite(parse_crfsuite(data, name), name), "CRFsuite"
    raise ModelFileError(
        f"{name}: it begins with {data[:8]!r}, which no model of CRFsuite does; give such a file"
    )
