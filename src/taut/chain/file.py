"""Chain models to files and back: only weights that are not zero, only the attributes they need.

The container (:mod:`taut.files.model_file`) vouches for names, types and sizes; what follows
checks that the arrays fit together, because compiled code trusts them.
"""

import copy
import os
from typing import Any

import numpy as np
from scipy import sparse

from taut.chain.encoding import step_encoder
from taut.chain.header import (
    check_options,
    count,
    flag,
    packed_labels,
    packed_options,
    packed_solution,
    text,
    unpacked_change,
    unpacked_labels,
    unpacked_probabilities,
    unpacked_solution,
)
from taut.chain.model import ChainModel, Encoder
from taut.chain.packed_steps import packed_steps, unpacked_steps
from taut.chain.packed_weights import (
    check_writable,
    dense_weights,
    pack_weights,
    rounded,
    smallest,
    smallest_kept,
    sparse_weights,
    whole,
)
from taut.chain.packed_word_files import pack_word_files, packed_word_files
from taut.files.model_file import (
    ModelFile,
    ModelFileError,
    pack_strings,
    read_model,
    unpack_strings,
    write_model,
)
from taut.structures.chain import chain_layout
from taut.text.attributes import AttributeEncoder
from taut.text.codes import CodeTable
from taut.text.extract import TemplateEncoder
from taut.text.numbering import Numbering
from taut.text.schemes import Scheme, parse_labels
from taut.text.template import TemplateError, parse_template

Arrays = dict[str, np.ndarray]


