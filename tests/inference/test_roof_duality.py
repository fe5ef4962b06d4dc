"""Roof duality solves the LP relaxation, and its integral labels are those of a best labelling."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_graphs import all_labellings, models, rounding, score, with_unused_rows
from scipy.optimize import linprog

from taut.inference.graph_cut import graph_cut, new_cut_work
from taut.inference.roof_duality import label_halves, new_roof_work, roof_duality


def run_roof_duality(model):
    theta, ends, pair = model
    n, m = len(theta), len(ends)
    node, edge = np.full((n, 2), np.nan), np.full((m, 2, 2), np.nan)
    bound, value = roof_duality(theta, ends, pair, n, m, new_roof_work(n, m), node, edge)
    return bound, value, node, edge


def run_label_halves(model, node):
    theta, ends, pair = model
    n, m = len(theta), len(ends)
    y = np.full(n, -1, np.int32)
    return label_halves(theta, ends, pair, n, m, node, new_roof_work(n, m), y), y


def complete_model(n, seed, strength):
    rng = np.random.default_rng(seed)
    ends = np.stack(np.triu_indices(n, 1), axis=1).astype(np.int32)
    pair = strength * rng.normal(size=(len(ends), 2, 2))
    return rng.normal(size=(n, 2)), ends, pair


def lp_value(model):
    """The maximum over the local polytope, by HiGHS."""
    theta, ends, pair = model
    n, m = len(theta), len(ends)
    node_at, edge_at = np.arange(2 * n).reshape(n, 2), 2 * n + np.arange(4 * m).reshape(m, 2, 2)
    rows, right = [], [1.0] * n + [0.0] * 4 * m
    for v in range(n):
        rows.append([(node_at[v, k], 1.0) for k in range(2)])
    for e, (u, v) in enumerate(ends):
        for k in range(2):
            rows.append([*((at, 1.0) for at in edge_at[e, k]), (node_at[u, k], -1.0)])
            rows.append([*((at, 1.0) for at in edge_at[e, :, k]), (node_at[v, k], -1.0)])
    equations = np.zeros((len(rows), 2 * n + 4 * m))
    for i, row in enumerate(rows):
        for at, coefficient in row:
            equations[i, at] = coefficient
    scores = np.concatenate([theta.ravel(), pair.ravel()])
    return -linprog(-scores, A_eq=equations, b_eq=right, method="highs").fun


def check_against_lp(model):
    bound, value, _, _ = run_roof_duality(model)
    reference = lp_value(model)
    # HiGHS stops at a feasibility of 1e-7, but a vertex of this LP has half-integral entries, and
    # its value is then exact.
    size = 1e-9 * (1.0 + abs(model[0]).sum() + abs(model[2]).sum())
    assert value == pytest.approx(reference, rel=1e-9, abs=size)
    assert bound == pytest.approx(reference, rel=1e-9, abs=size)


@given(models(integers=True))
def test_on_sparse_graphs_with_ties_the_value_is_the_lps(model):
    check_against_lp(model)


@pytest.mark.parametrize("strength", [0.1, 0.3, 1.0])
@pytest.mark.parametrize("n", [5, 10, 14])
def test_on_complete_graphs_the_value_is_the_lps(n, strength):
    for seed in range(3):
        check_against_lp(complete_model(n, seed, strength))


@given(models(integers=False, most_nodes=12))
def test_bound_and_value_agree_and_the_bound_is_not_below(model):
    bound, value, _, _ = run_roof_duality(model)
    assert value <= bound <= value + rounding(model)


@given(models(integers=False, most_nodes=12), st.sampled_from([-1e6, 1e6]))
def test_a_constant_added_to_all_scores_only_shifts_the_value(model, constant):
    theta, ends, pair = model
    scale = abs(theta).sum() + abs(pair).sum()
    theta, pair = theta / scale, pair / scale
    shifted = (theta + constant, ends, pair + constant)
    bound, value, _, _ = run_roof_duality(shifted)
    assert value <= bound <= value + rounding(shifted)
    _, best, _, _ = run_roof_duality((theta, ends, pair))
    total = constant * (len(theta) + len(ends))
    assert value - total == pytest.approx(best, rel=0, abs=rounding(shifted))


@given(models(integers=False, most_nodes=12))
def test_marginals_are_half_integral_and_exactly_consistent(model):
    _, value, node, edge = run_roof_duality(model)
    theta, ends, pair = model
    assert set(node.ravel()) <= {0.0, 0.5, 1.0}
    assert (node.sum(axis=1) == 1.0).all()
    assert (edge.sum(axis=2) == node[ends[:, 0]]).all()
    assert (edge.sum(axis=1) == node[ends[:, 1]]).all()
    assert (edge >= 0.0).all()
    total = (theta * node).sum() + (pair * edge).sum()
    assert value == pytest.approx(total, rel=0, abs=rounding(model))


@given(models(integers=True))
def test_integral_nodes_have_the_labels_of_a_best_labelling(model):
    _, _, node, _ = run_roof_duality(model)
    labellings, scores = all_labellings(model)
    best = labellings[scores == scores.max()]
    integral = node[:, 1] != 0.5
    assert (best[:, integral] == node[integral, 1]).all(axis=1).any()


@given(models(integers=True, supermodular=True))
def test_on_supermodular_models_the_relaxation_is_exact(model):
    theta, ends, pair = model
    n, m = len(theta), len(ends)
    y = np.zeros(n, np.int32)
    best = graph_cut(theta, ends, pair, n, m, new_cut_work(n, m), y)
    bound, value, node, _ = run_roof_duality(model)
    assert (bound, value) == (best, best)
    assert run_label_halves(model, node)[0] == best


@given(models(integers=True, most_nodes=9))
def test_with_few_halves_the_labelling_is_a_best_one(model):
    _, _, node, _ = run_roof_duality(model)
    value, y = run_label_halves(model, node)
    assert value == all_labellings(model)[1].max()
    assert value == score(model, y)


def test_with_many_halves_no_single_node_can_be_improved():
    model = complete_model(20, seed=0, strength=1.0)
    _, _, node, _ = run_roof_duality(model)
    assert (node[:, 1] == 0.5).sum() > 14, "otherwise all labellings are tried"
    value, y = run_label_halves(model, node)
    assert value == pytest.approx(score(model, y), rel=0, abs=rounding(model))
    for v in range(20):
        neighbour = y.copy()
        neighbour[v] = 1 - y[v]
        assert score(model, neighbour) <= value + rounding(model)


@given(models(integers=True))
def test_only_the_first_rows_are_read_and_written(model):
    bound, value, node, edge = run_roof_duality(model)
    n, m = len(model[0]), len(model[1])
    theta, ends, pair = with_unused_rows(model)
    work = new_roof_work(n + 2, m + 3)
    nodes, edges = np.full((n + 2, 2), -1.0), np.full((m + 3, 2, 2), -1.0)
    again = roof_duality(theta, ends, pair, n, m, work, nodes, edges)
    assert again == (bound, value)
    assert np.array_equal(nodes[:n], node)
    assert np.array_equal(edges[:m], edge)
    assert (nodes[n:] == -1.0).all()
    assert (edges[m:] == -1.0).all()
    y = np.full(n + 2, -1, np.int32)
    assert label_halves(theta, ends, pair, n, m, nodes, work, y) == run_label_halves(model, node)[0]
    assert y[n:].tolist() == [-1, -1]
