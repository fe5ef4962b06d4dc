"""A chain model as its file has it: read and checked, by NumPy alone.

Training, and whatever else needs problems and certificates, goes on from here in
:mod:`taut.chain.file`; a tagger needs no more.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from taut.chain.header import (
    check_options,
    count,
    flag,
    text,
    unpacked_change,
    unpacked_labels,
    unpacked_probabilities,
)
from taut.chain.packed_encoder import Encoder, unpack_encoder
from taut.chain.stored_weights import dense_weights, sparse_weights, whole
from taut.files.model_file import ModelFile, ModelFileError
from taut.labels import LabelCodec
from taut.text.extract import TemplateEncoder
from taut.text.schemes import Scheme, parse_labels


class StepPairs(NamedTuple):
    """Where not all steps have weights: which do, as source * K + target, and those of
    attributes: attribute a has ``counts[a]`` weights, for the pairs numbered ``of_pair``."""

    pair: np.ndarray
    counts: np.ndarray
    of_pair: np.ndarray


class StoredChain(NamedTuple):
    labels: LabelCodec
    encoder: Encoder | None
    scheme: Scheme | None
    temperature: float
    decoding: str
    n_features: int
    is_dense: bool
    node_weights: Any  # a matrix (features, labels), or NodeWeights
    has_bias: bool
    has_boundary: bool
    n_step_features: int
    pairs: StepPairs | None
    other: np.ndarray  # weights: of labels, of labels at the ends, of steps
    trained: str
    weight_change: float


@contextmanager
def as_fault_of(path: str | os.PathLike[str]) -> Iterator[None]:
    """What goes wrong within is wrong with this file."""
    try:
        yield
    except (LookupError, TypeError, ValueError, ArithmeticError, MemoryError) as error:
        what = f"{type(error).__name__}: {error}" if not isinstance(error, ValueError) else error
        raise ModelFileError(
            f"{os.fspath(path)}: it is not a whole model of a chain ({what}); fetch the file "
            "again, or train the model again"
        ) from error


def stored_chain(file: ModelFile) -> StoredChain:
    """What the file says; errors if that cannot be."""
    header, arrays = file.header, file.arrays
    if header.get("kind") != "chain":
        raise ValueError(f"it holds a model of the kind {header.get('kind')!r}")
    check_options(header["options"])
    labels = unpacked_labels(header["labels"])
    n_states = len(labels.classes)
    n_features = count(header["n_features"], 2**31 - 1)
    encoder = unpack_encoder(header["encoder"], arrays)
    if encoder is not None and encoder.n_attributes != n_features:
        raise ValueError(f"{encoder.n_attributes} attributes for {n_features} features")
    dense, bias, boundary = (flag(header[name]) for name in ("dense", "bias", "boundary"))
    node_weights: Any
    if dense:
        node_weights = dense_weights(arrays, n_features, n_states)
    else:
        node_weights = sparse_weights(arrays, n_features, n_states, encoder is None)
    other = arrays["weights.other"]
    if other.ndim != 1 or other.dtype != np.float64 or not np.isfinite(other).all():
        raise ValueError("the weights of labels and steps are not a row of finite numbers")
    n_step_features = count(header["n_step_features"], len(other))
    pairs = _pairs_of(header, arrays, encoder, n_states)
    n_step_weights = max(n_step_features, 1) * n_states**2
    if pairs is not None:
        n_step_weights = len(pairs.pair) + len(pairs.of_pair)
        if n_step_features:
            raise ValueError("the weights of steps do not belong to their attributes")
    # Before a layout, which takes memory for as many labels as the header says there are.
    if len(other) != (bias + 2 * boundary) * n_states + n_step_weights:
        raise ValueError(f"{len(other)} weights of labels and steps for {n_states} labels")
    scheme = None if header["scheme"] is None else Scheme.parse(header["scheme"])
    if scheme is not None:
        parse_labels(labels.classes.tolist(), scheme)  # refuses what does not belong to it
    return StoredChain(
        labels, encoder, scheme, *unpacked_probabilities(header), n_features, dense, node_weights,
        bias, boundary, n_step_features, pairs, other, text(header["trained"]),
        unpacked_change(header),
    )  # fmt: skip


def _pairs_of(
    header: dict[str, Any], arrays: dict[str, np.ndarray], encoder: Encoder | None, n_states: int
) -> StepPairs | None:
    attributes = encoder.steps if isinstance(encoder, TemplateEncoder) else None
    if not flag(header.get("sparse_steps", False)):
        if attributes is not None:
            raise ValueError("its template has features of steps, which have no weights")
        return None
    numbers = (whole(arrays, f"steps.{name}") for name in ("pair", "count", "of_pair"))
    pairs = _step_pairs(n_states, *numbers)
    if len(pairs.counts) != (attributes.n_attributes if attributes else 0):
        raise ValueError("the weights of steps do not belong to their attributes")
    return pairs


def _step_pairs(K: int, pair: np.ndarray, count: np.ndarray, of_pair: np.ndarray) -> StepPairs:
    """Whole numbers of a file, as a layout of K labels wants them; ValueError if they are none."""
    if not pair.ndim == count.ndim == of_pair.ndim == 1:
        raise ValueError("its steps are not in rows")
    if pair.min(initial=0) < 0 or pair.max(initial=-1) >= K**2 or np.any(np.diff(pair) <= 0):
        raise ValueError("a weight belongs to a step that does not exist")
    if count.min(initial=1) < 1 or count.max(initial=0) > len(pair) or count.sum() != len(of_pair):
        raise ValueError("an attribute of steps has no weights, or more than there are steps")
    if of_pair.min(initial=0) < 0 or of_pair.max(initial=-1) >= len(pair):
        raise ValueError("an attribute has a weight for a step that does not exist")
    first = np.zeros(len(of_pair), bool)
    first[np.cumsum(count) - count] = True
    if not np.all(first[1:] | (of_pair[1:] > of_pair[:-1])):
        raise ValueError("the weights of an attribute of steps are not in order")
    return StepPairs(pair, count, of_pair)
