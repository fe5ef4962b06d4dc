"""Graph cut finds the maximum over all labellings of supermodular models, and refuses others."""

import numpy as np
import pytest
from hypothesis import given
from random_graphs import all_labellings, models, rounding, score, with_unused_rows

from taut.inference.graph_cut import graph_cut, new_cut_work


def run_graph_cut(model):
    theta, ends, pair = model
    n, m = len(theta), len(ends)
    y = np.full(n, -1, np.int32)
    work = new_cut_work(n, m)
    value = graph_cut(theta, ends, pair, n, m, work, y)
    return value, y, work.edge[0]


@given(models(integers=True, supermodular=True))
def test_among_the_best_labellings_the_lowest_is_found(model):
    """Best labellings are a lattice: their minimum, node by node, is one of them."""
    value, y, edge = run_graph_cut(model)
    labellings, scores = all_labellings(model)
    assert value == scores.max()
    assert y.tolist() == labellings[scores == scores.max()].min(axis=0).tolist()
    assert edge == -1


@given(models(integers=False, supermodular=True))
def test_the_value_is_the_maximum_over_all_labellings(model):
    value, y, _ = run_graph_cut(model)
    _, scores = all_labellings(model)
    assert value == pytest.approx(scores.max(), rel=0, abs=rounding(model))
    assert value == pytest.approx(score(model, y), rel=0, abs=rounding(model))


@given(models(integers=True))
def test_an_edge_that_is_not_supermodular_is_named(model):
    value, _, edge = run_graph_cut(model)
    pair = model[2]
    q = pair[:, 0, 0] + pair[:, 1, 1] - pair[:, 0, 1] - pair[:, 1, 0]
    if (q < 0).any():
        assert (value, edge) == (-np.inf, np.flatnonzero(q < 0)[0])
    else:
        assert (value > -np.inf, edge) == (True, -1)


def model_of_one_edge(q):
    """All scores are about 1000; the interaction is q up to rounding."""
    pair = np.array([[[1000.0, 1000.0], [1000.0, 1000.0 + q]]])
    return np.array([[0.0, 1.0], [0.0, 1.0]]), np.array([[0, 1]], np.int32), pair


def test_an_interaction_within_rounding_of_zero_is_zero():
    # The limit is 1e-12 of the sum of four scores of 1000: 4e-9.
    value, y, edge = run_graph_cut(model_of_one_edge(-3e-9))
    assert (value, y.tolist(), edge) == (1002.0 - 3e-9, [1, 1], -1)


@pytest.mark.parametrize("q", [-5e-9, np.nan, -np.inf])
def test_an_interaction_below_rounding_is_refused(q):
    value, _, edge = run_graph_cut(model_of_one_edge(q))
    assert (value, edge) == (-np.inf, 0)


def test_a_refusal_is_forgotten_by_the_next_call():
    (theta, ends, bad), (_, _, good) = model_of_one_edge(-1.0), model_of_one_edge(1.0)
    work, y = new_cut_work(2, 1), np.zeros(2, np.int32)
    assert graph_cut(theta, ends, bad, 2, 1, work, y) == -np.inf
    assert graph_cut(theta, ends, good, 2, 1, work, y) == 1003.0
    assert work.edge[0] == -1


@given(models(integers=True, supermodular=True))
def test_only_the_first_rows_and_two_states_are_read(model):
    value, y, _ = run_graph_cut(model)
    n, m = len(model[0]), len(model[1])
    theta, ends, pair = with_unused_rows(model)
    theta = np.pad(theta, [(0, 0), (0, 1)], constant_values=np.nan)
    pair = np.pad(pair, [(0, 0), (0, 1), (0, 1)], constant_values=np.nan)
    labels = np.full(n + 2, -1, np.int32)
    assert graph_cut(theta, ends, pair, n, m, new_cut_work(n + 2, m + 3), labels) == value
    assert labels.tolist() == [*y.tolist(), -1, -1]
