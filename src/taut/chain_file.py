"""Chain models to files and back: only weights that are not zero, only the attributes they need.

The container (:mod:`taut.model_file`) vouches for names, types and sizes; what follows checks that
the arrays fit together, because compiled code trusts them.
"""

import copy
import os
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

import numpy as np
from scipy import sparse

from taut.chain_model import ChainModel, Encoder
from taut.labels import LabelCodec, object_array
from taut.model_file import (
    ModelFile,
    ModelFileError,
    pack_strings,
    read_model,
    unpack_strings,
    write_model,
)
from taut.solvers.solution import HISTORY, Solution, Status, describe
from taut.structures.chain import chain_layout
from taut.structures.features import DenseFeatures, observed_layout
from taut.text.attributes import AttributeEncoder
from taut.text.codes import CodeTable
from taut.text.extract import TemplateEncoder
from taut.text.numbering import Numbering
from taut.text.schemes import Scheme
from taut.text.template import TemplateError, parse_template

MOST_LABELS = 10_000
MOST_FEATURES = 2**26  # a small file must not make us take much memory
Arrays = dict[str, np.ndarray]


def save_chain(
    model: ChainModel, path: str | os.PathLike[str], options: dict[str, Any] | None = None
) -> None:
    """Write the model; ``options`` are for people to read, and come back as they are."""
    dense = isinstance(model.layout.features, DenseFeatures)
    weights, arrays = model.node_weights(), {}
    encoder = model.encoder
    if not dense:
        weights = sparse.csr_array(weights)
        weights.eliminate_zeros()
        used = np.diff(weights.indptr) > 0
        if encoder is not None:
            encoder = copy.copy(encoder)
            encoder.keep(used)
        else:
            arrays["weights.attribute"] = np.flatnonzero(used).astype(np.int32)
        arrays["weights.count"] = _smallest(np.diff(weights.indptr)[used])
        arrays["weights.label"] = _smallest(weights.indices)
        arrays["weights.value"] = weights.data
    else:
        arrays["weights.value"] = np.ascontiguousarray(weights)
    layout = model.layout
    arrays["weights.other"] = model.w[layout.features.dim(layout.n_states) :]
    if weights.shape[0] > MOST_FEATURES:
        raise ValueError(
            f"the model has {weights.shape[0]} features, a model file holds {MOST_FEATURES}; "
            "hash features to fewer numbers, or pickle the estimator"
        )
    header = {
        "kind": "chain",
        "labels": _packed_labels(model.labels),
        "scheme": model.scheme.value if model.scheme else None,
        "dense": dense,
        "n_features": weights.shape[0] if encoder is None else encoder.n_attributes,
        "bias": layout.bias_at >= 0,
        "boundary": layout.begin_at >= 0,
        "n_step_features": layout.n_step if layout.step_features.shape[1] else 0,
        "encoder": _pack_encoder(encoder, arrays),
        "certificate": _packed_solution(model.solution),
        "options": options or {},
        "trained": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    write_model(path, header, arrays)


def load_chain(path: str | os.PathLike[str]) -> tuple[ChainModel, dict[str, Any]]:
    """The model and the header of its file."""
    file = read_model(path)
    return unpack_chain(file, path), file.header


def unpack_chain(file: ModelFile, path: str | os.PathLike[str]) -> ChainModel:
    """The model in a file that has been read; ``path`` is for errors."""
    try:
        return _unpacked(file)
    except (LookupError, TypeError, ValueError, ArithmeticError, MemoryError) as error:
        what = f"{type(error).__name__}: {error}" if not isinstance(error, ValueError) else error
        raise ModelFileError(
            f"{os.fspath(path)}: it is not a whole model of a chain ({what}); fetch the file "
            "again, or train the model again"
        ) from error


def _unpacked(file: ModelFile) -> ChainModel:
    header, arrays = file.header, file.arrays
    if header.get("kind") != "chain":
        raise ValueError(f"it holds a model of the kind {header.get('kind')!r}")
    if not isinstance(header["options"], dict):
        raise ValueError("its options are not named")
    labels = _unpacked_labels(header["labels"])
    n_states = len(labels.classes)
    n_features = header["n_features"]
    if not isinstance(n_features, int) or not 0 <= n_features <= MOST_FEATURES:
        raise ValueError(f"it has {n_features!r} features")
    encoder = _unpack_encoder(header["encoder"], arrays)
    if encoder is not None and encoder.n_attributes != n_features:
        raise ValueError(f"{encoder.n_attributes} attributes for {n_features} features")
    if header["dense"]:
        observed, node_weights = None, _dense_weights(arrays, n_features, n_states)
    else:
        observed, node_weights = _sparse_weights(arrays, n_features, n_states, encoder is None)
    other = arrays["weights.other"]
    if other.ndim != 1 or other.dtype != np.float64 or not np.isfinite(other).all():
        raise ValueError("the weights of labels and steps are not a row of finite numbers")
    n_step_features = _small_count(header["n_step_features"], len(other))
    bias, boundary = bool(header["bias"]), bool(header["boundary"])
    # Before the layout, which takes memory for as many labels as the header says there are.
    if len(other) != (bias + 2 * boundary) * n_states + max(n_step_features, 1) * n_states**2:
        raise ValueError(f"{len(other)} weights of labels and steps for {n_states} labels")
    layout = chain_layout(
        n_features,
        n_states,
        dense=bool(header["dense"]),
        observed=observed,
        bias=bias,
        boundary=boundary,
        n_step_features=n_step_features,
    )
    w = np.concatenate([node_weights, other])
    if len(w) != layout.dim:
        raise ValueError(f"{len(w)} weights where {layout.dim} are expected")
    scheme = None if header["scheme"] is None else Scheme.parse(header["scheme"])
    return ChainModel(labels, layout, _unpacked_solution(header["certificate"], w), encoder, scheme)


def _small_count(value: Any, most: int) -> int:
    if not isinstance(value, int) or not 0 <= value <= most:
        raise ValueError(f"{value!r} where a count is expected")
    return value


# --- weights ------------------------------------------------------------------------------------


def _dense_weights(arrays: Arrays, n_features: int, n_states: int) -> np.ndarray:
    weights = arrays["weights.value"]
    if weights.shape != (n_features, n_states) or weights.dtype != np.float64:
        raise ValueError(f"weights of shape {weights.shape}, not {(n_features, n_states)}")
    if not np.isfinite(weights).all():
        raise ValueError("a weight is not finite")
    return weights.T.ravel()  # label by label, as dense features want them


def _sparse_weights(
    arrays: Arrays, n_features: int, n_states: int, numbered: bool
) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray]:
    """(weight_pointer, weight_state) and the weights laid out so."""
    counts = arrays["weights.count"].astype(np.int64)
    label = arrays["weights.label"].astype(np.int64)
    value = arrays["weights.value"]
    attribute = arrays["weights.attribute"].astype(np.int64) if numbered else np.arange(n_features)
    if not counts.ndim == label.ndim == value.ndim == attribute.ndim == 1:
        raise ValueError("the weights are not in rows")
    if len(counts) != len(attribute) or len(label) != len(value):
        raise ValueError("the weights do not belong to the attributes")
    if counts.min(initial=1) < 1 or counts.max(initial=1) > n_states:
        raise ValueError("an attribute has no weights, or more than there are labels")
    if counts.sum() != len(value) or value.dtype != np.float64 or not np.isfinite(value).all():
        raise ValueError("the weights are not as many finite numbers as their counts say")
    if label.min(initial=0) < 0 or label.max(initial=0) >= n_states:
        raise ValueError("a weight belongs to a label that does not exist")
    if attribute.min(initial=0) < 0 or attribute.max(initial=-1) >= n_features:
        raise ValueError("a weight belongs to an attribute that does not exist")
    if np.any(np.diff(attribute) <= 0):
        raise ValueError("the attributes are not in order")
    first = np.zeros(len(label), bool)
    first[np.cumsum(counts) - counts] = True
    if not np.all(first[1:] | (label[1:] > label[:-1])):
        raise ValueError("the weights of an attribute are not in order")
    of_all = np.zeros(n_features, np.int64)
    of_all[attribute] = counts
    pointer, state, place = observed_layout(of_all, label, n_states)
    weights = np.zeros(len(state))
    weights[place] = value
    return (pointer, state), weights