def save_chain(
    model: ChainModel, path: str | os.PathLike[str], options: dict[str, Any] | None = None
) -> None:
    """Write the model; ``options`` are for people to read, and come back as they are.

    Only those that are not finite are left out. A model that came from a file keeps its date.
    """
    dense = model.layout.features.rows.is_dense
    weights, arrays, change = model.node_weights(), {}, 0.0
    encoder = model.encoder
    if not dense:
        limit = smallest_kept(model.temperature, model.largest_value)
        weights, change = rounded(sparse.csr_array(weights), limit)
        used = np.diff(weights.indptr) > 0
        if encoder is not None:
            encoder = copy.copy(encoder)
            encoder.keep(used)
        else:
            check_writable(weights.shape[0], weights.nnz)
            arrays["weights.attribute"] = np.flatnonzero(used).astype(np.int32)
        arrays |= pack_weights(weights[used])
    else:
        arrays["weights.value"] = np.ascontiguousarray(weights)
    layout = model.layout
    arrays["weights.other"] = model.w[layout.features.dim(layout.n_states) :]
    if layout.steps.is_sparse:
        steps, weights_of_steps, used = packed_steps(model)
        arrays |= {name: smallest(numbers) for name, numbers in steps.items()}
        labels_alone = model.w[layout.features.dim(layout.n_states) : layout.step_at]
        arrays["weights.other"] = np.concatenate([labels_alone, weights_of_steps])
        if isinstance(encoder, TemplateEncoder) and encoder.steps is not None:
            encoder.steps = copy.copy(encoder.steps)
            encoder.steps.keep(used)
    header = {
        "kind": "chain",
        "labels": packed_labels(model.labels),
        "scheme": model.scheme.value if model.scheme else None,
        "temperature": model.temperature,
        "decoding": model.decoding,
        "dense": dense,
        "n_features": weights.shape[0] if encoder is None else encoder.n_attributes,
        "bias": layout.bias_at >= 0,
        "boundary": layout.begin_at >= 0,
        "sparse_steps": layout.steps.is_sparse,
        "n_step_features": layout.n_step if layout.step_features.shape[1] else 0,
        "encoder": _pack_encoder(encoder, arrays),
        "certificate": packed_solution(model.solution),
        "options": packed_options(options),
        "trained": model.trained,
        "weight_change": max(change, model.weight_change),
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
    check_options(header["options"])
    labels = unpacked_labels(header["labels"])
    n_states = len(labels.classes)
    n_features = count(header["n_features"], 2**31 - 1)
    encoder = _unpack_encoder(header["encoder"], arrays)
    if encoder is not None and encoder.n_attributes != n_features:
        raise ValueError(f"{encoder.n_attributes} attributes for {n_features} features")
    dense, bias, boundary = (flag(header[name]) for name in ("dense", "bias", "boundary"))
    if dense:
        observed, node_weights = None, dense_weights(arrays, n_features, n_states)
    else:
        observed, node_weights = sparse_weights(arrays, n_features, n_states, encoder is None)
    other = arrays["weights.other"]
    if other.ndim != 1 or other.dtype != np.float64 or not np.isfinite(other).all():
        raise ValueError("the weights of labels and steps are not a row of finite numbers")
    n_step_features = count(header["n_step_features"], len(other))
    attributes = step_encoder(encoder)
    steps, n_step_weights = None, max(n_step_features, 1) * n_states**2
    if flag(header.get("sparse_steps", False)):
        numbers = (whole(arrays, f"steps.{name}") for name in ("pair", "count", "of_pair"))
        steps = unpacked_steps(n_states, *numbers)
        n_step_weights = steps.n_weights
        if n_step_features or steps.n_attributes != (attributes.n_attributes if attributes else 0):
            raise ValueError("the weights of steps do not belong to their attributes")
    elif attributes is not None:
        raise ValueError("its template has features of steps, which have no weights")
    # Before the layout, which takes memory for as many labels as the header says there are.
    if len(other) != (bias + 2 * boundary) * n_states + n_step_weights:
        raise ValueError(f"{len(other)} weights of labels and steps for {n_states} labels")
    layout = chain_layout(
        n_features,
        n_states,
        dense=dense,
        observed=observed,
        bias=bias,
        boundary=boundary,
        n_step_features=n_step_features,
        steps=steps,
    )
    w = np.concatenate([node_weights, other])
    if len(w) != layout.dim:
        raise ValueError(f"{len(w)} weights where {layout.dim} are expected")
    scheme = None if header["scheme"] is None else Scheme.parse(header["scheme"])
    if scheme is not None:
        parse_labels(labels.classes.tolist(), scheme)  # refuses what does not belong to it
    solution = unpacked_solution(header["certificate"], w)
    probabilities = unpacked_probabilities(header)
    trained = text(header["trained"])
    change = unpacked_change(header)
    return ChainModel(labels, layout, solution, encoder, scheme, *probabilities, trained, change)


# --- encoders -----------------------------------------------------------------------------------


def _pack_encoder(encoder: Encoder | None, arrays: Arrays) -> dict[str, Any] | None:
    """What goes into the header; arrays are added to ``arrays``."""
    if encoder is None:
        return None
    about: dict[str, Any] = {"min_freq": encoder.min_freq}
    if isinstance(encoder, AttributeEncoder):
        arrays["names"] = pack_strings(encoder.names())
        return {**about, "kind": "attributes"}
    about |= {"kind": "template", "template": encoder.template.text}
    arrays |= pack_word_files(encoder.template.files)
    about["stages"] = _pack_tables(encoder, arrays, "")
    if encoder.steps is not None:
        about["step_stages"] = _pack_tables(encoder.steps, arrays, "step.")
    return about


def _pack_tables(encoder: TemplateEncoder, arrays: Arrays, prefix: str) -> list[int]:
    for k, numbering in enumerate(encoder.values):
        arrays[f"{prefix}values.{k}"] = pack_strings(numbering.values)
    for g, tables in enumerate(encoder.tables):
        for stage, table in enumerate(tables):
            arrays[f"{prefix}codes.{g}.{stage}"] = smallest(table.keys)
    for v, kept in enumerate(encoder.kept):
        arrays[f"{prefix}kept.{v}"] = smallest(kept)
    return [len(tables) for tables in encoder.tables]


def _unpack_encoder(about: dict[str, Any] | None, arrays: Arrays) -> Encoder | None:
    if about is None:
        return None
    min_freq = count(about["min_freq"], least=1)
    if about["kind"] == "attributes":
        encoder = AttributeEncoder(min_freq)
        encoder.set_names(_unpack_distinct(arrays["names"]))
        return encoder
    if about["kind"] != "template":
        raise ValueError(f"it has features of the kind {about['kind']!r}")
    try:
        template = parse_template(text(about["template"]), packed_word_files(arrays))
    except TemplateError as error:
        raise ValueError(f"its template: {error}") from None
    by_template = TemplateEncoder(template, min_freq)
    _unpack_tables(by_template, arrays, "", about["stages"])
    if by_template.steps is not None:
        _unpack_tables(by_template.steps, arrays, "step.", about["step_stages"])
    return by_template


def _unpack_tables(encoder: TemplateEncoder, arrays: Arrays, prefix: str, stages: Any) -> None:
    encoder.values = [
        Numbering(_unpack_distinct(arrays[f"{prefix}values.{k}"])) for k in range(encoder.n_values)
    ]
    if not isinstance(stages, list) or len(stages) != len(encoder.groups):
        raise ValueError("its attributes do not belong to its template")
    encoder.tables = [
        [
            CodeTable(whole(arrays, f"{prefix}codes.{g}.{stage}"))
            for stage in range(count(n_stages, len(encoder.features[group[0]].terms) + 1))
        ]
        for g, (group, n_stages) in enumerate(zip(encoder.groups, stages, strict=True))
    ]
    encoder.kept = [whole(arrays, f"{prefix}kept.{v}") for v in range(len(encoder.vectors))]
    encoder.check()


def _unpack_distinct(packed: np.ndarray) -> list[str]:
    strings = unpack_strings(packed)
    if len(set(strings)) < len(strings):
        raise ValueError("its strings are not distinct")
    return strings
