"""The weights of attributes as a model file has them, checked; needs neither numba nor scipy."""

from typing import NamedTuple

import numpy as np

# A sparse matrix may have columns without weights, of which a file says no more than their number.
# They take 4 bytes each; beyond this many, a file must be large itself to have them.
FREE_FEATURES = 2**24
FEATURES_PER_WEIGHT = 16
Arrays = dict[str, np.ndarray]


class NodeWeights(NamedTuple):
    """Of features that have any: attribute ``attribute[a]`` has ``counts[a]`` of them."""

    attribute: np.ndarray  # rising
    counts: np.ndarray
    label: np.ndarray  # of each weight, rising for each attribute
    value: np.ndarray  # float32 or float64


def dense_weights(arrays: Arrays, n_features: int, n_states: int) -> np.ndarray:
    weights = arrays["weights.value"]
    if weights.shape != (n_features, n_states) or weights.dtype != np.float64:
        raise ValueError(f"weights of shape {weights.shape}, not {(n_features, n_states)}")
    if not np.isfinite(weights).all():
        raise ValueError("a weight is not finite")
    return weights


def sparse_weights(arrays: Arrays, n_features: int, n_states: int, numbered: bool) -> NodeWeights:
    """``numbered`` if the file says which features have weights; else all do."""
    value = arrays["weights.value"]
    if numbered and n_features > most_features(value.size):
        raise ValueError(f"it has {n_features} features with {value.size} weights")
    attribute = whole(arrays, "weights.attribute") if numbered else np.arange(n_features)
    counts, label = _labels_with_weights(arrays, attribute.size, n_states)
    if not counts.ndim == label.ndim == value.ndim == attribute.ndim == 1:
        raise ValueError("the weights are not in rows")
    if len(counts) != len(attribute) or len(label) != len(value):
        raise ValueError("the weights do not belong to the attributes")
    if counts.min(initial=1) < 1 or counts.max(initial=1) > n_states:
        raise ValueError("an attribute has no weights, or more than there are labels")
    is_float = value.dtype in (np.float32, np.float64)  # the latter if 32 bits do not hold them
    if counts.sum() != len(value) or not is_float or not np.isfinite(value).all():
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
    return NodeWeights(attribute, counts, label, value)


def _labels_with_weights(
    arrays: Arrays, n_attributes: int, n_states: int
) -> tuple[np.ndarray, np.ndarray]:
    """Of each attribute the number of labels, and all the labels."""
    if "weights.labels" not in arrays:
        return whole(arrays, "weights.count"), whole(arrays, "weights.label")
    bits = arrays["weights.labels"]
    # Before they are unpacked, which takes 8 times their size.
    if bits.dtype != np.uint8 or bits.shape != (n_attributes, -(-n_states // 8)):
        raise ValueError(f"a bit for each of {n_states} labels is not {bits.dtype} {bits.shape}")
    has_weight = np.unpackbits(bits, axis=1, count=n_states, bitorder="little").astype(bool)
    if not np.array_equal(np.packbits(has_weight, axis=1, bitorder="little"), bits):
        raise ValueError("there are bits for more labels than there are")
    attribute, label = np.nonzero(has_weight)
    return np.bincount(attribute, minlength=n_attributes), label


def most_features(n_weights: int) -> int:
    return min(max(FREE_FEATURES, FEATURES_PER_WEIGHT * n_weights), 2**31 - 1)


def whole(arrays: Arrays, name: str) -> np.ndarray:
    if arrays[name].dtype.kind not in "iu":
        raise ValueError(f"{name} are not whole numbers")
    return arrays[name].astype(np.int64)


def smallest(values: np.ndarray) -> np.ndarray:
    """In the smallest type that holds them: most of a model file is such numbers."""
    largest = int(values.max(initial=0))
    return values.astype(next(t for t in (np.uint8, np.uint16, np.int32, np.int64)
                              if largest <= np.iinfo(t).max))  # fmt: skip
