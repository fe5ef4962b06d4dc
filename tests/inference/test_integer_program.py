"""The integer program finds the best labelling, and the relaxation with counts bounds it."""

import numpy as np
import pytest
from graph_models import KINDS, assert_in_local_polytope, graph_models, random_model
from hypothesis import given, settings
from hypothesis import strategies as st

from taut.inference.integer_program import best_labelling_by_integers, best_labelling_of_all
from taut.inference.lp import lp_relaxation

# HiGHS accepts constraints and reduced costs that are violated by 1e-7.
HIGHS = 1e-7
# What the integer program promises, relative to the largest score.
PROMISE = 1e-9

a_few = settings(max_examples=60)


@st.composite
def counted_models(draw, kinds=KINDS, most_counts=3):
    """A model of two-state nodes, and counts that a hidden labelling satisfies."""
    model = draw(graph_models(kinds, scores=["binary"]))
    n = len(model.theta)
    hidden = np.array(draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)))
    subsets = st.lists(st.integers(0, n - 1), min_size=1, unique=True)
    counts = []
    for nodes in draw(st.lists(subsets, min_size=1, max_size=most_counts)):
        number = int(hidden[nodes].sum())
        low = draw(st.integers(0, number))
        counts.append((nodes, low, draw(st.integers(number, len(nodes)))))
    return model, counts


def satisfies(y, counts):
    return all(low <= sum(y[t] for t in nodes) <= high for nodes, low, high in counts)


def best_score(model, counts):
    return max(model.score(y) for y in model.labellings() if satisfies(y, counts))


both_ways = pytest.mark.parametrize("find", [best_labelling_by_integers, best_labelling_of_all])


@both_ways
@a_few
@given(model=graph_models())
def test_without_counts_it_is_the_best_of_all_labellings(find, model):
    value, y = find(*model)
    assert (y < model.states).all()
    assert y.dtype == np.int32
    assert value == pytest.approx(model.score(y), abs=1e-14 * model.scale)
    assert value == pytest.approx(model.best_score(), abs=PROMISE * model.scale)


@both_ways
@a_few
@given(example=counted_models())
def test_with_counts_it_is_the_best_labelling_that_satisfies_them(find, example):
    model, counts = example
    value, y = find(*model, counts)
    assert satisfies(y, counts)
    assert value == pytest.approx(model.score(y), abs=1e-14 * model.scale)
    assert value == pytest.approx(best_score(model, counts), abs=PROMISE * model.scale)


@a_few
@given(counted_models())
def test_the_relaxation_with_counts_is_an_upper_bound_attained_within_them(example):
    model, counts = example
    value, node, edge = lp_relaxation(*model, counts)
    assert value >= best_score(model, counts) - HIGHS * model.scale
    assert value <= lp_relaxation(*model)[0] + HIGHS * model.scale
    assert value == pytest.approx(model.expected_score(node, edge), abs=HIGHS * model.scale)
    assert_in_local_polytope(model, node, edge, 10 * HIGHS)
    for nodes, low, high in counts:
        assert low - HIGHS <= node[nodes, 1].sum() <= high + HIGHS


@given(counted_models(most_counts=1))
def test_a_single_count_without_edges_has_an_integral_relaxation(example):
    model, counts = example
    model = model._replace(ends=model.ends[:0], pair=model.pair[:0])
    value = lp_relaxation(*model, counts)[0]
    assert value == pytest.approx(best_score(model, counts), abs=HIGHS * model.scale)
    integral = best_labelling_by_integers(*model, counts)[0]
    assert value == pytest.approx(integral, abs=HIGHS * model.scale)


def test_three_overlapping_counts_have_a_fractional_relaxation():
    """At most one of every two of three nodes: one label, or three halves."""
    theta, none = np.array([[0.0, 1.0]] * 3), (np.zeros((0, 2), int), np.zeros((0, 2, 2)))
    counts = [([0, 1], 0, 1), ([1, 2], 0, 1), ([2, 0], 0, 1)]
    value, node, _ = lp_relaxation(theta, np.array([2, 2, 2]), *none, counts)
    assert value == pytest.approx(1.5, abs=HIGHS)
    np.testing.assert_allclose(node, 0.5, rtol=0.0, atol=HIGHS)
    assert best_labelling_by_integers(theta, np.array([2, 2, 2]), *none, counts)[0] == 1.0


@pytest.mark.parametrize("scale", [1e-9, 1e-3, 1e9])
def test_the_labelling_does_not_depend_on_the_scale_of_the_scores(scale):
    """HiGHS's own tolerances are absolute: scores of 1e-9 would all be zero to it."""
    model = random_model("complete", 6, 2, "binary", 3)
    counts = [([0, 1, 2, 3], 1, 2)]
    scaled = model._replace(theta=scale * model.theta, pair=scale * model.pair)
    _, expected = best_labelling_by_integers(*model, counts)
    _, y = best_labelling_by_integers(*scaled, counts)
    np.testing.assert_array_equal(y, expected)


def test_only_counted_nodes_need_two_states():
    theta = np.array([[0.0, 1.0, 2.0], [0.0, 3.0, np.nan], [0.0, 1.0, np.nan]])
    states, ends = np.array([3, 2, 2]), np.array([[0, 1]])
    pair = np.zeros((1, 3, 3))
    value, y = best_labelling_by_integers(theta, states, ends, pair, [([1, 2], 1, 1)])
    assert (value, y.tolist()) == (5.0, [2, 1, 0])


def test_contradicting_counts_are_reported():
    model = random_model("cycle", 3, 2, "binary", 0)
    counts = [([0, 1], 2, 2), ([1, 2], 0, 0)]
    with pytest.raises(ValueError, match="no labelling of the 3 nodes satisfies all 2 counts"):
        best_labelling_by_integers(*model, counts)
    with pytest.raises(RuntimeError, match=r"3 nodes and 3 edges with 2 counts.*contradict"):
        lp_relaxation(*model, counts)


def test_a_search_that_runs_out_of_time_is_no_answer():
    model = random_model("complete", 40, 2, "binary", 1)
    with pytest.raises(RuntimeError, match=r"40 nodes, 780 edges.*more seconds"):
        best_labelling_by_integers(*model, seconds=0.0)


def test_infinite_scores_are_refused():
    model = random_model("cycle", 3, 2, "binary", 0)
    model.theta[0, 0] = -np.inf
    with pytest.raises(ValueError, match="infinite"):
        best_labelling_by_integers(*model)
