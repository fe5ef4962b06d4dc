"""Message passing brackets the LP relaxation: bound ≥ LP ≥ value, and the two meet."""

import sys

import numpy as np
import pytest
from graph_models import assert_in_local_polytope, graph_models, random_model
from hypothesis import given
from hypothesis import strategies as st

from taut.inference.local_polytope import simplex_threshold
from taut.inference.lp import lp_relaxation
from taut.inference.message_passing import lp_by_messages, new_message_work

# Bound and value are sums of a few hundred products: errors relative to the sum of all scores.
ROUNDING = 1e-13
# HiGHS accepts constraints and reduced costs that are violated by 1e-7.
HIGHS = 1e-7


def no_messages(model):
    """Zeros, and what is not a number for states that do not exist."""
    messages = np.zeros((len(model.ends), 2, model.theta.shape[1]))
    messages[np.isnan(model.theta)[model.ends]] = np.nan
    return messages


def solve(model, messages=None, most_rounds=20_000, tol=1e-9, room=0):
    """Bound, value, node, edge, messages, rounds; in buffers with ``room`` too many rows."""
    n, m = model.size
    n_states = model.theta.shape[1]
    messages = no_messages(model) if messages is None else messages.copy()
    node = np.full((n + room, n_states), np.nan)
    edge = np.full((m + room, n_states, n_states), np.nan)
    arrays = [*model, messages]
    for i, array in enumerate(arrays):
        filler = np.full((room, *array.shape[1:]), 99 if array.dtype.kind == "i" else np.nan)
        arrays[i] = np.concatenate([array, filler]).astype(array.dtype)
    work = new_message_work(n + room, m + room, n_states)
    bound, value = lp_by_messages(
        *arrays[:4], n, m, arrays[4], work, node, edge, most_rounds, tol * model.scale
    )
    assert np.isnan(node[n:]).all()
    assert np.isnan(edge[m:]).all()
    return bound, value, node[:n], edge[:m], arrays[4][:m], work.rounds.tolist()


def bound_of(model, messages):
    score = model.theta.copy()
    for e, (u, v) in enumerate(model.ends):
        score[u] += messages[e, 0]
        score[v] += messages[e, 1]
    edges = model.pair - messages[:, 0, :, None] - messages[:, 1, None, :]
    return np.nanmax(score, axis=1).sum() + sum(np.nanmax(table) for table in edges)


@given(graph_models())
def test_bound_and_value_meet_at_the_value_of_the_relaxation(model):
    bound, value, *_ = solve(model)
    exact = lp_relaxation(*model)[0]
    assert bound - value <= 1e-9 * model.scale
    assert bound >= exact - HIGHS * model.scale
    assert value <= exact + HIGHS * model.scale


@given(graph_models(), st.sampled_from([0, 1, 3, 10, 47]), st.integers(0, 10**6))
def test_however_early_it_stops_the_bracket_is_valid(model, most_rounds, seed):
    start = no_messages(model)
    start += np.random.default_rng(seed).normal(size=start.shape)
    bound, value, node, edge, messages, rounds = solve(model, start, most_rounds, tol=0.0)
    assert sum(rounds) <= most_rounds
    assert bound == pytest.approx(bound_of(model, messages), abs=ROUNDING * model.scale)
    assert value == pytest.approx(model.expected_score(node, edge), abs=ROUNDING * model.scale)
    assert_in_local_polytope(model, node, edge, 1e-12)
    # Valid messages and a feasible point: weak duality needs no solver to compare with.
    assert bound >= value - ROUNDING * model.scale


@given(graph_models(), st.sampled_from([0, 1, 20]), st.integers(0, 10**6))
def test_the_bound_is_never_above_that_of_the_messages_it_starts_from(model, most_rounds, seed):
    start = no_messages(model)
    start += 10.0 ** np.random.default_rng(seed).integers(-3, 3) * np.random.default_rng(
        seed
    ).normal(size=start.shape)
    bound, *_ = solve(model, start, most_rounds, tol=0.0)
    assert bound <= bound_of(model, start) + ROUNDING * (model.scale + np.nansum(abs(start)))