def _smallest(values: np.ndarray) -> np.ndarray:
    """In the smallest type that holds them: most of a model file is such numbers."""
    largest = int(values.max(initial=0))
    return values.astype(next(t for t in (np.uint8, np.uint16, np.int32, np.int64)
                              if largest <= np.iinfo(t).max))  # fmt: skip


# --- labels -------------------------------------------------------------------------------------


def _packed_labels(labels: LabelCodec) -> dict[str, Any]:
    values = labels.classes.tolist()
    if not all(isinstance(value, str | int | float) for value in values):
        strange = next(value for value in values if not isinstance(value, str | int | float))
        raise TypeError(
            f"the label {strange!r} cannot be written to a model file; text, numbers and booleans "
            "can: train with such labels, or pickle the estimator"
        )
    kind = labels.classes.dtype.str if labels.as_arrays else None
    return {"values": values, "array_type": kind if kind != "|O" else None,
            "as_arrays": labels.as_arrays}  # fmt: skip


def _unpacked_labels(packed: dict[str, Any]) -> LabelCodec:
    values = packed["values"]
    if not isinstance(values, list) or not 2 <= len(values) <= MOST_LABELS:
        raise ValueError(f"it should have from 2 to {MOST_LABELS} labels")
    if not all(isinstance(value, str | int | float) for value in values):
        raise ValueError("its labels are not text or numbers")
    if not packed["as_arrays"]:
        codec = LabelCodec([values])
    elif packed["array_type"] is None:
        codec = LabelCodec([object_array(values)])
    else:
        kind = np.dtype(str(packed["array_type"]))
        if kind.kind not in "biufU" or kind.itemsize > 1 << 16:
            raise ValueError(f"its labels are of the type {kind}")
        codec = LabelCodec([np.array(values, kind)])
    if codec.classes.tolist() != values:
        raise ValueError("its labels are repeated or not in order")
    return codec


