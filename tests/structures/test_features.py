"""Node features: three layouts of the weights, one linear map."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from taut_reference import by_feature, by_label, observed_places

from taut._compile import compiled
from taut.arrays.accumulator import add_to, dense_accumulator, new_accumulator, row_accumulator
from taut.structures.features import node_features, node_score, node_scores, push_node, push_states
from taut.structures.features_build import joined, observed_features, with_weights_of


# Generic functions run compiled only inside compiled code.
@compiled
def compiled_node_scores(features, w, first, length, theta):
    node_scores(features, w, first, length, theta)


@compiled
def compiled_node_score(features, w, node, k, n_states):
    return node_score(features, w, node, k, n_states)


@compiled
def compiled_push_node(features, node, k, n_states, amount, delta):
    push_node(features, node, k, n_states, amount, delta)


@compiled
def compiled_push_states(features, node, row, amount, delta):
    push_states(features, node, row, amount, delta)


def accumulator_for(features, K):
    if features.rows.is_dense:
        return dense_accumulator(np.zeros(features.dim(K)))
    return new_accumulator(features.dim(K), features.dim(K))


def as_vector(delta, dim):
    vector = np.zeros(dim)
    add_to(delta, 1.0, vector)
    return vector


def random_features(kind, K, seed, n_nodes=7, n_features=9):
    """Features, their matrix and the place of every (feature, label)'s weight, -1 for none."""
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(n_nodes, n_features)) * (rng.random((n_nodes, n_features)) < 0.7)
    if kind == "dense":
        return node_features(matrix), matrix, by_label(n_features, K)
    features = node_features(sparse.csr_array(matrix))
    if kind == "sparse":
        return features, matrix, by_feature(n_features, K)
    # Few distinct labels, so that some attributes keep lists of labels and others full rows.
    labels = rng.integers(0, max(K // 4, 1), n_nodes)
    features = observed_features(features, labels, K)
    return features, matrix, observed_places(features, n_features, K)


def scores_by_definition(matrix, place, w):
    """theta = matrix W, with W[f, k] = w[place[f, k]], zero where there is no weight."""
    return matrix @ np.where(place >= 0, w[place], 0.0)


kinds = pytest.mark.parametrize("kind", ["dense", "sparse", "observed"])
# Label counts on both sides of the blocks of four, and (observed) lists as well as full rows.
sizes = st.integers(1, 14)
seeds = st.integers(0, 10**6)
# Sums of at most 9 products of numbers around 1: rounding stays below 1e-13.
EXACT = dict(rtol=0, atol=1e-13)


@kinds
@given(K=sizes, seed=seeds)
@settings(max_examples=40)
def test_node_scores_multiply_the_matrix_with_the_weights(kind, K, seed):
    features, matrix, place = random_features(kind, K, seed)
    w = np.random.default_rng(seed).normal(size=features.dim(K))
    w[np.setdiff1d(np.arange(w.size), place)] = 0.0  # weights held at zero
    theta = np.full((7, K), np.nan)
    compiled_node_scores(features, w, 0, 7, theta)
    np.testing.assert_allclose(theta, scores_by_definition(matrix, place, w), **EXACT)


@kinds
def test_node_scores_touch_only_the_nodes_asked_for(kind):
    features, matrix, place = random_features(kind, 6, 1)
    w = np.where(np.isin(np.arange(features.dim(6)), place), 1.0, 0.0)
    theta = np.full((5, 6), np.nan)
    compiled_node_scores(features, w, 2, 3, theta)
    np.testing.assert_allclose(theta[:3], scores_by_definition(matrix, place, w)[2:5], **EXACT)
    assert np.isnan(theta[3:]).all()


@kinds
@given(K=sizes, seed=seeds)
@settings(max_examples=40)
def test_push_node_is_the_transpose_of_node_scores(kind, K, seed):
    """Reading and writing weights use one matrix, twice."""
    features, matrix, place = random_features(kind, K, seed)
    rng = np.random.default_rng(seed)
    change = rng.normal(size=K) * (rng.random(K) < 0.5)
    change[rng.integers(K)] = 1.0
    amount = -0.7
    delta = accumulator_for(features, K)
    for k in np.flatnonzero(change):
        compiled_push_node(features, 3, k, K, amount * change[k], delta)
    expected = np.zeros(features.dim(K))
    kept = place >= 0
    expected[place[kept]] = amount * np.outer(matrix[3], change)[kept]
    np.testing.assert_allclose(as_vector(delta, features.dim(K)), expected, **EXACT)


def rows_for(features, K, most_rows):
    """An accumulator that keeps rows, with no more room than is said to be enough."""
    if features.rows.is_dense:
        return dense_accumulator(np.zeros(features.dim(K)))
    capacity = features.most_touched(np.array([0, features.rows.n_rows]), K)
    return row_accumulator(features.dim(K), capacity, most_rows)


@kinds
@given(K=sizes, seed=seeds)
@settings(max_examples=40)
def test_changes_of_all_labels_are_multiplied_with_the_matrix(kind, K, seed):
    """Every change D of every node's labels, row by row: the product X' D."""
    features, matrix, place = random_features(kind, K, seed)
    rng = np.random.default_rng(seed)
    changes = rng.normal(size=(7, K)) * (rng.random((7, K)) < 0.8)
    amount = 1.3
    delta = rows_for(features, K, np.count_nonzero(matrix))
    for node in rng.permutation(7):
        compiled_push_states(features, node, changes[node], amount, delta)
    expected = np.zeros(features.dim(K))
    kept = place >= 0
    expected[place[kept]] = amount * (matrix.T @ changes)[kept]
    np.testing.assert_allclose(as_vector(delta, features.dim(K)), expected, **EXACT)


@kinds
@given(K=sizes, seed=seeds)
@settings(max_examples=25)
def test_one_label_at_one_node_is_one_entry_of_the_scores(kind, K, seed):
    features, matrix, place = random_features(kind, K, seed)
    rng = np.random.default_rng(seed)
    w = rng.normal(size=features.dim(K))
    w[np.setdiff1d(np.arange(w.size), place)] = 0.0
    node, k = int(rng.integers(7)), int(rng.integers(K))
    score = compiled_node_score(features, w, node, k, K)
    assert score == pytest.approx(scores_by_definition(matrix, place, w)[node, k], abs=1e-13)
    delta = accumulator_for(features, K)
    compiled_push_node(features, node, k, K, 2.0, delta)
    assert as_vector(delta, features.dim(K)) @ w == pytest.approx(2.0 * score, abs=1e-13)


@given(K=sizes, seed=seeds)
@settings(max_examples=25)
def test_the_three_kinds_agree_where_all_pairs_were_observed(K, seed):
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(4, 5))
    W = rng.normal(size=(5, K))
    rows = sparse.csr_array(matrix)
    # Every label is seen with every attribute on K more nodes.
    labels = np.concatenate([np.zeros(4, int), np.arange(K)])
    seen = node_features(sparse.csr_array(np.vstack([matrix, np.ones((K, 5))])))
    cases = [
        (node_features(matrix), W.T.ravel()),
        (node_features(rows), W.ravel()),
        (observed_features(seen, labels, K), W.ravel()),
    ]
    for features, w in cases:
        assert features.dim(K) == 5 * K
        theta = np.zeros((4, K))
        compiled_node_scores(features, w, 0, 4, theta)
        np.testing.assert_allclose(theta, matrix @ W, **EXACT)
        weights = features.weight_matrix(w, K)
        weights = weights.toarray() if sparse.issparse(weights) else weights
        np.testing.assert_array_equal(weights, W)


@given(K=sizes, seed=seeds)
@settings(max_examples=40)
def test_weights_exist_for_exactly_the_pairs_seen_in_training(K, seed):
    rng = np.random.default_rng(seed)
    matrix = rng.integers(0, 2, (6, 5)).astype(float)
    labels = rng.integers(0, K, 6)
    features = observed_features(node_features(sparse.csr_array(matrix)), labels, K)
    seen = {(f, k) for x, k in zip(matrix, labels, strict=True) for f in np.flatnonzero(x)}
    place = observed_places(features, 5, K)
    assert {(f, k) for f, k in np.argwhere(place >= 0)} == seen
    # No two pairs share a weight.
    assert np.unique(place[place >= 0]).size == len(seen)


@pytest.mark.parametrize("kind", ["sparse", "observed"])
def test_most_touched_bounds_what_one_example_can_touch(kind):
    """An accumulator of that capacity must hold any direction of any example."""
    K, pointer = 6, np.array([0, 3, 7])
    features, _, _ = random_features(kind, K, 5)
    most = features.most_touched(pointer, K)
    for first, last in [(0, 3), (3, 7)]:
        delta = new_accumulator(features.dim(K), 10_000)
        for node in range(first, last):
            for k in range(K):
                compiled_push_node(features, node, k, K, 1.0, delta)
        assert delta.count[0] <= most


def test_arrays_of_the_right_type_are_not_copied():
    matrix = np.random.default_rng(0).normal(size=(5, 4))
    assert np.shares_memory(node_features(matrix).rows.dense, matrix)
    rows = sparse.csr_array(matrix)
    features = node_features(rows)
    assert np.shares_memory(features.rows.data, rows.data)
    assert np.shares_memory(features.rows.indices, rows.indices)
    rows.indptr = rows.indptr.astype(np.int64)
    assert np.shares_memory(node_features(rows).rows.indptr, rows.indptr)


def test_duplicates_are_summed_in_a_copy():
    rows = sparse.csr_array(
        (np.array([1.0, 2.0, 4.0]), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2)
    )
    features = node_features(rows)
    assert features.rows.data.tolist() == [3.0, 4.0]
    assert rows.data.tolist() == [1.0, 2.0, 4.0]
    assert rows.indices.tolist() == [1, 1, 0]


@kinds
def test_joined_features_score_as_their_parts(kind):
    K = 5
    fitted, matrix, place = random_features(kind, K, 2)
    new_matrix = np.random.default_rng(3).normal(size=(3, 9))
    new = node_features(new_matrix if kind == "dense" else sparse.csr_array(new_matrix))
    w = np.where(np.isin(np.arange(fitted.dim(K)), place), 0.5, 0.0)
    theta = np.zeros((10, K))
    compiled_node_scores(joined(fitted, new), w, 0, 10, theta)
    expected = scores_by_definition(np.vstack([matrix, new_matrix]), place, w)
    np.testing.assert_allclose(theta, expected, **EXACT)
    alone = np.zeros((3, K))
    compiled_node_scores(with_weights_of(new, fitted), w, 0, 3, alone)
    np.testing.assert_allclose(alone, expected[7:], **EXACT)


def test_dense_and_sparse_features_do_not_mix():
    dense = node_features(np.eye(2))
    with pytest.raises(TypeError, match="dense and sparse"):
        joined(dense, node_features(sparse.csr_array(np.eye(2))))