@given(graph_models(kinds=["forest"]))
def test_on_forests_the_value_is_that_of_the_best_labelling(model):
    bound, value, *_ = solve(model)
    best = model.best_score()
    assert value <= best + ROUNDING * model.scale
    assert best <= bound + ROUNDING * model.scale


@given(graph_models(scores=["normal", "large"]))
def test_a_second_call_from_the_messages_reached_has_the_same_bound_or_a_better_one(model):
    bound, *_, messages, _ = solve(model, most_rounds=30)
    (
        again,
        *_,
    ) = solve(model, messages, most_rounds=30)
    assert again <= bound + ROUNDING * model.scale


def test_a_solved_integral_model_needs_no_further_round():
    model = random_model("forest", 6, 4, "normal", 3)
    *_, messages, rounds = solve(model)
    assert sum(rounds) > 0
    assert solve(model, messages)[-1] == [0, 0]


def test_nodes_without_edges_need_no_round():
    theta = np.array([[1.0, 2.0], [5.0, 3.0]])
    model = random_model("cycle", 2, 2, "binary", 0)._replace(theta=theta)
    bound, value, node, _, _, rounds = solve(model)
    assert (bound, value, node.tolist(), rounds) == (7.0, 7.0, [[0.0, 1.0], [1.0, 0.0]], [0, 0])


def test_a_frustrated_triangle_is_solved_by_halves():
    """The best labelling satisfies two edges out of three; the relaxation all of them."""
    model = random_model("cycle", 3, 2, "binary", 0)
    model.theta[:] = 0.0
    model.pair[:] = 1.0 - np.eye(2)
    bound, value, node, _, _, _ = solve(model, tol=1e-12)
    assert (bound, value) == (pytest.approx(3.0, abs=1e-11), pytest.approx(3.0, abs=1e-11))
    np.testing.assert_allclose(node, 0.5, rtol=0.0, atol=1e-11)


@pytest.mark.parametrize("n_nodes", [14, 30])
def test_complete_binary_graphs_to_a_millionth(n_nodes):
    model = random_model("complete", n_nodes, 2, "binary", n_nodes)
    exact = lp_relaxation(*model)[0]
    n, m = model.size
    bound, value, *_ = solve(model, tol=1e-6 * exact / model.scale)
    assert bound - value <= 1e-6 * exact
    assert bound == pytest.approx(exact, rel=1e-6)
    assert exact > model.score(np.zeros(n, int))
    assert m == n * (n - 1) // 2


@given(graph_models())
def test_buffers_may_be_larger_than_the_model(model):
    exact, roomy = solve(model), solve(model, room=3)
    assert exact[:2] == roomy[:2]
    for one, other in zip(exact[2:5], roomy[2:5], strict=True):
        np.testing.assert_array_equal(one, other)


def test_interpreted_it_is_the_same(monkeypatch):
    models = [random_model("complete", 5, 3, "normal", seed) for seed in range(3)]
    compiled = [solve(model, most_rounds=15, tol=0.0) for model in models]
    for name in ("incidence", "local_polytope", "lp_primal", "rounding", "message_passing"):
        module = sys.modules[f"taut.inference.{name}"]
        for key, function in list(vars(module).items()):
            if hasattr(function, "py_func"):
                monkeypatch.setattr(module, key, function.py_func)
    monkeypatch.setitem(globals(), "lp_by_messages", lp_by_messages.py_func)
    for model, one in zip(models, compiled, strict=True):
        other = solve(model, most_rounds=15, tol=0.0)
        assert one[-1] == other[-1]
        # Sums are vectorised in one of them; steps are averages and projections, which do not
        # magnify rounding errors.
        for left, right in zip(one[:-1], other[:-1], strict=True):
            np.testing.assert_allclose(left, right, rtol=0.0, atol=1e-11)


@given(st.integers(1, 20), st.floats(-3.0, 3.0), st.integers(0, 10**6), st.booleans())
def test_the_threshold_of_the_simplex_is_found_from_any_guess(size, guess, seed, ties):
    values = np.random.default_rng(seed).normal(size=size)
    values = np.round(values) if ties else values
    threshold = simplex_threshold(values, guess)
    # One unit in the last place of the threshold moves each of up to 20 summands.
    assert np.maximum(values - threshold, 0.0).sum() == pytest.approx(1.0, abs=1e-13)
