"""``taut inspect``: what is in a model file."""

import copy
import json
import os
from argparse import Namespace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from taut.chain.file import unpack_chain
from taut.chain.model import ChainModel
from taut.cli import printable
from taut.cli.results import certificate, file_size, history
from taut.cli.weights_file import write_weights
from taut.files.atomic import check_writable
from taut.files.model_file import ModelFile, read_model
from taut.spelling import in_command
from taut.text.extract import TemplateEncoder

STDOUT = "-"
MOST_PROBABLE = {"viterbi": "labellings", "posterior": "labels one by one"}


class Weighted(NamedTuple):
    """Something the model pays attention to."""

    weight: float
    what: str  # an attribute, or the label that a step comes from
    label: str


def run(options: Namespace) -> int:
    if options.weights not in (None, STDOUT):
        check_writable(options.weights)
        if os.path.exists(options.weights) and os.path.samefile(options.weights, options.model):
            raise ValueError(f"{options.weights!r} is the model; write its weights to another file")
    file = read_model(options.model)
    model = unpack_chain(file, options.model)
    names = list(map(str, model.labels.classes.tolist()))
    if options.label is not None and options.label not in names:
        raise ValueError(f"--label {options.label} is not one of the labels {', '.join(names)}")
    if options.weights is not None:
        write_weights(model, options.weights, options.label)
        if options.weights == STDOUT:
            return 0
    facts = _facts(model, file, options)
    if options.json:
        print(json.dumps(facts))
    else:
        for line in _lines(model, facts, options):
            print(printable(line))
    return 0


def _facts(model: ChainModel, file: ModelFile, options: Namespace) -> dict[str, Any]:
    features = strongest_features(model, options.top, options.label)
    steps = strongest_steps(model, options.top)
    return {
        "model": options.model,
        "bytes": os.path.getsize(options.model),
        "taut": file.taut_version,
        "trained": str(file.header.get("trained")),
        "labels": model.labels.classes.tolist(),
        "attributes": model.n_features,
        "nonzero_weights": int(np.count_nonzero(model.w)),
        "weight_change": model.weight_change,
        "template": _template(model),
        "scheme": model.scheme.value if model.scheme else None,
        "is_crf": model.temperature > 0.0,
        "temperature": model.temperature if model.temperature > 0.0 else None,
        "decoding": model.decoding,
        "options": file.header["options"],
        "certificate": certificate(model.solution),
        "history": history(model.solution),
        "strongest_features": [feature._asdict() for feature in features],
        "strongest_transitions": [
            {"weight": step.weight, "from": step.what, "to": step.label} for step in steps
        ],
    }


def _template(model: ChainModel) -> str | None:
    return model.encoder.template.text if isinstance(model.encoder, TemplateEncoder) else None


def strongest_features(
    model: ChainModel, top: int | None, label: str | None = None
) -> list[Weighted]:
    """Most positive first, most negative last: up to ``top`` of each, or (None) all."""
    matrix = sparse.coo_array(model.node_weights())
    attribute, number = matrix.coords
    weights = matrix.data
    labels = list(map(str, model.labels.classes.tolist()))
    if label is not None:
        chosen = number == labels.index(label)
        attribute, number, weights = attribute[chosen], number[chosen], weights[chosen]
    shown = _extremes(weights, top)
    names = _names(model, attribute[shown])
    return [Weighted(float(weights[i]), names[int(attribute[i])], labels[number[i]]) for i in shown]


def _names(model: ChainModel, attributes: np.ndarray) -> dict[int, str]:
    """The names of a few attributes: to build those of all would take longer than the rest."""
    wanted = np.unique(attributes)
    if model.encoder is None:
        return {k: str(k) for k in wanted.tolist()}
    encoder = copy.copy(model.encoder)
    flags = np.zeros(encoder.n_attributes, bool)
    flags[wanted] = True
    encoder.keep(flags)
    return dict(zip(wanted.tolist(), encoder.names(), strict=True))


def strongest_steps(model: ChainModel, top: int | None) -> list[Weighted]:
    """Between labels; none if steps have features of their own."""
    if model.has_step_features:
        return []
    weights, labels = model.step_weights()[0], model.labels.classes.tolist()
    n_labels = len(labels)
    return [
        Weighted(float(weights.flat[i]), str(labels[i // n_labels]), str(labels[i % n_labels]))
        for i in _extremes(weights.ravel(), top)
    ]


def _extremes(weights: np.ndarray, top: int | None) -> list[int]:
    """Where the largest positive and the smallest negative ones are, falling."""
    top = len(weights) if top is None else top
    order = np.argsort(-weights, kind="stable")
    positive = [int(i) for i in order[:top] if weights[i] > 0]
    negative = [int(i) for i in order[max(len(order) - top, 0) :] if weights[i] < 0]
    return positive + negative


# --- for people -----------------------------------------------------------------------------------


def _lines(model: ChainModel, facts: dict[str, Any], options: Namespace) -> list[str]:
    kept = facts["options"]
    lines = [
        f"{options.model}: {file_size(options.model)}, by taut {facts['taut']}, trained "
        f"{facts['trained']}",
        f"reads {kept.get('format', 'what Python gives it')}"
        + (f" in {kept['encoding']}" if "encoding" in kept else ""),
        f"{facts['attributes']} attributes, {facts['nonzero_weights']} weights that are not zero",
        f"{len(facts['labels'])} labels: {' '.join(map(str, facts['labels']))}",
    ]
    if model.scheme is not None:
        lines.append(f"only labellings that are valid in {model.scheme.value} are predicted")
    if model.temperature > 0.0:
        lines.append(
            f"a conditional random field of temperature {model.temperature:g}; predicted are the "
            f"most probable {MOST_PROBABLE[model.decoding]} ({model.decoding} decoding)"
        )
    lines += _change(model.weight_change)
    lines += ["", *model.solution.text(in_command).split("\n")]
    if facts["template"] is not None:
        statements = [line.strip() for line in facts["template"].split("\n")]
        lines += ["", "template", *(f"  {line}" for line in statements if line)]
    of = f" of {options.label}" if options.label is not None else ""
    lines += _table(f"strongest features{of}", facts["strongest_features"], "{label}  {what}")
    lines += _table("strongest transitions", facts["strongest_transitions"], "{from} -> {to}")
    return lines


def _change(of_weight: float) -> list[str]:
    if not of_weight:
        return []
    return [
        f"a weight differs from the trained one by {of_weight:.1e} at most, the score of a label "
        "at a token",
        "  by that times the sum of the absolute values of its attributes",
    ]


def _table(title: str, rows: list[dict[str, Any]], shape: str) -> list[str]:
    if not rows:
        return []
    width = max(len(str(row.get("label", ""))) for row in rows)
    padded = [{**row, "label": str(row.get("label", "")).ljust(width)} for row in rows]
    return ["", title, *(f"  {row['weight']:+9.4f}  {shape.format(**row)}" for row in padded)]
