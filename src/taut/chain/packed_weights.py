"""The weights of attributes in model files: in few bytes, with scores that hardly change.

Those of sparse features are stored with 32 bits, and a CRF's smallest not at all: those that, at
the largest value an attribute had in training, change the logarithm of a ratio of probabilities by
less than ``SMALLEST``. So the score of a label at a token changes by no more than the largest
change of a weight times the sum of the absolute values of the token's attributes.

Training itself is much less exact. On held-out parts of three corpora no tag changed, and
probabilities by 1e-4 at most; between tolerances of 1e-5 and 1e-6 it was 44 of 42,689 tags of
CoNLL-2000, and up to 0.1.
"""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from taut.structures.features_build import observed_layout

# A sparse matrix may have columns without weights, of which a file says no more than their number.
# They take 4 bytes each; beyond this many, a file must be large itself to have them.
FREE_FEATURES = 2**24
FEATURES_PER_WEIGHT = 16
SMALLEST = 2.0**-14
HALF_A_BIT = 2.0**-24  # what rounding to 32 bits changes, as a share
Arrays = dict[str, np.ndarray]


class Rounded(NamedTuple):
    weights: sparse.csr_array
    change: float  # of a weight, at most


def smallest_kept(temperature: float, largest_value: float) -> float:
    """Weights below this are left out; none of an SVM, whose scores have no unit of their own."""
    return SMALLEST * temperature / largest_value if largest_value else 0.0


def rounded(weights: sparse.csr_array, limit: float) -> Rounded:
    """Weights as they go into a file; what came from a file stays as it is.

    >>> weights, change = rounded(sparse.csr_array([[0.1, 1e-6, 4.0]]), 1e-5)
    >>> weights.data, change
    (array([0.1, 4. ], dtype=float32), 1e-06)
    """
    exact = weights.data
    kept = np.abs(exact) >= limit
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        stored = exact.astype(np.float32)
        fits = np.abs(stored - exact) <= HALF_A_BIT * np.abs(exact)
    if not fits[kept].all():  # weights too large or too small for 32 bits
        stored = exact.copy()
    stored[~kept] = 0.0
    change = float(np.abs(stored - exact).max(initial=0.0))
    packed = sparse.csr_array((stored, weights.indices, weights.indptr), weights.shape, copy=True)
    packed.eliminate_zeros()
    return Rounded(packed, change)


def pack_weights(weights: sparse.csr_array) -> Arrays:
    """Of attributes that all have a weight: which labels have one, and the weights."""
    counts, labels = smallest(np.diff(weights.indptr)), smallest(weights.indices)
    n_attributes, n_labels = weights.shape
    if n_attributes * -(-n_labels // 8) >= counts.nbytes + labels.nbytes:
        return {"weights.count": counts, "weights.label": labels, "weights.value": weights.data}
    has_weight = np.zeros(weights.shape, bool)
    has_weight[np.repeat(np.arange(n_attributes), counts), labels] = True
    bits = np.packbits(has_weight, axis=1, bitorder="little")
    return {"weights.labels": bits, "weights.value": weights.data}


def check_writable(n_features: int, n_weights: int) -> None:
    most = _most_features(n_weights)
    if n_features > most:
        raise ValueError(
            f"the model has {n_features} features and {n_weights} weights that are not zero; a "
            f"model file with so many weights holds up to {most} features: hash features to fewer "
            "numbers, or pickle the estimator"
        )


def dense_weights(arrays: Arrays, n_features: int, n_states: int) -> np.ndarray:
    weights = arrays["weights.value"]
    if weights.shape != (n_features, n_states) or weights.dtype != np.float64:
        raise ValueError(f"weights of shape {weights.shape}, not {(n_features, n_states)}")
    if not np.isfinite(weights).all():
        raise ValueError("a weight is not finite")
    return weights.T.ravel()  # label by label, as dense features want them


def sparse_weights(
    arrays: Arrays, n_features: int, n_states: int, numbered: bool
) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray]:
    """(weight_pointer, weight_state) and the weights laid out so."""
    value = arrays["weights.value"]
    if numbered and n_features > _most_features(value.size):
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
    pointer, state, place = observed_layout(counts, label, n_states)
    weights = np.zeros(len(state))
    weights[place] = value
    if not numbered:
        return (pointer, state), weights
    # Attributes without weights are put between only now, where they take the least memory.
    of_all = np.zeros(n_features + 1, np.int32)
    of_all[attribute + 1] = np.diff(pointer)
    return (np.cumsum(of_all, dtype=np.int32, out=of_all), state), weights


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


def _most_features(n_weights: int) -> int:
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
