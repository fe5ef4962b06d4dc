"""Models of other programs as models of taut's: CRFsuite, CRF++ and Wapiti."""

import os
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from taut.chain.given_weights import (
    NodeWeights,
    OfLabels,
    StepWeights,
    model_of_numbers,
    named_attributes,
)
from taut.chain.model import ChainModel
from taut.chain.specification import Specification
from taut.compat.crfsuite_file import CRFsuiteModel, is_crfsuite, parse_crfsuite
from taut.compat.text_models import (
    MOST_LABELS,
    Fault,
    TextModel,
    is_crfpp,
    is_wapiti,
    parse_crfpp,
    parse_wapiti,
)
from taut.files.model_file import ModelFileError
from taut.text.extract import TemplateEncoder
from taut.text.template import TemplateError, parse_template

PLAIN = Specification(is_crf=True, C=1.0, solver="auto", tol=0.0, bias=False, boundary=False)
# In how many ways a name may be read as a pattern with values; "U:a/b/c" in two, as "U:%x/%x".
MOST_READINGS = 64


class Foreign(NamedTuple):
    model: ChainModel
    program: str
    layout: dict[str, Any]  # how text is to be read, as a model file of taut's keeps it


def read_foreign(path: str | os.PathLike[str]) -> Foreign:
    """The model in a file of another program."""
    with open(path, "rb") as file:
        data = file.read()
    name = os.fspath(path)
    if is_crfsuite(data):
        model = chain_of_crfsuite(parse_crfsuite(data, name), name)
        return Foreign(model, "CRFsuite", {"format": "attributes"})
    for is_of, program, parse in (
        (is_crfpp, "CRF++", parse_crfpp),
        (is_wapiti, "Wapiti", parse_wapiti),
    ):
        if is_of(data):
            try:
                found = parse(data)
                model = chain_of_text(found)
            except (Fault, TemplateError) as fault:
                raise ModelFileError(
                    f"{name}: it is not a whole model of {program} ({fault}); fetch the file "
                    "again, or train the model again"
                ) from None
            return Foreign(model, program, {"format": "columns", "n_columns": found.n_columns})
    raise ModelFileError(
        f"{name}: it begins with {data[:8]!r}, which no model of CRFsuite, CRF++ (as text: "
        "crf_learn -t) or Wapiti does; give such a file"
    )


def chain_of_crfsuite(model: CRFsuiteModel, name: str) -> ChainModel:
    """A CRF with the same weights, whose labels are in alphabetical order."""
    if not 1 <= len(model.labels) <= MOST_LABELS:
        raise ModelFileError(
            f"{name}: it is a model of {len(model.labels)} labels; from 1 to {MOST_LABELS} are "
            "expected: train it on labelled sequences"
        )
    labels, new = _in_order(model.labels)
    state, steps = model.state, model.steps
    return model_of_numbers(
        named_attributes(model.attributes),
        labels,
        NodeWeights(
            state["source"].astype(np.int64),
            new[state["target"]],
            state["weight"].astype(np.float64),
        ),
        StepWeights(new[steps["source"]], new[steps["target"]], steps["weight"].astype(np.float64)),
        OfLabels(),
        PLAIN,
    )


def _in_order(labels: list[str]) -> tuple[list[str], np.ndarray]:
    """The labels in alphabetical order, and the new number of each."""
    ordered = sorted(labels)
    number = {label: k for k, label in enumerate(ordered)}
    return ordered, np.array([number[label] for label in labels], np.int64)


# --- templates ------------------------------------------------------------------------------------


def chain_of_text(found: TextModel) -> ChainModel:
    """A CRF with the same weights, whose attributes are those of the template."""
    encoder = TemplateEncoder(parse_template(found.template))
    labels, new = _in_order(found.labels)
    number = {_small(name): k for k, name in enumerate(found.names)}
    names = _learn(encoder, number)
    of_nodes = sparse.coo_array(found.of_labels[names])
    steps = _of_steps(found, new)
    of_step_attributes = None
    if encoder.steps is not None:
        of_step_attributes = steps[_learn(encoder.steps, number)]
        of_step_attributes.sort_indices()
    # The names of patterns without a macro are attributes of every step.
    lines = (line.partition("#")[0].strip() for line in found.template.split("\n"))
    without = {_small(line) for line in lines if "%" not in line}
    plain = [k for name, k in number.items() if name in without]
    constant = sparse.coo_array(steps[plain])
    codes, of_code = np.unique(constant.col.astype(np.int64), return_inverse=True)
    before, after = np.divmod(codes, len(labels))
    value = np.bincount(of_code, constant.data, len(codes))
    return model_of_numbers(
        encoder,
        labels,
        NodeWeights(of_nodes.row.astype(np.int64), new[of_nodes.col], of_nodes.data),
        StepWeights(before, after, value, of_step_attributes),
        OfLabels(),
        PLAIN,
    )


def _small(name: str) -> str:
    """As templates of Wapiti are read, to which u and U are the same; CRF++ writes U and B."""
    return name[:1].lower() + name[1:]


def _of_steps(found: TextModel, new: np.ndarray) -> sparse.csr_array:
    """The weights of steps, with labels in their new order."""
    matrix, n_labels = sparse.coo_array(found.of_steps), len(new)
    before, after = np.divmod(matrix.col.astype(np.int64), n_labels)
    column = new[before] * n_labels + new[after]
    return sparse.csr_array((matrix.data, (matrix.row, column)), shape=matrix.shape)


def _learn(encoder: TemplateEncoder, number: dict[str, int]) -> np.ndarray:
    """Teach the encoder all these names that are its own; the number of each attribute's name."""
    groups: list[list[tuple[str, ...]]] = []
    names: list[int] = []
    for group in encoder.groups:
        texts = encoder.features[group[0]].texts
        if texts is None:
            raise Fault("its template is not one of CRF++ or Wapiti")
        first = _small(texts[0])
        found = [
            (values, k)
            for name, k in number.items()
            if name.startswith(first)
            for values in _readings(name, (first, *texts[1:]))
        ]
        groups.append([values for values, _ in found])
        names += [k for _, k in found]
    encoder.set_attributes(groups)
    return np.array(names, np.int64)


def _readings(name: str, texts: Sequence[str]) -> list[tuple[str, ...]]:
    """All values that, put between these texts, make the name."""
    rest = name[len(texts[0]) :]
    if len(texts) == 1:
        return [()] if not rest else []
    found = list(_split(rest, texts[1:]))
    if len(found) > MOST_READINGS:
        raise Fault(f"the feature {name[:60]!r} may be made of its template in too many ways")
    return found


def _split(rest: str, texts: Sequence[str]) -> Iterator[tuple[str, ...]]:
    first, *others = texts
    if not others:
        if rest.endswith(first):
            yield (rest.removesuffix(first),)
        return
    at = rest.find(first)
    while at >= 0:
        for values in _split(rest[at + len(first) :], others):
            yield (rest[:at], *values)
        at = rest.find(first, at + 1)
