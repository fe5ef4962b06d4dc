"""A chain model from weights that somebody has: of another program, of a file, made by hand.

What trained weights say of themselves, these do not: their certificate is one that proves nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from taut import defaults
from taut.chain.model import ChainModel, Encoder
from taut.chain.specification import Specification
from taut.labels import LabelCodec, sorted_if_possible
from taut.solvers.solution import given_solution
from taut.structures.chain import chain_layout
from taut.structures.features_build import observed_layout
from taut.structures.sparse_steps import Steps, new_steps
from taut.text.attributes import AttributeEncoder


class NodeWeights(NamedTuple):
    """Those of attributes: one each for ``attribute[i], label[i]``; no pair twice."""

    attribute: np.ndarray
    label: np.ndarray
    value: np.ndarray


class StepWeights(NamedTuple):
    """Those of steps from label to label; no pair twice."""

    before: np.ndarray
    after: np.ndarray
    value: np.ndarray
    # Of a template's features of steps: a CSR matrix with a row for each attribute and a column for
    # each step, which is number before * n_labels + after.
    of_attributes: Any = None


class OfLabels(NamedTuple):
    """One weight per label; None if there are no such weights."""

    bias: np.ndarray | None = None
    begin: np.ndarray | None = None  # both or neither
    end: np.ndarray | None = None


def model_of_numbers(
    encoder: Encoder | int,
    labels: list[Any],
    nodes: NodeWeights | np.ndarray,
    steps: StepWeights,
    alone: OfLabels,
    specification: Specification,
) -> ChainModel:
    """Attributes and labels by number; ``labels`` are in the order of a :class:`LabelCodec`.

    The attributes are those of an ``encoder``; without one it is how many features matrices have.
    ``nodes`` may be a matrix (labels, features) of all weights, for features that are dense.
    """
    n_labels = len(labels)
    n_attributes = encoder if isinstance(encoder, int) else encoder.n_attributes
    observed = None
    if isinstance(nodes, np.ndarray):
        of_nodes = nodes.ravel()
    else:
        order = np.lexsort((nodes.label, nodes.attribute))
        counts = np.bincount(nodes.attribute, minlength=n_attributes)
        pointer, state, place = observed_layout(counts, nodes.label[order], n_labels)
        of_nodes = np.zeros(len(state))
        of_nodes[place] = nodes.value[order]
        observed = pointer, state
    some, of_steps = _laid_out(steps, n_labels)
    layout = chain_layout(
        n_attributes,
        n_labels,
        dense=observed is None,
        observed=observed,
        bias=alone.bias is not None,
        boundary=alone.begin is not None,
        steps=some,
    )
    parts = [of_nodes, *(each for each in alone if each is not None), of_steps]
    solution = given_solution(np.concatenate(parts).astype(np.float64))
    more = specification.of_prediction()
    of_text = None if isinstance(encoder, int) else encoder
    scheme = specification.parsed_scheme()
    return ChainModel(LabelCodec([labels]), layout, solution, of_text, scheme, **more)


def _laid_out(steps: StepWeights, n_labels: int) -> tuple[Steps | None, np.ndarray]:
    """Which steps have weights, None for all, and the weights in their order."""
    codes = steps.before.astype(np.int64) * n_labels + steps.after
    of_attributes = steps.of_attributes
    if n_labels <= defaults.MANY_LABELS and of_attributes is None:
        weights = np.zeros(n_labels**2)
        weights[codes] = steps.value
        return None, weights
    if of_attributes is None:
        order = np.argsort(codes)
        return new_steps(codes[order], n_labels), steps.value[order]
    pairs = np.union1d(codes, of_attributes.indices.astype(np.int64))
    weights = np.zeros(len(pairs))
    weights[np.searchsorted(pairs, codes)] = steps.value
    counts = np.diff(of_attributes.indptr)
    of_pair = np.searchsorted(pairs, of_attributes.indices)
    some = new_steps(pairs, n_labels, counts=counts, of_pair=of_pair)
    return some, np.concatenate([weights, of_attributes.data])


def named_attributes(names: list[str]) -> AttributeEncoder:
    encoder = AttributeEncoder()
    encoder.set_names(names)
    return encoder


def model_of_names(
    weights: Any,
    transitions: Mapping[tuple[Any, Any], float],
    alone: Mapping[str, Mapping[Any, float] | None],
    names: Sequence[str] | None,
    labels: Iterable[Any] | None,
    specification: Specification,
) -> ChainModel:
    """Attributes and labels by name; see ``ChainCRF.from_weights``."""
    is_named = isinstance(weights, Mapping)
    if is_named and names is not None:
        raise ValueError("attributes= are the names of the columns of a matrix; a dict has its own")
    if not is_named and labels is None:
        raise ValueError("labels= must name the rows of a matrix of weights")
    mentioned = {label for pair in transitions for label in _pair(pair, "transitions")}
    mentioned |= {label for group in alone.values() for label in group or {}}
    if is_named:
        mentioned |= {_pair(pair, "weights")[1] for pair in weights}
    known = mentioned if labels is None else set(labels)
    unknown = mentioned - known
    if unknown:
        raise ValueError(f"the label {sorted_if_possible(unknown)[0]!r} is not one of labels=")
    if not known:
        raise ValueError("there are no labels; name them by labels=")
    codec = LabelCodec([sorted_if_possible(known)])
    steps = _numbers("transitions", transitions, codec.number, codec.number)
    groups = [_of_labels(name, alone.get(name), codec) for name in OfLabels._fields]
    bias, begin, end = groups
    if (begin is None) != (end is None):
        begin, end = (np.zeros(len(known)) if group is None else group for group in (begin, end))
    if is_named:
        found = list(dict.fromkeys(attribute for attribute, _ in weights))
        strange = [name for name in found if not isinstance(name, str)]
        if strange:
            raise TypeError(f"weights: the attribute {strange[0]!r} is not a string; make it one")
        number = {name: k for k, name in enumerate(found)}
        nodes: Any = NodeWeights(*_numbers("weights", weights, number, codec.number))
        of: list[str] | int = found
    else:
        nodes, of = _of_matrix(weights, names, list(labels or []), codec)
    return model_of_numbers(
        of if isinstance(of, int) else named_attributes(of),
        codec.classes.tolist(),
        nodes,
        StepWeights(*steps),
        OfLabels(bias, begin, end),
        specification,
    )


def _pair(pair: Any, what: str) -> tuple[Any, Any]:
    if not isinstance(pair, tuple) or len(pair) != 2:
        expected = "(label, next label)" if what == "transitions" else "(attribute, label)"
        raise ValueError(f"{what} has the key {pair!r}; a pair {expected} is expected")
    return pair


def _numbers(
    what: str, weights: Mapping, first: Mapping[Any, int], second: Mapping[Any, int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    count = len(weights)
    return (
        np.fromiter((first[one] for one, _ in weights), np.int64, count),
        np.fromiter((second[other] for _, other in weights), np.int64, count),
        _finite(what, list(weights), list(weights.values())),
    )


def _finite(what: str, keys: Sequence[Any], values: Any) -> np.ndarray:
    try:
        numbers = np.array(values, np.float64)
    except (TypeError, ValueError):
        numbers = np.array([])
    if numbers.shape != (len(keys),):
        raise TypeError(f"{what} has values that are not numbers; one number per key is expected")
    wrong = np.flatnonzero(~np.isfinite(numbers))
    if wrong.size:
        raise ValueError(f"{what}[{keys[wrong[0]]!r}] is {numbers[wrong[0]]}; give finite numbers")
    return numbers


def _of_labels(
    what: str, group: Mapping[Any, float] | None, codec: LabelCodec
) -> np.ndarray | None:
    if group is None:
        return None
    weights = np.zeros(len(codec.classes))
    weights[[codec.number[label] for label in group]] = _finite(
        what, list(group), list(group.values())
    )
    return weights


def _of_matrix(
    weights: Any, names: Sequence[str] | None, labels: list[Any], codec: LabelCodec
) -> tuple[NodeWeights | np.ndarray, list[str] | int]:
    """A row per label, in the order given, as ``coef_`` has them."""
    is_sparse = sparse.issparse(weights)
    matrix: Any = sparse.coo_array(weights) if is_sparse else np.asarray(weights, np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != len(labels):
        raise ValueError(
            f"weights have shape {matrix.shape}; a row for each of {len(labels)} labels is expected"
        )
    if names is not None and (len(names) != matrix.shape[1] or len(set(names)) < len(names)):
        raise ValueError(
            f"there are {len(set(names))} distinct attributes for {matrix.shape[1]} columns of "
            "weights; one each is expected"
        )
    if is_sparse:
        matrix.sum_duplicates()
    if not np.isfinite(matrix.data if is_sparse else matrix).all():
        raise ValueError("weights has values that are not finite; give finite numbers")
    row = np.array([codec.number[label] for label in labels])
    if not is_sparse and names is None:
        dense = np.zeros_like(matrix)
        dense[row] = matrix
        return dense, matrix.shape[1]
    found = matrix if is_sparse else sparse.coo_array(matrix)
    nodes = NodeWeights(found.col.astype(np.int64), row[found.row], found.data.astype(np.float64))
    return nodes, matrix.shape[1] if names is None else list(names)