# --- encoders -----------------------------------------------------------------------------------


def _pack_encoder(encoder: Encoder | None, arrays: Arrays) -> dict[str, Any] | None:
    """What goes into the header; arrays are added to ``arrays``."""
    if encoder is None:
        return None
    about: dict[str, Any] = {"min_freq": encoder.min_freq}
    if isinstance(encoder, AttributeEncoder):
        arrays["names"] = pack_strings(encoder.names())
        return {**about, "kind": "attributes"}
    for k, numbering in enumerate(encoder.values):
        arrays[f"values.{k}"] = pack_strings(numbering.values)
    for f, tables in enumerate(encoder.tables):
        for stage, table in enumerate(tables):
            arrays[f"codes.{f}.{stage}"] = _smallest(table.keys)
    stages = [len(tables) for tables in encoder.tables]
    return {**about, "kind": "template", "template": encoder.template.text, "stages": stages}


def _unpack_encoder(about: dict[str, Any] | None, arrays: Arrays) -> Encoder | None:
    if about is None:
        return None
    min_freq = _small_count(about["min_freq"], 2**31)
    if about["kind"] == "attributes":
        encoder = AttributeEncoder(min_freq)
        encoder.set_names(_unpack_distinct(arrays["names"]))
        return encoder
    if about["kind"] != "template":
        raise ValueError(f"it has features of the kind {about['kind']!r}")
    try:
        template = parse_template(str(about["template"]))
    except TemplateError as error:
        raise ValueError(f"its template: {error}") from None
    by_template = TemplateEncoder(template, min_freq)
    by_template.values = [
        Numbering(_unpack_distinct(arrays[f"values.{k}"])) for k in range(len(by_template.derived))
    ]
    if len(about["stages"]) != len(template.features):
        raise ValueError("its attributes do not belong to its template")
    by_template.tables = [
        [CodeTable(arrays[f"codes.{f}.{stage}"]) for stage in range(_small_count(stages, 10))]
        for f, stages in enumerate(about["stages"])
    ]
    by_template.check()
    return by_template


def _unpack_distinct(packed: np.ndarray) -> list[str]:
    strings = unpack_strings(packed)
    if len(set(strings)) < len(strings):
        raise ValueError("its strings are not distinct")
    return strings


# --- the certificate ----------------------------------------------------------------------------

NOT_PACKED = ("w", "state", "history", "status", "solver")


def _packed_solution(solution: Solution) -> dict[str, Any]:
    plain = [f.name for f in fields(Solution) if f.name not in NOT_PACKED]
    return {
        **{name: getattr(solution, name) for name in plain},
        "status": solution.status.name,
        "solver": describe(solution.solver),
        "history": [
            [value if np.isfinite(value) else None for value in row.tolist()]
            for row in solution.history
        ],
    }


def _unpacked_solution(packed: dict[str, Any], w: np.ndarray) -> Solution:
    numbers = ("primal", "dual", "passes", "seconds", "C", "lam", "scale")
    values = {name: float(packed[name]) for name in numbers}
    rows = [
        tuple(np.nan if value is None else float(value) for value in row)
        for row in packed["history"]
    ]
    return Solution(
        w=w,
        status=Status[packed["status"]],
        solver=str(packed["solver"]),
        history=np.array(rows, HISTORY).view(np.recarray),
        oracle_calls=int(packed["oracle_calls"]),
        n_examples=int(packed["n_examples"]),
        returned=str(packed["returned"]),
        fingerprint=str(packed["fingerprint"]),
        **values,
    )
