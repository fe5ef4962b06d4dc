"""Where the weights of observed pairs (attribute, label) are, and nodes under given weights."""

import numpy as np

from taut.memory import check_memory
from taut.structures.features import Features

MOST_OBSERVED = int(np.iinfo(np.int16).max)  # labels


def observed_features(
    features: Features, labels: np.ndarray, n_states: int, known: np.ndarray | None = None
) -> Features:
    """Keep weights only for the pairs (attribute, label) that occur together in ``labels``, where
    these are ``known``."""
    per_node = np.diff(features.rows.indptr)
    pairs = features.rows.indices.astype(np.int64) * n_states + np.repeat(labels, per_node)
    pairs = np.unique(pairs if known is None else pairs[np.repeat(known, per_node)])
    attributes, states = np.divmod(pairs, n_states)
    check_memory(
        5 * features.rows.n_features,
        f"there are {features.rows.n_features:,} features; training",
        "where the weights of each begin",
        "leave out those without entries",
    )
    counts = np.bincount(attributes, minlength=features.rows.n_features)
    pointer, weight_state, _ = observed_layout(counts, states, n_states)
    return features.with_pairs(pointer, weight_state)


def observed_layout(
    counts: np.ndarray, states: np.ndarray, n_states: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Places for the weights of pairs (attribute, label): attribute f has ``counts[f]`` of them.

    ``states`` are their labels, attribute after attribute, rising. Returns weight_pointer,
    weight_state, and the place of each pair's weight.
    """
    full = 6 * counts >= n_states  # on CoNLL-2000 the fastest of several thresholds
    pointer = np.concatenate([[0], np.cumsum(np.where(full, n_states, counts))])
    if n_states > MOST_OBSERVED:
        raise ValueError(
            f"there are {n_states} labels; observed features are for {MOST_OBSERVED} at most: use "
            'features="all", or merge labels'
        )
    if pointer[-1] >= 2**31:
        raise ValueError(f"{pointer[-1]} weights are more than can be numbered")
    first_pair = np.cumsum(counts) - counts
    shift = np.repeat(pointer[:-1] - np.where(full, 0, first_pair), counts)
    place = shift + np.where(np.repeat(full, counts), states, np.arange(len(states)))
    # Small types: these arrays are read at random, and should stay in the processor's cache.
    weight_state = np.full(pointer[-1], -1, np.int16)
    weight_state[place] = states
    return pointer.astype(np.int32), weight_state, place


def with_weights_of(features: Features, trained: Features) -> Features:
    """New nodes to be scored with the weight layout of ``trained``."""
    if trained.is_observed:
        return features.with_pairs(trained.weight_pointer, trained.weight_state)
    return features


def check_like(features: Features, trained: Features) -> None:
    """New nodes must have the features that the weights of ``trained`` are for."""
    if not isinstance(features, Features):
        raise TypeError(f"features are {type(features).__name__}; use node_features")
    if features.kind != trained.kind:
        raise TypeError(
            f"features are {features.kind}, the model was fitted with {trained.kind} ones; use "
            "node_features and with_weights_of"
        )
    if features.rows.n_features != trained.rows.n_features:
        raise ValueError(
            f"there are {features.rows.n_features} features per row, the model was fitted with "
            f"{trained.rows.n_features}"
        )


def joined(fitted: Features, new: Features) -> Features:
    """The nodes of ``fitted`` followed by new ones, under the weight layout of ``fitted``."""
    return fitted._replace(rows=fitted.rows.followed_by(new.rows))
