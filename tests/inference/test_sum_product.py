"""Sum-product finds the marginals of a forest, whatever the size of scores and forest."""

import numpy as np
import pytest
from forest_models import forests, possible, random_forest, rounding, with_one_table
from graph_models import GraphModel, assert_in_local_polytope, random_model
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import entr, logsumexp

from taut.inference.maxsum import forest_order
from taut.inference.sum_product import entropy, new_sum_product_work, sum_product

# Sums of marginals are rounded a few times, by 1e-16, for every step from the root: of 2000.
ONE = 1e-12


def run_sum_product(model, *, spare=0, function=sum_product):
    """Buffers may be larger than the example; nothing may read what is not its own."""
    n, m = model.size
    K = model.theta.shape[1]
    pad = lambda a, value: np.concatenate([a, np.full((spare, *a.shape[1:]), value, a.dtype)])  # noqa: E731
    work = new_sum_product_work(n + spare, K)
    work.message[:], work.total[:], work.is_child[:] = np.nan, np.nan, True
    node, edge = np.full((n + spare, K), -7.0), np.full((m + spare, K, K), -7.0)
    log_z = function(
        pad(model.theta, np.nan), pad(model.states, 10**6), pad(model.ends, 10**6),
        pad(model.pair, np.nan), n, m, forest_order(n, model.ends), work, node, edge,
    )  # fmt: skip
    assert (node[n:] == -7.0).all()
    assert (edge[m:] == -7.0).all()
    return log_z, node[:n], edge[:m]


def enumerated(model):
    """log Z and marginals by their definitions, and what is possible at all."""
    labels, scores = possible(model)
    log_z = logsumexp(scores) if len(scores) else -np.inf
    node, edge = np.zeros(model.theta.shape), np.zeros(model.pair.shape)
    node_occurs, edge_occurs = np.zeros(node.shape, bool), np.zeros(edge.shape, bool)
    for y, p in zip(labels, np.exp(scores - log_z), strict=True):
        nodes = np.arange(len(y)), y
        edges = np.arange(len(edge)), y[model.ends[:, 0]], y[model.ends[:, 1]]
        node[nodes] += p
        edge[edges] += p
        node_occurs[nodes] = edge_occurs[edges] = True
    return log_z, node, edge, node_occurs, edge_occurs


def run_entropy(model, log_z, node, edge):
    n, m = model.size
    return entropy(*model, n, m, node, edge, log_z)


def chain(n, n_states, scale, seed=0):
    rng = np.random.default_rng(seed)
    return GraphModel(
        scale * rng.normal(size=(n, n_states)),
        np.full(n, n_states, np.int32),
        np.array([(t, t + 1) for t in range(n - 1)], np.int32),
        scale * rng.normal(size=(n - 1, n_states, n_states)),
    )


@given(forests(), st.sampled_from([0, 3]))
def test_marginals_are_those_of_the_enumerated_distribution(model, spare):
    log_z, node, edge = run_sum_product(model, spare=spare)
    right_log_z, right_node, right_edge, node_occurs, edge_occurs = enumerated(model)
    # A score is rounded relative to all scores, and its exponential by as much absolutely.
    assert log_z == pytest.approx(right_log_z, rel=0, abs=rounding(model))
    np.testing.assert_allclose(node, right_node, rtol=0, atol=rounding(model))
    np.testing.assert_allclose(edge, right_edge, rtol=0, atol=rounding(model))
    assert not node[~node_occurs].any()
    assert not edge[~edge_occurs].any()
    if log_z > -np.inf:
        assert_in_local_polytope(model, node, edge, ONE)


@given(forests(shares=[0.4, 0.7]))
def test_log_z_is_minus_infinity_exactly_if_nothing_is_possible(model):
    log_z, node, edge = run_sum_product(model)
    is_possible = len(possible(model)[0]) > 0
    assert (log_z > -np.inf) == is_possible
    assert node.any() == is_possible
    assert not np.isnan(node).any()
    assert not np.isnan(edge).any()


@given(forests(most_nodes=4))
def test_interpreted_it_computes_the_same_without_a_warning(model):
    compiled, interpreted = (
        run_sum_product(model, function=function) for function in (sum_product, sum_product.py_func)
    )
    # Two implementations of exp and log may round differently.
    for one, two in zip(compiled, interpreted, strict=True):
        np.testing.assert_allclose(one, two, rtol=0, atol=rounding(model))


@given(forests(shares=[0.0]), st.integers(0, 100))
def test_one_table_can_serve_all_edges(model, seed):
    repeated, table = with_one_table(model, seed)
    shared = repeated._replace(pair=table)
    for one, two in zip(run_sum_product(repeated), run_sum_product(shared), strict=True):
        np.testing.assert_array_equal(one, two)
    found = run_sum_product(repeated)
    assert run_entropy(repeated, *found) == run_entropy(shared, *found)


