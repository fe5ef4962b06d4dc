"""Expansion moves never lose, stop where no move gains, and come close to the maximum."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_graphs import all_labellings, models, rounding, score, with_unused_rows

from taut.inference.expansion import expand, new_expansion_work, start_apart


def run_expand(model, y, states=None):
    theta, ends, pair = model
    n, m = len(theta), len(ends)
    states = np.full(n, theta.shape[1], np.int32) if states is None else states
    y = y.astype(np.int32)
    work = new_expansion_work(n, m)
    value = expand(theta, states, ends, pair, n, m, work, y)
    return value, y, work.edge[0]


@st.composite
def potts_models(draw, *, integers, n_states=3):
    """Models whose edges are charged a weight where labels differ, and a start."""
    theta, ends, pair = draw(models(integers=integers, n_states=n_states, most_nodes=5))
    weight = abs(pair[:, 0, 0])
    pair = -weight[:, None, None] * (1.0 - np.eye(n_states))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    return (theta, ends, pair), rng.integers(0, n_states, len(theta))


@given(potts_models(integers=True))
def test_the_result_is_never_worse_than_the_start(case):
    model, start = case
    value, y, edge = run_expand(model, start)
    assert value == score(model, y)
    assert value >= score(model, start)
    assert edge == -1


@given(potts_models(integers=True))
def test_no_expansion_move_improves_the_result(case):
    model, start = case
    value, y, _ = run_expand(model, start)
    for alpha in range(3):
        for takes in itertools.product([False, True], repeat=len(y)):
            assert score(model, np.where(takes, alpha, y)) <= value


def energy(model, y):
    """What the nodes fall short of their own best scores, and what the edges are charged."""
    return model[0].max(axis=1).sum() - score(model, y)


@given(potts_models(integers=False))
def test_the_energy_of_potts_models_is_at_most_twice_the_least(case):
    model, start = case
    _, y, _ = run_expand(model, start)
    labellings, scores = all_labellings(model)
    least = energy(model, labellings[scores.argmax()])
    assert energy(model, y) <= 2.0 * least + rounding(model)


@given(models(integers=True, supermodular=True), st.integers(0, 10**6))
def test_with_two_states_the_result_is_a_best_labelling(model, seed):
    start = np.random.default_rng(seed).integers(0, 2, len(model[0]))
    value, _, _ = run_expand(model, start)
    assert value == all_labellings(model)[1].max()


@given(potts_models(integers=True))
def test_starting_apart_is_starting_from_the_argmax_of_every_node(case):
    (theta, _, _), _ = case
    y = np.full(len(theta), -1, np.int32)
    start_apart(theta, np.full(len(theta), 3, np.int32), len(theta), y)
    assert y.tolist() == theta.argmax(axis=1).tolist()


@given(potts_models(integers=True), st.integers(0, 10**6))
def test_states_that_a_node_does_not_have_are_not_read(case, seed):
    """As many states as each node has; the others are NaN, and rows beyond the model are too."""
    model, start = case
    n, m = len(model[0]), len(model[1])
    states = np.random.default_rng(seed).integers(1, 4, n).astype(np.int32)
    closed, ends, pair = (part.copy() for part in with_unused_rows(model))
    for v in range(n):
        closed[v, states[v] :] = np.nan
    for e in range(m):
        pair[e, states[ends[e, 0]] :, :] = np.nan
        pair[e, :, states[ends[e, 1]] :] = np.nan
    y = np.append(np.minimum(start, states - 1), [-1, -1]).astype(np.int32)
    before = score(model, y[:n])
    value = expand(closed, states, ends, pair, n, m, new_expansion_work(n + 2, m + 3), y)
    assert (y[:n] < states).all()
    assert y[n:].tolist() == [-1, -1]
    assert value == score(model, y[:n])
    assert value >= before
    apart = np.full(n, -1, np.int32)
    start_apart(closed, states, n, apart)
    assert apart.tolist() == [model[0][v, : states[v]].argmax() for v in range(n)]


def test_a_node_that_has_a_state_may_take_it_where_its_neighbour_cannot():
    theta = np.array([[0.0, np.nan], [0.0, 1.0]])
    pair = np.array([[[0.0, 0.5], [np.nan, np.nan]]])
    ends, states = np.array([[0, 1]], np.int32), np.array([1, 2], np.int32)
    value, y, _ = run_expand((theta, ends, pair), np.zeros(2), states)
    assert (value, y.tolist()) == (1.5, [0, 1])


@pytest.mark.parametrize("bad_edge", [0, 1])
def test_an_edge_whose_labels_like_to_differ_is_named(bad_edge):
    pair = np.broadcast_to(np.eye(3), (2, 3, 3)).copy()
    pair[bad_edge] *= -1.0
    model = np.zeros((3, 3)), np.array([[0, 1], [1, 2]], np.int32), pair
    value, _, edge = run_expand(model, np.array([1, 1, 1]))
    assert (value, edge) == (-np.inf, bad_edge)
