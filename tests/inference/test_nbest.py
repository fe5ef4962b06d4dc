"""The k best labellings of a forest are those that trying all of them finds."""

import numpy as np
import pytest
from forest_models import forbid, forests, possible, rounding, with_one_table
from graph_models import GraphModel, random_model
from hypothesis import given
from hypothesis import strategies as st

from taut.inference.maxsum import forest_order, max_sum, new_maxsum_work
from taut.inference.nbest import best_labellings, n_best, new_n_best_work


def run_n_best(model, k, *, spare=0, function=n_best):
    """Buffers may be larger than the example; nothing may read what is not its own."""
    n, m = model.size
    K = model.theta.shape[1]
    pad = lambda a, value: np.concatenate([a, np.full((spare, *a.shape[1:]), value, a.dtype)])  # noqa: E731
    work = new_n_best_work(n + spare, K, k)
    for array in (work.before, work.state, work.rank, work.length, work.chosen, *work.heads[1:]):
        array[:] = 10**6
    work.value[:], work.heads.key[:], work.is_child[:] = np.nan, np.nan, True
    labels, values = np.full((k, n + spare), -1, np.int32), np.full(k, np.nan)
    count = function(
        pad(model.theta, np.nan), pad(model.states, 10**6), pad(model.ends, 10**6),
        pad(model.pair, np.nan), n, m, forest_order(n, model.ends), k, work, labels, values,
    )  # fmt: skip
    assert (labels[:, n:] == -1).all()
    assert (labels[count:] == -1).all()
    return labels[:count, :n], values[:count]


def largest(scores, k):
    return np.sort(scores)[::-1][:k]


@given(forests(), st.integers(1, 12), st.sampled_from([0, 3]))
def test_values_are_the_largest_of_all_labellings(model, k, spare):
    labels, values = run_n_best(model, k, spare=spare)
    _, scores = possible(model)
    assert len(values) == min(k, len(scores))
    np.testing.assert_allclose(values, largest(scores, k), rtol=0, atol=rounding(model))
    assert (np.diff(values) <= 0.0).all()
    again = [model.score(y) for y in labels]
    np.testing.assert_allclose(values, again, rtol=0, atol=rounding(model))
    assert len({tuple(y) for y in labels}) == len(labels)


@given(forests(scores=["ties"]), st.integers(1, 40))
def test_with_integer_scores_not_even_rounding_separates_them(model, k):
    labels, values = run_n_best(model, k)
    _, scores = possible(model)
    assert values.tolist() == largest(scores, k).tolist()
    assert values.tolist() == [model.score(y) for y in labels]
    assert len({tuple(y) for y in labels}) == len(labels)


@given(forests(most_nodes=4))
def test_asking_for_more_than_there_are_gives_all_of_them(model):
    every, scores = possible(model)
    labels, _ = run_n_best(model, len(scores) + 5)
    assert {tuple(y) for y in labels} == {tuple(y) for y in every}
    assert len(labels) == len(every)


@given(forests(scores=["normal", "ties", "large"]))
def test_the_first_is_the_one_that_max_sum_finds(model):
    n, m = model.size
    y, work = np.zeros(n, np.int32), new_maxsum_work(n, m, model.theta.shape[1])
    value = max_sum(*model, n, m, forest_order(n, model.ends), work, y)
    labels, values = run_n_best(model, 1)
    assert len(values) == (value > -np.inf)
    if len(values):
        assert values[0] == value
        assert labels[0].tolist() == y.tolist()


@given(forests(scores=["normal", "ties"]), st.integers(1, 10))
def test_a_larger_k_only_adds_to_the_end(model, k):
    labels, values = run_n_best(model, k)
    more_labels, more_values = run_n_best(model, k + 5)
    assert more_labels[:k].tolist() == labels.tolist()
    assert more_values[:k].tolist() == values.tolist()


@given(forests(), st.integers(0, 100))
def test_one_table_can_serve_all_edges(model, seed):
    repeated, table = with_one_table(model, seed)
    for one, two in zip(
        run_n_best(repeated, 5), run_n_best(repeated._replace(pair=table), 5), strict=True
    ):
        assert one.tolist() == two.tolist()


@given(st.integers(1, 6), st.integers(1, 3), st.integers(0, 1000))
def test_chains_and_stars_have_their_best_labellings_too(n, n_states, seed):
    rng = np.random.default_rng(seed)
    for before in (range(n - 1), [0] * (n - 1)):
        model = forbid(
            GraphModel(
                rng.normal(size=(n, n_states)),
                np.full(n, n_states, np.int32),
                np.array([(u, t + 1) for t, u in enumerate(before)], np.int32).reshape(-1, 2),
                rng.normal(size=(n - 1, n_states, n_states)),
            ),
            0.1,
            seed,
        )
        _, values = run_n_best(model, 20)
        np.testing.assert_allclose(
            values, largest(possible(model)[1], 20), rtol=0, atol=rounding(model)
        )


@given(forests(most_nodes=4))
def test_interpreted_it_finds_the_same(model):
    for one, two in zip(
        run_n_best(model, 4), run_n_best(model, 4, function=n_best.py_func), strict=True
    ):
        assert one.tolist() == two.tolist()


def test_in_a_long_chain_the_best_ones_leave_the_best_at_one_place():
    """Every node has its price, and two of them cost more than any one."""
    n, k = 2000, 50
    price = np.linspace(1.0, 1.9, n)
    theta = np.stack([np.zeros(n), -price], axis=1)
    ends = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
    labels, values = best_labellings(theta, np.full(n, 2), ends, np.zeros((1, 2, 2)), k)
    assert values.tolist() == [0.0, *(-price[: k - 1]).tolist()]
    assert not labels[0].any()
    assert labels[1:, : k - 1].tolist() == np.eye(k - 1).tolist()


def test_nothing_is_found_where_nothing_is_possible():
    labels, values = best_labellings(
        np.full((2, 2), -np.inf), np.array([2, 2]), np.zeros((0, 2), int), np.zeros((0, 2, 2)), 3
    )
    assert labels.shape == (0, 2)
    assert values.shape == (0,)


@pytest.mark.parametrize("k", [0, -1])
def test_at_least_one_labelling_is_wanted(k):
    with pytest.raises(ValueError, match=f"k={k}; expected the number of labellings"):
        best_labellings(*random_model("forest", 3, 2, "binary", 0), k)


def test_a_cycle_is_refused():
    with pytest.raises(ValueError, match="3 edges between 3 nodes close a cycle"):
        best_labellings(*random_model("cycle", 3, 2, "binary", 0), 2)