@given(forests(scores=["normal", "binary", "ties", "no pairs", "only pairs"]))
def test_entropy_is_that_of_the_enumerated_distribution(model):
    found = run_sum_product(model)
    _, scores = possible(model)
    if len(scores) == 0:
        assert run_entropy(model, *found) == -np.inf
        return
    right = entr(np.exp(scores - logsumexp(scores))).sum()
    # What is multiplied are scores with marginals, each as wrong as all scores together.
    error = rounding(model) * (1e14 * rounding(model))
    assert run_entropy(model, *found) == pytest.approx(right, rel=0, abs=error)


@pytest.mark.parametrize("seed", [14, 23])
def test_the_gradient_of_log_z_is_the_marginals(seed):
    model = random_forest(6, 3, "normal", 0.1, seed)
    _, node, edge = run_sum_product(model)
    h = 1e-4

    def difference(scores, at):
        before = scores[at]
        values = []
        for moved in (before + h, before - h):
            scores[at] = moved
            values.append(run_sum_product(model)[0])
        scores[at] = before
        return (values[0] - values[1]) / (2 * h)

    assert len(model.ends) > 2
    assert np.isinf(model.theta).any() or np.isinf(model.pair).any()
    for scores, marginals in ((model.theta, node), (model.pair, edge)):
        for at in zip(*np.nonzero(np.isfinite(scores)), strict=True):
            # The third cumulant of a variable in {0, 1} is at most 1 / 4.
            assert difference(scores, at) == pytest.approx(marginals[at], rel=0, abs=h**2)


@pytest.mark.parametrize("scale", [1.0, 1e4])
def test_long_chains_neither_overflow_nor_lose_digits(scale):
    model = chain(2000, 4, scale)
    log_z, node, edge = run_sum_product(model)
    assert np.isfinite(log_z)
    assert_in_local_polytope(model, node, edge, ONE)
    # log Z = expected score + entropy, and a chain's entropy is that of its edges less its nodes.
    right = model.expected_score(node, edge) + entr(edge).sum() - entr(node[1:-1]).sum()
    assert log_z == pytest.approx(right, rel=1e-12)


def test_a_long_chain_of_forbidden_steps_loses_no_digits():
    """As in tagging: state 2 only after 1 or 2, and never first."""
    model = chain(2000, 3, 1e4)
    model.pair[:, 0, 2] = model.theta[0, 2] = -np.inf
    log_z, node, edge = run_sum_product(model)
    assert np.isfinite(log_z)
    assert_in_local_polytope(model, node, edge, ONE)
    assert node[0, 2] == 0.0
    assert not edge[:, 0, 2].any()
    # Scores of size 1e4 and 2000 nodes: expectations of up to 1e8, rounded.
    right = entr(edge).sum() - entr(node[1:-1]).sum()
    assert run_entropy(model, log_z, node, edge) == pytest.approx(right, rel=0, abs=1e-6)


def test_a_chain_read_backwards_has_the_same_marginals():
    model = chain(300, 3, 5.0)
    flipped = model._replace(ends=model.ends[:, ::-1], pair=model.pair.transpose(0, 2, 1).copy())
    log_z, node, edge = run_sum_product(model)
    other_log_z, other_node, other_edge = run_sum_product(
        flipped._replace(ends=flipped.ends.copy())
    )
    assert log_z == pytest.approx(other_log_z, rel=1e-14)
    # Scores of size 5 are rounded by some 1e-15, and errors of old messages fade along the chain.
    np.testing.assert_allclose(node, other_node, rtol=0, atol=1e-13)
    np.testing.assert_allclose(edge.transpose(0, 2, 1), other_edge, rtol=0, atol=1e-13)


@given(st.integers(2, 8), st.integers(1, 4), st.integers(0, 1000))
def test_among_hopelessly_different_scores_the_best_labelling_has_it_all(n, n_states, seed):
    model = chain(n, n_states, 1.0, seed)
    rng = np.random.default_rng(seed)
    best = rng.integers(0, n_states, n)
    model.theta[np.arange(n), best] += 1e4
    _, node, edge = run_sum_product(model)
    np.testing.assert_array_equal(node, np.eye(n_states)[best])
    assert (edge[np.arange(n - 1), best[:-1], best[1:]] == 1.0).all()


def test_nodes_of_one_state_are_certain_and_only_add_their_score():
    model = chain(5, 1, 100.0)
    log_z, node, edge = run_sum_product(model)
    assert log_z == pytest.approx(model.theta.sum() + model.pair.sum(), rel=1e-14)
    assert (node == 1.0).all()
    assert (edge == 1.0).all()


def test_isolated_nodes_are_independent():
    model = random_model("no edges", 4, 3, "normal", 1)._replace(
        ends=np.zeros((0, 2), np.int32), pair=np.zeros((0, 3, 3))
    )
    log_z, node, _ = run_sum_product(model)
    theta = np.where(np.isnan(model.theta), -np.inf, model.theta)
    assert log_z == pytest.approx(logsumexp(theta, axis=1).sum(), rel=1e-14)
    right = np.exp(theta - logsumexp(theta, axis=1, keepdims=True))
    np.testing.assert_allclose(node, right, rtol=0, atol=ONE)
