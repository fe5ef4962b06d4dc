"""Rounded labellings are local optima and never worse than the argmax of the marginals."""

import numpy as np
import pytest
from graph_models import graph_models, random_model
from hypothesis import given
from hypothesis import strategies as st

from taut.inference.incidence import fill_incidence, new_incidence
from taut.inference.rounding import new_rounding_work, round_marginals

# Two sums of at most 50 numbers, taken in different orders.
ROUNDING = 100 * np.finfo(float).eps


def rounded(model, node):
    (n, m), y = model.size, np.full(len(model.theta), -1, np.int32)
    work = new_rounding_work(n, m, model.theta.shape[1])
    return round_marginals(*model, n, m, node, y, work), y


@st.composite
def marginals(draw, model):
    """Of each node: a corner, a random point, or a tie of all states."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    node = np.zeros(model.theta.shape)
    for row, k in zip(node, model.states, strict=True):
        kind = rng.integers(3)
        row[:k] = [np.eye(k)[rng.integers(k)], rng.dirichlet(np.ones(k)), np.full(k, 1.0 / k)][kind]
    return node


models_and_marginals = graph_models().flatmap(lambda m: st.tuples(st.just(m), marginals(m)))


@given(models_and_marginals)
def test_the_value_returned_is_the_score_of_the_labelling(case):
    model, node = case
    value, y = rounded(model, node)
    assert ((y >= 0) & (y < model.states)).all()
    assert value == pytest.approx(model.score(y), abs=ROUNDING * model.scale)


@given(models_and_marginals)
def test_no_single_change_improves_a_rounded_labelling(case):
    model, node = case
    value, y = rounded(model, node)
    for t, k in enumerate(model.states):
        for label in range(k):
            other = [*y[:t], label, *y[t + 1 :]]
            assert model.score(other) <= value + ROUNDING * model.scale


@given(models_and_marginals)
def test_rounding_is_never_worse_than_the_argmax_nor_than_the_mean_of_independent_draws(case):
    model, node = case
    value, _ = rounded(model, node)
    assert value >= model.score(node.argmax(axis=1)) - ROUNDING * model.scale
    u, v = model.ends.T
    mean = model.expected_score(node, node[u, :, None] * node[v, None, :])
    assert value >= mean - ROUNDING * model.scale


@given(graph_models(scores=["normal", "binary"]))
def test_the_best_labelling_is_kept(model):
    best = max(model.labellings(), key=model.score)
    node = np.eye(model.theta.shape[1])[list(best)]
    assert rounded(model, node)[1].tolist() == list(best)


def test_ties_are_broken_by_looking_at_the_neighbours():
    """A frustrated path of uniform marginals: independent argmaxima would all be label 0."""
    model = random_model("forest", 2, 3, "binary", 1)
    model.theta[:] = 0.0
    model.pair[:] = 1.0 - np.eye(2)
    value, y = rounded(model, np.full(model.theta.shape, 0.5))
    assert (value, sorted(y.tolist())) == (1.0, [0, 1])


@given(graph_models(scores=["normal"]))
def test_incidence_lists_the_half_edges_of_every_node_in_order(model):
    n, m = model.size
    incidence = new_incidence(n + 2, m + 3)
    incidence.half[:] = -1
    fill_incidence(model.ends, n, m, incidence)
    for t in range(n):
        half = incidence.half[incidence.start[t] : incidence.start[t + 1]]
        expected = [2 * e + side for e in range(m) for side in range(2) if model.ends[e, side] == t]
        assert half.tolist() == expected
    assert incidence.start[n] == 2 * m
    assert (incidence.half[2 * m :] == -1).all()
