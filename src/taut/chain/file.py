"""Chain models to files and back: only weights that are not zero, only the attributes they need.

The container (:mod:`taut.files.model_file`) vouches for names, types and sizes; what follows
checks that the arrays fit together (:mod:`taut.chain.stored`), because compiled code trusts them.
"""

import copy
import os
from typing import Any

import numpy as np
from scipy import sparse

from taut.chain.header import packed_labels, packed_options
from taut.chain.model import ChainModel
from taut.chain.packed_encoder import pack_encoder
from taut.chain.packed_steps import packed_steps
from taut.chain.packed_weights import check_writable, laid_out, pack_weights, rounded, smallest_kept
from taut.chain.stored import as_fault_of, stored_chain
from taut.chain.stored_solution import packed_solution, unpacked_solution
from taut.chain.stored_weights import smallest
from taut.files.model_file import ModelFile, read_model, write_model
from taut.structures.chain import chain_layout
from taut.structures.sparse_steps import new_steps
from taut.text.extract import TemplateEncoder

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
        "encoder": pack_encoder(encoder, arrays),
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
    with as_fault_of(path):
        return _unpacked(file)


def _unpacked(file: ModelFile) -> ChainModel:
    stored = stored_chain(file)
    n_states = len(stored.labels.classes)
    if stored.is_dense:
        observed = None
        node_weights = stored.node_weights.T.ravel()  # label by label
    else:
        observed, node_weights = laid_out(stored.node_weights, stored.n_features, n_states)
    steps, pairs = None, stored.pairs
    if pairs is not None:
        counts = pairs.counts if len(pairs.counts) else None
        steps = new_steps(pairs.pair, n_states, counts=counts, of_pair=pairs.of_pair)
    layout = chain_layout(
        stored.n_features,
        n_states,
        dense=stored.is_dense,
        observed=observed,
        bias=stored.has_bias,
        boundary=stored.has_boundary,
        n_step_features=stored.n_step_features,
        steps=steps,
    )
    w = np.concatenate([node_weights, stored.other])
    if len(w) != layout.dim:
        raise ValueError(f"{len(w)} weights where {layout.dim} are expected")
    return ChainModel(
        stored.labels,
        layout,
        unpacked_solution(file.header["certificate"], w),
        stored.encoder,
        stored.scheme,
        stored.temperature,
        stored.decoding,
        stored.trained,
        stored.weight_change,
    )
